"""`Dataset.from_tensors`: a single element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidArgumentError
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.plan.dataset_base import dataset
from feedline.plan.node import node
from feedline.structure.block import Block, pack
from feedline.structure.nest import flatten
from feedline.structure.values import literal_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


@node
class Tensors(Slices):
    """One element, kept as a block of one row."""

    op: ClassVar[str] = "from_tensors"


def from_tensors(tensors: object, name: str | None = None) -> Dataset[Any]:
    """A dataset of a single element, `tensors`.

    >>> list(fl.Dataset.from_tensors({"a": [1, 2], "b": "x"}))
    [{'a': array([1, 2], dtype=int32), 'b': b'x'}]

    Tuples, dicts, dataclasses and the like are structure; a list becomes an array.
    """
    leaves, tree = flatten(tensors)
    if not leaves or all(v is None for v in leaves):
        raise InvalidArgumentError("from_tensors: got no values; an element needs at least one that is not None")
    return dataset(Tensors(Block([pack([literal_of(v)]) for v in leaves], 1, tree).frozen()))
