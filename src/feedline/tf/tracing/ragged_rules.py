"""The rules of ragged tensors: the spec of one that is made of values and a partition of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.spec import RaggedTensorSpec, TensorShape
from feedline.structure.types import as_dtype
from feedline.tf.tensor import Composite
from feedline.tf.tracing.graph import Inferred, Symbol, symbols_in
from feedline.tf.tracing.specs import RULES, Arguments, Rule, dtype_of, shape_of, vector

Made = tuple[list[int | None], Any, int, Any]
"""The shape of values, their dtype, their ragged rank, and the dtype of their row splits."""


def _values(value: Any) -> Made | None:
    spec = getattr(value, "spec", None) if isinstance(value, Symbol) else None
    if isinstance(spec, RaggedTensorSpec):
        shape = None if spec.shape.dims is None else list(spec.shape.dims)
        return None if shape is None else (shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    if isinstance(value, Composite):
        ragged: Any = value
        return list(TensorShape(ragged.shape).dims or ()), ragged.dtype, ragged.ragged_rank, ragged.row_splits.dtype
    dims = shape_of(value)
    return None if dims is None else (list(dims), dtype_of(value), 0, None)


def _rows(partition: Any, what: str) -> tuple[int | None, Any]:
    """The number of entries of a partition, and the dtype that row splits get from it; None for Python's numbers."""
    dims, dtype = shape_of(partition), dtype_of(partition)
    if dtype.dtype.kind not in "iu":
        raise InvalidTypeError(f"{what} must be int32 or int64, got {dtype.name}")
    if dims is not None and len(dims) != 1:
        raise InvalidArgumentError(f"{what} must be a vector, got the shape {dims}")
    rows = None if dims is None else dims[0]
    if next(symbols_in(partition), None) is None and not hasattr(partition, "dtype"):
        return rows, None
    return rows, as_dtype(np.int32 if dtype.dtype.itemsize == 4 else np.int64)


def _partitioned(rows: int | None, length: int | None, values: Made, splits: Any) -> Made:
    shape, dtype, ragged_rank, inner = values
    if splits is None or inner is None:
        splits = splits or inner or as_dtype(np.int64)
    elif inner != splits:
        splits = as_dtype(np.int64)
    return [rows, length, *shape[1:]], dtype, ragged_rank + 1, splits


def _spec(made: Made) -> Inferred:
    shape, dtype, ragged_rank, splits = made
    return Inferred(RaggedTensorSpec(shape, dtype, ragged_rank, splits))


def _from(name: str, fewer: int = 0) -> Rule:
    """A ragged tensor from values and a vector with an entry for each row, `fewer` more of them."""

    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        values = _values(bound["values"])
        if values is None or not values[0]:
            return None
        count, splits = _rows(bound[name], name)
        return _spec(_partitioned(None if count is None else count - fewer, None, values, splits))

    return rule


def _from_rowids(function: Callable[..., Any], bound: Arguments) -> Any:
    values = _values(bound["values"])
    if values is None or not values[0]:
        return None
    _, splits = _rows(bound["value_rowids"], "value_rowids")
    ids = vector(bound["value_rowids"]) or [None]
    if bound["nrows"] is not None:
        rows = (vector(bound["nrows"]) or [None])[0]
    else:
        rows = None if ids[-1] is None else ids[-1] + 1
    return _spec(_partitioned(rows, None, values, splits))


def _from_nested(name: str, fewer: int) -> Rule:
    def rule(function: Callable[..., Any], bound: Arguments) -> Any:
        made, levels = _values(bound["flat_values"]), bound[name]
        if made is None or not made[0] or not isinstance(levels, (list, tuple)):
            return None
        for level in reversed(levels):
            count, splits = _rows(level, name)
            made = _partitioned(None if count is None else count - fewer, None, made, splits)
        return _spec(made)

    return rule


RULES.update(
    {
        "RaggedTensor.from_row_lengths": _from("row_lengths"),
        "RaggedTensor.from_row_limits": _from("row_limits"),
        "RaggedTensor.from_row_starts": _from("row_starts"),
        "RaggedTensor.from_row_splits": _from("row_splits", 1),
        "RaggedTensor.from_value_rowids": _from_rowids,
        "RaggedTensor.from_nested_row_splits": _from_nested("nested_row_splits", 1),
        "RaggedTensor.from_nested_row_lengths": _from_nested("nested_row_lengths", 0),
    }
)
