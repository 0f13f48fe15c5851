"""The kernels for strings in the rows of a matrix, in plain NumPy (see `reference`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.reference import Buffer, Int64, UInt8, _not_negative, _plain


def strings_to_rows(
    data: Buffer, offsets: Int64, gap: int, rows: UInt8, lengths: Int64, numbers: Int64, threads: int = 1
) -> int:
    """Copies string i, which is data[offsets[i] : offsets[i + 1] - gap], to the beginning of row numbers[i], and its
    length to lengths[numbers[i]]. Returns the length of the longest; if that is too long for a row, nothing is copied.
    The numbers differ from each other. Many bytes are copied by up to `threads` threads.

    >>> rows, lengths = np.zeros((3, 4), np.uint8), np.zeros(3, np.int64)
    >>> fl.kernels.strings_to_rows(b"one-to-", np.array([0, 4, 7]), 1, rows, lengths, np.array([2, 0]))
    3
    >>> rows.tobytes(), lengths
    (b'to\\x00\\x00\\x00\\x00\\x00\\x00one\\x00', array([2, 0, 3]))
    """
    _plain(offsets, np.int64, 1, "offsets")
    _not_negative(gap, "gap")
    _not_negative(threads, "threads")
    _slots(rows, lengths, numbers)
    if len(offsets) != len(numbers) + 1:
        raise ValueError(f"offsets must have one entry more than numbers, got {len(offsets)} and {len(numbers)}")
    raw: Any = data
    view = np.frombuffer(memoryview(raw).cast("B"), np.uint8)
    starts, stops = offsets[:-1].tolist(), [after - gap for after in offsets[1:].tolist()]
    sizes = [stop - start for start, stop in zip(starts, stops, strict=True)]
    longest = max((size for size in sizes if 0 <= size <= len(view)), default=0)
    if longest > rows.shape[1]:
        return longest
    for i, row in enumerate(numbers.tolist()):
        inside = 0 <= starts[i] <= stops[i] <= len(view) and sizes[i] <= rows.shape[1]
        if not (inside and 0 <= row < len(rows)):
            raise IndexError(f"row {i} is not inside the data")
        rows[row, : sizes[i]] = view[starts[i] : stops[i]]
        lengths[row] = sizes[i]
    return longest


def strings_round_robin(columns: list[tuple[Buffer, Int64, int]], turn: int) -> tuple[UInt8, Int64]:
    """Strings of several columns in round robin, `turn` of each per round: data and offsets as in `bytes_rows`. A
    column is (data, offsets, gap); all columns have the same number of whole turns.

    >>> one, two = (b"abc", np.array([0, 1, 3]), 0), (b"d-ef-", np.array([0, 2, 5]), 1)
    >>> data, offsets = fl.kernels.strings_round_robin([one, two], 1)
    >>> data.tobytes(), offsets
    (b'adbcef', array([0, 1, 2, 4, 6]))
    """
    _not_negative(turn, "turn")
    found = []
    for column in columns:
        if len(column) != 3:
            raise ValueError("a column must be (data, offsets, gap)")
        data, offsets, gap = column
        _plain(offsets, np.int64, 1, "offsets")
        _not_negative(gap, "gap")
        if len(offsets) == 0:
            raise ValueError("offsets must not be empty")
        raw: Any = data
        found.append((np.frombuffer(memoryview(raw).cast("B"), np.uint8), offsets.tolist(), gap))
        if len(offsets) != len(columns[0][1]):
            raise ValueError("columns must have the same length")
    rows = len(found[0][1]) - 1 if found else 0
    if not turn or rows % turn:
        raise ValueError("the number of rows must be a multiple of turn")
    parts: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
    for first in range(0, rows, turn):
        for view, offsets, gap in found:
            for i in range(first, first + turn):
                start, stop = offsets[i], offsets[i + 1] - gap
                if not 0 <= start <= stop <= len(view):
                    raise IndexError(f"row {i} is not inside the data")
                parts.append(view[start:stop])
    return np.concatenate(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)


def strings_from_rows(rows: UInt8, lengths: Int64, numbers: Int64, threads: int = 1) -> tuple[UInt8, Int64]:
    """The strings at the beginning of the rows with these numbers: data and offsets as in `bytes_rows`. Many bytes are
    copied by up to `threads` threads.

    >>> rows = np.frombuffer(b"two.....one.", np.uint8).reshape(3, 4)
    >>> data, offsets = fl.kernels.strings_from_rows(rows, np.array([2, 0, 3]), np.array([2, 0]))
    >>> data.tobytes(), offsets
    (b'onetw', array([0, 3, 5]))
    """
    _not_negative(threads, "threads")
    _slots(rows, lengths, numbers)
    parts: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
    for i, row in enumerate(numbers.tolist()):
        if not (0 <= row < len(rows) and 0 <= lengths[row] <= rows.shape[1]):
            raise IndexError(f"row {i} is not inside the data")
        parts.append(rows[row, : lengths[row]])
    return np.concatenate(parts), np.cumsum([len(part) for part in parts], dtype=np.int64)


def _slots(rows: UInt8, lengths: Int64, numbers: Int64) -> None:
    _plain(rows, np.uint8, 2, "rows")
    _plain(lengths, np.int64, 1, "lengths")
    _plain(numbers, np.int64, 1, "numbers")
    if len(lengths) != len(rows):
        raise ValueError(f"lengths and rows must have the same length, got {len(lengths)} and {len(rows)}")
