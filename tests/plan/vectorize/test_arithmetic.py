"""Plain arithmetic: which functions get columns of scalars as they are, and that the result is the same."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.plan.vectorize import program_of
from feedline.structure.block import Block
from feedline.structure.nest import LEAF

K = 3
ARRAY = np.arange(2)


def captured(value: Any) -> Callable[[Any], Any]:
    return lambda x: x + value


def on_scalars(function: Any) -> bool:
    program = program_of(function)
    return program is not None and program.on_scalars


YES: list[Callable[..., Any]] = [
    lambda x: x * 2 + 1,
    lambda x: (x + 1, x % 3 == 0),
    lambda x: {"a": x - 1, "b": -x},
    lambda x: (x // 2, x / 2, x & 1, x << 1),
    lambda x: x + K,
    lambda x, k=10: x + k,
    captured(5),
    captured(np.float32(0.5)),
]
NO: list[Callable[..., Any]] = [
    lambda x: x,
    lambda x: 7,
    lambda x: abs(x),
    lambda x: x if x > 1 else -x,
    lambda x: x + ARRAY,
    lambda x: x**2,
    lambda x: x[0] + 1,
    lambda x: x > 1 and x < 5,
    lambda x: (x + 1).astype(np.int32),
    lambda *x: x[0] + 1,
    captured(ARRAY),
    captured([1]),
    functools.partial(captured(1)),
    np.negative,
]


@pytest.mark.parametrize("function", YES)
def test_seen_as_arithmetic(function: Any) -> None:
    assert on_scalars(function)


@pytest.mark.parametrize("function", NO)
def test_seen_as_opaque(function: Any) -> None:
    assert not on_scalars(function)


def test_in_place_operators_are_effects() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x

    assert not on_scalars(f)


@pytest.mark.parametrize("function", YES)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64", "float16", "float32", "float64"])
def test_columns_equal_rows(function: Any, dtype: str) -> None:
    """Row by row in Python, with NumPy scalars, is the truth."""
    values = np.array([0, 1, 2, 7, 100], dtype)
    opaque = lambda x: function(x)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of overflow for scalars and not for arrays
        ds = fl.Dataset.from_tensor_slices(values)
        try:
            expect = list(ds.map(opaque))
        except Exception as e:
            with pytest.raises(type(e).__mro__[2]):
                list(ds.map(function))
            return
        got = list(ds.map(function))
    assert repr(got) == repr(expect)


def test_a_name_that_becomes_an_array_later_is_noticed() -> None:
    box = 1

    def f(x: Any) -> Any:
        return x + box

    ds = fl.Dataset.range(3).map(f)
    assert [int(v) for v in ds] == [1, 2, 3]
    box = np.arange(3)
    assert [v.tolist() for v in fl.Dataset.range(3).map(f)] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_results_that_are_the_same_for_all_rows_are_repeated() -> None:
    calls = 0

    def row_by_row(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x + 1, 7

    ds = fl.Dataset.range(100)
    got, program = list(ds.map(lambda x: (x + 1, 7))), program_of(lambda x: (x + 1, 7))
    assert repr(got) == repr(list(ds.map(row_by_row))) and calls == 100
    made = None if program is None else program.run(Block([np.arange(100)], 100, LEAF))
    assert made is not None and made.rows == 100 and made.alone == 0


def test_elements_with_dimensions_go_row_by_row() -> None:
    ds = fl.Dataset.from_tensor_slices((np.arange(3), np.ones((3, 3))))
    got = list(ds.map(lambda a, b: a * b))
    assert [g.tolist() for g in got] == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
