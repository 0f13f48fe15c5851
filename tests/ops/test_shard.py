"""shard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl
from feedline.ops import shard as shard_module


def failing(n: int, *bad: int) -> Any:
    def f(x: Any) -> Any:
        if x in bad:
            raise ValueError("bad")
        return x + 0

    return fl.Dataset.range(n).map(f)


@pytest.mark.parametrize("n", [0, 2, 10])
@pytest.mark.parametrize(("shards", "index"), [(1, 0), (3, 0), (3, 1), (3, 2), (5, 4)])
def test_shards(n: int, shards: int, index: int) -> None:
    check(fl.Dataset.range(n).shard(shards, index), np.arange(n)[index::shards])
    check(fl.Dataset.range(n).filter(lambda x: x >= 0).shard(shards, index), np.arange(n)[index::shards])


def test_a_shard_of_a_shard_and_of_something_endless() -> None:
    check(fl.Dataset.range(20).shard(2, 1).shard(3, 2), [np.int64(i) for i in (5, 11, 17)])
    check(fl.Dataset.range(4).repeat().shard(3, 1), [np.int64(i) for i in (1, 0, 3, 2, 1)], endless=True)


def test_more_shards_than_rows_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "PULL_ROWS", 2)
    check(fl.Dataset.range(30).filter(lambda x: x >= 0).shard(9, 4), [np.int64(i) for i in (4, 13, 22)])


def test_an_error_between_the_rows_that_count_begins_the_gap_again() -> None:
    check_errors(
        lambda: failing(12, 3, 4, 9).shard(3, 1), [np.int64(1), ValueError, ValueError, np.int64(7), ValueError]
    )


def test_an_error_in_place_of_a_row_that_counts_shifts_the_rest() -> None:
    check_errors(lambda: failing(12, 3, 6).shard(3, 0), [np.int64(0), ValueError, np.int64(4), ValueError, np.int64(9)])


@pytest.mark.parametrize(("shards", "index"), [(0, 0), (-2, 0), (3, 3), (3, -1), (3, 5)])
def test_numbers_that_do_not_go_together(shards: int, index: int) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"shard: (num_shards|index) must be"):
        fl.Dataset.range(10).shard(shards, index)


def test_hint() -> None:
    ds = fl.Dataset.range(10).shard(fl.experimental.SHARD_HINT, 0)
    assert ds.cardinality() == -10
    with pytest.raises(fl.errors.FailedPreconditionError, match="pass the number of workers"):
        iter(ds)


def test_cardinality_and_random_access() -> None:
    assert [int(fl.Dataset.range(10).shard(3, i).cardinality()) for i in range(3)] == [4, 3, 3]
    plan = fl.Dataset.range(10).shard(3, 1)._plan
    assert plan.indexable and plan.rows(np.array([2, 0])).rows() == [7, 1]
