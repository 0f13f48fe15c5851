"""ragged_batch: what becomes ragged, what stays dense, and what an error takes along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def _filled(*sizes: int) -> Any:
    return fl.Dataset.from_tensor_slices(np.array(sizes, np.int64)).map(lambda n: np.full(n, n))


def _ragged(rows: Any, dtype: Any = fl.int64, rank: int | None = None) -> Any:
    return fl.ragged.constant(rows, dtype, ragged_rank=rank)


def test_vectors() -> None:
    expect = [_ragged([[1], [3, 3, 3]]), _ragged([[], [2, 2]]), _ragged([[1]])]
    check(_filled(1, 3, 0, 2, 1).ragged_batch(2), expect)
    check(_filled(1, 3, 0, 2, 1).ragged_batch(2, drop_remainder=True), expect[:2])


def test_row_splits_dtype() -> None:
    (batch,) = _filled(1, 2).ragged_batch(2, row_splits_dtype=fl.int32)
    assert batch.row_splits.dtype == np.int32
    with pytest.raises(InvalidArgumentError, match="must be int32 or int64, got int8"):
        _filled(1).ragged_batch(2, row_splits_dtype=fl.int8)


def test_known_shapes_are_stacked() -> None:
    check(fl.Dataset.range(3).ragged_batch(2), [np.arange(2), np.array([2])])
    check(fl.Dataset.from_tensor_slices(np.ones((3, 2))).ragged_batch(2), [np.ones((2, 2)), np.ones((1, 2))])
    ds = fl.Dataset.range(3).map(lambda n: {"n": n, "v": np.full(n, n)}).ragged_batch(2)
    check(ds, [{"n": np.arange(2), "v": _ragged([[], [1]])}, {"n": np.array([2]), "v": _ragged([[2, 2]])}])


def test_matrices() -> None:
    rows = fl.Dataset.range(1, 4).map(lambda n: np.full((n, 2), n)).ragged_batch(3)
    check(rows, [_ragged([[[1, 1]], [[2, 2]] * 2, [[3, 3]] * 3], rank=1)])
    assert rows.element_spec == fl.RaggedTensorSpec([None, None, 2], fl.int64, 1)
    columns = fl.Dataset.range(3).map(lambda n: np.full((2, n), n)).ragged_batch(2)
    check(columns, [_ragged([[[], []], [[1], [1]]], rank=2), _ragged([[[2, 2], [2, 2]]], rank=2)])
    assert columns.element_spec == fl.RaggedTensorSpec([None, 2, None], fl.int64, 2)
    both = fl.Dataset.range(1, 3).map(lambda n: np.full((n, 3 - n), n)).ragged_batch(2)
    check(both, [_ragged([[[1, 1]], [[2], [2]]], rank=2)])


def test_strings_and_leaves_that_are_no_arrays() -> None:
    words = fl.experimental.from_list([["a", "b"], ["c"]])
    check(words.ragged_batch(2), [fl.ragged.constant([["a", "b"], ["c"]])])
    ragged = fl.Dataset.from_tensor_slices(fl.ragged.constant([[[1], [2, 3]], [], [[4]]]))
    check(ragged.ragged_batch(2), [fl.ragged.constant([[[1], [2, 3]], []]), fl.ragged.constant([[[4]]])])
    sparse = fl.Dataset.from_tensors(fl.SparseTensor([[0]], [1], [2])).repeat(2).ragged_batch(2)
    check(sparse, [fl.SparseTensor([[0, 0], [1, 0]], [1, 1], [2, 2])])
    check(_filled(1, 2).map(lambda x: (x, None)).ragged_batch(2), [(_ragged([[1], [2, 2]]), None)])


def test_a_shape_that_changes_after_the_first_results_is_ragged_all_the_same() -> None:
    ds = _filled(2, 2, 2, 2, 2, 3, 3, 3).ragged_batch(2)
    assert ds.element_spec == fl.RaggedTensorSpec([None, None], fl.int64)
    twos, threes = _ragged([[2, 2]] * 2), _ragged([[3, 3, 3]] * 2)
    check(ds, [twos, twos, _ragged([[2, 2], [3, 3, 3]]), threes])
    check(_filled(3, 3, 3, 2).ragged_batch(2), [threes, _ragged([[3, 3, 3], [2, 2]])])
    check(_filled(3, 3).ragged_batch(2), [threes])


@pytest.mark.parametrize(("bad", "lost"), [((4,), [1]), ((0, 2), [0]), ((0, 5), [0, 1]), ((7,), [2])])
@pytest.mark.parametrize("drop", [False, True])
def test_a_failing_element_loses_its_batch_and_no_other(bad: tuple[int, ...], lost: list[int], drop: bool) -> None:
    def fails(x: Any) -> Any:
        if x in bad:
            raise ValueError("bad")
        return np.full(x, x)

    batches: list[Any] = [_ragged([[n] * n for n in range(i, min(i + 3, 8))]) for i in (0, 3, 6)]
    for i in lost:
        batches[i] = ValueError
    if drop and 2 not in lost:
        del batches[2]
    check_errors(fl.Dataset.range(8).map(fails).ragged_batch(3, drop_remainder=drop), batches)


def test_a_new_batch_begins_after_a_failing_element_where_nothing_is_ragged() -> None:
    def fails(x: Any) -> Any:
        if x == 3:
            raise ValueError("bad")
        return x

    ds = fl.Dataset.range(8).map(fails)
    first, last = np.array([0, 1, 2]), np.array([6, 7])
    check_errors(ds.ragged_batch(3), [first, ValueError, last])  # the map's own batches
    check_errors(ds.take(9).ragged_batch(3), [first, ValueError, np.array([4, 5, 6]), np.array([7])])
    ragged = ds.map(lambda x: np.full(x, x)).take(9).ragged_batch(3)
    check_errors(ragged, [_ragged([[], [1], [2, 2]]), ValueError, _ragged([[6] * 6, [7] * 7])])


def test_rows_that_cannot_be_stacked() -> None:
    ds = fl.experimental.from_list([np.zeros(1), np.zeros((1, 1)), np.zeros(2), np.zeros(2)]).ragged_batch(2)
    check_errors(ds, [Raises(InvalidArgumentError, "cannot batch arrays of different shapes"), np.zeros((2, 2))])


def test_dense_to_ragged_batch() -> None:
    check(_filled(1, 2).apply(fl.experimental.dense_to_ragged_batch(2)), [_ragged([[1], [2, 2]])])
