"""Elements with other sizes, used to find which sizes of a function's results depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.structure import ragged
from feedline.structure.nest import flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorShape

Pick = Callable[[int | None], bool]
Change = Callable[[int], int]


def resized(element: object, spec: object, pick: Pick, change: Change) -> Any:
    """A copy of an element of `spec` with other sizes: the size n of each dimension for which `pick`, given its size in
    the spec, is true becomes `change(n)`. The values are the element's, repeated. Leaves without sizes are not changed.
    """
    leaves, tree = flatten(element)
    specs, other = flatten(spec)
    order = tree.order_of(other, exact=True)
    specs = specs if order is None else [specs[i] for i in order]
    return tree.unflatten([_leaf(leaf, s, pick, change) for leaf, s in zip(leaves, specs, strict=True)])


def _leaf(leaf: object, spec: object, pick: Pick, change: Change) -> Any:
    shape = getattr(spec, "shape", None)
    if not isinstance(shape, TensorShape):
        return leaf
    if isinstance(leaf, SparseTensor):
        dims = _dims(shape, len(leaf.dense_shape))
        sizes = [change(int(n)) if pick(d) else int(n) for n, d in zip(leaf.dense_shape, dims, strict=True)]
        kept = (leaf.indices < sizes).all(axis=1)
        return SparseTensor(leaf.indices[kept], leaf.values[kept], np.array(sizes, np.int64))
    if isinstance(leaf, RaggedTensor):
        dims, n = _dims(shape, len(leaf.shape)), len(leaf)
        made = _inside(leaf, dims, pick, change)
        return ragged.gather(made, _again(n, change)) if n and pick(dims[0]) else made
    if isinstance(leaf, np.ndarray):
        return _array(leaf, _dims(shape, leaf.ndim), pick, change)
    return leaf


def _array(array: Any, dims: tuple[int | None, ...], pick: Pick, change: Change) -> Any:
    sizes = [change(n) if pick(d) else n for n, d in zip(array.shape, dims, strict=True)]
    if 0 in array.shape:
        return np.full(sizes, b"", object) if array.dtype.kind == "O" else np.zeros(sizes, array.dtype)
    for axis, size in enumerate(sizes):
        array = array.take(np.arange(size) % array.shape[axis], axis)
    return array


def _dims(shape: TensorShape, rank: int) -> tuple[int | None, ...]:
    return (None,) * rank if shape.dims is None or len(shape.dims) != rank else tuple(shape.dims)


def _again(n: int, change: Change) -> Any:
    """The indices of the rows that replace n rows."""
    return np.arange(change(n)) % n


def _inside(values: Any, dims: tuple[int | None, ...], pick: Pick, change: Change) -> Any:
    """A ragged tensor, or the array of its values, with other sizes in all dimensions but the first."""
    if not isinstance(values, RaggedTensor):
        for axis, d in enumerate(dims[1:], 1):
            values = values.take(_again(values.shape[axis], change), axis) if pick(d) and values.shape[axis] else values
        return values
    inner = _inside(values.values, dims[1:], pick, change)
    if not pick(dims[1]):
        return RaggedTensor.from_row_splits(inner, values.row_splits)
    starts, lengths = values.row_splits[:-1].tolist(), np.diff(values.row_splits).tolist()
    index = [start + _again(n, change) for start, n in zip(starts, lengths, strict=True) if n]
    taken = np.concatenate([np.empty(0, np.int64), *index])
    kept = ragged.gather(inner, taken) if isinstance(inner, RaggedTensor) else inner[taken]
    return RaggedTensor.from_row_lengths(kept, np.array([change(n) if n else 0 for n in lengths], np.int64))
