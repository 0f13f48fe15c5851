"""Record numbers in place of the records of TFRecord files that have an index.

Whether they have one is known when an iterator is made, and may differ from one iterator to the next. So this part of
`shuffle_row_numbers` rewrites the plan of each iterator. With numbers, a checkpoint of a shuffle holds numbers, and
records that `skip` and `shard` drop are not read. A damaged record raises where it would be returned, and the records
after it in its file are not lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from feedline.ops.prefetch import Prefetch
from feedline.ops.shard import SHARD_HINT, Shard
from feedline.ops.shared.record_numbers import FetchRecords, RecordNumbers
from feedline.ops.shuffle import Shuffle
from feedline.ops.skip import Skip
from feedline.ops.sources.tfrecord_dataset import TFRecords
from feedline.ops.take import Take
from feedline.ops.with_options import WithOptions
from feedline.plan.node import Node
from feedline.plan.rewrite import bottom_up, replace_node
from feedline.plan.traits.checkpoint import CheckpointTransparent


class _Forms:
    """A plan with record numbers wherever they are possible, and with some of them. Forms are kept, since a plan
    remembers what its functions have shown of their specs.
    """

    def __init__(self, plan: Node) -> None:
        self._most = bottom_up(plan, _inserted)
        self._numbers = [n for _, n in _numbers(self._most)]
        self._made: dict[frozenset[int], Node] = {frozenset(): self._most, frozenset(map(id, self._numbers)): plan}

    def now(self) -> Node:
        """The plan with record numbers where the files have an index, and it pays."""
        unused = frozenset(id(n) for n in self._numbers if not n.pays())
        made = self._made.get(unused)
        return self._made.setdefault(unused, _without(self._most, unused)) if made is None else made


def with_record_numbers(plan: Node) -> Node:
    """The plan for one iterator: with record numbers where the files have an index now, and it pays."""
    forms: _Forms | None = plan.__dict__.get("_record_number_forms")
    if forms is None:
        if not any(isinstance(n, (Shuffle, Skip, Shard)) and _inserted(n) is not None for n in plan.walk()):
            return plan  # as most of the nested plans, of which there may be thousands
        forms = plan.__dict__["_record_number_forms"] = _Forms(plan)
    return forms.now()


def restored_record_numbers(plan: Node, above: Sequence[Collection[str] | None]) -> Node:
    """The plan with record numbers where a checkpoint has them: `above` names the nodes that have a state in it
    directly above each step; None for a step that has not begun, where the plan may be as it is.
    """
    present = _numbers(plan)
    now = {i for i, _ in present}
    wanted = {i for i, ops in enumerate(above) if (i in now if ops is None else RecordNumbers.op in ops)}
    if wanted == now:
        return plan
    most = bottom_up(_without(plan, {id(n) for _, n in present}), _inserted)
    return _without(most, {id(n) for i, n in _numbers(most) if i not in wanted})


def _numbers(plan: Node) -> list[tuple[int, RecordNumbers]]:
    """The nodes that give record numbers, each with the number of the step directly below it."""
    found, step = [], -1
    for n in plan.walk():
        step += not isinstance(n, CheckpointTransparent)
        if isinstance(n, RecordNumbers):
            found.append((step, n))
    return found


def _without(plan: Node, unused: Collection[int]) -> Node:
    """The plan without the `RecordNumbers` with these ids, and without what fetches records for their numbers."""

    def visit(node: Node) -> Node | None:
        if isinstance(node, RecordNumbers):
            return node.input if id(node) in unused else None
        if isinstance(node, FetchRecords) and not any(isinstance(n, RecordNumbers) for n in node.walk()):
            return node.input
        return None

    return bottom_up(plan, visit) if unused else plan


def _inserted(node: Node) -> Node | None:
    """A step over the numbers of records, if it chooses or orders the records of files."""
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
