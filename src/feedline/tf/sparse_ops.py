"""`tf.SparseTensor` and `tf.sparse`: indices and values of nonzero entries, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.dense import Array
from feedline.structure.sparse import SparseTensor as SparseValue
from feedline.structure.spec import SparseTensorSpec, TensorShape, register_spec_of
from feedline.structure.types import DType, as_dtype
from feedline.structure.values import register_leaf
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, integer, ints, tensor_of


class SparseTensor(Composite["SparseTensor"]):
    """A tensor given by the `indices` of its values [n, rank], the `values` [n] and its `dense_shape` [rank].

    >>> import feedline.tf as tf
    >>> sp = tf.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2])
    >>> tf.sparse.to_dense(sp).numpy().tolist()
    [[0, 5], [0, 0], [7, 0]]
    """

    __slots__ = ("_value",)

    _value: SparseValue

    def __init__(self, indices: object, values: object, dense_shape: object) -> None:
        places = as_tensor(indices, np.int64)._array if not _is_empty(indices) else np.zeros((0, 2), np.int64)
        self._value = SparseValue(places, as_tensor(values)._array, as_tensor(dense_shape, np.int64)._array)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """The tensor for an object with indices, values and dense_shape."""
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The indices of the values, int64 [n, rank]."""
        return tensor_of(self._value.indices)

    @property
    def values(self) -> Tensor:
        """The values [n]."""
        return tensor_of(self._value.values)

    @property
    def dense_shape(self) -> Tensor:
        """The shape as a tensor."""
        return tensor_of(self._value.dense_shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return as_dtype(self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self._value.shape)

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Raises ValueError if the tensor has another shape."""
        if not self.shape.is_compatible_with(TensorShape(shape)):
            raise InvalidArgumentError(f"the shape {self.shape} is not compatible with {shape}")

    def with_values(self, new_values: object) -> SparseTensor:
        """The same places with other values."""
        return wrapped(self._value.with_values(as_tensor(new_values)._array))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"

    def _mapped(self, function: Callable[[Any], Any]) -> Any:
        return self.with_values(function(self.values))

    def _matched(self, other: Any) -> Any:
        if isinstance(other, SparseTensor):
            if not np.array_equal(self._value.indices, other._value.indices):
                raise InvalidArgumentError("sparse operands must have the same indices")
            return other.values
        held = as_tensor(other, like=self._value.dtype)
        if not held.ndim:
            return held
        full = np.broadcast_to(held._array, self._value.shape)
        return tensor_of(full[tuple(self._value.indices.T)])


def _is_empty(indices: object) -> bool:
    return isinstance(indices, (list, tuple)) and not len(indices)


def wrapped(value: SparseValue) -> SparseTensor:
    """The tensor for a sparse value."""
    made = SparseTensor.__new__(SparseTensor)
    made._value = value
    return made


@register_leaf
def _leaf_of(value: object) -> Any:
    return value._value if isinstance(value, SparseTensor) else None


@register_spec_of
def _spec_of(value: object) -> Any:
    return SparseTensorSpec(value._value.shape, value.dtype) if type(value) is SparseTensor else None


def _sparse(value: object) -> SparseTensor:
    if isinstance(value, SparseTensor):
        return value
    if isinstance(value, SparseValue):
        return wrapped(value)
    raise TypeError(f"expected a SparseTensor, got {type(value).__name__}: {value!r}")


def from_dense(tensor: object, name: str | None = None) -> SparseTensor:
    """The nonzero values of a tensor.

    >>> import feedline.tf as tf
    >>> tf.sparse.from_dense([[0, 1], [2, 0]]).values.numpy()
    array([1, 2], dtype=int32)
    """
    return wrapped(SparseValue.from_dense(as_tensor(tensor)._array))


def to_dense(
    sp_input: object, default_value: object = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A dense tensor with `default_value` (by default 0 or b"") where there is no entry.

    >>> import feedline.tf as tf
    >>> tf.sparse.to_dense(tf.sparse.from_dense([0, 3]), default_value=-1).numpy()
    array([-1,  3], dtype=int32)
    """
    value = _sparse(sp_input)._value
    fill = None if default_value is None else as_tensor(default_value, value.dtype)._array
    return tensor_of(value.to_dense(fill, validate_indices))


def reorder(sp_input: object, name: str | None = None) -> SparseTensor:
    """The entries in the order of their indices.

    >>> import feedline.tf as tf
    >>> tf.sparse.reorder(tf.SparseTensor([[1], [0]], [5, 6], [2])).values.numpy()
    array([6, 5], dtype=int32)
    """
    return wrapped(_sparse(sp_input)._value.reorder())


def reshape(sp_input: object, shape: object, name: str | None = None) -> SparseTensor:
    """The entries in a tensor of another shape.

    >>> import feedline.tf as tf
    >>> tf.sparse.reshape(tf.sparse.from_dense([[0, 1], [2, 0]]), [4]).indices.numpy().tolist()
    [[1], [2]]
    """
    value = _sparse(sp_input)._value
    size = int(np.prod(value.shape, dtype=np.int64))
    target = ints(shape)
    if target.count(-1) > 1:
        raise InvalidArgumentError(f"only one size may be -1, got {target}")
    if -1 in target:
        rest = int(np.prod([d for d in target if d >= 0], dtype=np.int64))
        if not rest or size % rest:
            raise InvalidArgumentError(f"a sparse tensor of shape {value.shape} cannot have the shape {target}")
        target[target.index(-1)] = size // rest
    if int(np.prod(target, dtype=np.int64)) != size:
        raise InvalidArgumentError(f"a sparse tensor of shape {value.shape} cannot have the shape {target}")
    places = np.ravel_multi_index(tuple(value.indices.T), value.shape) if len(value.values) else np.zeros(0, np.int64)
    indices = np.stack(np.unravel_index(places, target), 1) if target else np.zeros((len(places), 0), np.int64)
    return SparseTensor(indices.astype(np.int64), value.values, np.array(target, np.int64))


def slice(sp_input: object, start: object, size: object, name: str | None = None) -> SparseTensor:
    """The entries of a box that begins at `start`.

    >>> import feedline.tf as tf
    >>> tf.sparse.to_dense(tf.sparse.slice(tf.sparse.from_dense([[1, 2], [3, 4]]), [0, 1], [2, 1])).numpy().tolist()
    [[2], [4]]
    """
    value = _sparse(sp_input)._value
    begin, extent = np.array(ints(start), np.int64), np.array(ints(size), np.int64)
    end = np.minimum(begin + extent, value.dense_shape)
    keep = ((value.indices >= begin) & (value.indices < end)).all(axis=1)
    return SparseTensor(value.indices[keep] - begin, value.values[keep], np.maximum(end - begin, 0))


def concat(
    axis: int, sp_inputs: Sequence[object], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Joins sparse tensors along a dimension.

    >>> import feedline.tf as tf
    >>> a = tf.sparse.from_dense([[1, 0]])
    >>> tf.sparse.to_dense(tf.sparse.concat(0, [a, a])).numpy().tolist()
    [[1, 0], [1, 0]]
    """
    values = [_sparse(v)._value for v in sp_inputs]
    rank = len(values[0].shape)
    axis = axis + rank if axis < 0 else axis
    shapes = np.array([v.shape for v in values], np.int64).reshape(len(values), rank)
    others = np.delete(shapes, axis, 1)
    if not expand_nonconcat_dims and (others != others[0]).any():
        raise InvalidArgumentError(f"Input shapes must match in all but dimension {axis}: {shapes.tolist()}")
    shape = shapes.max(0)
    shape[axis] = shapes[:, axis].sum()
    starts = np.cumsum(shapes[:, axis]) - shapes[:, axis]
    moved = [v.indices + (np.arange(rank) == axis) * s for v, s in zip(values, starts, strict=True)]
    made = SparseValue(np.concatenate(moved), np.concatenate([v.values for v in values]), shape)
    return wrapped(made.reorder())


def _bools(value: object) -> Array:
    given = as_tensor(value)
    return as_tensor(given if isinstance(value, TensorBase) else given._array.astype(bool), np.bool_)._array


def _held(value: SparseValue, made: Array, over: tuple[int, ...] | None, keepdims: bool) -> SparseTensor:
    """The results of a reduction for which there are entries."""
    there = np.zeros(value.shape, bool)
    there[tuple(value.indices.T)] = True
    kept = np.asarray(np.any(there, over, keepdims=keepdims))
    values = made[kept]
    return SparseTensor(np.argwhere(kept).reshape(len(values), made.ndim), values, np.array(made.shape, np.int64))


def retain(sp_input: object, to_retain: object) -> SparseTensor:
    """The entries at which `to_retain` is true.

    >>> import feedline.tf as tf
    >>> tf.sparse.retain(tf.sparse.from_dense([1, 2]), [False, True]).values.numpy()
    array([2], dtype=int32)
    """
    value = _sparse(sp_input)._value
    keep = _bools(to_retain)
    if keep.shape != value.values.shape:
        raise InvalidArgumentError(f"to_retain has the shape {keep.shape}, but there are {len(value.values)} values")
    return SparseTensor(value.indices[keep], value.values[keep], value.dense_shape)


def reset_shape(sp_input: object, new_shape: object = None) -> SparseTensor:
    """The entries in a larger tensor; without `new_shape`, in the smallest that holds them.

    >>> import feedline.tf as tf
    >>> tf.sparse.reset_shape(tf.sparse.from_dense([1, 0, 0])).shape.as_list()
    [1]
    """
    value = _sparse(sp_input)._value
    if new_shape is None:
        shape = value.indices.max(0, initial=-1) + 1
    else:
        shape = np.array(ints(new_shape), np.int64)
        if len(shape) != len(value.shape) or (shape < value.dense_shape).any():
            raise InvalidArgumentError(f"new_shape {shape.tolist()} is smaller than the shape {value.shape}")
    return SparseTensor(value.indices, value.values, shape)


def expand_dims(sp_input: object, axis: object = None, name: str | None = None) -> SparseTensor:
    """Inserts a dimension of size 1.

    >>> import feedline.tf as tf
    >>> tf.sparse.expand_dims(tf.sparse.from_dense([1, 0]), 0).shape.as_list()
    [1, 2]
    """
    value = _sparse(sp_input)._value
    rank = len(value.shape)
    at = integer(-1 if axis is None else axis, "axis")
    if not -rank - 1 <= at <= rank:
        raise InvalidArgumentError(f"axis must be in [{-rank - 1}, {rank}], got {at}")
    at = at + rank + 1 if at < 0 else at
    return SparseTensor(np.insert(value.indices, at, 0, 1), value.values, np.insert(value.dense_shape, at, 1))


def fill_empty_rows(sp_input: object, default_value: object, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """A tensor with `default_value` at the beginning of each row without entries, and which rows these are.

    >>> import feedline.tf as tf
    >>> filled, empty = tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], [5], [2, 2]), 0)
    >>> filled.values.numpy(), empty.numpy()
    (array([0, 5], dtype=int32), array([ True, False]))
    """
    value = _sparse(sp_input)._value
    rows = np.bincount(value.indices[:, 0], minlength=value.shape[0]) if len(value.values) else np.zeros(value.shape[0])
    empty = rows == 0
    added = np.zeros((int(empty.sum()), len(value.shape)), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    fill = np.full(len(added), as_tensor(default_value, value.dtype)._array, value.dtype)
    indices, values = np.concatenate([value.indices, added]), np.concatenate([value.values, fill])
    order = np.argsort(indices[:, 0], kind="stable")
    return SparseTensor(indices[order], values[order], value.dense_shape), tensor_of(empty)


def mask(a: object, mask_indices: object, name: str | None = None) -> SparseTensor:
    """The entries whose row is not in `mask_indices`.

    >>> import feedline.tf as tf
    >>> x = tf.SparseTensor([[0, 0], [1, 1]], [5, 6], [2, 2])
    >>> tf.sparse.to_dense(tf.sparse.mask(x, [0])).numpy().tolist()
    [[0, 0], [0, 6]]
    """
    value = _sparse(a)._value
    keep = ~np.isin(value.indices[:, 0], as_tensor(mask_indices)._array)
    return SparseTensor(value.indices[keep], value.values[keep], value.dense_shape)


def reduce_sum(
    sp_input: object,
    axis: object = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum of the entries along dimensions, as a dense tensor.

    >>> import feedline.tf as tf
    >>> tf.sparse.reduce_sum(tf.sparse.from_dense([[1, 2], [3, 4]]), 1).numpy()
    array([3, 7], dtype=int32)
    """
    value = _sparse(sp_input)._value
    dense = np.zeros(value.shape, value.values.dtype)
    np.add.at(dense, tuple(value.indices.T), value.values)
    over = None if axis is None else tuple(ints(axis, "axis"))
    made = np.asarray(np.sum(dense, over, dense.dtype, keepdims=bool(keepdims)))
    return _held(value, made, over, bool(keepdims)) if output_is_sparse else tensor_of(made)


