"""enumerate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl


@pytest.mark.parametrize("start", [0, 5, -2])
def test_numbers(start: int) -> None:
    ds = fl.Dataset.from_tensor_slices(["a", "b", "c"]).enumerate(start=start)
    check(ds, [(np.int64(start + i), s) for i, s in enumerate("abc")])
    assert ds.cardinality() == 3


def test_tuples_stay_whole() -> None:
    ds = fl.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    check(ds.enumerate(), [(np.int64(0), (1, 3)), (np.int64(1), (2, 4))])


def test_after_a_filter() -> None:
    ds = fl.Dataset.range(9).filter(lambda x: x % 4 == 0).enumerate()
    check(ds, [(np.int64(i), np.int64(4 * i)) for i in range(3)])


def test_an_error_uses_up_a_number() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise ValueError("bad")
        return x + 0

    check_errors(
        lambda: fl.Dataset.range(3).map(f).enumerate(),
        [(np.int64(0), np.int64(0)), ValueError, (np.int64(2), np.int64(2))],
    )


def test_random_access() -> None:
    assert fl.Dataset.range(9).enumerate(5)._plan.rows(np.array([2])).rows() == [(7, 2)]


def test_argument() -> None:
    with pytest.raises(TypeError, match="enumerate: start must be an integer"):
        fl.Dataset.range(3).enumerate(1.5)  # type: ignore[arg-type]


def test_as_a_function_for_apply() -> None:
    ds = fl.Dataset.range(2).apply(fl.experimental.enumerate_dataset(start=3))
    assert [int(i) for i, _ in ds] == [3, 4]
