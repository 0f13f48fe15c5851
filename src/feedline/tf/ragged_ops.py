"""`tf.RaggedTensor` and `tf.ragged`: rows of differing length, on the values of `fl.RaggedTensor`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError
from feedline.structure import ragged as _ragged
from feedline.structure.dense import Array
from feedline.structure.ragged import RaggedTensor as RaggedValue
from feedline.structure.spec import RaggedTensorSpec, TensorShape, register_spec_of
from feedline.structure.types import DType, as_dtype
from feedline.structure.values import register_leaf
from feedline.tf.tensor import Composite, Tensor, TensorBase, as_tensor, equal, ints, not_equal, tensor_of


def value_of(value: object) -> Any:
    """The value of a tensor of any kind, as the structures below hold it; anything else unchanged."""
    if isinstance(value, RaggedTensor):
        return value._value
    if isinstance(value, TensorBase):
        return value._array
    if isinstance(value, (list, tuple)):
        return [value_of(v) for v in value]
    return value


def tensor_from(value: Any) -> Any:
    """The tensor for a value: a `RaggedTensor` for a ragged one."""
    if isinstance(value, RaggedValue):
        made = RaggedTensor.__new__(RaggedTensor)
        made._value = value
        return made
    return as_tensor(value)


class RaggedTensor(Composite["RaggedTensor"]):
    """A tensor whose rows may differ in length. Made by `tf.ragged.constant` and the `from_...` methods.

    >>> import feedline.tf as tf
    >>> rt = tf.ragged.constant([[1, 2], [], [3]])
    >>> rt, rt.shape.as_list(), rt.row_lengths().numpy()
    (<tf.RaggedTensor [[1, 2], [], [3]]>, [3, None], array([2, 0, 1]))
    >>> (rt * 10).to_tensor()
    <tf.Tensor: shape=(3, 2), dtype=int32, numpy=
    array([[10, 20],
           [ 0,  0],
           [30,  0]], dtype=int32)>
    """

    __slots__ = ("_value",)

    _value: RaggedValue

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise InvalidArgumentError(
            "RaggedTensor cannot be created directly; use tf.ragged.constant or, for instance, "
            "RaggedTensor.from_row_splits"
        )

    @classmethod
    def from_row_splits(
        cls, values: object, row_splits: object, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        return _wrapped(RaggedValue.from_row_splits(_values(values), _splits(row_splits), validate))

    @classmethod
    def from_row_lengths(
        cls, values: object, row_lengths: object, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i takes the next `row_lengths[i]` values."""
        return _wrapped(RaggedValue.from_row_lengths(_values(values), _splits(row_lengths), validate))

    @classmethod
    def from_row_starts(
        cls, values: object, row_starts: object, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i begins at `row_starts[i]`."""
        return _wrapped(RaggedValue.from_row_starts(_values(values), _splits(row_starts), validate))

    @classmethod
    def from_row_limits(
        cls, values: object, row_limits: object, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Row i ends before `row_limits[i]`."""
        return _wrapped(RaggedValue.from_row_limits(_values(values), _splits(row_limits), validate))

    @classmethod
    def from_value_rowids(
        cls, values: object, value_rowids: object, nrows: object = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Value i belongs to row `value_rowids[i]`."""
        count = None if nrows is None else int(as_tensor(nrows))
        return _wrapped(RaggedValue.from_value_rowids(_values(values), _splits(value_rowids), count, validate))

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: object, nested_row_splits: Sequence[object], name: str | None = None, validate: bool = True
    ) -> Any:
        """Applies a list of row splits, the outermost first."""
        splits = [_splits(s) for s in nested_row_splits]
        return tensor_from(RaggedValue.from_nested_row_splits(_values(flat_values), splits, validate))

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: object, nested_row_lengths: Sequence[object], name: str | None = None, validate: bool = True
    ) -> Any:
        """Applies a list of row lengths, the outermost first."""
        made: Any = tensor_from(_values(flat_values))
        for lengths in reversed(nested_row_lengths):
            made = cls.from_row_lengths(made, lengths, validate=validate)
        return made

    @classmethod
    def from_uniform_row_length(
        cls, values: object, uniform_row_length: object, nrows: object = None, validate: bool = True, name: str = ""
    ) -> RaggedTensor:
        """Every row takes the next `uniform_row_length` values."""
        data = _values(values)
        length = int(as_tensor(uniform_row_length))
        count = len(data) // length if length else int(as_tensor(0 if nrows is None else nrows))
        if count * length != len(data):
            raise InvalidArgumentError(f"{len(data)} values cannot be cut into rows of {length}")
        return cls.from_row_lengths(values, np.full(count, length, np.int64))

    @classmethod
    def from_tensor(
        cls,
        tensor: object,
        lengths: object = None,
        padding: object = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: object = np.int64,
    ) -> RaggedTensor:
        """Makes the dimensions 1 to `ragged_rank` of a tensor ragged."""
        pad = None if padding is None else as_tensor(padding, as_tensor(tensor).dtype)._array
        given = value_of(lengths)
        dtype = as_dtype(row_splits_dtype).dtype
        return _wrapped(RaggedValue.from_tensor(as_tensor(tensor)._array, given, pad, ragged_rank, dtype))

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: object = np.int64) -> RaggedTensor:
        """The rows of a sparse matrix whose entries are at the beginning of each row."""
        indices, shape = np.asarray(st_input.indices), np.asarray(st_input.dense_shape)
        if len(shape) != 2:
            raise InvalidArgumentError(f"from_sparse takes a sparse matrix, got a tensor of rank {len(shape)}")
        rows = indices[:, 0]
        first = np.searchsorted(rows, rows)
        if (indices[:, 1] != np.arange(len(rows)) - first).any():
            raise InvalidArgumentError("SparseTensor is not right-ragged")
        return cls.from_value_rowids(st_input.values, rows.astype(as_dtype(row_splits_dtype).dtype), int(shape[0]))

    # Parts

    @property
    def values(self) -> Any:
        """The concatenated rows."""
        return tensor_from(self._value.values)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        return tensor_of(self._value.flat_values)

    @property
    def row_splits(self) -> Tensor:
        """Where rows begin and end in `values`."""
        return tensor_of(self._value.row_splits)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all levels, outermost first."""
        return tuple(map(tensor_of, self._value.nested_row_splits))

    @property
    def ragged_rank(self) -> int:
        """The number of levels of row splits."""
        return self._value.ragged_rank

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return as_dtype(self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape, with None for ragged dimensions."""
        return TensorShape(self._value.shape)

    @property
    def uniform_row_length(self) -> None:
        """Always None: rows of equal length are not tracked."""
        return None

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def nrows(self, out_type: object = None, name: str | None = None) -> Tensor:
        """The number of rows."""
        return as_tensor(self._value.nrows(None if out_type is None else as_dtype(out_type).dtype))

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins in `values`."""
        return tensor_of(self._value.row_starts())

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends in `values`."""
        return tensor_of(self._value.row_limits())

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The length of each row; for deeper axes a ragged tensor of lengths."""
        return tensor_from(self._value.row_lengths(axis))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row lengths of all levels, outermost first."""
        return tuple(tensor_of(np.diff(splits)) for splits in self._value.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row number of each of `values`."""
        return tensor_of(self._value.value_rowids())

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row numbers of all levels, outermost first."""
        found, level = [], self._value
        while isinstance(level, RaggedValue):
            found.append(tensor_of(level.value_rowids()))
            level = level.values
        return tuple(found)

    def bounding_shape(self, axis: object = None, name: str | None = None, out_type: object = None) -> Tensor:
        """The shape of the smallest dense tensor that holds all rows."""
        at: Any = value_of(axis)
        return as_tensor(self._value.bounding_shape(at, None if out_type is None else as_dtype(out_type).dtype))

    # Other forms

    def to_tensor(self, default_value: object = None, name: str | None = None, shape: object = None) -> Tensor:
        """A dense tensor, padded with `default_value` (by default zero or b"")."""
        fill = None if default_value is None else as_tensor(default_value, self.dtype)._array
        size: Any = shape
        if isinstance(shape, TensorBase):
            size = [None if d < 0 else d for d in ints(shape)]
        elif isinstance(shape, (list, tuple)):
            size = [None if d is None else int(d) for d in shape]
        return tensor_of(self._value.to_tensor(fill, size))

    def to_sparse(self, name: str | None = None) -> Any:
        """The same values as a sparse tensor."""
        from feedline.tf.sparse_ops import SparseTensor

        flat, shape = self._value.flat_values, self._value.bounding_shape()
        rows = [np.arange(len(self._value))]
        for splits in self._value.nested_row_splits:
            lengths = np.diff(splits)
            rows = [np.repeat(r, lengths) for r in rows]
            rows.append(np.arange(splits[-1]) - np.repeat(splits[:-1], lengths))
        inner = flat.shape[1:]
        count = int(np.prod(inner, dtype=np.int64))
        rows = [np.repeat(r, count) for r in rows]
        for axis in builtins.range(len(inner)):
            steps = np.arange(count) // int(np.prod(inner[axis + 1 :], dtype=np.int64)) % max(inner[axis], 1)
            rows.append(np.tile(steps, len(flat)))
        indices = np.stack(rows, 1).astype(np.int64)
        return SparseTensor(indices, flat.reshape(-1), np.asarray(shape, np.int64))

    def to_list(self) -> list[Any]:
        """Nested lists."""
        return self._value.to_list()

    def numpy(self) -> Any:
        """An array of rows; a plain array if all rows have the same length."""
        return self._value.numpy()

    def with_values(self, new_values: object) -> RaggedTensor:
        """The same rows with other values."""
        return _wrapped(self._value.with_values(_values(new_values)))

    def with_flat_values(self, new_values: object) -> RaggedTensor:
        """The same rows with other innermost values."""
        return _wrapped(self._value.with_flat_values(as_tensor(new_values)._array))

    def with_row_splits_dtype(self, dtype: object) -> RaggedTensor:
        """The same rows with row splits of another dtype."""
        return _wrapped(self._value.with_row_splits_dtype(as_dtype(dtype).dtype))

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Flattens the dimensions from `outer_axis` to `inner_axis` into one.

        >>> import feedline.tf as tf
        >>> tf.ragged.constant([[[1, 2], [3]], [[4]]]).merge_dims(0, 1)
        <tf.RaggedTensor [[1, 2], [3], [4]]>
        """
        rank = len(self._value.shape)
        outer = outer_axis + rank if outer_axis < 0 else outer_axis
        inner = inner_axis + rank if inner_axis < 0 else inner_axis
        if not 0 <= outer < rank or not outer <= inner < rank:
            raise InvalidArgumentError(f"outer_axis and inner_axis must be in order and below {rank}")
        return tensor_from(_merged(self._value, outer, inner))

    def consumers(self) -> list[object]:
        """Always empty."""
        return []

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return iter([tensor_from(row) for row in self._value])

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor has no truth value; test its values, for instance with tf.reduce_any")

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, RaggedTensor) and key.dtype.is_bool:
            return boolean_mask(self, key)
        if isinstance(key, TensorBase) and key.dtype.is_bool:
            return boolean_mask(self, key)

        def plain(k: Any) -> Any:
            if isinstance(k, slice):
                return slice(*(None if b is None else int(b) for b in (k.start, k.stop, k.step)))
            return int(k) if isinstance(k, TensorBase) else k

        try:
            found = self._value[tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)]
        except IndexError as e:
            raise OutOfRangeError(f"slice index {key!r} is out of bounds: {e}") from None
        return tensor_from(found)

    def __eq__(self, other: object) -> Any:
        return equal.function(self, other)

    def __ne__(self, other: object) -> Any:
        return not_equal.function(self, other)

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable")

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self._value!r}".replace("<fl.RaggedTensor ", "")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def _mapped(self, function: Callable[[Any], Any]) -> Any:
        return self.with_flat_values(function(self.flat_values))

    def _matched(self, other: Any) -> Any:
        if isinstance(other, RaggedTensor):
            mine, theirs = self._value.nested_row_splits, other._value.nested_row_splits
            if len(mine) != len(theirs) or any(not np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True)):
                raise InvalidArgumentError(f"ragged operands must have the same row lengths, got {self} and {other}")
            return other.flat_values
        other = as_tensor(other, like=self._value.dtype)
        array, value = other._array, self._value
        if array.ndim < value.flat_values.ndim:
            return other
        rank, outer = len(value.shape), value.ragged_rank + 1
        array = array.reshape((1,) * (rank - array.ndim) + array.shape)
        lengths = [np.array([len(value)]), *(np.diff(splits) for splits in value.nested_row_splits)]
        repeated = False  # as in TensorFlow, rows that repeat an outer one are not cut further
        fits = array.ndim <= rank
        for d, n in zip(array.shape, lengths, strict=False):
            fits = fits and (d == 1 or not (repeated or (n != d).any()))
            repeated = repeated or (d == 1 and bool((n != 1).any()))
        if not fits:
            raise InvalidArgumentError(
                f"a tensor of shape {other._array.shape} cannot be broadcast to the ragged shape {self.shape}, of rows "
                f"{self}"
            )
        places: list[Array] = []
        for size, counts in zip(array.shape, lengths, strict=False):
            total = int(counts.sum())
            inside = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
            places = [*(np.repeat(p, counts) for p in places), inside if size != 1 else np.zeros(total, np.intp)]
        return tensor_of(array[tuple(places)].reshape(-1, *array.shape[outer:]))


