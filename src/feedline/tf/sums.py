"""Sums of floats in the order in which TensorFlow's kernels add them, so that they are equal to the last bit.

Its vector code adds the numbers of a row in several lanes: `LANES` of them form a vector, and four vectors are summed
side by side. Numbers that fill no vector are summed apart, and long rows are halved first. If the last dimension is
kept, vectors lie along it.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LANES = {np.dtype(np.float32): 8, np.dtype(np.float64): 4}
"""The numbers in a vector of 32 bytes."""
LONGEST = 1024
"""The vectors of the longest row that is summed at once."""
FEW = 16
"""Fewer vectors below each other are summed one after the other."""


def ordered_sum(x: Array, axis: tuple[int, ...] | None) -> Array | None:
    """The sum over some dimensions, without them; None for other dtypes, and for no numbers."""
    lanes = LANES.get(x.dtype)
    if lanes is None or not x.size:
        return None
    if axis is None or len(axis) == x.ndim:
        whole = x.reshape(-1)
        return np.asarray(np.cumsum(whole)[-1] if x.size < lanes else _rows(whole[None], lanes)[0])
    over = [a % x.ndim for a in axis]
    kept = [n for i, n in enumerate(x.shape) if i not in over]
    # Dimensions of one value do not count, and neighbours that are both summed, or both kept, are one dimension.
    merged = [
        (summed, math.prod(n for n, _ in group))
        for summed, group in groupby(((n, i in over) for i, n in enumerate(x.shape) if n != 1), key=lambda d: d[1])
    ]
    sizes = [n for _, n in merged]
    match [summed for summed, _ in merged]:
        case [] | [False]:
            made = x
        case [True] | [False, True]:
            made = _rows(x.reshape(-1, sizes[-1]), lanes)
        case [True, False] | [False, True, False]:
            made = _columns(x.reshape(-1, *sizes[-2:]), lanes)
        case [True, False, True]:
            made = _one_by_one(x.reshape(sizes).transpose(1, 2, 0).reshape(sizes[1], -1))
        case _:
            order = [i for i in range(x.ndim) if i not in over] + [i for i in range(x.ndim) if i in over]
            made = _rows(x.transpose(order).reshape(math.prod(kept), -1), lanes)
    return made.reshape(kept)


def _rows(x: Array, lanes: int) -> Array:
    """The sum of each row of a matrix."""
    size = x.shape[1]
    if size > lanes * LONGEST:
        return np.array([_halves(row, i * size, lanes) for i, row in enumerate(x)])
    whole = size // lanes * lanes
    rest = _one_by_one(x[:, whole:])
    return rest + _across(_vectors(x[:, :whole].reshape(len(x), -1, lanes))) if whole else rest


def _halves(row: Array, first: int, lanes: int) -> Any:
    """The sum of a long row that begins at number `first` of a matrix; halves begin at a whole vector of the matrix."""
    if len(row) <= lanes * LONGEST:
        return _rows(row[None], lanes)[0]
    middle = first - (-len(row) // 2)
    half = -(-middle // lanes) * lanes - first
    return _halves(row[:half], first, lanes) + _halves(row[half:], first + half, lanes)


def _vectors(x: Array) -> Array:
    """The sums of vectors [n, vectors, lanes], every fourth one apart."""
    n, count, lanes = x.shape
    fours = count // 4
    if not fours:
        return _one_by_one(x)
    apart = np.add.reduce(x[:, : fours * 4].reshape(n, fours, 4 * lanes), 1).reshape(n, 4, lanes)
    total: Array = ((apart[:, 0] + apart[:, 1]) + apart[:, 2]) + apart[:, 3]
    for i in range(fours * 4, count):
        total = total + x[:, i]
    return total


def _across(vectors: Array) -> Array:
    """The sum of each vector [n, lanes], half by half."""
    while vectors.shape[1] > 1:
        half = vectors.shape[1] // 2
        vectors = vectors[:, :half] + vectors[:, half:]
    return vectors[:, 0]


def _one_by_one(x: Array) -> Array:
    """The sums along the second dimension, in order."""
    if x.shape[1] > 2 * FEW:
        return np.cumsum(x, 1, x.dtype)[:, -1]
    total = np.zeros((len(x), *x.shape[2:]), x.dtype)
    for i in range(x.shape[1]):
        total = total + x[:, i]
    return total


def _columns(x: Array, lanes: int) -> Array:
    """The sums along the middle one of three dimensions: in vectors of the last one, as far as they lie in one row."""
    n, count, width = x.shape
    if count < FEW:
        return _one_by_one(x)
    starts = np.arange(n * width // lanes) * lanes
    starts = starts[starts % width + lanes <= width]
    if not len(starts):
        return _one_by_one(x)
    total = _vectors(x)
    alone = np.ones(n * width, bool)
    alone[(starts[:, None] + np.arange(lanes)).ravel()] = False
    rows, places = np.divmod(np.flatnonzero(alone), width)
    if len(rows):
        total[rows, places] = _one_by_one(x[rows, :, places])
    return total
