"""`shuffle_row_numbers`: shuffles row numbers instead of rows in memory."""

from __future__ import annotations

import numpy as np

from feedline.ops.prefetch import Prefetch
from feedline.ops.shard import Shard
from feedline.ops.shared.pick import Pick
from feedline.ops.shared.view import View
from feedline.ops.shuffle import Shuffle
from feedline.ops.skip import Skip
from feedline.ops.sources.range import Range
from feedline.ops.with_options import WithOptions
from feedline.optimize.plain import plain
from feedline.plan.node import Node
from feedline.plan.rewrite import replace_node

_NUMBERS = np.dtype(np.int64)


def shuffle_row_numbers(node: Node) -> Node | None:
    """Makes a shuffle buffer row numbers: eight bytes per element, however large elements are, and each row is copied
    once.

    The order of a shuffle does not depend on the values, so seeds and order stay the same. Further steps that reorder
    such rows work on the numbers as well. `record_numbers` does the same for records of files, for each iterator.
    """
    if isinstance(node, (Shuffle, Skip, Shard)) and isinstance(node.input, Pick):
        picked = node.input
        return replace_node(node, Pick(picked.source, node.replace(input=picked.index)))
    if isinstance(node, Shuffle) and plain(node.input) and not isinstance(node.input, Range):
        source, numbers = _by_number(node.input)
        return replace_node(node, Pick(source, node.replace(input=numbers)))
    return None


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
