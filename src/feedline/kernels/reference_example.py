"""The kernel that writes examples in plain Python; `reference` says what that is for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline import wire
from feedline.kernels.reference import Int64, _plain, tfrecord_framed


def framed_examples(
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    values: list[Any],
    sizes: Int64,
    splits: list[Int64 | None],
    rows: int,
) -> bytes:
    """Columns as `Example` messages, one per row, in TFRecord frames. The keys are written in the order they have.

    `kinds` are the numbers of the lists in a Feature: 1 strings, 2 float32, 3 int64. The values of a column are a list
    of strings or an array, all rows one after another. A row has so many of them as `sizes` says, or those between two
    of the `splits`.

    >>> kinds, sizes = np.array([3], np.uint8), np.array([1])
    >>> data = fl.kernels.framed_examples([b"a"], kinds, [np.array([7, 8])], sizes, [None], 2)
    >>> data == fl.kernels.tfrecord_framed([fl.train.example({"a": i}).SerializeToString() for i in (7, 8)])
    True
    """
    if rows < 0:
        raise ValueError(f"rows must not be negative, got {rows}")
    if not len(keys) == len(kinds) == len(values) == len(sizes) == len(splits):
        raise ValueError("keys, kinds, values, sizes and splits must have one length")
    entries: list[list[bytes]] = []
    for key, kind, column, size, ends in zip(keys, kinds.tolist(), values, sizes.tolist(), splits, strict=True):
        if not isinstance(key, bytes):
            raise TypeError("a key must be bytes")
        if kind not in (1, 2, 3):
            raise ValueError("a kind is 1, 2 or 3")
        if kind == 1 and not all(isinstance(s, bytes) for s in column):
            raise TypeError("a string must be bytes")
        if kind > 1:
            _plain(column, [np.float32, np.int64][kind - 2], 1, "values")
        if ends is not None:
            _plain(ends, np.int64, 1, "splits")
            if len(ends) != rows + 1:
                raise ValueError("splits must be one more than rows")
            if ends[0] < 0 or ends[-1] > len(column) or (np.diff(ends) < 0).any():
                raise ValueError("splits must not fall, nor lie outside the values")
        elif size < 0:
            raise ValueError(f"a size must not be negative, got {size}")
        elif len(column) != rows * size:
            raise ValueError("there are not as many values as rows of that size have")
        at = np.arange(rows + 1) * size if ends is None else ends
        entries.append([_entry(key, kind, column[at[i] : at[i + 1]]) for i in range(rows)])
    return tfrecord_framed([wire.delimited(1, b"".join(entry[i] for entry in entries)) for i in range(rows)])


def _entry(key: bytes, kind: int, values: Any) -> bytes:
    if kind == 1:
        inside = b"".join(wire.delimited(1, v) for v in values)
    elif not len(values):
        inside = b""
    elif kind == 2:
        inside = wire.delimited(1, values.astype("<f4").tobytes())
    else:
        inside = wire.delimited(1, wire.packed(values.tolist()))
    return wire.delimited(1, wire.delimited(1, key) + wire.delimited(2, wire.delimited(kind, inside)))
