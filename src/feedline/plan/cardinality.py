"""Cardinality: a number of elements, or one of TensorFlow's constants for "infinite" and "unknown"."""

from __future__ import annotations

import numpy as np

INFINITE_CARDINALITY: int = -1
UNKNOWN_CARDINALITY: int = -2

INFINITE = INFINITE_CARDINALITY
UNKNOWN = UNKNOWN_CARDINALITY


LARGEST = np.iinfo(np.int64).max


def as_int64(n: int) -> np.int64:
    """A cardinality for users; one that is larger than int64 is the largest int64."""
    return np.int64(min(n, LARGEST))


def divided(n: int, size: int, drop_remainder: bool) -> int:
    """The number of groups of `size` among n elements."""
    if n < 0:
        return n
    return n // size if drop_remainder else -(-n // size)
