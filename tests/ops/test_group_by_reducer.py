"""experimental.group_by_reducer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl

Reducer = fl.experimental.Reducer


def zero(key: Any) -> Any:
    return np.int64(0)


def add(state: Any, x: Any) -> Any:
    return state + x


def same(state: Any) -> Any:
    return state


def fail_at(*bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return f


def grouped(ds: Any, key: Any, init: Any = zero, reduce: Any = add, final: Any = same) -> Any:
    return ds.apply(fl.experimental.group_by_reducer(key, Reducer(init, reduce, final)))


def test_results_come_by_key() -> None:
    check(grouped(fl.Dataset.range(10), lambda x: x % 3), [np.int64(18), np.int64(12), np.int64(15)])
    check(grouped(fl.Dataset.range(10), lambda x: -(x % 3)), [np.int64(15), np.int64(12), np.int64(18)])
    check(grouped(fl.Dataset.range(0), lambda x: x), [])


def test_states_may_be_structures_and_grow() -> None:
    pairs = fl.Dataset.from_tensor_slices(([1, 2, 3], [4, 5, 6]))
    ds = grouped(
        pairs,
        lambda a, b: np.int64(a % 2),
        lambda key: (np.int32(0), np.zeros(0, np.int32)),
        lambda state, e: (state[0] + e[0], np.append(state[1], e[1])),
        lambda total, seen: {"total": total, "seen": seen},
    )
    ones, twos = np.array([4, 6], np.int32), np.array([5], np.int32)
    check(ds, [{"total": np.int32(2), "seen": twos}, {"total": np.int32(4), "seen": ones}])
    assert ds.element_spec["seen"] == fl.TensorSpec([None], fl.int32)


def test_cardinality_and_spec() -> None:
    ds = grouped(fl.Dataset.range(0), lambda x: x, final=lambda s: (s, 1.5))
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert ds.element_spec == (fl.TensorSpec([], fl.int64), fl.TensorSpec([], fl.float32))


def test_what_fails_is_left_out() -> None:
    expect = [Raises(ValueError, "bad 4"), np.int64(18), np.int64(8), np.int64(15)]
    numbers = fl.Dataset.range(10)
    check_errors(lambda: grouped(numbers.map(fail_at(4)), lambda x: x % 3), expect)
    check_errors(lambda: grouped(numbers, lambda x: fail_at(4)(x) % 3), expect)
    check_errors(lambda: grouped(numbers, lambda x: x % 3, reduce=lambda s, x: s + fail_at(4)(x)), expect)
    check_errors(
        lambda: grouped(numbers, lambda x: x % 3, init=lambda key: fail_at(1)(key) * 0),
        [ValueError, ValueError, ValueError, np.int64(18), np.int64(15)],
    )
    check_errors(
        lambda: grouped(numbers, lambda x: x % 3, final=fail_at(12)),
        [np.int64(18), Raises(ValueError, r"group_by_reducer at step 2 .*bad 12"), np.int64(15)],
    )


def test_types_are_fixed_by_the_first_state() -> None:
    with pytest.raises(TypeError, match="expected int32, got int64"):
        list(grouped(fl.Dataset.range(3), lambda x: x, init=lambda key: 0))
    with pytest.raises(ValueError, match="key_func must return an int64 scalar"):
        list(grouped(fl.Dataset.range(3), lambda x: np.int32(x)))


def test_arguments() -> None:
    reducer = Reducer(zero, add, same)
    assert (reducer.init_func, reducer.reduce_func, reducer.finalize_func) == (zero, add, same)
    with pytest.raises(TypeError, match="reducer must be a Reducer"):
        fl.experimental.group_by_reducer(lambda x: x, lambda s: s)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="init_func must be a function"):
        fl.experimental.group_by_reducer(lambda x: x, Reducer(0, add, same))  # type: ignore[arg-type]
