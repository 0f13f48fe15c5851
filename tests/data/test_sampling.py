"""Random and chosen datasets as tf.data.experimental has them."""

from __future__ import annotations

import numpy as np
from tests.harness import check

import feedline as fl


def test_random_dataset() -> None:
    ds = fl.experimental.RandomDataset(seed=10)
    assert isinstance(ds, fl.Dataset)
    check(lambda: fl.experimental.RandomDataset(seed=10).take(2), [np.int64(865356840), np.int64(1679085452)])
    assert type(ds.take(1)) is fl.Dataset


def test_choose_passes_over_empty_datasets_by_default() -> None:
    inputs = [fl.Dataset.range(1), fl.Dataset.range(10, 12)]
    order = fl.Dataset.range(2).repeat(2)
    check(fl.experimental.choose_from_datasets(inputs, order), [np.int64(x) for x in (0, 10, 11)])
    check(fl.Dataset.choose_from_datasets(inputs, order), [np.int64(x) for x in (0, 10)])


def test_sample() -> None:
    inputs = [fl.Dataset.range(4), fl.Dataset.range(10, 14)]
    expect = list(fl.Dataset.sample_from_datasets(inputs, [0.5, 0.5], seed=3))
    check(lambda: fl.experimental.sample_from_datasets(inputs, [0.5, 0.5], seed=3), expect)
