"""Part of a source."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.ops.shared.view import View
from feedline.plan.dataset_base import dataset


@pytest.mark.parametrize(("start", "by", "count"), [(0, 1, 10), (3, 1, 4), (1, 3, 3), (9, 5, 1), (4, 2, 0)])
def test_rows_of_a_view(start: int, by: int, count: int) -> None:
    numbers = [np.int64(i) for i in range(start, start + by * count, by)]
    check(dataset(View(fl.Dataset.range(10)._plan, start, by, count)), numbers)
    rows = fl.Dataset.from_tensor_slices((np.arange(20).reshape(10, 2), [str(i) for i in range(10)]))
    expect = [(np.arange(2) + 2 * i, str(i)) for i in numbers]
    check(dataset(View(rows._plan, start, by, count)), expect)


def test_neighbouring_rows_are_not_copied() -> None:
    source = np.zeros((10, 1 << 17), np.float64)
    view = View(fl.Dataset.from_tensor_slices(source)._plan, 2, 1, 5)
    assert all(np.shares_memory(row, source) for row in dataset(view))


def test_random_access() -> None:
    view = View(fl.Dataset.range(100)._plan, 10, 7, 5)
    assert view.indexable
    assert view.rows(np.array([4, 0])).rows() == [38, 10]
