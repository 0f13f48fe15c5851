"""sparse_batch: elements of differing shape in sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError


def _filled(*sizes: int) -> Any:
    return fl.Dataset.from_tensor_slices(np.array(sizes, np.int64)).map(lambda n: np.full(n, n))


def _sparse(indices: Any, values: Any, shape: Any) -> Any:
    return fl.SparseTensor(np.array(indices, np.int64).reshape(-1, len(shape)), np.array(values, np.int64), shape)


def test_vectors() -> None:
    ds = _filled(1, 3, 0, 2).sparse_batch(2, [4])
    first = _sparse([[0, 0], [1, 0], [1, 1], [1, 2]], [1, 3, 3, 3], [2, 4])
    check(ds, [first, _sparse([[1, 0], [1, 1]], [2, 2], [2, 4])])
    assert ds.element_spec == fl.SparseTensorSpec([None, 4], fl.int64)
    assert ds.cardinality() == 2


def test_an_open_dimension_is_the_largest_of_the_batch() -> None:
    ds = _filled(1, 3, 2).sparse_batch(2, [None])
    first = _sparse([[0, 0], [1, 0], [1, 1], [1, 2]], [1, 3, 3, 3], [2, 3])
    check(ds, [first, _sparse([[0, 0], [0, 1]], [2, 2], [1, 2])])


def test_zeros_are_listed_too() -> None:
    ds = fl.Dataset.from_tensor_slices(np.array([[0, 1], [2, 0]])).sparse_batch(2, [3])
    check(ds, [_sparse([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 2, 0], [2, 3])])


def test_scalars_matrices_and_strings() -> None:
    check(fl.Dataset.range(3).sparse_batch(2, []), [_sparse([[0], [1]], [0, 1], [2]), _sparse([[0]], [2], [1])])
    matrices = fl.Dataset.range(1, 3).map(lambda n: np.full((n, 2), n)).sparse_batch(2, (3, 3))
    places = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    check(matrices, [_sparse(places, [1, 1, 2, 2, 2, 2], [2, 3, 3])])
    for words, shape in ((["a", ""], []), ([["a"], [""]], [2])):
        (batch,) = fl.Dataset.from_tensor_slices(words).sparse_batch(2, shape)
        assert batch.values.tolist() == [b"a", b""]


def test_after_an_element_that_does_not_fit_the_batch_begins_anew() -> None:
    good = _sparse([[0, 0], [1, 0]], [1, 1], [2, 2])
    large = Raises(DataLossError, r"\[4\] is larger than row_shape \[2\]")
    check_errors(_filled(1, 1, 4, 1, 1).sparse_batch(2, [2]), [good, large, good])
    check_errors(_filled(1, 1, 2, 4, 1, 1).sparse_batch(2, [2]), [good, large, good])
    rank = Raises(InvalidArgumentError, "does not have the rank of row_shape")
    check_errors(_filled(1, 1).sparse_batch(2, [4, 4]), [rank, rank])
    ragged = fl.Dataset.from_tensors(fl.ragged.constant([[1], [2, 3]])).sparse_batch(2, [3, 3])
    check_errors(ragged, [Raises(InvalidArgumentError, "must be arrays, got RaggedTensor")])


def test_an_error_of_the_input_loses_the_batch_in_hand() -> None:
    def fails(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return np.full(1, x)

    expect = [_sparse([[0, 0], [1, 0]], [0, 1], [2, 1]), ValueError, _sparse([[0, 0], [1, 0]], [3, 4], [2, 1])]
    check_errors(fl.Dataset.range(5).map(fails).sparse_batch(2, [1]), expect)


def test_refused_when_made() -> None:
    with pytest.raises(TypeError, match="must be single arrays"):
        fl.Dataset.from_tensors((1, 2)).sparse_batch(2, [])
    with pytest.raises(ValueError, match="must be >= 0"):
        _filled(1).sparse_batch(2, [-1])
    with pytest.raises(InvalidArgumentError, match="known rank"):
        _filled(1).sparse_batch(2, None)
    with pytest.raises(InvalidArgumentError, match="greater than zero"):
        _filled(1).sparse_batch(0, [1])


def test_structures_from_a_function_are_refused_when_they_come() -> None:
    with pytest.raises(TypeError, match="must be single arrays"):
        next(iter(fl.Dataset.range(3).map(lambda n: (np.full(n, n), n)).sparse_batch(2, [4])))


def test_dense_to_sparse_batch() -> None:
    check(_filled(1).apply(fl.experimental.dense_to_sparse_batch(2, [2])), [_sparse([[0, 0]], [1], [1, 2])])
