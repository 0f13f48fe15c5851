"""Datasets as parts of elements: single ones and batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from feedline.structure.spec import DatasetSpec, general_leaf, register_spec_of, type_spec_from_value


class Nested:
    """The base class of datasets, which may be leaves of elements."""


class Datasets(Sequence[Any]):
    """A sequence of datasets: a batch of elements that are datasets, or a list of datasets.

    >>> windows = next(iter(fl.Dataset.range(4).window(2).batch(2)))
    >>> [list(window) for window in windows]
    [[np.int64(0), np.int64(1)], [np.int64(2), np.int64(3)]]

    `from_tensor_slices` and `unbatch` split it again. A batch of batches holds `Datasets`.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any) -> Any:
        return Datasets(self._items[key]) if isinstance(key, slice) else self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Datasets({list(self._items)!r})"


@register_spec_of
def _spec_of(value: object) -> Any:
    if not isinstance(value, Datasets):
        return None
    spec: Any = type_spec_from_value(value[0])
    for item in value[1:]:
        spec = general_leaf(spec, type_spec_from_value(item))
        if spec is None:
            return None
    return DatasetSpec(spec.element_spec, [len(value), *spec.dataset_shape])
