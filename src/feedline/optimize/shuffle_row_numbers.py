"""`shuffle_row_numbers`: where rows can be had by number, numbers are shuffled instead of rows."""

from __future__ import annotations

import numpy as np

from feedline.ops.pick import Pick
from feedline.ops.shard import Shard
from feedline.ops.shuffle import Shuffle
from feedline.ops.skip import Skip
from feedline.ops.sources.range import Range
from feedline.optimize.plain import plain
from feedline.plan.node import Node
from feedline.plan.rewrite import standing_for

_NUMBERS = np.dtype(np.int64)


def shuffle_row_numbers(node: Node) -> Node | None:
    """A shuffle holds eight bytes per element of its buffer, however large elements are, and each is copied once.

    The order of a shuffle does not depend on what is shuffled, so seeds and order stay the same. What else changes the
    order of such rows works on the numbers as well.
    """
    if isinstance(node, (Shuffle, Skip, Shard)) and isinstance(node.input, Pick):
        picked = node.input
        return standing_for(node, Pick(picked.source, node.replace(input=picked.index)))
    if isinstance(node, Shuffle) and plain(node.input) and not isinstance(node.input, Range):
        numbers = Range(0, node.input.cardinality(), 1, _NUMBERS)
        return standing_for(node, Pick(node.input, node.replace(input=numbers)))
    return None
