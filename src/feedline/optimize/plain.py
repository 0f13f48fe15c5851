"""Plans whose rows can be had by number with nothing else to notice."""

from __future__ import annotations

from feedline.ops.prefetch import Prefetch
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.ops.sources.range import Range
from feedline.ops.view import View
from feedline.ops.with_options import WithOptions
from feedline.plan.node import Node

_PASSING_ON = (Prefetch, WithOptions)


def plain(node: Node) -> bool:
    """True when row i of a plan is element i of every iteration, and getting it runs no user code and cannot fail.

    That a node is `indexable` is not enough: a shuffle has another order under random access, files may be missing, and
    rows of differing shapes cannot be batched.
    """
    return isinstance(node, (Range, Slices, View)) or (isinstance(node, _PASSING_ON) and all(map(plain, node.inputs)))
