"""scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def test_sums() -> None:
    ds = fl.Dataset.range(1, 10).scan(np.int64(0), lambda s, x: (s + x, s + x))
    check(ds, np.cumsum(np.arange(1, 10)))
    assert ds.element_spec == fl.TensorSpec([], fl.int64)


def test_in_one_of_several_inputs() -> None:
    sums = fl.Dataset.range(1, 4).scan(np.int64(0), lambda total, x: (total + x, total + x))
    check(sums.enumerate(), [(np.int64(i), np.int64(v)) for i, v in enumerate((1, 3, 6))])


def test_plain_python() -> None:
    def f(s: Any, x: Any) -> Any:
        return [max(s, x), (s, {"x": x})]

    rows = [0, 5, 3, 9]
    expect = [(np.int64(s), {"x": np.int64(x)}) for s, x in zip([0, 0, 5, 5], rows, strict=True)]
    check(fl.Dataset.from_tensor_slices(np.array(rows)).scan(np.int64(0), f), expect)


def test_structures() -> None:
    ds = fl.Dataset.range(5).scan(
        {"a": np.int64(0), "b": np.int64(1)}, lambda s, x: ({"b": s["a"] + s["b"], "a": s["b"]}, (s["a"], x))
    )
    check(ds, [(np.int64(a), np.int64(i)) for i, a in enumerate([0, 1, 1, 2, 3])])


def test_an_element_is_one_argument() -> None:
    check(fl.Dataset.from_tensor_slices(([1, 2], [3, 4])).scan(0, lambda s, e: (s + e[0], e[1] - s)), [3, 3])


def test_a_list_as_output_is_an_array() -> None:
    check(fl.Dataset.range(2).scan(0, lambda s, x: (s, [x, x])), [np.array([i, i]) for i in range(2)])


def test_shapes_may_change() -> None:
    ds = fl.Dataset.range(4).scan(np.zeros(0, np.int64), lambda s, x: (np.append(s, x), s))
    check(ds, [np.arange(i) for i in range(4)])
    assert ds.element_spec == fl.TensorSpec([None], fl.int64)


def test_strings_and_arrays_are_carried() -> None:
    ds = fl.Dataset.range(3).scan(("", [0.5, 1.5]), lambda s, x: ((s[0] + b"x", s[1] * 2), s))
    check(ds, [("x" * i, np.array([0.5, 1.5], np.float32) * 2**i) for i in range(3)])


def test_an_error_leaves_the_state_as_it_was() -> None:
    def f(s: Any, x: Any) -> Any:
        if x in (2, 3):
            raise KeyError("bad")
        return s + x, s

    check_errors(
        lambda: fl.Dataset.range(6).scan(np.int64(10), f),
        [
            *(np.int64(10), np.int64(10)),
            Raises(KeyError, r"scan at step 2 \(test_scan.py:\d+ 'f'\) failed on element 2: KeyError"),
            *(Raises(KeyError, "element 3"), np.int64(11), np.int64(15)),
        ],
    )


def test_an_output_unlike_the_others_leaves_the_state_as_it_was() -> None:
    ds = fl.Dataset.range(4).scan(np.int64(10), lambda s, x: (s + x, 0.5 if x == 2 else s))
    check_errors(lambda: ds, [np.int64(10), np.int64(10), Raises(TypeError, "element 2"), np.int64(11)])


def test_an_error_of_the_input() -> None:
    ds = fl.Dataset.range(4).map(lambda x: 6 // int(x))
    check_errors(lambda: ds.scan(0, lambda s, x: (s + x, s)), [ZeroDivisionError, 0, 6, 9])


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda s, x: s + x, "scan_func must return a pair of the new state and the output, got int64"),
        (lambda s, x: (s, x, x), "got 3 values"),
        (lambda s, x: (np.int32(s), x), "expected int64, got int32"),
        (lambda s, x: ((s, s), x), "structure of the initial state"),
    ],
)
def test_what_the_function_returns(function: Any, text: str) -> None:
    check_errors(lambda: fl.Dataset.range(1).scan(np.int64(0), function), [Raises(TypeError, text)])


def test_a_state_cannot_be_written_to() -> None:
    def f(s: Any, x: Any) -> Any:
        s += x
        return s, s

    check_errors(lambda: fl.Dataset.range(2).scan(np.zeros(2), f), [Raises(ValueError, "read-only")] * 2)


def test_the_spec_of_an_empty_dataset() -> None:
    ds = fl.Dataset.range(0).scan(0, lambda s, x: (s, (x, "a")))
    assert ds.element_spec == (fl.TensorSpec([], fl.int64), fl.TensorSpec([], fl.string))


def test_cardinality() -> None:
    assert fl.Dataset.range(3).scan(0, lambda s, x: (s, x)).cardinality() == 3
    assert fl.Dataset.counter().scan(0, lambda s, x: (s, x)).cardinality() == fl.INFINITE_CARDINALITY


def test_as_a_function_for_apply() -> None:
    ds = fl.Dataset.range(3).apply(fl.experimental.scan(np.int64(1), lambda s, x: (s * 2, s + x)))
    assert [int(x) for x in ds] == [1, 3, 6]
