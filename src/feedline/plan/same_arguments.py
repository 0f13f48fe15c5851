"""Arguments of nodes: comparison and short representation."""

from __future__ import annotations

import numpy as np

from feedline.structure.block import Block


def same(a: object, b: object) -> bool:
    """Whether two arguments are equal; arrays and blocks are compared by content."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
        )
    if isinstance(a, (tuple, list)) and type(a) is type(b) and not hasattr(a, "_fields"):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Block):
        return isinstance(b, Block) and a.tree == b.tree and a.n == b.n and all(map(same, a.rows(), b.rows()))
    return bool(a == b)


def brief(value: object) -> str:
    """A short repr of a value, for the repr of a plan."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

