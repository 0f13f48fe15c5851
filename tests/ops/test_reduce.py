"""reduce."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import compare

import feedline as fl
from feedline.engine.run import blocks


@pytest.mark.parametrize("size", [1, 2, 7, 64, None])
def test_folds_all_elements(size: int | None) -> None:
    with blocks(size):
        compare(fl.Dataset.range(10).reduce(np.int64(0), lambda s, x: s + x), np.int64(45))


def test_without_elements_the_initial_state_comes_back() -> None:
    compare(fl.Dataset.range(0).reduce(7, lambda s, x: s + 1), 7)
    given = np.zeros(2)
    got = fl.Dataset.range(0).reduce(given, lambda s, x: s)
    got[:] = 1
    compare(given, np.zeros(2))


def test_structures() -> None:
    ds = fl.Dataset.range(1, 6)
    compare(ds.reduce((np.int64(0), np.int64(1)), lambda s, x: (s[0] + x, s[1] * x)), (np.int64(15), np.int64(120)))
    compare(ds.reduce((0, "a"), lambda s, x: [s[0], s[1] + b"b"]), (0, "abbbbb"))
    compare(ds.reduce({"n": 0}, lambda s, x: {"n": s["n"] + 1}), {"n": 5})


def test_an_element_is_one_argument() -> None:
    ds = fl.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    compare(ds.reduce(0, lambda s, e: s + e[0] * e[1]), 11)


def test_shapes_may_change() -> None:
    got = fl.Dataset.range(3).reduce(np.zeros(0, np.int64), lambda s, x: np.append(s, x))
    compare(got, np.arange(3))


@pytest.mark.parametrize(
    ("initial", "function", "text"),
    [
        (0, lambda s, x: s + x, r"expected int32, got int64; cast it .*a Python int is int32"),
        ((0, 0.5), lambda s, x: (s[0], x), r"expected float32 at \$\[1\], got int64"),
        ((0, 0), lambda s, x: s[0], "structure of the initial state: expected a tuple of 2"),
        ({"a": 0}, lambda s, x: {"b": 0}, r"expected a mapping with keys \['a'\]"),
        (0, lambda s, x: None, "expected int32, got NoneType"),
    ],
)
def test_the_state_keeps_its_form(initial: Any, function: Any, text: str) -> None:
    with pytest.raises(TypeError, match=rf"reduce at step 2 .* failed on element 0: the new state .*{text}"):
        fl.Dataset.range(3).reduce(initial, function)


def test_a_state_cannot_be_written_to() -> None:
    def add(s: Any, x: Any) -> Any:
        s += x
        return s

    with pytest.raises(ValueError, match="read-only"):
        fl.Dataset.range(3).reduce(np.zeros(2), add)


def test_errors() -> None:
    def f(s: Any, x: Any) -> Any:
        if x == 2:
            raise KeyError("two")
        return s

    with pytest.raises(
        KeyError, match=r"reduce at step 2 \(test_reduce.py:\d+ 'f'\) failed on element 2: KeyError: 'two'"
    ):
        fl.Dataset.range(5).reduce(0, f)
    with pytest.raises(ZeroDivisionError, match="map at step 2"):
        fl.Dataset.range(5).map(lambda x: 1 // int(x)).reduce(0, lambda s, x: s)
    with pytest.raises(TypeError, match="reduce: reduce_func must be a function"):
        fl.Dataset.range(5).reduce(0, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reduce: initial_state has no values"):
        fl.Dataset.range(5).reduce((), lambda s, x: s)
