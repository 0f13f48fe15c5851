"""Strings kept in places of one size, in NumPy; see `reference`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


def strings_put(
    data: bytes | bytearray | memoryview | NDArray[Any],
    offsets: Int64,
    gap: int,
    places: NDArray[np.uint8],
    sizes: Int64,
    numbers: Int64,
) -> None:
    """Copies string i of those that `bytes_rows` would give to the place numbers[i], and its size to `sizes`.

    >>> places, sizes = np.zeros((3, 4), np.uint8), np.zeros(3, np.int64)
    >>> fl.kernels.strings_put(b"onetwo", np.array([0, 3, 6]), 0, places, sizes, np.array([2, 0]))
    >>> places[2].tobytes(), sizes
    (b'one\\x00', array([3, 0, 3]))
    """
    _checked(places, sizes)
    if gap < 0:
        raise ValueError(f"gap must not be negative, got {gap}")
    if len(offsets) != len(numbers) + 1:
        raise ValueError("there must be one offset more than numbers")
    raw: Any = data
    view = np.frombuffer(memoryview(raw).cast("B"), np.uint8)
    count, room = places.shape
    for i, ((start, after), number) in enumerate(zip(pairwise(offsets.tolist()), numbers.tolist(), strict=True)):
        size = after - start - gap
        if start < 0 or size < 0 or after - gap > len(view) or not 0 <= number < count or size > room:
            raise IndexError(f"row {i} is not inside the data, or its place")
        places[number, :size] = view[start : start + size]
        sizes[number] = size


def strings_get(places: NDArray[np.uint8], sizes: Int64, numbers: Int64) -> tuple[NDArray[np.uint8], Int64]:
    """The strings at these places, one after another in fresh memory, and the offsets at which they begin and end.

    >>> places, sizes = np.frombuffer(b"one_two_", np.uint8).reshape(2, 4), np.array([3, 3])
    >>> data, offsets = fl.kernels.strings_get(places, sizes, np.array([1, 0]))
    >>> data.tobytes(), offsets
    (b'twoone', array([0, 3, 6]))
    """
    _checked(places, sizes)
    count, room = places.shape
    for number in numbers.tolist():
        if not 0 <= number < count or not 0 <= sizes[number] <= room:
            raise IndexError(f"there is no place {number}")
    pieces = [places[number, : sizes[number]] for number in numbers.tolist()]
    offsets = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(sizes[numbers], out=offsets[1:])
    return np.concatenate(pieces) if pieces else np.empty(0, np.uint8), offsets


def _checked(places: NDArray[np.uint8], sizes: Int64) -> None:
    if places.dtype != np.uint8 or places.ndim != 2 or sizes.dtype != np.int64 or sizes.ndim != 1:
        raise TypeError("places must be uint8 of two dimensions, sizes int64 of one")
    if len(sizes) != len(places):
        raise ValueError("there must be one size per place")
