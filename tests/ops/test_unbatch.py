"""unbatch: rows out of elements of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def _filled(*sizes: int) -> Any:
    return fl.Dataset.from_tensor_slices(np.array(sizes, np.int64)).map(lambda n: np.full(n, n))


@pytest.mark.parametrize("n", [0, 1, 6, 20])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_opposite_of_batch(n: int, size: int) -> None:
    check(fl.Dataset.range(n).batch(size).unbatch(), np.arange(n))


def test_structures() -> None:
    ds = fl.Dataset.from_tensors({"a": ([1, 2], [[3], [4]]), "b": ["x", "y"]}).unbatch()
    check(ds, [{"a": (1, [3]), "b": "x"}, {"a": (2, [4]), "b": "y"}])
    check(_filled(1, 2).map(lambda x: (x, None)).unbatch(), [(np.int64(n), None) for n in (1, 2, 2)])


def test_elements_of_different_lengths_and_none() -> None:
    check(_filled(2, 0, 1, 0, 3).unbatch(), np.array([2, 2, 1, 3, 3, 3]))
    check(_filled(0, 0).unbatch(), [])


def test_rows_of_different_shapes() -> None:
    ds = fl.Dataset.range(1, 4).map(lambda n: np.full((2, n), n)).unbatch()
    check(ds, [np.full(n, n) for n in (1, 1, 2, 2, 3, 3)])


def test_ragged_and_sparse_tensors() -> None:
    ragged = fl.ragged.constant([[[1], [2, 3]], [], [[4]]])
    check(fl.Dataset.from_tensors(ragged).unbatch(), [ragged[0], ragged[1], ragged[2]])
    check(_filled(1, 3, 0).ragged_batch(2).unbatch(), [np.full(n, n) for n in (1, 3, 0)])
    sparse = fl.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 4])
    rows = [fl.SparseTensor([[0]], [1], [4]), fl.SparseTensor([[2]], [2], [4])]
    check(fl.Dataset.from_tensors(sparse).unbatch(), rows)


def test_rows_batch_again() -> None:
    rows = fl.Dataset.from_tensors(fl.ragged.constant([[1], [2, 3]])).unbatch()
    check(rows.batch(2), [fl.ragged.constant([[1], [2, 3]])])


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (lambda r: r.batch(5, drop_remainder=True), 10),
        (lambda r: r.batch(3), fl.UNKNOWN_CARDINALITY),
        (lambda r: r.map(np.positive).batch(5, drop_remainder=True), 10),
        (lambda r: r.batch(5, drop_remainder=True).repeat(), fl.INFINITE_CARDINALITY),
        (lambda r: r.map(lambda x: np.full(3, x)), fl.UNKNOWN_CARDINALITY),  # a function's shape is never certain
        (lambda r: fl.Dataset.from_tensors(fl.ragged.constant([[1], [2, 3]])), 2),
        (lambda r: fl.Dataset.from_tensors(np.zeros((0, 2))), fl.UNKNOWN_CARDINALITY),
    ],
)
def test_cardinality(make: Any, n: int) -> None:
    assert make(fl.Dataset.range(10)).unbatch().cardinality() == n


def test_spec() -> None:
    assert fl.Dataset.from_tensors(np.zeros((2, 3))).unbatch().element_spec == fl.TensorSpec([3], fl.float64)
    ragged = fl.Dataset.from_tensors(fl.ragged.constant([[1], [2, 3]])).unbatch()
    assert ragged.element_spec == fl.RaggedTensorSpec([None], fl.int32, 0)


def test_elements_that_are_no_batches() -> None:
    with pytest.raises(ValueError, match=r"component \$ is a scalar"):
        fl.Dataset.range(3).unbatch()
    with pytest.raises(ValueError, match=r"3 in \$\[0\], 2 in \$\[1\]"):
        fl.Dataset.from_tensors(([1, 2, 3], [1, 2])).unbatch()
    one = fl.experimental.from_list([np.array([1]), np.array(5), np.array([3, 4])]).unbatch()
    text = "unbatch: a scalar has no rows"
    check_errors(one, [np.int64(1), Raises(InvalidArgumentError, text), np.int64(3), np.int64(4)])


def test_components_of_different_lengths() -> None:
    ds = fl.Dataset.range(4).map(lambda n: (np.full(n, n), np.full(2, n))).unbatch()
    text = r"different numbers of rows, \[3, 2\]"
    pair = (np.int64(2), np.int64(2))
    check_errors(ds, [InvalidArgumentError, InvalidArgumentError, pair, pair, Raises(InvalidArgumentError, text)])


def test_of_two_bad_components_the_earlier_element_is_told_first() -> None:
    row, none = np.zeros(1), np.zeros(())
    ds = fl.experimental.from_list([(row, row), (row, none), (none, row), (row, row)]).unbatch()
    good = (np.float64(0), np.float64(0))
    check_errors(ds, [good, InvalidArgumentError, InvalidArgumentError, good])


def test_an_error_of_the_input_takes_nothing_along() -> None:
    def fails(x: Any) -> Any:
        if x == 1:
            raise ValueError("one")
        return np.full(2, x)

    expect = [np.int64(0), np.int64(0), ValueError, np.int64(2), np.int64(2)]
    check_errors(fl.Dataset.range(3).map(fails).unbatch(), expect)


def test_no_element_is_read_before_its_rows_are_needed() -> None:
    seen: list[int] = []

    def noted(x: Any) -> Any:
        seen.append(int(x))
        return np.full(x % 3 + 1, x)

    it = iter(fl.Dataset.range(9).map(noted).unbatch().batch(2))
    for rows, elements in ((2, 2), (4, 3), (6, 3)):
        next(it)
        assert len(seen) == elements, f"{rows} rows"


def test_as_a_function() -> None:
    check(fl.Dataset.range(4).batch(2).apply(fl.experimental.unbatch()), np.arange(4))
