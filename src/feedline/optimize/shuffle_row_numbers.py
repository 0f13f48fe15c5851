"""`shuffle_row_numbers`: where rows can be had by number, numbers are shuffled instead of rows."""

from __future__ import annotations

import numpy as np

from feedline.ops.pick import Pick
from feedline.ops.shuffle import Shuffle
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
    if not isinstance(node, Shuffle):
        return None
    below = node.input
    if isinstance(below, Pick):
        return standing_for(node, Pick(below.source, node.replace(input=below.index)))
    if plain(below) and not isinstance(below, Range):
        numbers = Range(0, below.cardinality(), 1, _NUMBERS)
        return standing_for(node, Pick(below, node.replace(input=numbers)))
    return None
