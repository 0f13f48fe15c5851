"""repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_count(count: int) -> None:
    check(fl.Dataset.range(3).repeat(count), [np.int64(i) for i in list(range(3)) * count])


@pytest.mark.parametrize("count", [None, -1, -2])
def test_without_end(count: Any) -> None:
    ds = fl.Dataset.range(3).repeat(count)
    assert ds.cardinality() == fl.INFINITE_CARDINALITY
    check(ds.take(7), [np.int64(i % 3) for i in range(7)])
    with pytest.raises(TypeError, match="infinite"):
        len(ds)


def test_an_empty_epoch_ends_it() -> None:
    check(fl.Dataset.range(0).repeat(), [])
    check(fl.Dataset.range(0).repeat(4), [])


@pytest.mark.parametrize("make", [lambda ds: ds, lambda ds: ds.shuffle(3, seed=1), lambda ds: ds.batch(2).prefetch(2)])
def test_an_empty_one_without_end_is_restored(make: Any) -> None:
    def empty() -> Any:
        return make(fl.Dataset.range(5).filter(lambda x: x > 9)).repeat()

    for asked in range(4):
        with iter(empty()) as it, iter(empty()) as other:
            for _ in range(asked):
                assert next(it, None) is None
            other.restore(it.save())
            assert list(other) == list(it) == []


def test_of_repeat_and_in_batches() -> None:
    expect = [np.array(v) for v in ([0, 1, 0], [1, 0, 1], [0, 1])]
    check(fl.Dataset.range(2).repeat(2).repeat(2).batch(3), expect)


def test_an_error_in_every_epoch() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise ValueError("one")
        return np.positive(x)

    check_errors(
        lambda: fl.Dataset.range(3).map(f).repeat(2), [np.int64(0), ValueError, np.int64(2)] * 2
    )


def test_random_access() -> None:
    assert fl.experimental.at(fl.Dataset.range(4).repeat(2), 5) == 1


def test_an_epoch_that_begins_with_an_error_counts_once() -> None:
    def fails(x: np.int64) -> np.int64:
        if x == 0:
            raise ValueError("no zero")
        return x

    ds = fl.Dataset.range(2).map(fails).shuffle(3, seed=1, reshuffle_each_iteration=False).prefetch(1).repeat(2)
    it = iter(ds)
    seen = []
    while len(seen) < 9:
        try:
            seen.append(int(next(it)))
        except StopIteration:
            break
        except ValueError:
            seen.append(-1)
    assert seen == [-1, 1, -1, 1]


def test_more_elements_than_an_int64_can_count() -> None:
    assert fl.Dataset.range(6).repeat(2**62).cardinality() == 2**63 - 1
