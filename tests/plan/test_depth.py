"""Long chains of steps."""

from __future__ import annotations

import pickle

import pytest

import feedline as fl
from feedline.plan.depth import MOST_STEPS


def chained(steps: int) -> fl.Dataset:
    ds = fl.Dataset.range(100)
    for _ in range(steps // 2):
        ds = ds.skip(0).take(100)
    return ds


def test_a_thousand_datasets_in_a_row() -> None:
    ds = fl.Dataset.range(1)
    for _ in range(1000):
        ds = ds.concatenate(fl.Dataset.range(1))
    assert len(list(ds)) == 1001
    assert ds.cardinality() == 1001


def test_a_long_chain_in_threads_and_from_a_checkpoint() -> None:
    ds = chained(MOST_STEPS - 4).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2)
    with iter(ds) as it:
        first = [next(it) for _ in range(40)]
        state = it.save()
    with iter(pickle.loads(pickle.dumps(chained(500)))) as it:
        assert next(it) == 0
    with iter(ds) as it:
        it.restore(state)
        assert [*first, *it] == list(range(1, 101))
    assert str(MOST_STEPS - 4) in ds.explain().__str__()


def test_a_chain_that_is_too_long_is_refused_when_it_is_built() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"at most 2000 are supported; pass many files"):
        chained(MOST_STEPS + 10)
