"""Sparse tensors: the indices and values of nonzero entries, as in tf.SparseTensor and tf.sparse."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.dense import Array, dense, same, text

__all__ = ["SparseTensor", "from_dense", "reorder", "to_dense"]


class SparseTensor:
    """A tensor given by the `indices` of its values [n, rank], the `values` [n] and its `dense_shape` [rank].

    >>> sp = fl.SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])
    >>> sp
    SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])
    >>> sp.to_dense()
    array([[0, 5],
           [0, 0],
           [7, 0]], dtype=int32)

    As in TensorFlow, indices may be in any order, and only `to_dense` checks that they lie inside the shape.
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    _indices: Array
    _values: Array
    _dense_shape: Array

    def __init__(self, indices: object, values: object, dense_shape: object) -> None:
        self._indices = dense(indices, np.int64)
        self._values = dense(values)
        self._dense_shape = dense(dense_shape, np.int64)
        for name, array, rank in (("indices", self._indices, 2), ("values", self._values, 1)):
            if array.ndim != rank:
                raise InvalidArgumentError(f"{name} must have the rank {rank}, got the shape {array.shape}")
        if self._dense_shape.ndim != 1 or (self._dense_shape < 0).any():
            raise InvalidArgumentError(f"dense_shape must be a list of sizes of 0 or more, got {dense_shape!r}")
        if self._indices.shape != (len(self._values), len(self._dense_shape)):
            raise InvalidArgumentError(
                f"indices must have the shape [values, rank] = {[len(self._values), len(self._dense_shape)]}, "
                f"got {list(self._indices.shape)}"
            )

    @property
    def indices(self) -> Array:
        """The indices of the values, int64 [n, rank]."""
        return self._indices

    @property
    def values(self) -> Array:
        """The values [n]."""
        return self._values

    @property
    def dense_shape(self) -> Array:
        """The shape as an int64 array [rank]."""
        return self._dense_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        dtype: np.dtype[Any] = self._values.dtype
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as a tuple."""
        return tuple(self._dense_shape.tolist())

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self._dense_shape)

    @classmethod
    def from_dense(cls, tensor: object) -> SparseTensor:
        """The values of an array that are not zero, False or b"".

        >>> fl.SparseTensor.from_dense([[0, 5], [7, 0]])
        SparseTensor(indices=[[0, 1], [1, 0]], values=[5, 7], dense_shape=[2, 2])
        """
        array = dense(tensor)
        if not array.ndim:
            raise InvalidArgumentError(
                f"from_dense takes an array of at least one dimension, got the scalar {tensor!r}"
            )
        kept = (array != (b"" if array.dtype.kind == "O" else np.zeros((), array.dtype))).astype(bool)
        return _make(np.argwhere(kept), array[kept], np.array(array.shape, np.int64))

    def to_dense(self, default_value: object = None, validate_indices: bool = True) -> Array:
        """The dense array, with `default_value` (by default zero or b"") for missing values.

        The indices must be sorted and unique, unless `validate_indices` is False; then the last value of an index wins.

        >>> fl.SparseTensor([[1], [3]], ["a", "b"], [4]).to_dense(default_value="-")
        array([b'-', b'a', b'-', b'b'], dtype=object)
        """
        if default_value is None:
            default_value = b"" if self.dtype.kind == "O" else np.zeros((), self.dtype)
        fill = dense(default_value, self.dtype)
        if fill.ndim:
            raise InvalidArgumentError(f"default_value must be a scalar, got the shape {fill.shape}")
        self._check_places(ordered=validate_indices)
        out = np.empty(self.shape, self.dtype)
        out[...] = fill
        if self.rank:
            out[tuple(self._indices.T)] = self._values
        elif len(self._values):
            out[()] = self._values[-1]
        return out

    def _check_places(self, ordered: bool) -> None:
        outside = ((self._indices < 0) | (self._indices >= self._dense_shape)).any(axis=1)
        if outside.any():
            at = int(outside.argmax())
            raise InvalidArgumentError(
                f"indices[{at}] = {self._indices[at].tolist()} lies outside the dense shape {list(self.shape)}"
            )
        if not ordered or len(self._indices) < 2:
            return
        step = np.diff(self._indices, axis=0)
        # The sign of a step is that of its first nonzero part.
        sign = np.zeros(len(step), np.int64)
        for part in step.T:
            sign = np.where(sign == 0, np.sign(part), sign)
        if (sign <= 0).any():
            at = int((sign <= 0).argmax()) + 1
            fault = "is duplicated" if sign[at - 1] == 0 else "is out of order; use fl.sparse.reorder first"
            raise InvalidArgumentError(f"indices[{at}] = {self._indices[at].tolist()} {fault}")

    def reorder(self) -> SparseTensor:
        """The same tensor with its indices in row-major order.

        >>> fl.SparseTensor([[2, 0], [0, 1]], [7, 5], [3, 2]).reorder()
        SparseTensor(indices=[[0, 1], [2, 0]], values=[5, 7], dense_shape=[3, 2])
        """
        if not self.rank:
            return self
        order = np.lexsort(self._indices.T[::-1])
        return _make(self._indices[order], self._values[order], self._dense_shape)

    def with_values(self, values: object) -> SparseTensor:
        """The same indices with other values, as many as before."""
        return SparseTensor(self._indices, values, self._dense_shape)

    def equals(self, other: object) -> bool:
        """Whether `other` is a sparse tensor with the same indices in the same order, values, shape and dtype.

        >>> sp = fl.SparseTensor([[1]], [7], [4])
        >>> sp.equals(fl.SparseTensor([[1]], [7], [4])), sp.equals(fl.SparseTensor([[1]], [7], [5]))
        (True, False)
        """
        return (
            isinstance(other, SparseTensor)
            and self.shape == other.shape
            and same(self._indices, other._indices)
            and same(self._values, other._values)
        )

    def __repr__(self) -> str:
        indices, values, shape = map(text, (self._indices, self._values, self._dense_shape))
        return f"SparseTensor(indices={indices}, values={values}, dense_shape={shape})"


# -- tf.sparse -----------------------------------------------------------------------------------------------------


def from_dense(tensor: object) -> SparseTensor:
    """The sparse form of an array. See `SparseTensor.from_dense`.

    >>> fl.sparse.from_dense(["", "a"])
    SparseTensor(indices=[[1]], values=[b'a'], dense_shape=[2])
    """
    return SparseTensor.from_dense(tensor)


def to_dense(sp_input: SparseTensor, default_value: object = None, validate_indices: bool = True) -> Array:
    """The dense form of a sparse tensor. See `SparseTensor.to_dense`.

    >>> fl.sparse.to_dense(fl.SparseTensor([[1]], [2.5], [3]))
    array([0. , 2.5, 0. ], dtype=float32)
    """
    return _sparse(sp_input).to_dense(default_value, validate_indices)


def reorder(sp_input: SparseTensor) -> SparseTensor:
    """Puts the indices in row-major order. See `SparseTensor.reorder`.

    >>> fl.sparse.reorder(fl.SparseTensor([[1], [0]], [7, 5], [2]))
    SparseTensor(indices=[[0], [1]], values=[5, 7], dense_shape=[2])
    """
    return _sparse(sp_input).reorder()


# -- for the engine ------------------------------------------------------------------------------------------------


def rows(tensor: SparseTensor) -> list[SparseTensor]:
    """The outer rows, each one rank lower. As in TensorFlow, the indices must be sorted, and the rank at least 2.

    >>> from feedline.structure.sparse import rows
    >>> rows(fl.SparseTensor([[1, 0]], [7], [2, 3]))[1]
    SparseTensor(indices=[[0]], values=[7], dense_shape=[3])
    """
    if tensor.rank < 2:
        raise InvalidArgumentError(f"a sparse tensor of rank {tensor.rank} has no rows; its rank must be 2 or more")
    tensor._check_places(ordered=True)
    indices, values = tensor._indices, tensor._values
    limits = np.searchsorted(indices[:, 0], np.arange(int(tensor._dense_shape[0]) + 1)).tolist()
    inner, shape = indices[:, 1:], tensor._dense_shape[1:]
    return [_make(inner[a:b], values[a:b], shape) for a, b in pairwise(limits)]


def stack_rows(rows: Sequence[SparseTensor]) -> SparseTensor:
    """The sparse tensor whose outer rows are `rows`. The inner shape is the largest size of each dimension.

    >>> from feedline.structure.sparse import stack_rows
    >>> stack_rows([fl.SparseTensor([[0]], [1], [2]), fl.SparseTensor([[4]], [2], [5])])
    SparseTensor(indices=[[0, 0], [1, 4]], values=[1, 2], dense_shape=[2, 5])
    """
    if not rows:
        raise InvalidArgumentError("no rows to stack; their dtype and rank are not known")
    if len({(r.rank, r.dtype) for r in rows}) > 1:
        found = sorted({f"rank {r.rank} of {r.dtype}" for r in rows})
        raise InvalidArgumentError(f"rows must have one rank and dtype, got {', '.join(found)}")
    counts = [len(r._values) for r in rows]
    row = np.repeat(np.arange(len(rows)), counts)
    return _make(
        np.column_stack([row, np.concatenate([r._indices for r in rows])]),
        np.concatenate([r._values for r in rows]),
        np.concatenate([[len(rows)], np.max([r._dense_shape for r in rows], axis=0)]).astype(np.int64, copy=False),
    )


def _make(indices: Array, values: Array, dense_shape: Array) -> SparseTensor:
    """A sparse tensor from its parts, without checks."""
    tensor = object.__new__(SparseTensor)
    tensor._indices, tensor._values, tensor._dense_shape = indices, values, dense_shape
    return tensor


def _sparse(value: object) -> SparseTensor:
    if not isinstance(value, SparseTensor):
        raise InvalidTypeError(f"expected a SparseTensor, got {type(value).__name__}")
    return value
