"""counter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@pytest.mark.parametrize(("start", "step"), [(0, 1), (5, 3), (4, -2), (7, 0)])
def test_numbers(start: int, step: int) -> None:
    ds = fl.Dataset.counter(start, step)
    check(ds, [np.int64(start + i * step) for i in range(20)], endless=True)
    assert ds.cardinality() == fl.INFINITE_CARDINALITY


def test_wraps_around() -> None:
    ds = fl.Dataset.counter(250, 3, fl.uint8)
    check(ds, [np.uint8(v) for v in (250, 253, 0, 3)], endless=True)
    check(fl.Dataset.counter(300, -1, fl.uint8), [np.uint8(44), np.uint8(43)], endless=True)
    check(fl.Dataset.counter(2**63 - 1), [np.int64(2**63 - 1), np.int64(-(2**63))], endless=True)


def test_floats_are_summed_up() -> None:
    value, expect = np.float32(0.1), []
    for _ in range(30):
        expect.append(value)
        value = value + np.float32(0.1)
    check(fl.Dataset.counter(0.1, 0.1, fl.float32), expect, endless=True)


def test_random_access() -> None:
    plan = fl.Dataset.counter(250, 3, fl.uint8)._plan
    assert plan.indexable and plan.rows(np.array([2, 0])).rows() == [0, 250]
    assert not fl.Dataset.counter(0.5, dtype=fl.float32)._plan.indexable


@pytest.mark.parametrize(("start", "dtype"), [(1.5, fl.int64), ("a", fl.int64), ("a", fl.float32), (1, fl.string)])
def test_arguments(start: Any, dtype: Any) -> None:
    with pytest.raises(TypeError, match="counter: start must be"):
        fl.Dataset.counter(start, dtype=dtype)


def test_as_a_function() -> None:
    assert [int(x) for x in fl.experimental.Counter(3, 2).take(3)] == [3, 5, 7]


@pytest.mark.parametrize(
    "source", [fl.Dataset.counter(), fl.Dataset.counter(1, 2, fl.int32), fl.Dataset.random(seed=1)]
)
def test_the_spec_of_what_nothing_comes_through(source: Any) -> None:
    ds = source.filter(lambda x: x < 0).flat_map(lambda x: fl.Dataset.range(3).map(lambda y: np.float32(y)))
    assert ds.batch(2).element_spec == fl.TensorSpec((None,), fl.float32)
    nothing = source.repeat(0).filter(lambda x: x < 0).window(2).flat_map(lambda w: w.batch(2))
    assert nothing.element_spec == fl.TensorSpec((None,), source.element_spec.dtype) and list(nothing) == []


@pytest.mark.parametrize(
    "source",
    [
        fl.Dataset.counter(),
        fl.Dataset.range(2**63 - 1),
        fl.Dataset.random(seed=1),
        fl.Dataset.sample_from_datasets([fl.Dataset.counter(), fl.Dataset.counter()], seed=1),
    ],
)
@pytest.mark.parametrize("size", [10**12, 2**63 - 1])
def test_batches_of_all_there_is(source: Any, size: int) -> None:
    """What is read beside few elements is not computed for as many as a batch may hold."""
    pairs = fl.Dataset.zip((source, fl.Dataset.range(3)))
    assert [b.tolist() for _, b in pairs.batch(size)] == [[0, 1, 2]]
    assert [b.tolist() for b in source.take_while(lambda x: x < 0).batch(size)] == []
    groups = pairs.group_by_window(lambda _, b: b * 0, lambda key, rows: rows, window_size=size)
    assert [int(b) for _, b in groups] == [0, 1, 2]
