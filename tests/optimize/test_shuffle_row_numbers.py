"""Shuffling numbers instead of rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.run import blocks
from feedline.optimize import without

PLANS: dict[str, Callable[[], Any]] = {
    "rows": lambda: _rows().shuffle(4, seed=1),
    "a buffer for all": lambda: _rows().shuffle(100, seed=1),
    "a buffer that grows": lambda: _rows().shuffle(fl.UNKNOWN_CARDINALITY, seed=1),
    "the same each time": lambda: _rows().shuffle(4, seed=1, reshuffle_each_iteration=False),
    "epochs": lambda: _rows().shuffle(4, seed=1).repeat(3),
    "epochs by themselves": lambda: _rows().shuffle(4, seed=1).prefetch(1).repeat(3),
    "twice": lambda: _rows().shuffle(4, seed=1).shuffle(5, seed=2),
    "then parts": lambda: _rows().shuffle(4, seed=1).skip(2).shard(2, 1),
    "parts": lambda: _rows().skip(2).shard(2, 1).shuffle(3, seed=1),
    "side by side": lambda: fl.Dataset.zip((_rows(), fl.Dataset.range(7))).shuffle(4, seed=1),
    "numbered": lambda: _rows().enumerate().shuffle(4, seed=1),
    "prefetched": lambda: _rows().prefetch(2).shuffle(4, seed=1),
    "none": lambda: _rows().take(0).shuffle(4, seed=1),
}


def _rows() -> Any:
    return fl.Dataset.from_tensor_slices({"row": np.arange(22).reshape(11, 2), "name": list("abcdefghijk")})


def _read(ds: Any, limit: int = 10**6) -> list[str]:
    return [repr(e) for e, _ in zip(ds, range(limit), strict=False)]


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_the_same_order_and_seeds(make: Callable[[], Any], size: int | None) -> None:
    with blocks(size):
        rewritten = make()
        with without("shuffle_row_numbers"):
            left = make()
            assert "pick" not in [n.op for n in left._prepared[0].walk()]
        assert rewritten._prepared[0].op == "pick" or "pick" in [n.op for n in rewritten._prepared[0].walk()]
        for _ in range(2):
            assert _read(rewritten) == _read(left)
            assert _read(rewritten, 3) == _read(left, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fl.Dataset.range(9).shuffle(4),
        lambda: _rows().map(lambda e: e["row"]).shuffle(4),
        lambda: _rows().filter(lambda e: True).shuffle(4),
        lambda: _rows().batch(2).shuffle(4),
        lambda: _rows().repeat(2).shuffle(4),
        lambda: fl.Dataset.zip((_rows(), fl.Dataset.range(9).map(str))).shuffle(4),
    ],
)
def test_not_where_something_may_show(make: Callable[[], Any]) -> None:
    assert "pick" not in [n.op for n in make()._prepared[0].walk()]


def test_a_full_shuffle_of_large_rows_holds_numbers_only() -> None:
    rows = np.zeros((2000, 1000))
    ds = fl.Dataset.from_tensor_slices(rows).shuffle(2000, seed=1)
    it = iter(ds)
    next(it)
    tracemalloc.start()
    for _ in range(100):
        next(it)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    it.close()
    assert held < rows.nbytes / 4


def test_saved_states_hold_numbers() -> None:
    make = lambda: fl.Dataset.from_tensor_slices(np.zeros((500, 1000))).shuffle(500, seed=1)  # noqa: E731
    it = iter(make())
    next(it)
    state = it.save()
    assert len(state) < 100_000
    it.close()
