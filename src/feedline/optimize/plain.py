"""Plans that give their rows by number without any visible difference."""

from __future__ import annotations

from feedline.ops.prefetch import Prefetch
from feedline.ops.shared.view import View
from feedline.ops.sources.counter import Counter
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.ops.sources.range import Range
from feedline.ops.with_options import WithOptions
from feedline.ops.zip import Zip
from feedline.plan.node import Node
from feedline.plan.traits.random_access import indexable

_SOURCES = (Range, Slices, Counter)
_PASSING_ON = (Prefetch, View, WithOptions, Zip)


def plain(node: Node) -> bool:
    """Whether row i of a plan is element i of every iteration, the number of rows is finite, and reading one runs no
    user code and cannot fail.

    `indexable` is not enough: a shuffle has another order under random access, files may be missing, and rows of
    differing shapes cannot be batched.
    """
    return node.cardinality() >= 0 and _plain(node)


def _plain(node: Node) -> bool:
    if isinstance(node, _SOURCES):
        return indexable(node)
    return isinstance(node, _PASSING_ON) and all(map(_plain, node.inputs))
