"""Dataset.range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@pytest.mark.parametrize("args", [(5,), (0,), (-3,), (2, 7), (0, 10, 3), (10, 0, -3), (5, 0, 1), (2**62, 2**62 + 3)])
def test_as_pythons_range(args: tuple[int, ...]) -> None:
    check(fl.Dataset.range(*args), [np.int64(i) for i in range(*args)])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float16", "float64"])
def test_output_type(dtype: str) -> None:
    check(fl.Dataset.range(2, 9, 2, output_type=dtype), [np.dtype(dtype).type(i) for i in range(2, 9, 2)])


@pytest.mark.parametrize("dtype", ["string", "bool"])
def test_types_that_are_no_numbers(dtype: str) -> None:
    with pytest.raises(TypeError, match=f"range: output_type must be a type of numbers, got {dtype}"):
        fl.Dataset.range(3, output_type=dtype)


def test_small_types_wrap_around() -> None:
    check(fl.Dataset.range(126, 130, output_type=fl.int8), [np.int8(v) for v in (126, 127, -128, -127)])


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((), ValueError, "one to three"),
        ((1, 2, 3, 4), ValueError, "got 4"),
        ((0, 5, 0), fl.errors.InvalidArgumentError, "step must not be 0"),
        ((1.5,), TypeError, "stop must be an integer, got 1.5"),
        (("3",), TypeError, "stop"),
        ((None,), ValueError, "stop must be an integer"),
        (([3],), fl.errors.InvalidArgumentError, "stop must be an integer"),
        ((2**70,), ValueError, "must fit an int64"),
    ],
)
def test_bad_arguments(args: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fl.Dataset.range(*args)


def test_a_huge_range_costs_nothing_until_read() -> None:
    ds = fl.Dataset.range(10**15)
    assert len(ds) == 10**15
    assert [int(x) for x in ds.take(2)] == [0, 1]
