"""`tf.sets`: the last dimension of tensors as sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Tensor, as_tensor, tensor_of

Rows = dict[tuple[int, ...], set[Any]]


def _rows(value: object) -> tuple[Rows, tuple[int, ...], np.dtype[Any]]:
    """The set of each row, by its place, and the shape of the places."""
    if isinstance(value, SparseTensor):
        held = value._value
        rows: Rows = {}
        for index, entry in zip(held.indices.tolist(), held.values.tolist(), strict=True):
            rows.setdefault(tuple(index[:-1]), set()).add(entry)
        return rows, tuple(held.shape[:-1]), held.values.dtype
    array = as_tensor(value)._array
    if array.ndim < 2:
        raise InvalidArgumentError(f"sets have at least 2 dimensions, got the shape {list(array.shape)}")
    return {at: set(array[at].tolist()) for at in np.ndindex(*array.shape[:-1])}, array.shape[:-1], array.dtype


def _combined(what: str, a: object, b: object, function: Callable[[set[Any], set[Any]], set[Any]]) -> SparseTensor:
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise InvalidTypeError(f"{what}: both operands must be sparse, or both dense")
    x, places, dtype = _rows(a)
    y, others, other = _rows(b)
    if dtype != other:
        raise InvalidTypeError(f"{what}: the dtypes differ: {dtype} and {other}")
    if places != others:
        raise InvalidArgumentError(f"{what}: the shapes differ: {list(places)} and {list(others)}")
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    widest = 0
    for at in np.ndindex(*places):
        found = sorted(function(x.get(at, set()), y.get(at, set())))
        indices += [(*at, i) for i in range(len(found))]
        values += found
        widest = max(widest, len(found))
    entries = np.empty(len(values), dtype)
    entries[:] = values
    placed = np.array(indices, np.int64).reshape(-1, len(places) + 1)
    return SparseTensor(placed, entries, np.array([*places, widest], np.int64))


def difference(a: object, b: object, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The values of each row of `a` that are not in that of `b`.

    >>> import feedline.tf as tf
    >>> tf.sets.difference([[1, 2]], [[2, 3]]).values.numpy()
    array([1], dtype=int32)
    """
    return _combined("difference", a, b, lambda x, y: x - y if aminusb else y - x)


def intersection(a: object, b: object, validate_indices: bool = True) -> SparseTensor:
    """The values that are in both rows.

    >>> import feedline.tf as tf
    >>> tf.sets.intersection([[1, 2]], [[2, 3]]).values.numpy()
    array([2], dtype=int32)
    """
    return _combined("intersection", a, b, lambda x, y: x & y)


def union(a: object, b: object, validate_indices: bool = True) -> SparseTensor:
    """The values that are in one of both rows.

    >>> import feedline.tf as tf
    >>> tf.sets.union([[1, 2]], [[2, 3]]).values.numpy()
    array([1, 2, 3], dtype=int32)
    """
    return _combined("union", a, b, lambda x, y: x | y)


def size(a: object, validate_indices: bool = True) -> Tensor:
    """The number of different values of each row of a sparse tensor.

    >>> import feedline.tf as tf
    >>> tf.sets.size(tf.sparse.from_dense([[1, 1, 2]])).numpy()
    array([2], dtype=int32)
    """
    if not isinstance(a, SparseTensor):
        raise InvalidTypeError(f"size: expected a SparseTensor, got {a!r}")
    rows, places, _ = _rows(a)
    made = np.zeros(places, np.int32)
    for at, found in rows.items():
        made[at] = len(found)
    return tensor_of(made)
