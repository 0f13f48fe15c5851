from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from feedline.structure import partition


def test_slice_each_agrees_with_python() -> None:
    rows = [list(range(n)) for n in (0, 1, 2, 5)]
    values = np.array([v for row in rows for v in row])
    splits = partition.cumulated(np.array([len(row) for row in rows]))
    bounds = [None, *range(-6, 7)]
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, -1, -3):
                key = slice(start, stop, step)
                indices, cut = partition.slice_each(splits, key)
                got = [values[indices][a:b].tolist() for a, b in pairwise(cut)]
                assert got == [row[key] for row in rows], key


def test_ranges() -> None:
    counts = np.array([0, 2, 3], np.int32)
    assert partition.ranges(np.array([9, 5, 0]), counts, 2).tolist() == [5, 7, 0, 2, 4]
    assert partition.ranges(np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_dtype_is_kept(dtype: type) -> None:
    assert partition.of_splits(np.array([0, 2], dtype), 2).dtype == dtype
    assert partition.of_lengths(np.array([2], dtype), 2).dtype == dtype
    assert partition.of_starts(np.array([0], dtype), 2).dtype == dtype
    assert partition.of_limits(np.array([2], dtype), 2).dtype == dtype
    assert partition.of_rowids(np.array([0, 0], dtype), 2, None).dtype == dtype
    assert partition.uniform(2, 3, np.dtype(dtype)).dtype == dtype


def test_other_integers_become_int64() -> None:
    assert partition.of_splits(np.array([0, 2], np.uint8), 2).dtype == np.int64
    assert partition.of_splits([0, 2], 2).dtype == np.int64


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (partition.of_splits, [], "must not be empty"),
        (partition.of_splits, [1, 3], "start with 0, got 1"),
        (partition.of_splits, [0, 2], "end with the number of values 3, got 2"),
        (partition.of_splits, [0, 3, 2, 3], "must be non-decreasing, got 3 and then 2 at 2"),
        (partition.of_splits, [0.0, 3.0], "must be a list of integers"),
        (partition.of_splits, [[0, 3]], "must have one dimension"),
        (partition.of_lengths, [1, 1], "sum to the number of values 3, got 2"),
        (partition.of_lengths, [4, -1], "must not be negative, got -1"),
        (partition.of_starts, [1], r"start with 0, got \[1\]"),
        (partition.of_starts, [], r"start with 0, got \[\]"),
        (partition.of_starts, [0, 5], "stay within the 3 values, got 5"),
        (partition.of_starts, [0, 2, 1], "must be non-decreasing"),
        (partition.of_limits, [-1, 3], "must not be negative"),
        (partition.of_limits, [2, 1, 3], "must be non-decreasing"),
        (partition.of_limits, [1, 2], "end with the number of values 3, got 2"),
        (partition.of_limits, [], "end with the number of values 3, got 0"),
    ],
)
def test_bad_partitions(make: object, given: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(given, 3)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("rowids", "nrows", "message"),
    [
        ([0, 0], None, "2 ids for 3 values"),
        ([-1, 2, 3], None, "must not be negative"),
        ([0, 2, 1], None, "must be non-decreasing"),
        ([0, 0, 2], 2, r"at least the last of value_rowids \+ 1 = 3, got 2"),
        ([0, 0, 0], -2, "got -2"),
    ],
)
def test_bad_rowids(rowids: list[int], nrows: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        partition.of_rowids(rowids, 3, nrows)


def test_splits_dtype() -> None:
    with pytest.raises(ValueError, match="int32 or int64, got float32"):
        partition.splits_dtype(np.float32)
