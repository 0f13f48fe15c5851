"""Steps that do nothing."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.optimize.noop_elimination import is_identity, noop_elimination

Dataset = Any
Point = namedtuple("Point", "x y")
SCALAR = fl.TensorSpec([], fl.int64)


def _returned(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.take(-1),
        lambda d: d.take(-7),
        lambda d: d.skip(0),
        lambda d: d.repeat(1),
        lambda d: d.map(lambda x: x),
        lambda d: d.map(_returned, num_parallel_calls=2),
    ],
)
def test_steps_that_go(step: Callable[[Dataset], Dataset]) -> None:
    below = fl.Dataset.range(5)
    assert noop_elimination(step(below)._plan) is below._plan
    check(step(below).map(lambda x: x + 1), [np.int64(i) for i in range(1, 6)])


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.take(5),
        lambda d: d.take(0),
        lambda d: d.skip(1),
        lambda d: d.skip(-1),
        lambda d: d.repeat(0),
        lambda d: d.repeat(),
        lambda d: d.shard(2, 0),
        lambda d: d.shard(1, 0),  # what its iterator has left can be shared out among more
        lambda d: d.prefetch(0),
        lambda d: d.map(lambda x: x + 0),
        lambda d: d.map(lambda x: (x,)),
        lambda d: d.map(lambda x, y=1: x),
        lambda d: d.map(lambda *x: x),
        lambda d: d.map(np.abs),
        lambda d: d.batch(1),
    ],
)
def test_steps_that_stay(step: Callable[[Dataset], Dataset]) -> None:
    assert noop_elimination(step(fl.Dataset.range(5))._plan) is None


def test_a_map_to_itself_depends_on_the_elements_structure() -> None:
    pair, triple = (SCALAR, SCALAR), (SCALAR, SCALAR, SCALAR)
    assert is_identity(lambda a, b: (a, b), pair)
    assert is_identity(lambda a, b, c: (a, b, c), triple)
    assert not is_identity(lambda a, b: (b, a), pair)
    assert not is_identity(lambda a, b: (a, a), pair)
    assert not is_identity(lambda a, b: a, pair)
    assert not is_identity(lambda a, b: (a, b), triple)
    assert not is_identity(lambda a: a, (SCALAR,))
    assert not is_identity(lambda a: (a,), SCALAR)
    assert is_identity(lambda a: (a,), (SCALAR,))
    assert is_identity(lambda point: point, Point(SCALAR, SCALAR))
    assert is_identity(lambda d: d, {"a": SCALAR})


@pytest.mark.parametrize("form", [lambda x: x, lambda x: {"a": x}])
def test_a_map_of_ragged_rows_to_themselves_makes_arrays_of_them(form: Any) -> None:
    """As in TensorFlow: without it a batch of them is ragged."""
    even = fl.Dataset.from_tensor_slices(form(fl.ragged.constant([[1, 2], [3, 4]]))).map(lambda x: x).batch(2)
    check(even, [form(np.array([[1, 2], [3, 4]], np.int32))])
    uneven = fl.Dataset.from_tensor_slices(form(fl.ragged.constant([[1, 2], [3], [4, 5, 6]]))).map(lambda x: x)
    assert uneven.element_spec == form(fl.TensorSpec([None], fl.int32))
    assert uneven.batch(2).element_spec == form(fl.TensorSpec([None, None], fl.int32))
    with pytest.raises(fl.errors.InvalidArgumentError, match="shape"):
        next(iter(uneven.batch(2)))
    deep = fl.Dataset.from_tensor_slices(fl.ragged.constant([[[1, 2], [3]], [[4]]])).map(lambda x: x).batch(2)
    assert next(iter(deep)).to_list() == [[[1, 2], [3]], [[4]]]


def test_a_function_with_effects_is_no_identity() -> None:
    seen = []

    def looks(x: Any) -> Any:
        seen.append(x)
        return x

    assert not is_identity(looks, SCALAR)


def test_no_function_runs_to_find_out() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(x)
        return x

    ds = fl.Dataset.range(3).map(counted).map(lambda x: x)
    iter(ds)
    assert calls == []


def test_what_is_left_keeps_its_number_in_messages() -> None:
    def fails(x: Any) -> Any:
        raise ValueError("no")

    ds = fl.Dataset.range(3).take(-1).skip(0).map(fails)
    with pytest.raises(ValueError, match="map at step 4"):
        next(iter(ds))


def test_a_fusion_sees_the_steps_that_are_left() -> None:
    ds = fl.Dataset.range(3).map(lambda x: x + 1).take(-1).batch(2)
    assert ds._prepared[0].op == "map_and_batch"
    assert fl.Dataset.range(3).map(lambda x: x + 1).prefetch(0).batch(2)._prepared[0].op == "batch"


def test_a_shard_of_one_stays_and_seeds_are_those_of_tensorflow() -> None:
    """Recorded from TensorFlow, which fuses the shuffle with the repeat once the shard between them is gone."""
    ds = fl.Dataset.range(6).shuffle(3, seed=7).shard(1, 0).repeat(2)
    passes = [[int(x) for x in ds] for _ in range(3)]
    assert passes == [
        [1, 2, 0, 3, 5, 4, 1, 0, 3, 2, 4, 5],
        [1, 3, 0, 2, 4, 5, 1, 3, 0, 5, 2, 4],
        [0, 1, 3, 5, 2, 4, 2, 0, 3, 5, 4, 1],
    ]


def test_a_batch_over_a_shard_of_one_over_a_map_loses_whole_batches() -> None:
    def bad(x: Any) -> Any:
        if x == 1:
            raise ValueError("a bad element")
        return x

    ds = fl.Dataset.range(8).map(bad).shard(1, 0).batch(3).ignore_errors()
    assert [b.tolist() for b in ds] == [[3, 4, 5], [6, 7]]
