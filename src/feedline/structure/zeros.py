"""Elements of zeros: made from a spec alone, where a function must be tried and no element is at hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.nest import map_structure
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec


def zeros_of(spec: Any) -> Any:
    """An element of zeros and empty strings that fits `spec`; unknown dimensions are taken as 1."""
    return map_structure(_leaf, spec)


def _leaf(spec: Any) -> Any:
    if spec is None:
        return None
    if isinstance(spec, TensorSpec):
        return zeros(spec.shape, spec.dtype.dtype)
    if isinstance(spec, SparseTensorSpec):
        rank = spec.shape.rank or 1
        values = zeros(TensorShape([0]), spec.dtype.dtype)
        return SparseTensor(np.zeros((0, rank), np.int64), values, np.ones(rank, np.int64))
    if isinstance(spec, RaggedTensorSpec):
        flat = zeros(TensorShape([0]), spec.dtype.dtype)
        made: Any = flat
        for _ in range(spec.ragged_rank):
            rows = len(made) if isinstance(made, np.ndarray) else made.nrows()
            made = RaggedTensor.from_row_splits(made, np.zeros(1, spec.row_splits_dtype.dtype) if not rows else [0,
            rows])
        return made
    raise FailedPreconditionError(f"cannot make an element of {spec!r} to infer a spec from")


def zeros(shape: TensorShape, dtype: np.dtype[Any]) -> Any:
    """Zeros, or empty strings; a scalar for rank 0."""
    dims = [1 if d is None else d for d in (shape.dims or ())]
    made = np.full(dims, b"", object) if dtype.kind == "O" else np.zeros(dims, dtype)
    return made if dims else made[()]
