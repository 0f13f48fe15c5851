"""Maps in a row as one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def fused(ds: Any, *names: str) -> Any:
    options = fl.Options()
    for name in names or ("map_fusion",):
        setattr(options.experimental_optimization, name, True)
    return ds.with_options(options)


def _ops(ds: Any) -> list[str]:
    return [n.op for n in ds._prepared[0].walk() if n.op != "with_options"]


def test_off_unless_asked_for() -> None:
    ds = fl.Dataset.range(3).map(int).map(str)
    assert _ops(ds) == ["range", "map", "map"]
    assert _ops(fused(ds)) == ["range", "chain"]


def test_all_maps_in_a_row() -> None:
    ds = fused(fl.Dataset.range(3).map(int).map(float).map(str))
    assert _ops(ds) == ["range", "chain"]
    check(ds, [b"0.0", b"1.0", b"2.0"])


def test_between_the_functions_values_are_elements() -> None:
    kinds = []

    def looks(*args: Any) -> Any:
        kinds.append([type(a) for a in args])
        return args[0]

    ds = fused(fl.Dataset.range(1).map(lambda x: [1, 2.0, "a", True]).map(looks))
    assert list(ds) == [1]
    assert kinds == [[np.int32, np.float32, bytes, np.bool_]]


def test_functions_on_whole_columns_stay_by_themselves() -> None:
    assert _ops(fused(fl.Dataset.range(3).map(lambda x: x + 1).map(str))) == ["range", "map", "map"]
    assert _ops(fused(fl.Dataset.range(3).map(int).map(lambda x: x + 1))) == ["range", "map", "map"]


def test_parallel_maps_stay_by_themselves() -> None:
    ops = _ops(fused(fl.Dataset.range(3).map(int, num_parallel_calls=2).map(str)))
    assert ops == ["range", "map", "map", "prefetch"]


def test_errors_name_the_function_and_its_step() -> None:
    def first(x: np.int64) -> str:
        if x == 1:
            raise ValueError("first")
        return str(x)

    def second(x: bytes) -> bytes:
        if x == b"3":
            raise KeyError("second")
        return x

    ds = fused(fl.Dataset.range(5).map(first).map(second))
    expect = [
        b"0",
        Raises(InvalidArgumentError, r"map at step 2 .*'first'\) failed on element 1: ValueError: first"),
        b"2",
        Raises(fl.errors.OpError, r"map at step 3 .*'second'\) failed on element 3: KeyError: 'second'"),
        b"4",
    ]
    check_errors(ds, expect)


def test_results_that_are_not_alike_are_blamed_on_the_function_that_gave_them() -> None:
    for maps in ([lambda x: 1 if x < 2 else "a", str], [str, lambda x: 1 if x < b"2" else "a"]):
        ds = fl.Dataset.range(3)
        for function in maps:
            ds = ds.map(function)
        it = iter(fused(ds))
        next(it), next(it)
        with pytest.raises(TypeError, match="return the same types"):
            next(it)


def test_each_element_through_all_functions_before_the_next() -> None:
    calls = []
    first, second = (lambda x, n=n: calls.append(f"{n}{x}") or x for n in "ab")
    list(fused(fl.Dataset.range(3).map(first).map(second)).batch(3))
    assert calls == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_batch_after_fused_maps_is_a_batch_after_a_map() -> None:
    def fails(x: int) -> int:
        if x == 4:
            raise ValueError
        return int(x)

    ds = fused(fl.Dataset.range(8).map(fails).map(int).batch(3))
    expect = [np.array([0, 1, 2], np.int32), InvalidArgumentError, np.array([6, 7], np.int32)]
    check_errors(ds, expect, optimizer=[True])


def test_spec_is_that_of_the_last_function() -> None:
    plan = fused(fl.Dataset.range(3).map(int).map(lambda x: (str(x), [x])))._prepared[0]
    assert plan.element_spec == (fl.TensorSpec([], fl.string), fl.TensorSpec([1], fl.int32))
    empty = fused(fl.Dataset.range(0).map(int).map(str))._prepared[0]
    assert empty.element_spec == fl.TensorSpec([], fl.string)
    assert plan.cardinality() == 3
