"""`get_single_element`: the only element of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedline.errors import InvalidArgumentError

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


def get_single_element(self: Dataset[T], name: str | None = None) -> T:
    """The only element of the dataset.

    >>> fl.Dataset.range(3).batch(10).get_single_element()
    array([0, 1, 2])

    Raises `InvalidArgumentError` if the dataset is empty or has more than one element.
    """
    with iter(self) as elements:
        for element in elements:
            for _ in elements:
                raise InvalidArgumentError(
                    "get_single_element: the dataset has more than one element; use batch(n) or take(1) first"
                )
            return element
    raise InvalidArgumentError("get_single_element: the dataset is empty; it must have exactly one element")
