"""`shuffle_row_numbers`: shuffles row numbers instead of rows if there is random access."""

from __future__ import annotations

import numpy as np

from feedline.ops.pick import Pick
from feedline.ops.prefetch import Prefetch
from feedline.ops.record_numbers import FetchRecords, RecordNumbers
from feedline.ops.shard import SHARD_HINT, Shard
from feedline.ops.shuffle import Shuffle
from feedline.ops.skip import Skip
from feedline.ops.sources.range import Range
from feedline.ops.sources.tfrecord_dataset import TFRecords
from feedline.ops.take import Take
from feedline.ops.view import View
from feedline.ops.with_options import WithOptions
from feedline.optimize.plain import plain
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node

_NUMBERS = np.dtype(np.int64)


def shuffle_row_numbers(node: Node) -> Node | None:
    """Makes a shuffle buffer row numbers: eight bytes per element, however large elements are, and each row is copied
    once.

    The order of a shuffle does not depend on the values, so seeds and order stay the same. Further steps that reorder
    such rows work on the numbers as well.

    Records of TFRecord files have random access if there is an index, which is known only when an iterator is made.
    With it, a checkpoint holds numbers, and records dropped by `skip` and `shard` are not read. A damaged record then
    raises where it would be returned, and the records after it in its file are not lost.
    """
    if isinstance(node, (Shuffle, Skip, Shard)) and isinstance(node.input, Pick):
        picked = node.input
        return replace_node(node, Pick(picked.source, node.replace(input=picked.index)))
    if isinstance(node, Shuffle) and plain(node.input) and not isinstance(node.input, Range):
        source, numbers = _by_number(node.input)
        return replace_node(node, Pick(source, node.replace(input=numbers)))
    return _record_numbers(node)


def _by_number(plan: Node) -> tuple[Node, Node]:
    """A source, and the numbers in it of the plan's rows. For a part of a source these are the numbers in the whole
    source, so that they mean the same for every part.
    """
    below = plan
    while isinstance(below, (Prefetch, WithOptions)):
        below = below.input
    if isinstance(below, View):
        whole = Range(0, below.source.cardinality(), 1, _NUMBERS)
        return below.source, below.replace(source=whole)
    return plan, Range(0, plan.cardinality(), 1, _NUMBERS)


def _record_numbers(node: Node) -> Node | None:
    if not isinstance(node, (Shuffle, Skip, Shard, Take)):
        return None
    fetched = node.input if isinstance(node.input, FetchRecords) else None
    if fetched is None and isinstance(node, Take):
        return None  # no gain by itself
    numbers = _numbered(node.input) if fetched is None else fetched.input
    if numbers is None:
        return None
    if isinstance(node, Shuffle):
        if isinstance(numbers, RecordNumbers):
            numbers = numbers.replace(held=node.buffer_size)
        return replace_node(node, FetchRecords(node.replace(input=numbers)))
    if isinstance(numbers, RecordNumbers):
        part = _part(node, numbers)
        return None if part is None else replace_node(node, FetchRecords(part))
    return replace_node(node, FetchRecords(node.replace(input=numbers)))


def _numbered(plan: Node) -> RecordNumbers | None:
    """The numbers of the records that a plan gives, if it is TFRecord files under steps that pass them on unchanged."""
    if isinstance(plan, TFRecords):
        return RecordNumbers(plan) if plan.numbered else None
    if not isinstance(plan, (Prefetch, Take, WithOptions)):
        return None
    below = _numbered(plan.input)
    if below is None:
        return None
    most = plan.count if isinstance(plan, Take) and plan.count >= 0 else None
    made: RecordNumbers = below.replace(input=plan, most=_least(below.most, most))
    return made


def _part(node: Node, numbers: RecordNumbers) -> RecordNumbers | None:
    """The numbers that a step leaves, with the plan as written as their input."""
    start, by, most = numbers.start, numbers.by, numbers.most
    match node:
        case Take(count=count) if count >= 0:
            most = _least(most, count)
        case Skip(count=count) if count >= 0:
            start, most = start + count * by, None if most is None else max(0, most - count)
        case Shard(num_shards=k, index=i) if k != SHARD_HINT:
            start, by, most = start + i * by, by * k, None if most is None else max(0, -(-(most - i) // k))
        case _:
            return None
    made: RecordNumbers = numbers.replace(input=node.replace(input=numbers.input), start=start, by=by, most=most)
    return made


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)
