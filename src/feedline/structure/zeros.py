"""Elements of zeros or ones, made from a spec alone: to try a function without a real element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from feedline.errors import FailedPreconditionError
from feedline.structure.nest import map_structure
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec


def zeros_of(spec: object, size: int = 1, fill: int = 0) -> Any:
    """An element of zeros and empty strings that fits `spec`, with `size` for unknown dimensions; with `fill=1`, of
    ones and the string "1".
    """
    return map_structure(lambda s: _leaf(s, size, fill), spec)


def _leaf(spec: object, size: int, fill: int) -> Any:
    if spec is None:
        return None
    if isinstance(spec, TensorSpec):
        return zeros(spec.shape, spec.dtype.dtype, size, fill)
    if isinstance(spec, SparseTensorSpec):
        sizes = _sizes(spec.shape, size) or [size]
        values = zeros(TensorShape([0]), spec.dtype.dtype)
        return SparseTensor(np.zeros((0, len(sizes)), np.int64), values, np.array(sizes, np.int64))
    if isinstance(spec, RaggedTensorSpec):
        return _ragged(spec, size, fill)
    raise FailedPreconditionError(f"cannot make an element of {spec!r} to infer a spec from")


def _ragged(spec: RaggedTensorSpec, size: int, fill: int) -> Any:
    """A ragged tensor with rows of equal length."""
    rank = spec.ragged_rank
    sizes = _sizes(spec.shape, size) or [size] * (rank + 1)
    made = zeros(TensorShape([math.prod(sizes[: rank + 1]), *sizes[rank + 1 :]]), spec.dtype.dtype, fill=fill)
    for level in range(rank, 0, -1):
        splits = np.arange(math.prod(sizes[:level]) + 1, dtype=spec.row_splits_dtype.dtype) * sizes[level]
        made = RaggedTensor.from_row_splits(made, splits)
    return made


def _sizes(shape: TensorShape, size: int) -> list[int]:
    return [size if d is None else d for d in (shape.dims or ())]


def zeros(shape: TensorShape, dtype: np.dtype[Any], size: int = 1, fill: int = 0) -> Any:
    """Zeros or empty strings; a scalar for rank 0. With `fill=1`, ones or the string "1"."""
    dims = _sizes(shape, size)
    made = np.full(dims, b"1" * fill, object) if dtype.kind == "O" else np.full(dims, fill, dtype)
    return made if dims else made[()]
