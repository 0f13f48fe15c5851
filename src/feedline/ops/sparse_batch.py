"""`sparse_batch`: consecutive elements of different shapes in one sparse tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import DataLossError, InvalidArgumentError, InvalidTypeError
from feedline.ops.batch import Grouped
from feedline.plan import arguments
from feedline.plan.node import Node, node
from feedline.plan.rewrite import replace_node
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise
from feedline.plan.traits.specs import spec_known
from feedline.structure.block import Array, Block, Objects
from feedline.structure.nest import is_structure
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import DatasetSpec, Dims, OptionalSpec, SparseTensorSpec, TensorShape

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer


@node
class Fitting(RowWise):
    """The rows unchanged, if each fits into a row of the batch. One that does not is an error of its own, as in
    TensorFlow: its batch starts again after it.
    """

    op: ClassVar[str] = "sparse_batch"
    row_shape: Dims

    def apply(self, block: Block) -> Block:
        """Checks the shapes."""
        if block.n and not block.tree.is_leaf:
            raise _structured(block.tree)
        for i, row in enumerate(block.rows()):
            error = _misfit(row, self.row_shape)
            if error is not None:
                raise RowFailed(i, block.slice(0, i), error)
        return block


@node
class SparseBatch(Grouped):
    """Groups of `batch_size` rows, each a sparse tensor that lists every value of its rows."""

    op: ClassVar[str] = "sparse_batch"
    row_shape: Dims = ()

    def spec(self) -> Any:
        """The shape of a row with a batch dimension in front."""
        check_single(self.input)
        return SparseTensorSpec([None, *self.row_shape], self.input.element_spec.dtype)

    def stack(self, rows: Block, size: int) -> Block:
        """The rows in groups of `size`."""
        values = rows.rows()
        made = [sparse_of(values[i : i + size], self.row_shape) for i in range(0, rows.n, size)]
        return Block([Objects(made, SparseTensorSpec([None, *self.row_shape], made[0].dtype))], len(made), rows.tree)


def _misfit(row: object, row_shape: Dims) -> Exception | None:
    if not isinstance(row, (np.ndarray, np.generic, bytes)):
        return InvalidTypeError(f"sparse_batch: the elements must be arrays, got {type(row).__name__}")
    shape = () if isinstance(row, bytes) else row.shape
    if len(shape) != len(row_shape):
        return InvalidArgumentError(
            f"sparse_batch: an element of shape {list(shape)} does not have the rank of row_shape {list(row_shape)}"
        )
    if any(d is not None and n > d for n, d in zip(shape, row_shape, strict=True)):
        return DataLossError(
            f"sparse_batch: an element of shape {list(shape)} is larger than row_shape {list(row_shape)}"
        )
    return None


def sparse_of(rows: list[Any], row_shape: Dims) -> SparseTensor:
    """A sparse tensor with all values of the rows, including zeros; unknown sizes become the largest of the rows."""
    arrays = [_scalar_string(row) if isinstance(row, bytes) else np.asarray(row) for row in rows]
    counts = np.array([array.size for array in arrays])
    places = [np.repeat(np.arange(len(arrays)), counts)]
    if len(row_shape) == 1:
        places.append(np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))
    elif row_shape:
        places.extend(np.concatenate([np.indices(a.shape).reshape(a.ndim, a.size) for a in arrays], axis=1))
    largest = [max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)]
    shape = [n if d is None else d for n, d in zip(largest, row_shape, strict=True)]
    values = np.concatenate([array.ravel() for array in arrays])
    return SparseTensor(np.stack(places, axis=1).astype(np.int64), values, [len(arrays), *shape])


def _scalar_string(value: bytes) -> Array:
    made = np.empty((), object)
    made[()] = value
    return made


def check_single(plan: Node) -> None:
    """Raises an error if elements have several components, or one inside a container."""
    if is_structure(plan.element_spec) or isinstance(plan.element_spec, (DatasetSpec, OptionalSpec)):
        raise _structured(plan.element_spec)


def _structured(found: object) -> InvalidTypeError:
    return InvalidTypeError(f"sparse_batch: the elements must be single arrays, got elements of structure {found!r}")


def sparse_batch(
    self: Dataset[Any], batch_size: Integer, row_shape: object, name: str | None = None
) -> Dataset[SparseTensor]:
    """Combines `batch_size` consecutive elements, arrays whose shapes may differ, into one sparse tensor.

    >>> ds = fl.Dataset.from_tensor_slices([1, 2]).map(lambda n: np.full(n, n))
    >>> next(iter(ds.sparse_batch(2, row_shape=[3])))
    SparseTensor(indices=[[0, 0], [1, 0], [1, 1]], values=[1, 2, 2], dense_shape=[2, 3])

    All values of an element are listed, including zeros. An element larger than `row_shape` raises `DataLossError`;
    None in `row_shape` stands for the largest size in the batch.
    """
    size = arguments.positive(batch_size, "batch_size", "sparse_batch")
    shape = TensorShape(row_shape)
    if shape.dims is None:
        raise InvalidArgumentError("sparse_batch: row_shape must have a known rank; pass a list of sizes")
    if spec_known(self._plan):
        check_single(self._plan)
    rows = Fitting(self._plan, shape.dims)
    plan = replace_node(rows, SparseBatch(rows, size, False, shape.dims))  # users see one step
    return self._derive(plan)
