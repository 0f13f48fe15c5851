"""take_while."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks


@pytest.mark.parametrize("stop", [0, 1, 6, 100])
def test_arithmetic_and_plain_python_stop_at_the_same(stop: int) -> None:
    expect = np.arange(min(stop, 9))
    check(fl.Dataset.range(9).take_while(lambda x: x < stop), expect)
    check(fl.Dataset.range(9).take_while(lambda x: int(x) in range(stop)), expect)


def test_an_endless_input() -> None:
    check(fl.Dataset.counter().take_while(lambda x: x < 4), np.arange(4))


def test_starts_anew_in_every_epoch() -> None:
    check(fl.Dataset.range(6).take_while(lambda x: x < 2).repeat(3), [np.int64(i) for i in [0, 1] * 3])


def test_tuples_are_several_arguments() -> None:
    ds = fl.Dataset.from_tensor_slices(([1, 2, 1], ["a", "b", "c"]))
    check(ds.take_while(lambda number, letter: number < 2), [(1, b"a")])


def test_the_predicate_must_return_a_bool() -> None:
    check_errors(
        lambda: fl.Dataset.range(2).take_while(lambda x: x),
        [Raises(ValueError, r"take_while at step 2 .* element 0: .*got int64 0"), Raises(ValueError, "element 1")],
    )


def test_goes_on_after_an_error_of_the_predicate() -> None:
    def small(x: Any) -> Any:
        if x == 2:
            raise KeyError("two")
        return x < 4

    check_errors(
        lambda: fl.Dataset.range(9).take_while(small),
        [np.int64(0), np.int64(1), Raises(KeyError, "element 2"), np.int64(3)],
    )


def test_errors_of_the_input_after_the_end_are_not_seen() -> None:
    def f(x: Any) -> Any:
        if x in (1, 5):
            raise ValueError("bad")
        return x + 0

    check_errors(
        lambda: fl.Dataset.range(9).map(f).take_while(lambda x: x < 4),
        [np.int64(0), ValueError, np.int64(2), np.int64(3)],
    )


@pytest.mark.parametrize("size", [1, 7, None])
def test_makes_and_looks_at_no_row_after_the_end(size: int | None) -> None:
    made: list[int] = []
    seen: list[int] = []

    def f(x: Any) -> Any:
        made.append(int(x))
        return x

    def small(x: Any) -> Any:
        seen.append(int(x))
        return x < 2

    with blocks(size):
        assert [b.tolist() for b in fl.Dataset.range(100).map(f).take_while(small).batch(50)] == [[0, 1]]
    assert made == seen == [0, 1, 2]


def test_cardinality_is_never_known() -> None:
    assert fl.Dataset.range(3).take_while(lambda x: x < 2).cardinality() == fl.UNKNOWN_CARDINALITY


def test_as_a_function_for_apply() -> None:
    ds = fl.Dataset.range(5).apply(fl.experimental.take_while(predicate=lambda x: x < 2))
    assert [int(x) for x in ds] == [0, 1]
