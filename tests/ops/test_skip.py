"""skip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl
from feedline.ops import skip as skip_module


@pytest.mark.parametrize("count", [0, 1, 3, 9, 10, 100, -1, -2])
def test_counts(count: int) -> None:
    left = np.arange(10)[count:] if count >= 0 else []
    check(fl.Dataset.range(10).skip(count), left)
    check(fl.Dataset.range(10).map(lambda x: x + 0).filter(lambda x: x >= 0).skip(count), left)


def test_more_than_is_skipped_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skip_module, "PULL_ROWS", 3)
    check(fl.Dataset.range(10).filter(lambda x: x >= 0).skip(8), [np.int64(8), np.int64(9)])


def test_counts_again_after_an_error_among_the_skipped() -> None:
    def f(x: Any) -> Any:
        if x in (1, 6):
            raise ValueError("bad")
        return x + 0

    check_errors(lambda: fl.Dataset.range(8).map(f).skip(3), [ValueError, np.int64(5), ValueError, np.int64(7)])
    check_errors(lambda: fl.Dataset.range(4).map(f).skip(4), [ValueError])


def test_cardinality() -> None:
    unknown = fl.Dataset.range(9).filter(lambda x: x > 0)
    endless = fl.Dataset.range(9).repeat()
    assert [int(fl.Dataset.range(9).skip(n).cardinality()) for n in (0, 4, 9, 20, -1)] == [9, 5, 0, 0, 0]
    assert {int(unknown.skip(n).cardinality()) for n in (0, 4, -1)} == {fl.UNKNOWN_CARDINALITY}
    assert {int(endless.skip(n).cardinality()) for n in (0, 4, -1)} == {fl.INFINITE_CARDINALITY}


def test_random_access() -> None:
    plan = fl.Dataset.range(9).skip(4)._plan
    assert plan.indexable and plan.rows(np.array([2, 0])).rows() == [6, 4]
    none = fl.Dataset.range(9).skip(-1)._plan
    assert none.indexable and none.has_row(0) is False


def test_argument() -> None:
    with pytest.raises(TypeError, match=r"skip: count must be an integer, got 1\.5"):
        fl.Dataset.range(3).skip(1.5)  # type: ignore[arg-type]