def _wrapped(value: RaggedValue) -> RaggedTensor:
    made: RaggedTensor = tensor_from(value)
    return made


def _values(values: object) -> Any:
    return values._value if isinstance(values, RaggedTensor) else as_tensor(values)._array


def _splits(splits: object) -> Any:
    if isinstance(splits, (TensorBase, np.ndarray)):
        return np.asarray(splits)
    return as_tensor(splits, np.int64)._array


def _merged(value: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return value
    if not isinstance(value, RaggedValue):
        shape = value.shape
        return value.reshape(*shape[:outer], -1, *shape[inner + 1 :])
    if outer > 1:
        return value.with_values(_merged(value.values, outer - 1, inner - 1))
    if outer == 1:  # the rows of rows become one row
        values = value.values
        if isinstance(values, RaggedValue):
            return _merged(
                RaggedValue.from_row_splits(values.values, values.row_splits[value.row_splits]), 1, inner - 1
            )
        size = int(np.prod(values.shape[1:inner], dtype=np.int64))
        flat = values.reshape(len(values) * size, *values.shape[inner:])
        return RaggedValue.from_row_splits(flat, value.row_splits * size)
    return _merged(value.values, 0, inner - 1)


@register_leaf
def _leaf_of(value: object) -> Any:
    return value._value if isinstance(value, RaggedTensor) else None


@register_spec_of
def _spec_of(value: object) -> Any:
    if type(value) is not RaggedTensor:
        return None
    return RaggedTensorSpec(value._value.shape, value.dtype, value.ragged_rank, value._value.row_splits.dtype)


# tf.ragged


def constant(
    pylist: object,
    dtype: object = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: object = np.int64,
) -> Any:
    """A ragged tensor from nested lists.

    >>> import feedline.tf as tf
    >>> tf.ragged.constant([["a"], ["b", "c"]])
    <tf.RaggedTensor [[b'a'], [b'b', b'c']]>
    """
    kind = None if dtype is None else as_dtype(dtype).dtype
    made = _ragged.constant(value_of(pylist), kind, ragged_rank, inner_shape, as_dtype(row_splits_dtype).dtype)
    return tensor_from(made)


def range(
    starts: object,
    limits: object = None,
    deltas: object = 1,
    dtype: object = None,
    name: str | None = None,
    row_splits_dtype: object = np.int64,
) -> RaggedTensor:
    """A ragged tensor of sequences of numbers.

    >>> import feedline.tf as tf
    >>> tf.ragged.range([3, 0, 2])
    <tf.RaggedTensor [[0, 1, 2], [], [0, 1]]>
    """
    if limits is None:
        starts, limits = 0, starts
    kind = None if dtype is None else as_dtype(dtype).dtype
    first, last, step = (as_tensor(v, kind)._array for v in (starts, limits, deltas))
    return _wrapped(_ragged.range(first, last, step, kind, as_dtype(row_splits_dtype).dtype))


def stack(values: Sequence[object], axis: int = 0, name: str | None = None) -> Any:
    """Stacks tensors of different lengths as the rows of a ragged tensor.

    >>> import feedline.tf as tf
    >>> tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    if axis != 0:
        raise InvalidArgumentError(f"tf.ragged.stack supports axis=0 only, got {axis}")
    return tensor_from(_ragged.stack([_values(v) for v in values]))


def map_flat_values(op: Callable[..., object], *args: object, **kwargs: object) -> Any:
    """Calls `op` with the innermost values of ragged arguments, and returns its result with their rows.

    >>> import feedline.tf as tf
    >>> tf.ragged.map_flat_values(tf.square, tf.ragged.constant([[1], [2, 3]]))
    <tf.RaggedTensor [[1], [4, 9]]>
    """
    found = [a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)

    def flat(value: object) -> object:
        return value.flat_values if isinstance(value, RaggedTensor) else value

    return found[0].with_flat_values(op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()}))


def boolean_mask(data: object, mask: object, name: str | None = None) -> Any:
    """The values at which `mask` is true, as a ragged tensor if the mask has more than one dimension.

    >>> import feedline.tf as tf
    >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [False, False]])
    <tf.RaggedTensor [[1], []]>
    """
    held = mask if isinstance(mask, RaggedTensor) else as_tensor(mask, np.bool_)
    if isinstance(held, TensorBase) and held.ndim == 1:
        if isinstance(data, RaggedTensor):
            return tensor_from(_ragged.gather(data._value, np.flatnonzero(held._array)))
        return as_tensor(data)[held]
    given = data if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data)
    held = held if isinstance(held, RaggedTensor) else RaggedTensor.from_tensor(held)
    inner = boolean_mask(given.values, held.values)
    counts: Any = held._value
    if isinstance(held._value.values, RaggedValue):
        return given.with_values(inner)
    splits = held._value.row_splits
    kept = np.concatenate([[0], np.cumsum(np.asarray(counts.values))]).astype(splits.dtype)
    return RaggedTensor.from_row_splits(inner, kept[splits])


def row_splits_to_segment_ids(splits: object, name: str | None = None, out_type: object = None) -> Tensor:
    """The row number of each value, from row splits.

    >>> import feedline.tf as tf
    >>> tf.ragged.row_splits_to_segment_ids([0, 2, 3]).numpy()
    array([0, 0, 1])
    """
    array = _splits(splits)
    kind = array.dtype if out_type is None else as_dtype(out_type).dtype
    return tensor_of(np.repeat(np.arange(len(array) - 1, dtype=kind), np.diff(array)))


def segment_ids_to_row_splits(
    segment_ids: object, num_segments: object = None, out_type: object = None, name: str | None = None
) -> Tensor:
    """Row splits, from the row number of each value.

    >>> import feedline.tf as tf
    >>> tf.ragged.segment_ids_to_row_splits([0, 0, 2]).numpy()
    array([0, 2, 2, 3])
    """
    ids = _splits(segment_ids)
    count = (int(ids.max()) + 1 if ids.size else 0) if num_segments is None else int(as_tensor(num_segments))
    kind = ids.dtype if out_type is None else as_dtype(out_type).dtype
    return tensor_of(np.concatenate([[0], np.cumsum(np.bincount(ids[ids < count], minlength=count))]).astype(kind))


def as_ragged(value: object, what: str) -> RaggedTensor:
    """The value, which must be a `RaggedTensor`."""
    if not isinstance(value, RaggedTensor):
        raise InvalidTypeError(f"{what} takes a RaggedTensor, got {value!r}")
    return value
