"""Sparse tensors as strings: their indices, values and shape, each as a `TensorProto` message."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.tensor import parse_tensor, raw_tensor
from feedline.structure import types
from feedline.structure.dense import strings_of
from feedline.structure.sparse import SparseTensor
from feedline.structure.types import as_dtype

Array = np.ndarray[Any, Any]


def serialize_sparse(sp_input: object, out_type: object = types.string, name: str | None = None) -> Array:
    """Serializes a sparse tensor to three strings: its indices, values and shape.

    >>> packed = fl.io.serialize_sparse(fl.SparseTensor([[1], [4]], [5, 7], [6]))
    >>> packed.shape
    (3,)
    >>> fl.io.deserialize_many_sparse([packed], fl.int32)
    SparseTensor(indices=[[0, 1], [0, 4]], values=[5, 7], dense_shape=[1, 6])
    """
    sparse = _checked(sp_input, out_type, "serialize_sparse")
    return _strings([_parts(sparse.indices, sparse.values, sparse.dense_shape)]).reshape(3)


def serialize_many_sparse(sp_input: object, out_type: object = types.string, name: str | None = None) -> Array:
    """Serializes each row of a sparse tensor to three strings. Its indices must be in order.

    >>> rows = fl.io.serialize_many_sparse(fl.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2]))
    >>> rows.shape
    (3, 3)
    >>> fl.io.deserialize_many_sparse(rows, fl.int32)
    SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])
    """
    op = "serialize_many_sparse"
    sparse = _checked(sp_input, out_type, op)
    indices, shape = sparse.indices, sparse.dense_shape
    if len(shape) < 2:
        raise InvalidArgumentError(
            f"{op}: a batch of sparse tensors must have rank 2 or more, got shape {shape.tolist()}"
        )
    order = np.lexsort(indices.T[::-1])
    if (order[1:] < order[:-1]).any():
        raise InvalidArgumentError(f"{op}: the indices must be in order, got {indices.tolist()}; see reorder")
    if len(indices) and not (indices[0, 0] >= 0 and indices[-1, 0] < shape[0]):
        raise InvalidArgumentError(f"{op}: rows {indices[0, 0]} to {indices[-1, 0]} are not all less than {shape[0]}")
    ends = np.searchsorted(indices[:, 0], np.arange(int(shape[0]) + 1))
    rows = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return _strings([_parts(indices[a:b, 1:], sparse.values[a:b], shape[1:]) for a, b in rows])


def deserialize_many_sparse(
    serialized_sparse: object, dtype: object, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Deserializes the output [..., 3] of `serialize_sparse` or `serialize_many_sparse` into one sparse tensor, with
    the dimensions of the strings in front. The shapes may differ; the result has the largest size of each dimension.

    `dtype` is that of the values. `rank` is the required rank of the result, if given.

    >>> one, two = (fl.io.serialize_sparse(fl.SparseTensor([[i]], [i], [i + 1])) for i in (2, 5))
    >>> fl.io.deserialize_many_sparse(np.stack([one, two]), fl.int32)
    SparseTensor(indices=[[0, 2], [1, 5]], values=[2, 5], dense_shape=[2, 6])
    """
    op = "deserialize_many_sparse"
    strings = strings_of(serialized_sparse, f"{op} takes strings")
    if not strings.ndim or strings.shape[-1] != 3 or not strings.size:
        raise InvalidArgumentError(
            f"{op} takes one or more strings [..., 3], got {strings.dtype} of shape {list(strings.shape)}"
        )
    outer = strings.shape[:-1]
    found = [_tensor(strings[at], dtype, f"{op}: tensor {list(at)}") for at in np.ndindex(outer)]
    ranks = {len(one.dense_shape) for one in found}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"{op}: the tensors must have the same rank, got {sorted(ranks)}")
    whole = ranks.pop() + len(outer)
    if rank is not None and rank != whole:
        raise InvalidArgumentError(f"{op}: the tensor has rank {whole}, but rank is {rank}")
    indices = [
        np.concatenate([np.tile(np.array(at, np.int64), (len(one.values), 1)), one.indices], axis=1)
        for at, one in zip(np.ndindex(outer), found, strict=True)
    ]
    inner = np.max([one.dense_shape for one in found], axis=0)
    return SparseTensor(np.concatenate(indices), np.concatenate([one.values for one in found]), [*outer, *inner])


def _checked(tensor: object, out_type: object, op: str) -> SparseTensor:
    if not isinstance(tensor, SparseTensor):
        raise InvalidTypeError(f"{op} takes a SparseTensor, got {tensor!r} of type {type(tensor).__name__}")
    if as_dtype(out_type) != types.string:
        raise InvalidArgumentError(f"{op}: out_type must be string, got {out_type!r}")
    return tensor


def _parts(indices: Array, values: Array, shape: Array) -> list[bytes]:
    return [raw_tensor(part, "serialize_sparse") for part in (indices, values, shape)]


def _strings(rows: list[list[bytes]]) -> Array:
    out = np.empty((len(rows), 3), object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


def _tensor(strings: Array, dtype: object, what: str) -> SparseTensor:
    kinds = (types.int64, dtype, types.int64)
    try:
        return SparseTensor(*(parse_tensor(s, kind) for s, kind in zip(strings, kinds, strict=True)))
    except InvalidArgumentError as e:
        raise InvalidArgumentError(f"{what} cannot be read: {e}") from None
