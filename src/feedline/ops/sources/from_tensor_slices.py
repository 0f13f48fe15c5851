"""`Dataset.from_tensor_slices`: one element per row of arrays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.kernels.threads import team
from feedline.ops.sources.indexed import Indexed
from feedline.plan.dataset_base import dataset, register_in_memory
from feedline.plan.node import node
from feedline.plan.traits.checkpoint import InMemory
from feedline.structure import ragged, sparse
from feedline.structure.block import (
    Array,
    Block,
    Column,
    Objects,
    freeze,
    merged_spec,
    object_array,
    read_only,
    take_rows,
)
from feedline.structure.buffer_pool import PAGE, buffers
from feedline.structure.datasets import Datasets
from feedline.structure.nest import Tree, flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec
from feedline.structure.values import literal_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

COPY_BELOW = 1 << 20


@node
class Slices(InMemory, Indexed):
    """Rows of read-only columns in memory. Elements are views of them."""

    op: ClassVar[str] = "from_tensor_slices"
    block: Block

    def spec(self) -> Any:
        """The spec of the columns."""
        return self.block.spec()

    def cardinality(self) -> int:
        """The size of the first dimension."""
        return self.block.n

    def span(self, start: int, stop: int) -> Block:
        """Views of the rows."""
        return self.block.slice(start, stop)

    def rows(self, index: Array) -> Block:
        """Copies of the rows."""
        return Block([gather(c, index) for c in self.block.columns], len(index), self.block.tree)

    def arguments(self) -> dict[str, Any]:
        """The number of rows and bytes, in place of the data."""
        return {"rows": self.block.n, "bytes": self.block.nbytes}


register_in_memory(Slices)


def gather(column: Column, index: Array) -> Column:
    """`take_rows`, with a kernel for contiguous memory. For rows of a page or more the kernel has no advantage: their
    cost is that of the memory copied to.
    """
    plain = isinstance(column, np.ndarray) and column.dtype.kind != "O" and column.flags.c_contiguous
    if plain and column.size and column[:1].nbytes < PAGE:
        out = buffers.empty((len(index), *column.shape[1:]), column.dtype)
        return kernels.gather_rows(column, index, out, team())
    return take_rows(column, index)


def from_tensor_slices(tensors: object, name: str | None = None) -> Dataset[Any]:
    """A dataset whose elements are the rows of `tensors`, a nest of arrays with the same first dimension.

    >>> for features, label in fl.Dataset.from_tensor_slices(([[1.0, 2.0], [3.0, 4.0]], [0, 1])):
    ...     print(features, label)
    [1. 2.] 0
    [3. 4.] 1

    Arrays of a megabyte or more, including memory-mapped ones, are used in place and must not be changed while the
    dataset is in use; smaller ones are copied. Elements are read-only views, which protects the source; a function that
    writes into one, as `image -= mean` does, is given a copy.
    """
    leaves, tree = flatten(tensors)
    return dataset(Slices(slices_of(leaves, tree)))


def slices_of(leaves: list[Any], tree: Tree) -> Block:
    """A block whose rows are the slices of `leaves`."""
    paths = tree.paths()
    columns = [None if leaf is None else _column(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    sizes = [None if column is None else len(column) for column in columns]
    n = max([size for size in sizes if size is not None], default=None)
    if n is None:
        raise InvalidArgumentError("from_tensor_slices: got no arrays; pass at least one")
    if any([size != n for size in sizes]):
        _check_sizes(paths, sizes)
    return Block([Objects([None] * n) if column is None else column for column in columns], n, tree)


def _check_sizes(paths: list[str], sizes: list[int | None]) -> None:
    (first, n), *others = [(path, size) for path, size in zip(paths, sizes, strict=True) if size is not None]
    for path, size in others:
        if size != n:
            raise InvalidArgumentError(
                f"from_tensor_slices: the first dimensions differ: {first} has {n} rows, {path} has {size}; all "
                "arrays must have the same number of rows"
            )


def _column(value: object, path: str) -> Column:
    if type(value) is np.ndarray and value.ndim and value.dtype.kind in "biufc" and value.dtype.isnative:
        return read_only(value.copy() if value.nbytes < COPY_BELOW else value)
    leaf = literal_of(value)
    if isinstance(leaf, RaggedTensor):
        spec = RaggedTensorSpec(leaf.shape[1:], leaf.dtype, leaf.ragged_rank - 1, leaf.row_splits.dtype)
        return freeze(Objects(ragged.rows(leaf), spec))
    if isinstance(leaf, SparseTensor):
        return Objects(sparse.rows(leaf), SparseTensorSpec(leaf.shape[1:], leaf.dtype))
    if isinstance(leaf, Datasets):
        return Objects(list(leaf), merged_spec(list(leaf)))
    if not isinstance(leaf, np.ndarray) or leaf.ndim == 0:
        what = "a scalar" if isinstance(leaf, (np.generic, bytes)) else f"a {type(leaf).__name__}"
        raise InvalidArgumentError(
            f"from_tensor_slices: {what} at {path} has no rows to slice; pass arrays of at least one dimension, or use "
            "from_tensors for a single element"
        )
    if isinstance(value, np.ndarray) and leaf.nbytes < COPY_BELOW and leaf.dtype.kind != "O":
        leaf = leaf.copy()
    elif leaf.dtype.kind == "O" and leaf is value:
        leaf = object_array(leaf.ravel().tolist()).reshape(leaf.shape)
    return read_only(np.asarray(leaf))
