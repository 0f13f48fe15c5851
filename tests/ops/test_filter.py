"""filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


@pytest.mark.parametrize("n", [0, 1, 9, 100])
def test_arithmetic_and_plain_python_choose_the_same(n: int) -> None:
    expect = [np.int64(i) for i in range(n) if i % 3 == 0]
    check(fl.Dataset.range(n).filter(lambda x: x % 3 == 0), expect)
    check(fl.Dataset.range(n).filter(lambda x: int(x) in range(0, 100, 3)), expect)


def test_all_and_none() -> None:
    check(fl.Dataset.range(5).filter(lambda x: True), np.arange(5))
    check(fl.Dataset.range(5).filter(lambda x: x > 100), [])


def test_structures() -> None:
    pairs = fl.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    check(pairs.filter(lambda number, letter: letter != b"b"), [(1, b"a"), (3, b"c")])
    dicts = fl.Dataset.from_tensor_slices({"a": [1, 5, 2], "b": [0, 0, 9]})
    check(dicts.filter(lambda e: e["a"] > e["b"]), [{"a": 1, "b": 0}, {"a": 5, "b": 0}])
    check(dicts.filter(lambda e: bool(e["a"] > e["b"])), [{"a": 1, "b": 0}, {"a": 5, "b": 0}])


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (np.int64(3), "int64 3"),
        (1, "int32 1"),
        ([True, False], r"bool array of shape \(2,\)"),
        (None, "None"),
        ((True,), "tuple"),
    ],
)
def test_the_predicate_must_return_a_bool(value: Any, got: str) -> None:
    text = (
        rf"filter at step 2 \(test_filter.py:\d+ '<lambda>'\) failed on element 0: .* bool scalar, got {got}; use"
    )
    check_errors(lambda: fl.Dataset.range(1).filter(lambda x: value), [Raises(ValueError, text)])


def test_whole_columns_that_are_no_answers() -> None:
    check_errors(
        lambda: fl.Dataset.range(2).filter(lambda x: x + 1),
        [Raises(ValueError, "element 0: .*got int64 1"), Raises(ValueError, "element 1: .*got int64 2")],
    )


def test_zero_dimensional_arrays_are_scalars() -> None:
    check(fl.Dataset.range(3).filter(lambda x: np.array(x > 0)), [np.int64(1), np.int64(2)])


def test_goes_on_after_an_error() -> None:
    def even(x: Any) -> Any:
        if x == 3 or x == 4:
            raise KeyError("odd one")
        return x % 2 == 0

    check_errors(
        lambda: fl.Dataset.range(8).filter(even),
        [np.int64(0), np.int64(2), Raises(KeyError, "element 3"), Raises(KeyError, "element 4"), np.int64(6)],
    )


def test_cardinality_is_never_known() -> None:
    for ds in (fl.Dataset.range(0), fl.Dataset.range(3), fl.Dataset.range(3).repeat()):
        assert ds.filter(lambda x: x > 0).cardinality() == fl.UNKNOWN_CARDINALITY


def test_calls_the_predicate_no_earlier_than_needed() -> None:
    calls: list[int] = []

    def odd(x: Any) -> Any:
        calls.append(int(x))
        return x % 2 == 1

    it = iter(fl.Dataset.range(100).filter(odd))
    assert calls == []
    assert next(it) == 1 and calls == [0, 1]
    assert next(it) == 3 and calls == [0, 1, 2, 3]


def test_argument() -> None:
    with pytest.raises(TypeError, match="filter: predicate must be a function, got 5"):
        fl.Dataset.range(3).filter(5)  # type: ignore[arg-type]
