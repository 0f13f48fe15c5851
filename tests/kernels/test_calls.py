"""The loop over calls of a user's function: both kernels, side by side."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from feedline import kernels
from feedline.kernels import reference_calls

KERNELS = pytest.mark.parametrize("call_rows", [kernels.call_rows, reference_calls.call_rows])


def scope() -> Any:
    return SimpleNamespace(used=0)


@KERNELS
def test_all_rows_are_called(call_rows: Any) -> None:
    results: list[Any] = [np.int64(-1)]
    rows = list(np.arange(5))
    assert call_rows(lambda x: x * 2, rows, results, np.int64, scope(), 9.0) is results
    assert results == [-1, 2, 4, 6, 8] and {type(r) for r in results} == {np.int64}
    assert call_rows(len, rows, results, np.int64, scope(), 9.0) is results  # nothing is left to call


@KERNELS
def test_tuples_give_all_arguments(call_rows: Any) -> None:
    results: list[Any] = []
    rows = [(1, b"a"), (), [2, 3], {"x": 4}]
    assert call_rows(lambda *row: str(row), rows, results, str, scope(), 9.0) is results
    assert results == ["(1, b'a')", "()", "([2, 3],)", "({'x': 4},)"]


@KERNELS
def test_a_result_of_another_type_is_returned(call_rows: Any) -> None:
    kinds: list[Any] = [1, 2, True, 3]
    results: list[Any] = []
    assert call_rows(kinds.__getitem__, [0, 1, 2, 3], results, int, scope(), 9.0) is True
    assert results == [1, 2]
    made = call_rows(lambda n: np.zeros(n), [1, 2], [0.0], float, scope(), 9.0)
    assert made.shape == (2,) and sys.getrefcount(made) == 2
    assert call_rows(lambda _: None, [1], [], int, scope(), 9.0) is None


@KERNELS
def test_an_error_leaves_the_results_before_it(call_rows: Any) -> None:
    results: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        call_rows(lambda x: 6 // x, [3, 2, 0, 1], results, int, scope(), 9.0)
    assert results == [2, 3]
    with pytest.raises(SystemExit):
        call_rows(sys.exit, [3], [], int, scope(), 9.0)
    with pytest.raises(TypeError):
        call_rows(3, [1], [], int, scope(), 9.0)
    with pytest.raises(AttributeError):
        call_rows(int, [1, 2], [], int, object(), 9.0)


@KERNELS
def test_it_stops_when_the_time_is_over(call_rows: Any) -> None:
    def slow(x: int) -> int:
        time.sleep(0.002)
        return x

    results: list[Any] = []
    assert call_rows(slow, list(range(100)), results, int, scope(), 0.001) is results and len(results) == 1
    assert call_rows(slow, list(range(100)), results, int, scope(), -1.0) is results and len(results) == 2
    assert call_rows(int, list(range(100)), results, int, scope(), float("inf")) is results and len(results) == 100


@KERNELS
def test_it_stops_after_a_use_of_the_scope(call_rows: Any) -> None:
    found, results = scope(), []

    def draws(x: int) -> int:
        found.used += x == 2
        return x

    assert call_rows(draws, list(range(5)), results, int, found, 9.0) is results
    assert results == [0, 1, 2] and found.used == 1


@KERNELS
def test_nothing_leaks(call_rows: Any) -> None:
    row, made = object(), object()
    before = sys.getrefcount(row), sys.getrefcount(made)
    for _ in range(3):
        call_rows(lambda _: made, [row] * 9, [], object, scope(), 9.0)
        call_rows(lambda _: made, [row] * 9, [], int, scope(), 9.0)
    assert (sys.getrefcount(row), sys.getrefcount(made)) == before
