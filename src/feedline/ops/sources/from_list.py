"""`experimental.from_list`: one element per item of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.plan.dataset_base import dataset
from feedline.plan.node import node
from feedline.structure.block import Block, Objects
from feedline.structure.nest import same_tuples

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


@node
class List(Slices):
    """The items of a list, packed into columns."""

    op: ClassVar[str] = "from_list"


def from_list(elements: list[Any], name: str | None = None) -> Dataset[Any]:
    """A dataset of the items of a list, which may be structures.

    >>> list(fl.experimental.from_list([(1, "a"), (2, "b")]))
    [(np.int32(1), b'a'), (np.int32(2), b'b')]

    All items must have the same structure and types; shapes may differ.

    >>> list(fl.experimental.from_list([[1], [2, 3]]))
    [array([1], dtype=int32), array([2, 3], dtype=int32)]
    """
    if not isinstance(elements, list):
        raise InvalidTypeError(f"from_list: elements must be a list, got {type(elements).__name__}")
    if not elements:
        raise InvalidArgumentError("from_list: elements must not be empty; use Dataset.range(0) for an empty dataset")
    try:
        block = Block.of_elements(elements)
    except TypeError as e:
        raise InvalidTypeError(f"from_list: an item differs in structure from the first: {e}") from None
    first = type(elements[0])
    if issubclass(first, tuple) and not all(same_tuples(type(e), first) for e in elements):
        odd = next(type(e) for e in elements if not same_tuples(type(e), first))
        raise InvalidTypeError(f"from_list: an item is a {odd.__name__}, but the first is a {first.__name__}")
    for column, path in zip(block.columns, block.tree.paths(), strict=True):
        if isinstance(column, Objects) and column.spec is None and any(item is not None for item in column.items):
            kinds = ", ".join(dict.fromkeys(map(_kind, column.items)))
            raise InvalidTypeError(f"from_list: the items differ in type at {path}: {kinds}; convert them to one type")
    if not block.columns or all(isinstance(c, Objects) and c.items[0] is None for c in block.columns):
        raise InvalidArgumentError("from_list: got no values; an element needs at least one that is not None")
    return dataset(List(block.frozen()))


def _kind(item: object) -> str:
    return str(getattr(item, "dtype", type(item).__name__))
