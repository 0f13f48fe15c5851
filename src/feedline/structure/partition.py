"""Row partitions: all ways to state where rows begin and end in an array of values, converted to row splits.

Row splits are int32 or int64, start with 0, never decrease and end with the number of values: row i is
values[splits[i]:splits[i + 1]]. The `of_...` functions check their arguments unless `validate` is False.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.dense import Array, dense


def splits_dtype(dtype: object) -> np.dtype[Any]:
    """The NumPy dtype for `dtype`, which must be int32 or int64."""
    found = types.as_dtype(dtype).dtype
    if found not in (np.int32, np.int64):
        raise InvalidArgumentError(f"row splits must be int32 or int64, got {found}")
    return found


def of_splits(given: object, count: int, dtype: object = None, validate: bool = True) -> Array:
    """Row splits, checked."""
    splits = _ints(given, "row_splits", dtype)
    if validate:
        if not len(splits):
            raise InvalidArgumentError("row_splits must not be empty; use [0] for no rows")
        if splits[0] != 0:
            raise InvalidArgumentError(f"row_splits must start with 0, got {splits[0]}")
        _check_sorted(splits, "row_splits")
        if splits[-1] != count:
            raise InvalidArgumentError(f"row_splits must end with the number of values {count}, got {splits[-1]}")
    return splits


def of_lengths(given: object, count: int, dtype: object = None, validate: bool = True) -> Array:
    """Row splits from the length of each row."""
    lengths = _ints(given, "row_lengths", dtype)
    if validate:
        _check_not_negative(lengths, "row_lengths")
        if (total := int(lengths.sum(dtype=np.int64))) != count:
            raise InvalidArgumentError(f"row_lengths must sum to the number of values {count}, got {total}")
    return cumulated(lengths)


def of_starts(given: object, count: int, dtype: object = None, validate: bool = True) -> Array:
    """Row splits from the start of each row."""
    starts = _ints(given, "row_starts", dtype)
    if validate and (len(starts) or count):
        if not len(starts) or starts[0] != 0:
            raise InvalidArgumentError(f"row_starts must start with 0, got {starts[:1].tolist()}")
        _check_sorted(starts, "row_starts")
        if starts[-1] > count:
            raise InvalidArgumentError(f"row_starts must stay within the {count} values, got {starts[-1]}")
    return np.append(starts, np.asarray(count, starts.dtype))


def of_limits(given: object, count: int, dtype: object = None, validate: bool = True) -> Array:
    """Row splits from the end of each row."""
    limits = _ints(given, "row_limits", dtype)
    if validate:
        _check_not_negative(limits[:1], "row_limits")
        _check_sorted(limits, "row_limits")
        if (last := limits[-1] if len(limits) else 0) != count:
            raise InvalidArgumentError(f"row_limits must end with the number of values {count}, got {last}")
    return np.concatenate([np.zeros(1, limits.dtype), limits])


def of_rowids(given: object, count: int, nrows: int | None, dtype: object = None, validate: bool = True) -> Array:
    """Row splits from the row of each value. Without `nrows`, the last value's row is the last row."""
    rowids = _ints(given, "value_rowids", dtype)
    least = int(rowids[-1]) + 1 if len(rowids) else 0
    rows = least if nrows is None else operator.index(nrows)
    if validate:
        if len(rowids) != count:
            raise InvalidArgumentError(f"value_rowids has {len(rowids)} ids for {count} values")
        _check_not_negative(rowids[:1], "value_rowids")
        _check_sorted(rowids, "value_rowids")
        if rows < max(least, 0):
            raise InvalidArgumentError(f"nrows must be at least the last of value_rowids + 1 = {least}, got {rows}")
    return cumulated(np.bincount(rowids, minlength=rows).astype(rowids.dtype))


def uniform(rows: int, length: int, dtype: np.dtype[Any]) -> Array:
    """Row splits of rows of equal length."""
    return (np.arange(rows + 1) * length).astype(dtype, copy=False)


def cumulated(lengths: Array) -> Array:
    """Row splits from lengths, without checks."""
    splits = np.zeros(len(lengths) + 1, lengths.dtype)
    np.cumsum(lengths, out=splits[1:])
    return splits


def ranges(starts: Array, counts: Array, step: object = 1) -> Array:
    """The numbers starts[i], starts[i] + step, … (counts[i] of them), concatenated for all i.

    >>> from feedline.structure.partition import ranges
    >>> ranges(np.array([0, 10]), np.array([3, 2]))
    array([ 0,  1,  2, 10, 11])
    """
    before = np.cumsum(counts, dtype=np.int64) - counts
    position: Array = np.arange(counts.sum(dtype=np.int64)) - np.repeat(before, counts)
    numbers: Array = np.repeat(starts, counts) + position * step
    return numbers


def slice_each(splits: Array, key: slice) -> tuple[Array, Array]:
    """Applies row[key] to every row, with Python's rules for bounds: the indices of the values, and their splits."""
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise InvalidArgumentError("the step of a slice must not be 0")
    lengths = np.diff(splits)
    low, high = (np.zeros_like(lengths), lengths) if step > 0 else (np.full_like(lengths, -1), lengths - 1)

    def bound(given: Any, default: Array) -> Array:
        if given is None:
            return default
        at = operator.index(given)
        return np.clip(at + (lengths if at < 0 else 0), low, high)

    start = bound(key.start, low if step > 0 else high)
    stop = bound(key.stop, high if step > 0 else low)
    counts = np.maximum(-((start - stop) // step), 0)
    return ranges(splits[:-1] + start, counts, step), cumulated(counts)


def _ints(given: object, name: str, dtype: object) -> Array:
    """A one-dimensional array of `dtype`; by default int32 if `given` is, else int64."""
    if dtype is None:
        dtype = np.int32 if getattr(given, "dtype", None) == np.int32 else np.int64
    try:
        array = dense(given, dtype)
    except InvalidTypeError:
        raise InvalidArgumentError(f"{name} must be a list of integers, got {given!r}") from None
    if array.ndim != 1:
        raise InvalidArgumentError(f"{name} must have one dimension, got the shape {array.shape}")
    return array


def _check_sorted(array: Array, name: str) -> None:
    falls = np.flatnonzero(array[1:] < array[:-1])
    if len(falls):
        at = int(falls[0])
        raise InvalidArgumentError(
            f"{name} must be non-decreasing, got {array[at]} and then {array[at + 1]} at {at + 1}"
        )


def _check_not_negative(array: Array, name: str) -> None:
    if len(array) and array.min() < 0:
        raise InvalidArgumentError(f"{name} must not be negative, got {array.min()}")
