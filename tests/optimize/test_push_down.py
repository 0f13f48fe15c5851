"""Parts of rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl

STEPS: dict[str, Callable[[Any], Any]] = {
    "take": lambda d: d.take(4),
    "take more": lambda d: d.take(40),
    "take none": lambda d: d.take(0),
    "skip": lambda d: d.skip(3),
    "skip more": lambda d: d.skip(30),
    "skip all": lambda d: d.skip(-1),
    "shard": lambda d: d.shard(3, 1),
    "shard past the end": lambda d: d.shard(15, 12),
    "shard of a part": lambda d: d.skip(2).take(7).shard(2, 1),
    "part of a shard": lambda d: d.shard(3, 2).skip(1).take(2),
    "shard of a shard": lambda d: d.shard(2, 1).shard(2, 1).take(5),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_one_view_in_place_of_the_steps(step: Callable[[Any], Any]) -> None:
    rows = np.arange(20, dtype=np.int16).reshape(10, 2)
    for source, all_rows in (
        (fl.Dataset.range(10), [np.int64(i) for i in range(10)]),
        (fl.Dataset.from_tensor_slices((rows, list("abcdefghij"))), list(zip(rows, list("abcdefghij"), strict=True))),
    ):
        plan = step(source)._prepared[0]
        assert [n.op for n in plan.walk()] == [source._plan.op, "view"]
        assert plan.cardinality() == step(source).cardinality()
        assert plan.element_spec == step(source).element_spec
        numbers = [int(i) for i in step(fl.Dataset.range(10).prefetch(1))]  # not pushed down
        check(step(source), [all_rows[i] for i in numbers])


def test_skipping_takes_no_time() -> None:
    assert next(iter(fl.Dataset.range(10**15).skip(10**15 - 2))) == 10**15 - 2
    assert list(fl.Dataset.range(10**15).shard(10**14, 5).skip(9)) == [9 * 10**14 + 5]


def test_not_over_functions() -> None:
    calls: list[int] = []
    ds = fl.Dataset.range(5).map(lambda x: calls.append(int(x)) or x).skip(3)
    assert "view" not in [n.op for n in ds._prepared[0].walk()]
    assert [int(x) for x in ds] == [3, 4]
    assert calls == [0, 1, 2, 3, 4]


def test_a_shard_hint_is_no_number_of_shards() -> None:
    with pytest.raises(fl.errors.FailedPreconditionError):
        next(iter(fl.Dataset.range(5).shard(-1, 0)))