def to_indicator(sp_input: object, vocab_size: object, name: str | None = None) -> Tensor:
    """A bool for each of `vocab_size` values per row: whether it is among the row's.

    >>> import feedline.tf as tf
    >>> tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [1, 0]], [2, 0], [2, 1]), 3).numpy().tolist()
    [[False, False, True], [True, False, False]]
    """
    value = _sparse(sp_input)._value
    out = np.zeros((*value.shape[:-1], integer(vocab_size, "vocab_size")), bool)
    out[(*value.indices[:, :-1].T, value.values.astype(np.int64))] = True
    return tensor_of(out)


def transpose(sp_input: object, perm: object = None, name: str | None = None) -> SparseTensor:
    """The entries with their dimensions in another order.

    >>> import feedline.tf as tf
    >>> tf.sparse.transpose(tf.sparse.from_dense([[1, 2]])).shape.as_list()
    [2, 1]
    """
    value = _sparse(sp_input)._value
    order = list(range(len(value.shape)))[::-1] if perm is None else ints(perm, "perm")
    return wrapped(SparseValue(value.indices[:, order], value.values, value.dense_shape[order]).reorder())


def eye(
    num_rows: object, num_columns: object = None, dtype: object = np.float32, name: str | None = None
) -> SparseTensor:
    """A matrix with ones in its diagonal.

    >>> import feedline.tf as tf
    >>> tf.sparse.to_dense(tf.sparse.eye(2)).numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = integer(num_rows, "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "num_columns")
    at = np.arange(min(rows, columns), dtype=np.int64)
    return SparseTensor(np.stack([at, at], 1), np.ones(len(at), as_dtype(dtype).dtype), np.array([rows, columns]))


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """The result of a function on the values of sparse tensors, which have the same indices.

    >>> import feedline.tf as tf
    >>> tf.sparse.map_values(lambda x: x + 1, tf.sparse.from_dense([1, 0])).values.numpy()
    array([2], dtype=int32)
    """
    given = [v for v in (*args, *kwargs.values()) if isinstance(v, SparseTensor)]
    if not given:
        raise InvalidArgumentError("No SparseTensor in argument list of map_values")
    first = given[0]._value
    if any(not np.array_equal(v._value.indices, first.indices) for v in given):
        raise InvalidArgumentError("map_values: the indices of the sparse tensors differ")

    def values(v: Any) -> Any:
        return v.values if isinstance(v, SparseTensor) else v

    made = as_tensor(op(*map(values, args), **{k: values(v) for k, v in kwargs.items()}))
    return SparseTensor(first.indices, made, first.dense_shape)


def _united(a: object, b: object, function: Callable[[Any, Any], Any]) -> SparseTensor:
    """A function of two sparse tensors, at every index that one of them has."""
    x, y = _sparse(a)._value, _sparse(b)._value
    if x.shape != y.shape:
        raise InvalidArgumentError(f"Operands do not have the same shapes: {list(x.shape)} and {list(y.shape)}")
    places = np.unique(np.concatenate([x.indices, y.indices]), axis=0)
    at = tuple(places.T)
    values = function(x.to_dense(validate_indices=False)[at], y.to_dense(validate_indices=False)[at])
    return SparseTensor(places, np.asarray(values, x.values.dtype), x.dense_shape)


def maximum(sp_a: object, sp_b: object, name: str | None = None) -> SparseTensor:
    """The larger of two values, where one of the tensors has an entry.

    >>> import feedline.tf as tf
    >>> tf.sparse.maximum(tf.sparse.from_dense([1, 0]), tf.sparse.from_dense([2, -1])).values.numpy()
    array([2, 0], dtype=int32)
    """
    return _united(sp_a, sp_b, np.maximum)


def minimum(sp_a: object, sp_b: object, name: str | None = None) -> SparseTensor:
    """The smaller of two values, where one of the tensors has an entry.

    >>> import feedline.tf as tf
    >>> tf.sparse.minimum(tf.sparse.from_dense([1, 0]), tf.sparse.from_dense([2, -1])).values.numpy()
    array([ 1, -1], dtype=int32)
    """
    return _united(sp_a, sp_b, np.minimum)


def add(a: object, b: object, threshold: object = 0) -> Any:
    """The sum of two tensors of which at least one is sparse; of two sparse ones, without sums below `threshold`.

    >>> import feedline.tf as tf
    >>> tf.sparse.add(tf.sparse.from_dense([1, 0]), tf.sparse.from_dense([2, 3])).values.numpy()
    array([3, 3], dtype=int32)
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise InvalidTypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        value = _sparse(sparse)._value
        return tensor_of(as_tensor(dense, value.dtype)._array + value.to_dense(validate_indices=False))
    made = _united(a, b, np.add)
    return retain(made, np.abs(made._value.values) >= as_tensor(threshold)._array)


