"""Rows by number."""

from __future__ import annotations

import numpy as np
from tests.harness import check

import feedline as fl
from feedline.ops.shared.pick import Pick
from feedline.plan.dataset_base import dataset
from feedline.plan.traits.specs import sampled


def _letters() -> fl.Dataset:
    return fl.Dataset.from_tensor_slices({"letter": ["a", "b", "c", "d"], "at": np.arange(4)})


def test_rows_in_the_order_of_the_numbers() -> None:
    numbers = fl.Dataset.from_tensor_slices(np.array([3, 0, 0, 2]))
    expect = [{"letter": bytes([97 + i]), "at": np.int64(i)} for i in (3, 0, 0, 2)]
    check(lambda: dataset(Pick(_letters()._plan, numbers._plan)), expect)


def test_no_numbers_no_rows() -> None:
    check(lambda: dataset(Pick(_letters()._plan, fl.Dataset.range(0)._plan)), [])


def test_spec_of_the_rows_and_count_of_the_numbers() -> None:
    plan = Pick(_letters()._plan, fl.Dataset.range(3).repeat()._plan)
    assert plan.element_spec == _letters().element_spec
    assert plan.cardinality() == fl.INFINITE_CARDINALITY
    assert sampled(plan) is sampled(_letters()._plan) or sampled(plan).element_spec == plan.element_spec


def test_rows_belong_to_the_user() -> None:
    rows = fl.Dataset.from_tensor_slices(np.zeros((3, 2)))
    for row in dataset(Pick(rows._plan, fl.Dataset.range(3)._plan)):
        row += 1
    assert sum(row.sum() for row in rows) == 0
