"""`get_single_element`: the one element of a dataset that has one."""

from __future__ import annotations

from typing import Any

from feedline.errors import InvalidArgumentError

NONE = object()


def get_single_element(self: Any, name: str | None = None) -> Any:
    """The only element of the dataset.

    >>> fl.Dataset.range(3).batch(10).get_single_element()
    array([0, 1, 2])

    A dataset with no element, or with more than one, is an `InvalidArgumentError`.
    """
    with iter(self) as elements:
        element = next(elements, NONE)
        if element is NONE:
            raise InvalidArgumentError("get_single_element: the dataset is empty; it must have exactly one element")
        if next(elements, NONE) is not NONE:
            raise InvalidArgumentError(
                "get_single_element: the dataset has more than one element; batch(n) or take(1) makes it one"
            )
        return element
