"""`compat.v1.data.Dataset.from_sparse_tensor_slices`: the rows of a sparse tensor as triples of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import InvalidTypeError, UnimplementedError
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.plan.dataset_base import dataset
from feedline.plan.node import node
from feedline.structure.block import Block, Objects
from feedline.structure.nest import flat
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorSpec
from feedline.structure.types import int64
from feedline.structure.values import leaf_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from feedline.data.dataset import Dataset

OP = "from_sparse_tensor_slices"


@node
class SparseSlices(Slices):
    """Rows of a sparse tensor: their indices, values and dense shape."""

    op: ClassVar[str] = OP


def from_sparse_tensor_slices(sparse_tensor: object) -> Dataset[tuple[NDArray[np.int64], Any, NDArray[np.int64]]]:
    """A dataset of the rows of a sparse tensor: tuples of the indices, the values and the dense shape of each.

    >>> from feedline.compat import v1
    >>> rows = fl.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 4])
    >>> list(v1.data.Dataset.from_sparse_tensor_slices(rows))[1]
    (array([[2]]), array([2], dtype=int32), array([4]))

    The rows must be in order; within a row any order is allowed, and is kept. `from_tensor_slices` gives the rows as
    sparse tensors.
    """
    tensor = leaf_of(sparse_tensor) if hasattr(sparse_tensor, "dense_shape") else sparse_tensor
    if not isinstance(tensor, SparseTensor) or not tensor.rank:
        raise InvalidTypeError(f"{OP}: requires a SparseTensor of rank 1 or more, got {sparse_tensor!r}")
    indices, values, shape = np.asarray(tensor.indices), np.asarray(tensor.values), np.asarray(tensor.dense_shape)
    row, n = indices[:, 0], int(shape[0])
    if (row[1:] < row[:-1]).any():
        at = int((row[1:] < row[:-1]).argmax()) + 1
        raise UnimplementedError(
            f"{OP}: the rows must be in order, but indices[{at}] = {indices[at].tolist()} comes after row "
            f"{row[at - 1]}; use fl.sparse.reorder first"
        )
    limits = np.searchsorted(row, np.arange(n + 1)).tolist()
    inner = np.ascontiguousarray(indices[:, 1:])
    spans = [slice(limits[i], limits[i + 1]) for i in range(n)]
    columns: list[Any] = [
        Objects([inner[s] for s in spans], TensorSpec([None, inner.shape[1]], int64)),
        Objects([values[s] for s in spans], TensorSpec([None], values.dtype)),
        np.tile(shape[1:], (n, 1)),
    ]
    return dataset(SparseSlices(Block(columns, n, flat(3)).frozen()))
