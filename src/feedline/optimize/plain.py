"""Plans whose rows can be had by number with nothing else to notice."""

from __future__ import annotations

from feedline.ops.prefetch import Prefetch
from feedline.ops.sources.counter import Counter
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.ops.sources.range import Range
from feedline.ops.view import View
from feedline.ops.with_options import WithOptions
from feedline.ops.zip import Zip
from feedline.plan.node import Node

_SOURCES = (Range, Slices, Counter)
_PASSING_ON = (Prefetch, View, WithOptions, Zip)


def plain(node: Node) -> bool:
    """True when row i of a plan is element i of every iteration, rows have an end, and getting one runs no user code
    and cannot fail.

    That a node is `indexable` is not enough: a shuffle has another order under random access, files may be missing, and
    rows of differing shapes cannot be batched.
    """
    return node.cardinality() >= 0 and _plain(node)


def _plain(node: Node) -> bool:
    if isinstance(node, _SOURCES):
        return node.indexable
    return isinstance(node, _PASSING_ON) and all(map(_plain, node.inputs))