def reduce_max(
    sp_input: object,
    axis: object = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest entry along dimensions, as a dense tensor; 0 where there is none.

    >>> import feedline.tf as tf
    >>> tf.sparse.reduce_max(tf.sparse.from_dense([[1, 2], [-3, 0]]), 1).numpy()
    array([ 2, -3], dtype=int32)
    """
    value = _sparse(sp_input)._value
    over = None if axis is None else tuple(ints(axis, "axis"))
    there = np.zeros(value.shape, bool)
    there[tuple(value.indices.T)] = True
    dense = value.to_dense(validate_indices=False)
    lowest = -np.inf if dense.dtype.kind == "f" else np.iinfo(dense.dtype).min
    found = np.max(dense, over, keepdims=bool(keepdims), initial=lowest, where=there)
    made = np.where(there.any(over, keepdims=bool(keepdims)), found, 0).astype(dense.dtype)
    return _held(value, made, over, bool(keepdims)) if output_is_sparse else tensor_of(made)


def split(sp_input: object, num_split: object, axis: object, name: str | None = None) -> list[SparseTensor]:
    """Sparse tensors of about the same size along a dimension.

    >>> import feedline.tf as tf
    >>> [part.shape.as_list() for part in tf.sparse.split(tf.sparse.from_dense([[1, 2, 3]]), 2, 1)]
    [[1, 2], [1, 1]]
    """
    value = _sparse(sp_input)._value
    count, at = integer(num_split, "num_split"), integer(axis, "axis") % len(value.shape)
    size, more = divmod(int(value.dense_shape[at]), count)
    parts, start = [], 0
    for i in range(count):
        begin, extent = [0] * len(value.shape), list(value.shape)
        begin[at], extent[at] = start, size + (i < more)
        parts.append(slice(sp_input, begin, extent))
        start += extent[at]
    return parts


def sparse_dense_matmul(
    sp_a: object, b: object, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """A sparse matrix times a dense one.

    >>> import feedline.tf as tf
    >>> tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[1.0, 0.0]]), [[2.0], [3.0]]).numpy().tolist()
    [[2.0]]
    """
    x, y = (
        v._value.to_dense(validate_indices=False) if isinstance(v, SparseTensor) else as_tensor(v)._array
        for v in (sp_a, b)
    )
    x, y = (np.conj(v).T if adjoint else v for v, adjoint in ((x, adjoint_a), (y, adjoint_b)))
    if x.dtype != y.dtype or x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise InvalidArgumentError(f"sparse_dense_matmul: {x.dtype} {x.shape} and {y.dtype} {y.shape} do not fit")
    return tensor_of((x @ y).astype(x.dtype))


def edit_distance(hypothesis: object, truth: object, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The number of insertions, deletions and substitutions between the rows of two sparse tensors; `normalize`
    divides it by the length of the row of `truth`.

    >>> import feedline.tf as tf
    >>> a, b = tf.sparse.from_dense([[1, 2, 3]]), tf.sparse.from_dense([[1, 3]])
    >>> tf.edit_distance(a, b, normalize=False).numpy()
    array([1.], dtype=float32)
    """
    x, y = _sparse(hypothesis)._value, _sparse(truth)._value
    if x.dtype != y.dtype:
        raise InvalidTypeError(f"edit_distance: the dtypes differ: {x.dtype} and {y.dtype}")
    if len(x.shape) != len(y.shape):
        raise InvalidArgumentError(f"edit_distance: the ranks differ: {list(x.shape)} and {list(y.shape)}")
    rows: list[dict[tuple[int, ...], list[Any]]] = []
    for value in (x, y):
        found: dict[tuple[int, ...], list[Any]] = {}
        for index, entry in zip(value.indices.tolist(), value.values.tolist(), strict=True):
            found.setdefault(tuple(index[:-1]), []).append(entry)
        rows.append(found)
    places = np.maximum(x.dense_shape[:-1], y.dense_shape[:-1])
    out = np.zeros(places, np.float32)
    for at in np.ndindex(*places):
        got, wanted = (found.get(at, []) for found in rows)
        before = list(range(len(wanted) + 1))
        for i, entry in enumerate(got, 1):
            line = [i]
            for j, other in enumerate(wanted, 1):
                line.append(min(before[j] + 1, line[-1] + 1, before[j - 1] + (entry != other)))
            before = line
        distance = np.float32(before[-1])
        if normalize:
            distance = distance / np.float32(len(wanted)) if wanted else np.float32(np.inf if got else 0)
        out[at] = distance
    return tensor_of(out)
