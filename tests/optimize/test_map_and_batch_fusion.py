"""Which batches share their errors with a map. What that means is in tests/ops/test_map_and_batch.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import feedline as fl


def _last(ds: Any) -> str:
    """The last step that runs, but for a prefetch."""
    plan = ds._prepared[0]
    return str((plan.input if plan.op == "prefetch" else plan).op)


def _mapped(**kwargs: Any) -> Any:
    return fl.Dataset.range(9).map(str, **kwargs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: _mapped().batch(3),
        lambda: _mapped().batch(3, drop_remainder=True),
        lambda: _mapped(num_parallel_calls=2).batch(3),
        lambda: fl.Dataset.range(9).map(lambda x: x + 1).batch(3),
        lambda: _mapped().skip(0).batch(3),
    ],
)
def test_directly_after_a_map(make: Callable[[], Any]) -> None:
    assert _last(make()) == "map_and_batch"


@pytest.mark.parametrize(
    "make",
    [
        lambda: fl.Dataset.range(9).batch(3),
        lambda: _mapped().batch(3, num_parallel_calls=2),
        lambda: _mapped().prefetch(1).batch(3),
        lambda: _mapped().filter(len).batch(3),
        lambda: _mapped().with_options(fl.Options()).batch(3),
        lambda: _mapped().take(9).batch(3),
    ],
)
def test_not_elsewhere(make: Callable[[], Any]) -> None:
    assert _last(make()) == "batch"


def test_the_users_plan_stays_as_it_was() -> None:
    ds = _mapped().batch(3)
    before = repr(ds._plan)
    list(ds)
    assert repr(ds._plan) == before
    assert [n.op for n in ds._plan.walk()] == ["range", "map", "batch"]
