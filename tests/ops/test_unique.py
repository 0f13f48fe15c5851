"""unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def test_numbers() -> None:
    check(fl.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique(), [1, 37, 2])
    check(fl.Dataset.range(50).map(lambda x: x % 7).unique(), np.arange(7))
    check(fl.Dataset.range(0).unique(), [])


def test_strings() -> None:
    check(fl.Dataset.from_tensor_slices(["b", "a", "b", "", "a", "", "c"]).unique(), ["b", "a", "", "c"])


def test_arrays() -> None:
    check(fl.Dataset.from_tensor_slices([[1, 2], [2, 1], [1, 2]]).unique(), [[1, 2], [2, 1]])
    check(fl.Dataset.from_tensor_slices([["a", "bc"], ["ab", "c"], ["a", "bc"]]).unique(), [["a", "bc"], ["ab", "c"]])
    check(fl.experimental.from_list([[1, 2], [1], [1, 2], [[1, 2]], 1]).unique(), [[1, 2], [1], [[1, 2]], 1])


def test_one_component_in_a_structure() -> None:
    check(fl.Dataset.from_tensor_slices({"a": [1, 1, 2]}).unique(), [{"a": 1}, {"a": 2}])


def test_goes_on_after_an_error() -> None:
    def f(x: Any) -> Any:
        if x == 3:
            raise ValueError("bad")
        return x % 4

    check_errors(
        lambda: fl.Dataset.range(9).map(f).unique(), [np.int64(0), np.int64(1), np.int64(2), ValueError, np.int64(3)]
    )


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ([1.5], TypeError, r"must be int32, int64 or strings, got float32 at \$"),
        (np.array([1], np.uint8), TypeError, "got uint8"),
        (([1], [2.5]), TypeError, r"got float32 at \$\[1\]"),
        (([1], [2]), fl.errors.InvalidArgumentError, "must be a single array, number or string"),
        (fl.ragged.constant([[1], [1, 2]]), fl.errors.InvalidArgumentError, "a single array"),
    ],
)
def test_what_cannot_be_compared(values: Any, error: type[Exception], text: str) -> None:
    ds = fl.Dataset.from_tensor_slices(values)
    with pytest.raises(error, match=text):
        ds.unique()


def test_what_cannot_be_compared_where_a_function_makes_it() -> None:
    ds = fl.Dataset.range(3).map(lambda x: float(x)).unique()
    check_errors(lambda: ds, [Raises(TypeError, "got float32")] * 3, endless=True)


def test_cardinality_is_never_known() -> None:
    assert fl.Dataset.range(3).unique().cardinality() == fl.UNKNOWN_CARDINALITY


def test_as_a_function_for_apply() -> None:
    assert [int(x) for x in fl.Dataset.from_tensor_slices([5, 5, 1]).apply(fl.experimental.unique())] == [5, 1]
