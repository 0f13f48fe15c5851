"""Random, sampled and chosen datasets, with the names and defaults of `tf.data.experimental`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from feedline.data.dataset import Dataset
from feedline.ops.choose_from_datasets import choose_from_datasets as _choose_from_datasets
from feedline.ops.sample_from_datasets import sample_from_datasets as _sample_from_datasets
from feedline.ops.sources.random import random

if TYPE_CHECKING:
    from feedline.plan.annotations import T


class RandomDataset(Dataset[np.int64]):
    """An infinite dataset of random numbers, as `Dataset.random`.

    >>> [int(x) for x in fl.experimental.RandomDataset(seed=4).take(2)]
    [3128586565, 2023892699]
    """

    def __init__(
        self, seed: SupportsIndex | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> None:
        self._plan = random(seed, rerandomize_each_iteration)._plan


def choose_from_datasets(
    datasets: Sequence[Dataset[T]], choice_dataset: Dataset[object], stop_on_empty_dataset: bool = False
) -> Dataset[T]:
    """The same as `Dataset.choose_from_datasets`, except that by default it skips datasets that have ended.

    >>> a, b = fl.Dataset.range(1), fl.Dataset.range(10, 12)
    >>> list(fl.experimental.choose_from_datasets([a, b], fl.Dataset.range(2).repeat(2)))
    [np.int64(0), np.int64(10), np.int64(11)]
    """
    return _choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Dataset[T]],
    weights: object = None,
    seed: SupportsIndex | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset[T]:
    """The same as `Dataset.sample_from_datasets`, with the same draws in every iteration.

    >>> ds = fl.experimental.sample_from_datasets([fl.Dataset.range(2), fl.Dataset.range(10, 12)], seed=1)
    >>> sorted(int(x) for x in ds)
    [0, 1, 10, 11]
    """
    return _sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)
