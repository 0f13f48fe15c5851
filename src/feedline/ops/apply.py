"""`apply`: a function from dataset to dataset as a step of a method chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from feedline.plan.dataset_base import DatasetBase

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

D = TypeVar("D")


def apply(self: Dataset[T], transformation_func: Callable[[Dataset[T]], D]) -> D:
    """Applies `transformation_func` to this dataset and returns the result.

    >>> def doubled(dataset):
    ...     return dataset.map(lambda x: x * 2)
    >>> list(fl.Dataset.range(3).apply(doubled).take(2))
    [np.int64(0), np.int64(2)]
    """
    if not callable(transformation_func):
        got = f"{transformation_func!r} of type {type(transformation_func).__name__}"
        raise TypeError(f"apply: transformation_func must be a function from a Dataset to a Dataset, got {got}")
    made = transformation_func(self)
    if not isinstance(made, DatasetBase):
        raise TypeError(f"apply: transformation_func must return a Dataset, got {made!r} of type {type(made).__name__}")
    return made
