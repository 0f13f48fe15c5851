"""`cache` in memory: when a pass is complete, and random access to inputs without an end."""

from __future__ import annotations

from typing import Any

import pytest

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import FailedPreconditionError


@pytest.mark.parametrize("size", [1, 2, 7, None])
def test_the_last_of_a_known_number_completes_it(size: int | None) -> None:
    with blocks(size):
        for last in (lambda ds: ds.take(6), lambda ds: ds.batch(6).take(1).unbatch()):
            ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
            assert len({tuple(int(x) for x in ds.take(5)) for _ in range(5)}) > 1
            orders = [[int(x) for x in last(ds)] for _ in range(5)]
            assert sorted(orders[0]) == list(range(6)) and orders == orders[:1] * 5
        ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
        it = iter(ds)
        first = [int(next(it)) for _ in range(6)]
        assert [int(x) for x in ds] == first and list(it) == []
        unknown = fl.Dataset.range(6).shuffle(6, seed=1).filter(lambda x: x >= 0).cache()
        assert len({tuple(int(x) for x in unknown.take(6)) for _ in range(5)}) > 1  # only the end tells


def test_what_comes_after_the_last_of_a_known_number() -> None:
    """Is an error in the pass that has it, as in TensorFlow."""

    def cached() -> Any:
        return fl.Dataset.range(6).apply(fl.experimental.assert_cardinality(4)).cache()

    ds = cached()
    it = iter(ds)
    assert [int(next(it)) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(FailedPreconditionError, match="said to be of 4 elements"):
        next(it)
    assert [int(x) for x in ds] == [0, 1, 2, 3]


def test_random_access_without_an_end() -> None:
    ds = fl.Dataset.range(20).filter(lambda x: x % 2 == 0).repeat().cache()
    assert [int(ds.at(i)) for i in (11, 0, 9, 10, 11, 25)] == [2, 0, 18, 0, 2, 10]
    assert ds.cardinality() == fl.INFINITE_CARDINALITY
    with pytest.raises(IndexError):
        ds.at(-1)
