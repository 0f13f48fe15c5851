"""Making tensors, and changing their shape, order and selection of values."""

from __future__ import annotations

import builtins
import contextlib
import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, UnimplementedError
from feedline.structure import types
from feedline.structure.dense import Array, integers
from feedline.structure.ragged import concat as concat_rows
from feedline.structure.ragged import gather as gather_rows
from feedline.structure.spec import TensorShape, type_spec_from_value
from feedline.structure.types import DType, as_dtype
from feedline.tf import ragged_ops as ragged
from feedline.tf.arithmetic import INTEGERS, REALS
from feedline.tf.parameters import StaticArgumentError, one_of
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import (
    Composite,
    Tensor,
    TensorBase,
    TensorLike,
    array_of,
    as_tensor,
    integer,
    ints,
    op,
    operand,
    tensor_of,
)
from feedline.tf.tracing.graph import Symbol

newaxis = None


UniqueValues = namedtuple("UniqueValues", ["y", "idx"])
"""The result of `tf.unique`."""
UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])
"""The result of `tf.unique_with_counts`: a `NamedTuple` class may not have a field `count`."""


def matched(*values: object) -> list[Tensor]:
    """Tensors of one dtype: that of the first tensor, which Python values and arrays take."""
    like = next((v for v in values if isinstance(v, TensorBase)), None)
    dtype = as_tensor(values[0])._array.dtype if like is None else like._array.dtype
    made = [as_tensor(v, like=dtype) for v in values]
    for other in made:
        if other._array.dtype != dtype:
            raise InvalidTypeError(
                f"tensors must have the same dtype, got {as_dtype(dtype).name} and {other.dtype.name}; use tf.cast"
            )
    return made


def axis_of(axis: object, rank: int, what: str = "axis") -> int:
    """A dimension's number from 0 on; a negative one counts from the end."""
    number = integer(axis, what)
    if not -rank <= number < rank:
        raise InvalidArgumentError(f"{what} {number} is out of range for a tensor of rank {rank}: [{-rank}, {rank})")
    return number + rank if number < 0 else number


# Making tensors


def convert_to_tensor(
    value: object, dtype: Any = None, dtype_hint: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> Tensor:
    """The tensor for a number, a string, an array, or lists of them and of tensors.

    >>> import feedline.tf as tf
    >>> tf.convert_to_tensor([tf.constant(1.5), 2])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 2. ], dtype=float32)>
    """
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    return as_tensor(value, dtype, None if hint is None else as_dtype(hint).dtype)


def constant(value: object, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor with a given value; with `shape`, a single value fills it.

    >>> import feedline.tf as tf
    >>> tf.constant([1, 2], tf.int64).numpy(), tf.constant(0.5, shape=[2]).numpy()
    (array([1, 2]), array([0.5, 0.5], dtype=float32))
    """
    if isinstance(value, (list, tuple)) and any(isinstance(v, Composite) for v in value):
        raise InvalidTypeError("a list of ragged or sparse tensors cannot be made a constant; use tf.ragged.stack")
    if isinstance(value, TensorBase) and dtype is not None and value.dtype != as_dtype(dtype):
        raise InvalidTypeError(f"Expected tensor {value} with dtype {as_dtype(dtype)!r}, but got {value.dtype!r}.")
    array = as_tensor(value, dtype)._array
    if isinstance(value, np.ndarray) and array is value:
        array = array.copy()
    if shape is None:
        return tensor_of(array)
    size = ints(shape)
    if array.size == 1:
        return tensor_of(np.full(size, array.reshape(())[()], array.dtype))
    if int(np.prod(size, dtype=np.int64)) != array.size:
        raise InvalidTypeError(f"a constant with {array.size} elements does not fit the shape {size}")
    return tensor_of(array.reshape(size))


@overload
def identity(input: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def identity(input: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def identity(input: SparseTensor, name: str | None = None) -> SparseTensor: ...
@overload
def identity(input: object, name: str | None = None) -> Any: ...
def identity(input: object, name: str | None = None) -> Any:
    """The tensor itself.

    >>> import feedline.tf as tf
    >>> tf.identity([1, 2]).numpy()
    array([1, 2], dtype=int32)
    """
    return operand(input)


def is_tensor(x: object) -> bool:
    """Whether the value is a tensor of any kind, or a variable.

    >>> import feedline.tf as tf
    >>> tf.is_tensor(tf.constant(1)), tf.is_tensor(1)
    (True, False)
    """
    return isinstance(x, (TensorBase, Composite))


def get_static_value(tensor: object, partial: bool = False) -> Any:
    """The value of a tensor as NumPy has it; None if it is not known, as in most cases in a function that is traced.

    >>> import feedline.tf as tf
    >>> tf.get_static_value(tf.constant([1, 2])).tolist()
    [1, 2]
    """
    if isinstance(tensor, Symbol):
        from feedline.tf.tracing.symbolic import complete

        return complete(tensor)
    return tensor.numpy() if isinstance(tensor, Tensor) else None


def fill(dims: object, value: object, name: str | None = None, layout: object = None) -> Tensor:
    """A tensor of one value.

    >>> import feedline.tf as tf
    >>> tf.fill([2, 2], 7).numpy().tolist()
    [[7, 7], [7, 7]]
    """
    single = as_tensor(value)._array
    if single.size != 1:
        raise InvalidArgumentError(f"fill: value must be a scalar, got the shape {single.shape}")
    return tensor_of(np.full(_sizes(dims), single.reshape(())[()], single.dtype))


def _sizes(shape: object) -> list[int]:
    sizes = ints(shape)
    if any(d < 0 for d in sizes):
        raise InvalidArgumentError(f"sizes of a shape must be 0 or more, got {sizes}")
    return sizes


def zeros(shape: object, dtype: Any = types.float32, name: str | None = None, layout: object = None) -> Tensor:
    """A tensor of zeros, or of empty strings.

    >>> import feedline.tf as tf
    >>> tf.zeros([2], tf.int32).numpy()
    array([0, 0], dtype=int32)
    """
    kind = as_dtype(dtype).dtype
    return tensor_of(np.full(_sizes(shape), b"", object) if kind.kind == "O" else np.zeros(_sizes(shape), kind))


def ones(shape: object, dtype: Any = types.float32, name: str | None = None, layout: object = None) -> Tensor:
    """A tensor of ones.

    >>> import feedline.tf as tf
    >>> tf.ones([2]).numpy()
    array([1., 1.], dtype=float32)
    """
    kind = as_dtype(dtype).dtype
    if kind.kind == "O":
        raise InvalidTypeError("tf.ones cannot make strings; use tf.fill")
    return tensor_of(np.ones(_sizes(shape), kind))


@overload
def zeros_like(input: TensorLike, dtype: Any = None, name: str | None = None, layout: object = None) -> Tensor: ...
@overload
def zeros_like(
    input: RaggedTensor, dtype: Any = None, name: str | None = None, layout: object = None
) -> RaggedTensor: ...
@overload
def zeros_like(
    input: SparseTensor, dtype: Any = None, name: str | None = None, layout: object = None
) -> SparseTensor: ...
@overload
def zeros_like(input: object, dtype: Any = None, name: str | None = None, layout: object = None) -> Any: ...
def zeros_like(input: object, dtype: Any = None, name: str | None = None, layout: object = None) -> Any:
    """Zeros in the shape of a tensor.

    >>> import feedline.tf as tf
    >>> tf.zeros_like([[1.5]]).numpy()
    array([[0.]], dtype=float32)
    """
    given = operand(input)
    if isinstance(given, Composite):
        return given._mapped(lambda values: zeros_like(values, dtype))
    return zeros(given.shape, given.dtype if dtype is None else dtype)


@overload
def ones_like(input: TensorLike, dtype: Any = None, name: str | None = None, layout: object = None) -> Tensor: ...
@overload
def ones_like(
    input: RaggedTensor, dtype: Any = None, name: str | None = None, layout: object = None
) -> RaggedTensor: ...
@overload
def ones_like(
    input: SparseTensor, dtype: Any = None, name: str | None = None, layout: object = None
) -> SparseTensor: ...
@overload
def ones_like(input: object, dtype: Any = None, name: str | None = None, layout: object = None) -> Any: ...
def ones_like(input: object, dtype: Any = None, name: str | None = None, layout: object = None) -> Any:
    """Ones in the shape of a tensor.

    >>> import feedline.tf as tf
    >>> tf.ones_like([4, 5]).numpy()
    array([1, 1], dtype=int32)
    """
    given = operand(input)
    if isinstance(given, Composite):
        return given._mapped(lambda values: ones_like(values, dtype))
    return ones(given.shape, given.dtype if dtype is None else dtype)


def eye(
    num_rows: object,
    num_columns: object = None,
    batch_shape: object = None,
    dtype: Any = types.float32,
    name: str | None = None,
) -> Tensor:
    """An identity matrix, or a batch of them.

    >>> import feedline.tf as tf
    >>> tf.eye(2).numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = integer(num_rows, "num_rows")
    if rows < 0:
        raise InvalidArgumentError(
            f"Arguments num_rows and num_columns must be non-negative integer values, got {rows}"
        )
    columns = rows if num_columns is None else integer(num_columns, "num_columns")
    made = np.eye(rows, columns, dtype=as_dtype(dtype).dtype)
    return tensor_of(made if batch_shape is None else np.tile(made, (*ints(batch_shape), 1, 1)))


_RANGE_TYPES = [np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64)]


def range(start: object, limit: object = None, delta: object = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Evenly spaced numbers from `start` up to, but not including, `limit`.

    >>> import feedline.tf as tf
    >>> tf.range(3).numpy(), tf.range(1.0, 2.0, 0.5).numpy()
    (array([0, 1, 2], dtype=int32), array([1. , 1.5], dtype=float32))
    """
    if limit is None:
        start, limit = 0, start
    kind = None if dtype is None else as_dtype(dtype).dtype
    parts = [as_tensor(v, None if isinstance(v, TensorBase) else kind)._array for v in (start, limit, delta)]
    if kind is not None and kind not in _RANGE_TYPES and kind.kind not in "fV":
        raise InvalidTypeError(f"range makes int32, int64 and floats, not {kind}")
    if kind is None:
        found = [p.dtype for p in parts]
        if any(d not in _RANGE_TYPES for d in found):
            raise InvalidTypeError(f"range takes int32, int64, float32 and float64, got {found}")
        kind = max(found, key=_RANGE_TYPES.index)
    if any(p.size != 1 for p in parts):
        raise InvalidArgumentError("range: start, limit and delta must be scalars")
    first, last, step = (p.reshape(()).astype(kind)[()] for p in parts)
    if step == 0 or (step > 0 and first > last) or (step < 0 and first < last):
        raise InvalidArgumentError(f"range: requires start <= limit with a positive delta, got {first}, {last}, {step}")
    if kind.kind in "iu":
        return tensor_of(np.arange(int(first), int(last), int(step), dtype=kind))
    count = int(np.ceil(np.abs((last - first) / step)))
    return tensor_of(first + np.arange(count).astype(kind) * step)


def linspace(start: object, stop: object, num: object, name: str | None = None, axis: object = 0) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included.

    >>> import feedline.tf as tf
    >>> tf.linspace(0.0, 1.0, 3).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    low, high = (t._array for t in matched(as_tensor(start), stop))
    count = integer(num, "num")
    if count <= 0:
        raise InvalidArgumentError(f"linspace: num must be positive, got {count}")
    if low.dtype.kind in "iu":
        low, high = low.astype(np.float64), high.astype(np.float64)
    low, high = np.broadcast_arrays(low, high)
    steps = builtins.max(count - 1, 1)
    delta = (high - low) / np.asarray(steps, low.dtype)
    inner = np.arange(1, steps, dtype=np.int64).astype(low.dtype)
    at = integer(axis, "axis")
    at = at + low.ndim + 1 if at < 0 else at
    spread = inner.reshape([-1 if i == at else 1 for i in builtins.range(low.ndim + 1)])
    low, high, delta = (np.expand_dims(v, at) for v in (low, high, delta))
    made = np.concatenate([low, low + delta * spread, high], at)
    return tensor_of(np.take(made, np.arange(count), at))


def meshgrid(*args: object, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinates of a grid, one tensor per dimension.

    >>> import feedline.tf as tf
    >>> [m.numpy().tolist() for m in tf.meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    one_of(indexing, ("xy", "ij"), "indexing")
    arrays = [t._array for t in matched(*map(as_tensor, args))] if args else []
    return [
        tensor_of(np.ascontiguousarray(m)) for m in np.meshgrid(*arrays, indexing="xy" if indexing == "xy" else "ij")
    ]


@overload
def one_hot(
    indices: TensorLike,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: object = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor: ...
@overload
def one_hot(
    indices: RaggedTensor,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: object = None,
    dtype: Any = None,
    name: str | None = None,
) -> RaggedTensor: ...
@overload
def one_hot(
    indices: object,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: object = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any: ...
def one_hot(
    indices: object,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: object = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere.

    >>> import feedline.tf as tf
    >>> tf.one_hot([0, 2, -1], 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    kind = None if dtype is None else as_dtype(dtype).dtype
    if isinstance(indices, RaggedTensor):
        return indices._mapped(lambda values: one_hot(values, depth, on_value, off_value, axis, dtype))
    given = [as_tensor(v, kind)._array.dtype for v in (on_value, off_value) if v is not None]
    if len(set(given)) > 1:
        raise InvalidTypeError(f"dtype {given[0]} of on_value does not match {given[1]} of off_value")
    kind = kind or (given[0] if given else np.dtype(np.float32))
    on = as_tensor(1 if on_value is None else on_value, kind)
    off = as_tensor(0 if off_value is None else off_value, kind)
    count = integer(depth, "depth")
    if count < 0:
        raise StaticArgumentError(f"depth must be non-negative, got: {count}")
    return _one_hot(as_tensor(indices), on, off, depth=count, axis=-1 if axis is None else integer(axis, "axis"))


@op("OneHot")
def _one_hot(indices: Array, on: Array, off: Array, depth: int, axis: int) -> Array:
    if indices.dtype.kind not in "iu" and indices.size:
        raise InvalidTypeError(f"one_hot: indices must be integers, got {indices.dtype}")
    if not -1 <= axis <= indices.ndim:
        raise InvalidArgumentError(f"one_hot: axis must be -1 or in [0, {indices.ndim}], got {axis}")
    hit = indices[..., None] == np.arange(depth, dtype=indices.dtype)
    made = np.where(hit, on, off).astype(on.dtype, copy=False)
    return made if axis == -1 else np.moveaxis(made, -1, axis)


def sequence_mask(lengths: object, maxlen: object = None, dtype: Any = types.bool, name: str | None = None) -> Tensor:
    """True for the first `lengths[i]` places of each row.

    >>> import feedline.tf as tf
    >>> tf.sequence_mask([1, 2], 3).numpy().tolist()
    [[True, False, False], [True, True, False]]
    """
    sizes = as_tensor(lengths)._array
    most = int(sizes.max(initial=0)) if maxlen is None else integer(maxlen, "maxlen")
    made = np.arange(most) < sizes.astype(np.int64)[..., None]
    return tensor_of(made.astype(as_dtype(dtype).dtype, copy=False))


# Dtypes and shapes


@overload
def cast(x: TensorLike, dtype: Any, name: str | None = None) -> Tensor: ...
@overload
def cast(x: RaggedTensor, dtype: Any, name: str | None = None) -> RaggedTensor: ...
@overload
def cast(x: SparseTensor, dtype: Any, name: str | None = None) -> SparseTensor: ...
@overload
def cast(x: object, dtype: Any, name: str | None = None) -> Any: ...
def cast(x: object, dtype: Any, name: str | None = None) -> Any:
    """The values in another dtype. Fractions are cut off, and bools become 0 and 1.

    >>> import feedline.tf as tf
    >>> tf.cast([1.8, -1.8], tf.int32).numpy(), tf.cast([0, 2], tf.bool).numpy()
    (array([ 1, -1], dtype=int32), array([False,  True]))
    """
    target = as_dtype(dtype).dtype
    given = operand(x)
    if isinstance(given, TensorBase) and given._array.dtype == target:
        return tensor_of(given._array)
    return _cast(given, dtype=target)


@op("Cast", elementwise=True)
def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "O" or dtype.kind == "O":
        names = as_dtype(x.dtype).name, as_dtype(dtype).name
        raise UnimplementedError(f"Cast {names[0]} to {names[1]} is not supported; see tf.strings.to_number, as_string")
    if x.dtype.kind == "c" and dtype.kind in "iu":  # not in vectors
        return integers(x.real.reshape(-1, 1), dtype, rows=True).reshape(x.shape)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if x.dtype.kind in "fV" and (dtype.kind == "u" or (dtype.kind == "i" and dtype.itemsize < 4)):
        return integers(x, dtype)
    return x.astype(dtype)


def saturate_cast(value: object, dtype: Any, name: str | None = None) -> Tensor:
    """The values in another dtype; those outside its range become its smallest or largest value.

    >>> import feedline.tf as tf
    >>> tf.saturate_cast([-5.0, 300.0], tf.uint8).numpy()
    array([  0, 255], dtype=uint8)
    """
    given, target = as_tensor(value), as_dtype(dtype)
    array = given._array
    if (target.is_integer or target.is_floating) and array.dtype.kind in "iufV":
        if array.dtype.kind == "V" or (target.is_floating and array.dtype.kind in "iu"):
            array = array.astype(np.float64)
        low, high = _range_within(array.dtype, target)
        array = np.clip(array, low, high)
    made: Tensor = _cast(tensor_of(array), dtype=target.dtype)
    return made


def _range_within(dtype: np.dtype[Any], target: DType) -> tuple[Any, Any]:
    """The values of `dtype` closest to the ends of the target's range, inside it."""
    low, high = np.asarray(target.min).astype(dtype), np.asarray(target.max).astype(dtype)
    if dtype.kind == "f" and target.is_integer:
        if float(high) > float(target.max):
            high = np.nextafter(high, np.asarray(0, dtype))
        return low, high
    if dtype.kind in "iu" and target.is_integer:
        own = np.iinfo(dtype)
        return builtins.max(own.min, target.min), builtins.min(own.max, target.max)
    return low, high


def bitcast(input: object, type: Any, name: str | None = None) -> Tensor:
    """The same bytes as values of another dtype.

    >>> import feedline.tf as tf
    >>> tf.bitcast(1.0, tf.int32).numpy()
    np.int32(1065353216)
    """
    made: Tensor = _bitcast(as_tensor(input), dtype=as_dtype(type).dtype)
    return made


@op("Bitcast")
def _bitcast(x: Array, dtype: np.dtype[Any]) -> Array:
    size, target = x.dtype.itemsize, dtype.itemsize
    x = np.ascontiguousarray(x).reshape(x.shape)
    if size == target:
        return x.view(dtype)
    if size > target:
        return x[..., None].view(dtype)
    if not x.ndim or x.shape[-1] != target // size:
        raise InvalidArgumentError(f"Cannot bitcast from {x.dtype} of shape {x.shape} to {dtype}")
    return x.view(dtype)[..., 0]


def _int_type(out_type: Any) -> np.dtype[Any]:
    return as_dtype(types.int32 if out_type is None else out_type).dtype


def shape(input: object, out_type: Any = None, name: str | None = None) -> Tensor:
    """The shape as a tensor.

    >>> import feedline.tf as tf
    >>> tf.shape([[1, 2, 3]]).numpy()
    array([1, 3], dtype=int32)
    """
    given = operand(input)
    if isinstance(given, RaggedTensor):
        return given.bounding_shape(out_type=as_dtype(_int_type(out_type)))
    if isinstance(given, SparseTensor):
        return cast(given.dense_shape, _int_type(out_type))
    made: Tensor = _shape(given, dtype=_int_type(out_type))
    return made


@op("Shape")
def _shape(x: Array, dtype: np.dtype[Any]) -> Array:
    return np.array(x.shape, dtype)


def shape_n(input: Sequence[object], out_type: Any = None, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors.

    >>> import feedline.tf as tf
    >>> [s.numpy().tolist() for s in tf.shape_n([[1, 2], 3])]
    [[2], []]
    """
    return [shape(value, out_type) for value in input]


def size(input: object, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of values.

    >>> import feedline.tf as tf
    >>> tf.size([[1, 2], [3, 4]]).numpy()
    np.int32(4)
    """
    given = operand(input)
    if isinstance(given, RaggedTensor):
        given = given.flat_values
    if isinstance(given, SparseTensor):
        return as_tensor(np.asarray(np.prod(given._value.dense_shape), _int_type(out_type)))
    made: Tensor = _size(given, dtype=_int_type(out_type))
    return made


@op("Size")
def _size(x: Array, dtype: np.dtype[Any]) -> Array:
    return np.array(x.size, dtype)


def rank(input: object, name: str | None = None) -> Tensor:
    """The number of dimensions.

    >>> import feedline.tf as tf
    >>> tf.rank([[1, 2], [3, 4]]).numpy()
    np.int32(2)
    """
    given = operand(input)
    return as_tensor(given.shape.rank, np.int32)


def reshape(tensor: object, shape: object, name: str | None = None) -> Tensor:
    """The same values in another shape; a size of -1 is computed.

    >>> import feedline.tf as tf
    >>> tf.reshape([1, 2, 3, 4], [2, -1]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    made: Tensor = _reshape(as_tensor(tensor), shape=_shape_ints(shape))
    return made


def _shape_ints(shape: object) -> list[int]:
    if isinstance(shape, TensorShape) and shape.rank is not None:
        return [-1 if d is None else d for d in shape]
    if isinstance(shape, (list, tuple)) and set(map(type, shape)) <= {int}:
        return list(shape)
    rank = as_tensor(shape, like=np.dtype(np.int64)).ndim if isinstance(shape, (list, tuple)) else as_tensor(shape).ndim
    if rank > 1:
        raise InvalidArgumentError(f"shape must be a vector, got one of {rank} dimensions")
    return ints(shape)


def with_missing_size(given: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Computes the size for -1 in a shape that also has sizes of 0, from the sizes that are not 0."""
    missing = math.prod(d for d in given if d) // math.prod(d for d in shape if d > 0)
    return [missing if d == -1 else d for d in shape]


@op("Reshape")
def _reshape(x: Array, shape: list[int]) -> Array:
    if shape.count(-1) > 1 or any(d < -1 for d in shape):
        raise InvalidArgumentError(f"Only one input size may be -1, and no other negative, got {shape}")
    known = math.prod(d for d in shape if d >= 0)
    if -1 in shape and known == 0 and not x.size:
        return x.reshape(with_missing_size(x.shape, shape))
    if -1 in shape and known == 0:
        raise InvalidArgumentError(f"reshape cannot infer the missing input size for an empty tensor: {shape}")
    if x.size % known if -1 in shape else known != x.size:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape {shape} has {known}"
        )
    return x.reshape(shape)


@overload
def expand_dims(input: TensorLike, axis: object, name: str | None = None) -> Tensor: ...
@overload
def expand_dims(input: RaggedTensor, axis: object, name: str | None = None) -> RaggedTensor: ...
@overload
def expand_dims(input: SparseTensor, axis: object, name: str | None = None) -> SparseTensor: ...
@overload
def expand_dims(input: object, axis: object, name: str | None = None) -> Any: ...
def expand_dims(input: object, axis: object, name: str | None = None) -> Any:
    """Inserts a dimension of size 1.

    >>> import feedline.tf as tf
    >>> tf.expand_dims([1, 2], -1).shape
    fl.TensorShape([2, 1])
    """
    if isinstance(input, SparseTensor):
        from feedline.tf import sparse_ops as sparse

        return sparse.expand_dims(input, axis)
    if isinstance(input, RaggedTensor):
        return _expanded(input, integer(axis, "axis"))
    return _expand_dims(as_tensor(input), axis=integer(axis, "axis"))


def _expanded(value: RaggedTensor, axis: int) -> Any:
    dims = len(value._value.shape)
    axis = axis + dims + 1 if axis < 0 else axis
    if axis == 0:
        return RaggedTensor.from_row_splits(value, [0, len(value)])
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(value, 1)
    return value.with_values(expand_dims(value.values, axis - 1))


@op("ExpandDims")
def _expand_dims(x: Array, axis: int) -> Array:
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise InvalidArgumentError(f"expand_dims: axis {axis} is not in [{-x.ndim - 1}, {x.ndim}]")
    return np.expand_dims(x, axis)


@overload
def squeeze(input: TensorLike, axis: object = None, name: str | None = None, squeeze_dims: object = None) -> Tensor: ...
@overload
def squeeze(input: object, axis: object = None, name: str | None = None, squeeze_dims: object = None) -> Any: ...
def squeeze(input: object, axis: object = None, name: str | None = None, squeeze_dims: object = None) -> Any:
    """Removes dimensions of size 1: all of them, or those given.

    >>> import feedline.tf as tf
    >>> tf.squeeze(tf.zeros([1, 2, 1]), 0).shape
    fl.TensorShape([2, 1])
    """
    axis = squeeze_dims if axis is None else axis
    if isinstance(input, RaggedTensor):
        if axis is None:
            raise StaticArgumentError("squeeze: a ragged tensor needs the argument axis")
        rank = len(input.shape)
        for a in sorted({axis_of(a, rank) for a in ints(axis, "axis")}, reverse=True):
            input = _squeeze_ragged(input, a) if isinstance(input, RaggedTensor) else squeeze(input, a)
        return input
    return _squeeze(as_tensor(input), axis=[] if axis is None else ints(axis, "axis"))


def _squeeze_ragged(x: RaggedTensor, axis: int) -> Any:
    """Removes a dimension of size 1 of a ragged tensor: the rows of the next dimension take the place of its rows."""
    if axis > 1:
        return x.with_values(squeeze(x.values, axis - 1))
    lengths = x.row_lengths()._array
    if len(lengths) != 1 if axis == 0 else (lengths != 1).any():
        raise InvalidArgumentError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {x.shape}")
    return x.values


@op("Squeeze")
def _squeeze(x: Array, axis: list[int]) -> Array:
    over = tuple(axis_of(a, x.ndim) for a in axis) or tuple(i for i, d in enumerate(x.shape) if d == 1)
    for a in over:
        if x.shape[a] != 1:
            raise InvalidArgumentError(f"Can not squeeze dim[{a}], expected a dimension of 1, got {x.shape[a]}")
    return x.reshape([d for i, d in enumerate(x.shape) if i not in over])


def ensure_shape(x: object, shape: object, name: str | None = None) -> Tensor:
    """The tensor, if it has the shape; an error otherwise.

    >>> import feedline.tf as tf
    >>> tf.ensure_shape([1, 2], [None]).numpy()
    array([1, 2], dtype=int32)
    """
    given, wanted = as_tensor(x), TensorShape(shape)
    if not wanted.is_compatible_with(given.shape):
        raise InvalidArgumentError(f"Shape of tensor {given.shape} is not compatible with expected shape {wanted}.")
    return given


def broadcast_to(input: object, shape: object, name: str | None = None) -> Tensor:
    """The values repeated along dimensions of size 1 and new ones.

    >>> import feedline.tf as tf
    >>> tf.broadcast_to([1, 2], [2, 2]).numpy().tolist()
    [[1, 2], [1, 2]]
    """
    made: Tensor = _broadcast_to(as_tensor(input), shape=_sizes(shape))
    return made


@op("BroadcastTo")
def _broadcast_to(x: Array, shape: list[int]) -> Array:
    return np.broadcast_to(x, shape)


def broadcast_static_shape(shape_x: object, shape_y: object) -> TensorShape:
    """The shape that two shapes are broadcast to.

    >>> import feedline.tf as tf
    >>> tf.broadcast_static_shape([2, 1], [3])
    fl.TensorShape([2, 3])
    """
    a, b = TensorShape(shape_x), TensorShape(shape_y)
    if a.rank is None or b.rank is None:
        return TensorShape(None)
    rank = builtins.max(a.rank, b.rank)
    x, y = [1] * (rank - a.rank) + a.as_list(), [1] * (rank - b.rank) + b.as_list()
    found: list[int | None] = []
    for p, q in zip(x, y, strict=True):
        if p is not None and q is not None and p != q and 1 not in (p, q):
            raise InvalidArgumentError(f"Incompatible shapes for broadcasting: {a} and {b}")
        found.append(q if p == 1 else p if q == 1 else p if q is None else q if p is None else p)
    return TensorShape(found)


def broadcast_dynamic_shape(shape_x: object, shape_y: object) -> Tensor:
    """The shape that two shapes are broadcast to, as a tensor.

    >>> import feedline.tf as tf
    >>> tf.broadcast_dynamic_shape([2, 1], [3]).numpy()
    array([2, 3], dtype=int32)
    """
    x, y = matched(shape_x, shape_y)
    made = broadcast_static_shape(ints(x), ints(y))
    return as_tensor(made.as_list(), x.dtype)


# Order and repetition


def transpose(a: object, perm: object = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """The dimensions in another order; reversed without `perm`.

    >>> import feedline.tf as tf
    >>> tf.transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    given = as_tensor(a)
    made: Tensor = _transpose(given, perm=None if perm is None else ints(perm, "perm"))
    return tensor_of(np.conj(made._array)) if conjugate and made.dtype.is_complex else made


@op("Transpose")
def _transpose(x: Array, perm: list[int] | None) -> Array:
    if perm is not None and (
        len(perm) != x.ndim or sorted(p % builtins.max(x.ndim, 1) for p in perm) != list(builtins.range(x.ndim))
    ):
        raise InvalidArgumentError(f"transpose: perm {perm} is not a permutation of the {x.ndim} dimensions")
    return np.transpose(x, perm)


@overload
def reverse(tensor: TensorLike, axis: object, name: str | None = None) -> Tensor: ...
@overload
def reverse(tensor: RaggedTensor, axis: object, name: str | None = None) -> RaggedTensor: ...
@overload
def reverse(tensor: object, axis: object, name: str | None = None) -> Any: ...
def reverse(tensor: object, axis: object, name: str | None = None) -> Any:
    """The values in reverse order along dimensions.

    >>> import feedline.tf as tf
    >>> tf.reverse([1, 2, 3], [0]).numpy()
    array([3, 2, 1], dtype=int32)
    """
    if isinstance(tensor, RaggedTensor):
        return _reverse_ragged(tensor, [axis_of(a, len(tensor.shape)) for a in ints(axis, "axis")])
    made: Tensor = _reverse(as_tensor(tensor), axis=ints(axis, "axis"))
    return made


def _reverse_ragged(tensor: RaggedTensor, axes: list[int]) -> Any:
    values = tensor.values
    if any(a > 1 for a in axes):
        values = reverse(values, [a - 1 for a in axes if a > 1])
    if 1 in axes:
        splits: Array = np.asarray(tensor.row_splits)
        rows = np.repeat(splits[:-1] + splits[1:], np.diff(splits))
        values = gather(values, rows - 1 - np.arange(len(rows)))
    made = tensor.with_values(values)
    return gather(made, np.arange(len(made))[::-1]) if 0 in axes else made


@op("ReverseV2")
def _reverse(x: Array, axis: list[int]) -> Array:
    over = [axis_of(a, x.ndim) for a in axis]
    if len(set(over)) != len(over):
        raise InvalidArgumentError(f"reverse: axis {axis} names a dimension twice")
    return np.flip(x, tuple(over)) if over else x


def reverse_sequence(
    input: object,
    seq_lengths: object,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The first `seq_lengths[i]` values of each row in reverse order.

    >>> import feedline.tf as tf
    >>> tf.reverse_sequence([[1, 2, 3]], [2], seq_axis=1).numpy()
    array([[2, 1, 3]], dtype=int32)
    """
    lengths = as_tensor(seq_lengths)
    if seq_axis is None or lengths._array.dtype.kind not in INTEGERS:
        raise InvalidTypeError(f"reverse_sequence: integer seq_lengths and a seq_axis, got {lengths} and {seq_axis}")
    made: Tensor = _reverse_sequence(as_tensor(input), lengths, seq_axis=seq_axis, batch_axis=batch_axis or 0)
    return made


@op("ReverseSequence")
def _reverse_sequence(x: Array, lengths: Array, seq_axis: int, batch_axis: int) -> Array:
    seq, batch = seq_axis, batch_axis
    fits = lengths.ndim == 1 and max(seq, batch) < x.ndim and -x.ndim <= batch
    if not fits or len(lengths) != x.shape[batch]:
        raise StaticArgumentError(f"reverse_sequence: lengths of shape {lengths.shape} do not fit {x.shape}")
    if seq < 0 or seq == batch or (lengths > x.shape[seq]).any():
        raise InvalidArgumentError(f"reverse_sequence: {lengths} values along axis {seq} do not fit {x.shape}")
    moved = np.moveaxis(x, (batch, seq), (0, 1))
    place = np.broadcast_to(np.arange(x.shape[seq]), moved.shape[:2])
    n = lengths[:, None].astype(np.int64)
    place = np.where(place < n, n - 1 - place, place)
    made = moved[np.arange(len(lengths))[:, None], place]
    return np.moveaxis(made, (0, 1), (batch, seq))


@overload
def tile(input: TensorLike, multiples: object, name: str | None = None) -> Tensor: ...
@overload
def tile(input: RaggedTensor, multiples: object, name: str | None = None) -> RaggedTensor: ...
@overload
def tile(input: object, multiples: object, name: str | None = None) -> Any: ...
def tile(input: object, multiples: object, name: str | None = None) -> Any:
    """The tensor repeated along each dimension.

    >>> import feedline.tf as tf
    >>> tf.tile([1, 2], [2]).numpy()
    array([1, 2, 1, 2], dtype=int32)
    """
    if isinstance(input, RaggedTensor):
        counts = ints(multiples, "multiples")
        if any(c != 1 for c in counts[1:]):
            rows = [tile(row, counts[1:]) for row in input]
            input = ragged.stack(rows)
        return concat([input] * counts[0], 0)
    return _tile(as_tensor(input), multiples=ints(multiples, "multiples"))


@op("Tile")
def _tile(x: Array, multiples: list[int]) -> Array:
    if len(multiples) != x.ndim or any(m < 0 for m in multiples):
        raise InvalidArgumentError(f"tile: expected {x.ndim} multiples of 0 or more, got {multiples}")
    return np.tile(x, multiples)


def repeat(input: object, repeats: object, axis: object = None, name: str | None = None) -> Tensor:
    """Each value, or each slice along `axis`, repeated.

    >>> import feedline.tf as tf
    >>> tf.repeat([1, 2], [2, 1]).numpy()
    array([1, 1, 2], dtype=int32)
    """
    made: Tensor = _repeat(as_tensor(input), as_tensor(repeats), axis=None if axis is None else integer(axis, "axis"))
    return made


@op("Repeat")
def _repeat(x: Array, repeats: Array, axis: int | None) -> Array:
    if repeats.dtype.kind not in "iu":
        raise InvalidTypeError(f"repeat: repeats must be integers, got {repeats.dtype}")
    if axis is None:
        x, axis = x.reshape(-1), 0
    x = x[None] if not x.ndim else x
    return np.repeat(x, repeats, axis_of(axis, x.ndim))


def roll(input: object, shift: object, axis: object, name: str | None = None) -> Tensor:
    """The values shifted along dimensions; those that leave one end enter at the other.

    >>> import feedline.tf as tf
    >>> tf.roll([1, 2, 3], 1, 0).numpy()
    array([3, 1, 2], dtype=int32)
    """
    if max(as_tensor(shift)._array.ndim, as_tensor(axis)._array.ndim) > 1:
        raise StaticArgumentError(f"roll: shift and axis must be numbers or vectors, got {shift!r} and {axis!r}")
    made: Tensor = _roll(as_tensor(input), shift=ints(shift, "shift"), axis=ints(axis, "axis"))
    return made


@op("Roll")
def _roll(x: Array, shift: list[int], axis: list[int]) -> Array:
    if not x.ndim or len(shift) != len(axis):
        raise StaticArgumentError(f"roll: {len(shift)} shifts do not fit {len(axis)} axes of a tensor of rank {x.ndim}")
    return np.roll(x, shift, [axis_of(a, x.ndim) for a in axis])


# Joining and splitting


def _tensors(values: Any, what: str) -> list[Tensor]:
    if isinstance(values, TensorBase):
        return list(values)
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise InvalidTypeError(f"{what} takes a list of tensors, got {values!r}")
    if not len(values):
        raise InvalidArgumentError(f"{what} needs at least one tensor")
    return matched(*values)


@overload
def concat(values: Sequence[RaggedTensor], axis: object, name: str = "concat") -> RaggedTensor: ...
@overload
def concat(values: TensorLike, axis: object, name: str = "concat") -> Tensor: ...
@overload
def concat(values: Any, axis: object, name: str = "concat") -> Any: ...
def concat(values: Any, axis: object, name: str = "concat") -> Any:
    """Joins tensors along a dimension.

    >>> import feedline.tf as tf
    >>> tf.concat([[1, 2], [3]], 0).numpy()
    array([1, 2, 3], dtype=int32)
    """
    at = integer(axis, "axis")
    if isinstance(values, (list, tuple)):
        if any(isinstance(v, RaggedTensor) for v in values):
            return _ragged_concat(values, at)
        if len(values) == 1:
            return operand(values[0])
    else:
        return operand(values)
    return _concat(*_tensors(values, "concat"), axis=at)


@op("ConcatV2")
def _concat(*values: Array, axis: int) -> Array:
    rank = values[0].ndim
    at = axis_of(axis, rank)
    shapes = [v.shape[:at] + v.shape[at + 1 :] for v in values]
    if any(v.ndim != rank for v in values) or len(set(shapes)) > 1:
        raise InvalidArgumentError(
            f"ConcatOp : Dimensions of inputs should match except in dimension {at}: {[v.shape for v in values]}"
        )
    return np.concatenate(values, at)


def _ragged_concat(values: Sequence[Any], axis: int) -> Any:
    deepest = builtins.max(v.ragged_rank for v in values if isinstance(v, RaggedTensor))
    parts = [v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v, ragged_rank=deepest) for v in values]
    rank = len(parts[0]._value.shape)
    axis = axis + rank if axis < 0 else axis
    if axis == 0:
        return ragged.tensor_from(concat_rows([p._value for p in parts]))
    if axis == 1:
        count = len(parts[0])
        if any(len(p) != count for p in parts):
            raise InvalidArgumentError(
                f"ragged tensors of {[len(p) for p in parts]} rows cannot be joined along axis 1"
            )
        inner = concat([p.values for p in parts], 0)
        starts, begins = [], 0
        for p in parts:
            starts.append(p._value.row_splits[:-1] + begins)
            begins += len(p._value.values)
        lengths = np.stack([np.diff(p._value.row_splits) for p in parts], 1)
        begin = np.stack(starts, 1).ravel()
        flat = lengths.ravel()
        order = np.repeat(begin - np.concatenate([[0], np.cumsum(flat)[:-1]]), flat) + np.arange(flat.sum())
        return RaggedTensor.from_row_lengths(gather(inner, order), lengths.sum(1))
    return parts[0].with_values(_ragged_concat([p.values for p in parts], axis - 1))


@overload
def stack(values: Sequence[RaggedTensor], axis: object = 0, name: str = "stack") -> RaggedTensor: ...
@overload
def stack(values: TensorLike, axis: object = 0, name: str = "stack") -> Tensor: ...
@overload
def stack(values: Any, axis: object = 0, name: str = "stack") -> Any: ...
def stack(values: Any, axis: object = 0, name: str = "stack") -> Any:
    """Joins tensors of one shape along a new dimension.

    >>> import feedline.tf as tf
    >>> tf.stack([tf.constant([1, 2]), [3, 4]], axis=1).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    if isinstance(values, (list, tuple)) and any(isinstance(v, RaggedTensor) for v in values):
        return ragged.stack(values, integer(axis, "axis"))
    at = integer(axis, "axis")
    tensors = isinstance(values, (list, tuple)) and values and all(isinstance(v, TensorBase) for v in values)
    if at == 0 and isinstance(values, (list, tuple)) and not tensors:
        with contextlib.suppress(TypeError, ValueError):
            return as_tensor(values)
    parts = values if isinstance(values, (TensorBase, np.ndarray)) or not _is_plain(values) else as_tensor(values)
    return _stack(*_tensors(parts, "stack"), axis=at)


def _is_plain(values: Any) -> bool:
    """Whether a list holds Python numbers only, which are converted together."""
    return isinstance(values, (list, tuple)) and bool(values) and all(type(v) in (int, float) for v in values)


@op("Pack")
def _stack(*values: Array, axis: int) -> Array:
    if len({v.shape for v in values}) > 1:
        raise InvalidArgumentError(f"Shapes of all inputs must match: {[v.shape for v in values]}")
    return np.stack(values, axis_of(axis, values[0].ndim + 1))


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """`stack` along the first dimension.

    >>> import feedline.tf as tf
    >>> tf.parallel_stack([tf.constant([1, 2]), tf.constant([3, 4])]).numpy().tolist()
    [[1, 2], [3, 4]]
    """
    made: Tensor = stack(values)
    return made


def unstack(value: object, num: int | None = None, axis: object = 0, name: str = "unstack") -> list[Any]:
    """The slices along a dimension, as a list.

    >>> import feedline.tf as tf
    >>> [t.numpy() for t in tf.unstack([1, 2])]
    [np.int32(1), np.int32(2)]
    """
    given = operand(value)
    if isinstance(given, RaggedTensor):
        return list(given)
    at = axis_of(axis, given.ndim)
    if num is not None and num != given._array.shape[at]:
        raise InvalidArgumentError(f"unstack: the dimension has {given._array.shape[at]} slices, not {num}")
    moved = np.moveaxis(given._array, at, 0)
    return [tensor_of(moved[i, ...]) for i in builtins.range(len(moved))]


def split(
    value: object, num_or_size_splits: object, axis: object = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Cuts a tensor along a dimension, into a number of equal parts or into parts of given sizes.

    >>> import feedline.tf as tf
    >>> [t.numpy().tolist() for t in tf.split([1, 2, 3], [1, -1])]
    [[1], [2, 3]]
    """
    array = as_tensor(value)._array
    at = axis_of(axis, array.ndim)
    given = as_tensor(num_or_size_splits)
    if given.ndim == 0:
        count = integer(given, "num_or_size_splits")
        if count <= 0 or array.shape[at] % count:
            raise InvalidArgumentError(
                f"Number of ways to split should evenly divide the split dimension, but got split_dim {at} "
                f"(size = {array.shape[at]}) and num_split {count}"
            )
        sizes = [array.shape[at] // count] * count
    else:
        sizes = ints(given)
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = array.shape[at] - sum(s for s in sizes if s >= 0)
        if any(s < 0 for s in sizes) or sum(sizes) != array.shape[at]:
            raise InvalidArgumentError(f"split: sizes {sizes} do not add up to {array.shape[at]}")
    return [tensor_of(part) for part in np.split(array, np.cumsum(sizes)[:-1], at)] if sizes else []


def slice(input_: object, begin: object, size: object, name: str | None = None) -> Tensor:
    """A box of the tensor, from `begin` on; a size of -1 means all the rest.

    >>> import feedline.tf as tf
    >>> tf.slice([[1, 2], [3, 4]], [1, 0], [1, -1]).numpy()
    array([[3, 4]], dtype=int32)
    """
    made: Tensor = _slice(as_tensor(input_), begin=ints(begin, "begin"), size=ints(size, "size"))
    return made


@op("Slice")
def _slice(x: Array, begin: list[int], size: list[int]) -> Array:
    if len(begin) != x.ndim or len(size) != x.ndim:
        raise InvalidArgumentError(f"slice: expected {x.ndim} begins and sizes, got {begin} and {size}")
    keys: list[Any] = []
    for b, s, d in zip(begin, size, x.shape, strict=True):
        end = d if s == -1 else b + s
        if not 0 <= b <= d or not b <= end <= d:
            raise InvalidArgumentError(f"slice: begin {begin} and size {size} are outside of the shape {x.shape}")
        keys.append(builtins.slice(b, end))
    return x[(*keys, ...)]


def strided_slice(
    input_: object,
    begin: object,
    end: object,
    strides: object = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: object = None,
    name: str | None = None,
) -> Any:
    """`input_[begin:end:strides]` in all dimensions; the bits of the masks change single ones.

    >>> import feedline.tf as tf
    >>> tf.strided_slice([1, 2, 3, 4], [0], [4], [2]).numpy()
    array([1, 3], dtype=int32)
    """
    first, last = ints(begin, "begin"), ints(end, "end")
    steps = [1] * len(first) if strides is None else ints(strides, "strides")
    keys: list[Any] = []
    for i, (b, e, s) in enumerate(zip(first, last, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            keys.append(Ellipsis)
        elif new_axis_mask & bit:
            keys.append(None)
        elif shrink_axis_mask & bit:
            keys.append(b)
        else:
            keys.append(builtins.slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
    return as_tensor(input_)[tuple(keys)]


def _paddings(given: object) -> Tensor:
    return as_tensor(given, like=np.dtype(np.int32) if isinstance(given, (list, tuple)) else None)


def pad(
    tensor: object, paddings: object, mode: str = "CONSTANT", constant_values: object = 0, name: str | None = None
) -> Tensor:
    """Adds values before and after each dimension: one value, or (REFLECT, SYMMETRIC) a mirror image.

    >>> import feedline.tf as tf
    >>> tf.pad([1, 2], [[1, 2]]).numpy(), tf.pad([1, 2, 3], [[0, 2]], "REFLECT").numpy()
    (array([0, 1, 2, 0, 0], dtype=int32), array([1, 2, 3, 2, 1], dtype=int32))
    """
    given, widths = as_tensor(tensor), _paddings(paddings)
    if widths._array.dtype.kind not in "iu" and widths._array.size:
        raise InvalidTypeError(f"pad: paddings must be integers, got {widths.dtype.name}")
    value: object = constant_values
    if isinstance(constant_values, int) and constant_values == 0 and given.dtype in (types.string, types.bool):
        value = b"" if given.dtype == types.string else False
    made: Tensor = _pad(given, widths, as_tensor(value, given.dtype), mode=mode.upper())
    return made


@op("PadV2")
def _pad(x: Array, widths: Array, value: Array, mode: str) -> Array:
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(
            f"Value of argument mode expected to be CONSTANT, REFLECT, or SYMMETRIC, got {mode}."
        )
    widths = widths.reshape(0, 2) if not x.ndim and not widths.size else widths
    if widths.shape != (x.ndim, 2) or (widths.size and widths.min() < 0):
        raise InvalidArgumentError(f"pad: paddings must be {x.ndim} pairs of 0 or more, got {widths.tolist()}")
    if mode == "CONSTANT":
        out = np.empty([d + int(a) + int(b) for d, (a, b) in zip(x.shape, widths, strict=True)], x.dtype)
        out[...] = value[()]
        out[tuple(builtins.slice(int(a), int(a) + d) for d, (a, _) in zip(x.shape, widths, strict=True))] = x
        return out
    most = np.array(x.shape)[:, None] - (mode == "REFLECT")
    if (widths > most).any():
        raise InvalidArgumentError(f"pad: paddings {widths.tolist()} are larger than {mode} allows for {x.shape}")
    return np.pad(x, widths.astype(int), "reflect" if mode == "REFLECT" else "symmetric") if x.ndim else x


# Selection


@overload
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: object = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor: ...
@overload
def gather(
    params: object,
    indices: object,
    validate_indices: bool | None = None,
    axis: object = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any: ...
def gather(
    params: object,
    indices: object,
    validate_indices: bool | None = None,
    axis: object = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices along `axis` with the given indices.

    >>> import feedline.tf as tf
    >>> tf.gather([10, 20, 30], [2, 0]).numpy()
    array([30, 10], dtype=int32)
    """
    if isinstance(params, RaggedTensor) or isinstance(indices, RaggedTensor):
        return _gather_ragged(operand(params), operand(indices), axis, batch_dims)
    at = batch_dims if axis is None else integer(axis, "axis")
    return _gather(as_tensor(params), as_tensor(indices), axis=at, batch_dims=batch_dims)


def _gather_ragged(params: Any, indices: Any, axis: object, batch_dims: int) -> Any:
    rank, deep = indices.shape.rank, params.shape.rank
    batch = batch_dims if batch_dims == rank else axis_of(batch_dims, rank)
    at = batch if axis is None else axis_of(integer(axis, "axis"), deep)
    if batch >= deep or at < batch:
        raise InvalidArgumentError(f"gather: batch_dims {batch} must be less than {deep} and at most the axis, {at}")
    return _gather_rows(params, indices, at, batch)


def _gather_rows(params: Any, indices: Any, axis: int, batch: int) -> Any:
    """`gather` of ragged tensors. Inside of rows, it is one of all their values, with indices that are moved to where
    the rows begin.
    """
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return _gather(params, indices, axis=axis, batch_dims=batch)
    if axis == 0:
        if isinstance(indices, RaggedTensor):
            return indices.with_values(_gather_rows(params, indices.values, 0, 0))
        return _gather_whole(params, indices)
    rows = params if isinstance(params, RaggedTensor) else RaggedTensor.from_tensor(params)
    count = len(rows)
    if batch and len(indices) != count:
        raise InvalidArgumentError(f"gather: {len(indices)} batches of indices do not fit {count} of params")
    if batch > 1:
        inner = indices if isinstance(indices, RaggedTensor) else RaggedTensor.from_tensor(indices)
        if not np.array_equal(inner.row_splits._array, rows.row_splits._array):
            raise InvalidArgumentError("gather: the batches of indices and of params have rows of different lengths")
        return rows.with_values(_gather_rows(rows.values, inner.values, axis - 1, batch - 1))
    if axis > 1:
        given = gather(indices, rows.value_rowids()) if batch else indices
        return rows.with_values(_gather_rows(rows.values, given, axis - 1, batch))
    if not isinstance(indices, RaggedTensor):
        places = indices._array.astype(np.int64)
        each = places if batch else np.broadcast_to(places, (count, *places.shape))
        return _gather_rows(rows.values, tensor_of(_moved(rows, each, np.arange(count))), 0, 0)
    each = indices
    if not batch:
        copies = gather(indices, np.tile(np.arange(len(indices)), count))
        each = RaggedTensor.from_uniform_row_length(copies, len(indices), count)
    ends = each.nested_row_splits[0]._array
    for splits in each.nested_row_splits[1:]:
        ends = splits._array[ends]
    moved = _moved(rows, each.flat_values._array.astype(np.int64), np.repeat(np.arange(count), np.diff(ends)))
    return _gather_rows(rows.values, each.with_flat_values(moved), 0, 0)


def _gather_whole(params: RaggedTensor, indices: Tensor) -> Any:
    """Whole rows of a ragged tensor."""
    flat = ints(indices, "indices")
    if any(not 0 <= i < len(params) for i in flat):
        raise InvalidArgumentError(f"indices {flat} are not all in [0, {len(params)})")
    made = ragged.tensor_from(gather_rows(params._value, np.array(flat, np.int64)))
    sizes = indices._array.shape
    for i in builtins.range(len(sizes) - 1, 0, -1):
        made = RaggedTensor.from_uniform_row_length(made, sizes[i], math.prod(sizes[:i]))
    return made[0] if not indices.ndim else made


def _moved(rows: RaggedTensor, places: Array, numbers: Array) -> Array:
    """Converts indices within the given rows to indices in the values of all rows."""
    shape = (-1, *[1] * (places.ndim - 1))
    lengths = rows.row_lengths()._array[numbers].reshape(shape)
    wrong = (places < 0) | (places >= lengths)
    if wrong.any():
        bad = np.argwhere(wrong)[0]
        raise InvalidArgumentError(
            f"gather: index {places[tuple(bad)]} is not in [0, {lengths[bad[0]].item()}) in row {numbers[bad[0]]}"
        )
    return places + rows.row_starts()._array[numbers].reshape(shape)


@op("GatherV2")
def _gather(params: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    if indices.dtype.kind not in "iu":
        raise InvalidTypeError(f"gather: indices must be integers, got {indices.dtype}")
    at = axis_of(axis, params.ndim)
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if batch > at or params.shape[:batch] != indices.shape[:batch]:
        raise InvalidArgumentError(f"gather: batch_dims {batch_dims} does not fit {params.shape} and {indices.shape}")
    _check_indices(indices, params.shape[at], "gather")
    if not batch:
        return np.take(params, indices, at)
    lead = params.shape[:batch]
    many = int(np.prod(lead, dtype=np.int64))
    p, i = params.reshape(many, *params.shape[batch:]), indices.reshape(many, *indices.shape[batch:])
    moved = np.moveaxis(p, at - batch + 1, 1)
    made = moved[np.arange(many).reshape(-1, *([1] * (i.ndim - 1))), i]
    inner = i.ndim - 1
    made = np.moveaxis(made, builtins.range(1, 1 + inner), builtins.range(at - batch + 1, at - batch + 1 + inner))
    return made.reshape(*lead, *made.shape[1:])


def _check_indices(indices: Array, size: int, what: str) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        bad = indices[(indices < 0) | (indices >= size)].ravel()[0]
        raise InvalidArgumentError(f"{what}: index {bad} is not in [0, {size})")


def batch_gather(params: object, indices: object, name: str | None = None) -> Any:
    """`gather` in each row: all dimensions of `indices` but the last are batch dimensions.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.batch_gather([[1, 2], [3, 4]], [[1], [0]]).numpy().tolist()
    [[2], [3]]
    """
    places = as_tensor(indices)
    return gather(params, places, axis=places.ndim - 1, batch_dims=places.ndim - 1)


def gather_nd(
    params: object, indices: object, batch_dims: int = 0, name: str | None = None, bad_indices_policy: str = ""
) -> Tensor:
    """The values or slices at the places given by the last dimension of `indices`.

    >>> import feedline.tf as tf
    >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
    array([2, 3], dtype=int32)
    """
    made: Tensor = _gather_nd(as_tensor(params), as_tensor(indices), batch_dims=batch_dims)
    return made


@op("GatherNd")
def _gather_nd(params: Array, indices: Array, batch_dims: int) -> Array:
    if indices.dtype.kind not in "iu":
        raise InvalidTypeError(f"gather_nd: indices must be integers, got {indices.dtype}")
    if batch_dims:
        lead = params.shape[:batch_dims]
        grid = np.indices(lead).reshape(batch_dims, *lead, *([1] * (indices.ndim - 1 - batch_dims)))
        grid = np.broadcast_to(grid, (batch_dims, *indices.shape[:-1]))
        indices = np.concatenate([np.moveaxis(grid, 0, -1), indices], -1)
    _check_places(indices, params.shape, "gather_nd")
    return (
        params[tuple(np.moveaxis(indices, -1, 0))]
        if indices.shape[-1]
        else np.broadcast_to(params, (*indices.shape[:-1], *params.shape))
    )


def _check_places(indices: Array, shape: tuple[int, ...], what: str) -> None:
    if not indices.ndim or indices.shape[-1] > len(shape):
        raise InvalidArgumentError(f"{what}: indices of shape {indices.shape} do not fit a tensor of shape {shape}")
    for i in builtins.range(indices.shape[-1]):
        _check_indices(indices[..., i], shape[i], what)


def scatter_nd(
    indices: object, updates: object, shape: object, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """A tensor of zeros with `updates` added at the places given by `indices`.

    >>> import feedline.tf as tf
    >>> tf.scatter_nd([[1], [1]], [2, 3], [3]).numpy()
    array([0, 5, 0], dtype=int32)
    """
    given = as_tensor(updates)
    places = as_tensor(indices)
    return tensor_scatter_nd_add(zeros(ints(shape), given.dtype), places, given, bad_indices_policy)


def _scatter(tensor: object, indices: object, updates: object, how: Any, name: str, policy: str) -> Tensor:
    given, changed = matched(tensor, updates)
    base, new, places = given._array, changed._array, as_tensor(indices)._array
    if places.dtype.kind not in "iu":
        raise InvalidTypeError(f"{name}: indices must be integers, got {places.dtype}")
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise InvalidArgumentError(
            f"{name}: bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE', got {policy!r}"
        )
    if policy == "IGNORE":
        return _scattered_inside(base, places, new, how)
    _check_places(places, base.shape, name)
    wanted = places.shape[:-1] + base.shape[places.shape[-1] :]
    if new.ndim and new.shape != wanted:
        raise InvalidArgumentError(f"{name}: updates must have the shape {wanted}, got {new.shape}")
    out = base.copy()
    key = tuple(np.moveaxis(places, -1, 0))
    if how is None:
        out[key] = new
    else:
        how.at(out, key, new)
    return tensor_of(out)


def _scattered_inside(base: Array, places: Array, new: Array, how: Any) -> Tensor:
    """The update without the places outside of the tensor."""
    depth = places.shape[-1]
    inside = ((places >= 0) & (places < np.array(base.shape[:depth]))).all(-1)
    spread = np.broadcast_to(new, places.shape[:-1] + base.shape[depth:])
    return _scatter(tensor_of(base), places[inside], tensor_of(spread[inside]), how, "scatter", "")


def tensor_scatter_nd_update(tensor: object, indices: object, updates: object, name: str | None = None) -> Tensor:
    """The tensor with other values at the places given by `indices`.

    >>> import feedline.tf as tf
    >>> tf.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [9, 8]).numpy()
    array([9, 2, 8], dtype=int32)
    """
    return _scatter(tensor, indices, updates, None, "tensor_scatter_nd_update", "")


def tensor_scatter_nd_add(
    tensor: object, indices: object, updates: object, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The tensor with values added at the places given by `indices`.

    >>> import feedline.tf as tf
    >>> tf.tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [9, 8]).numpy()
    array([18,  2,  3], dtype=int32)
    """
    return _scatter(tensor, indices, updates, np.add, "tensor_scatter_nd_add", bad_indices_policy)


def tensor_scatter_nd_sub(
    tensor: object, indices: object, updates: object, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The tensor with values subtracted at the places given by `indices`.

    >>> import feedline.tf as tf
    >>> tf.tensor_scatter_nd_sub([1, 5], [[1]], [3]).numpy().tolist()
    [1, 2]
    """
    return _scatter(tensor, indices, updates, np.subtract, "tensor_scatter_nd_sub", bad_indices_policy)


def tensor_scatter_nd_max(
    tensor: object, indices: object, updates: object, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The larger of the tensor's values and those given for the places in `indices`.

    >>> import feedline.tf as tf
    >>> tf.tensor_scatter_nd_max([1, 5], [[0], [1]], [3, 3]).numpy().tolist()
    [3, 5]
    """
    return _scatter(tensor, indices, updates, np.maximum, "tensor_scatter_nd_max", bad_indices_policy)


def tensor_scatter_nd_min(
    tensor: object, indices: object, updates: object, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The smaller of the tensor's values and those given for the places in `indices`.

    >>> import feedline.tf as tf
    >>> tf.tensor_scatter_nd_min([1, 5], [[0], [1]], [3, 3]).numpy().tolist()
    [1, 3]
    """
    return _scatter(tensor, indices, updates, np.minimum, "tensor_scatter_nd_min", bad_indices_policy)


@overload
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor: ...
@overload
def where(condition: object, x: object = None, y: object = None, name: str | None = None) -> Any: ...
def where(condition: object, x: object = None, y: object = None, name: str | None = None) -> Any:
    """Values of `x` where the condition is true, of `y` elsewhere; without them, the indices of true values.

    >>> import feedline.tf as tf
    >>> tf.where([True, False], [1, 2], 0).numpy(), tf.where([0, 1, 1]).numpy().tolist()
    (array([1, 0], dtype=int32), [[1], [2]])
    """
    if (x is None) is not (y is None):
        raise InvalidArgumentError("x and y must both be non-None or both be None.")
    held = operand(condition)
    if x is not None and isinstance(condition, np.ndarray):
        held = as_tensor(condition, np.bool_)
    if x is None:
        if isinstance(held, TensorBase) and not held.ndim:
            raise InvalidArgumentError("where: the condition needs at least one dimension, or x and y")
        return _nonzero(held)
    if any(isinstance(v, RaggedTensor) for v in (held, x, y)):
        return _where_ragged(held, x, y)
    if held.dtype != types.bool:
        raise InvalidTypeError(f"where: condition must be bool, got {held.dtype.name}")
    return _where(held, *matched(x, y))


def _where_ragged(condition: Any, x: Any, y: Any) -> Any:
    parts = [v if isinstance(v, RaggedTensor) else as_tensor(v) for v in (condition, x, y)]
    first = next(p for p in parts if isinstance(p, RaggedTensor))
    flat = [p.flat_values if p is first else first._matched(p) for p in parts]
    return first.with_flat_values(where(flat[0], flat[1], flat[2]))


@op("Where")
def _nonzero(x: Array) -> Array:
    return np.argwhere(x if x.dtype.kind != "O" else x != b"").astype(np.int64, copy=False)


@op("SelectV2")
def _where(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


@overload
def boolean_mask(tensor: TensorLike, mask: TensorLike, axis: object = None, name: str = "boolean_mask") -> Tensor: ...
@overload
def boolean_mask(tensor: object, mask: object, axis: object = None, name: str = "boolean_mask") -> Any: ...
def boolean_mask(tensor: object, mask: object, axis: object = None, name: str = "boolean_mask") -> Any:
    """The values at which `mask` is true, in one dimension.

    >>> import feedline.tf as tf
    >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy()
    array([1, 3], dtype=int32)
    """
    if isinstance(tensor, RaggedTensor) or isinstance(mask, RaggedTensor):
        return ragged.boolean_mask(tensor, mask)
    made = _boolean_mask(as_tensor(tensor), as_tensor(mask), axis=0 if axis is None else integer(axis, "axis"))
    return made


@op("BooleanMask")
def _boolean_mask(x: Array, mask: Array, axis: int) -> Array:
    if not mask.ndim:
        raise InvalidArgumentError("boolean_mask: mask cannot be scalar.")
    at = axis_of(axis, builtins.max(x.ndim, 1))
    if x.shape[at : at + mask.ndim] != mask.shape:
        raise InvalidArgumentError(f"boolean_mask: mask of shape {mask.shape} does not fit {x.shape} at axis {at}")
    return x[(builtins.slice(None),) * at + (mask.astype(bool) if mask.dtype.kind != "O" else mask != b"",)]


def unique(x: object, out_idx: Any = types.int32, name: str | None = None) -> UniqueValues:
    """The distinct values in order of appearance, and the number of each value among them.

    >>> import feedline.tf as tf
    >>> y, idx = tf.unique([5, 7, 5])
    >>> y.numpy(), idx.numpy()
    (array([5, 7], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    return UniqueValues(*unique_with_counts(x, out_idx)[:2])


def unique_with_counts(x: object, out_idx: Any = types.int32, name: str | None = None) -> UniqueWithCounts:
    """`unique`, and how often each value appears.

    >>> import feedline.tf as tf
    >>> tf.unique_with_counts([5, 7, 5]).count.numpy()
    array([2, 1], dtype=int32)
    """
    array = as_tensor(x)._array
    if array.ndim != 1:
        raise InvalidArgumentError(f"unique expects a 1D vector, got the shape {array.shape}")
    kind = as_dtype(out_idx).dtype
    values, first, inverse, counts = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    values = values.astype(array.dtype, copy=False)[order]
    parts = values, number[inverse.reshape(-1)].astype(kind), counts[order].astype(kind)
    return UniqueWithCounts(*map(tensor_of, parts))


def sort(values: object, axis: object = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The values in order along a dimension.

    >>> import feedline.tf as tf
    >>> tf.sort([3, 1, 2], direction="DESCENDING").numpy()
    array([3, 2, 1], dtype=int32)
    """
    array = array_of(values, REALS, "sort")
    at = axis_of(axis, array.ndim)
    made = np.sort(array, at, kind="stable")
    return tensor_of(np.flip(made, at) if _descending(direction) else made)


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(f"direction must be ASCENDING or DESCENDING, got {direction!r}")
    return direction == "DESCENDING"


def argsort(
    values: object, axis: object = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The indices that sort the values along a dimension.

    >>> import feedline.tf as tf
    >>> tf.argsort([3, 1, 2]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    array = array_of(values, REALS, "argsort")
    at = axis_of(axis, array.ndim)
    if _descending(direction):
        made = array.shape[at] - 1 - np.flip(np.argsort(np.flip(array, at), at, kind="stable"), at)
    else:
        made = np.argsort(array, at, kind="stable")
    return tensor_of(made.astype(np.int32))


def searchsorted(
    sorted_sequence: object, values: object, side: str = "left", out_type: Any = types.int32, name: str | None = None
) -> Tensor:
    """Where values would be inserted to keep a sequence in order; per row if there are several.

    >>> import feedline.tf as tf
    >>> tf.searchsorted([1, 3, 5], [3, 4]).numpy()
    array([1, 2], dtype=int32)
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"side must be 'left' or 'right', got {side!r}")
    rows, wanted = (t._array for t in matched(as_tensor(sorted_sequence), as_tensor(values)))
    kind = as_dtype(out_type).dtype
    if rows.ndim == 1:
        return tensor_of(np.searchsorted(rows, wanted, "left" if side == "left" else "right").astype(kind))
    if rows.shape[:-1] != wanted.shape[:-1]:
        raise InvalidArgumentError(f"searchsorted: leading dims of {rows.shape} and {wanted.shape} must match")
    flat = zip(rows.reshape(-1, rows.shape[-1]), wanted.reshape(-1, wanted.shape[-1]), strict=True)
    made = [np.searchsorted(r, w, "left" if side == "left" else "right") for r, w in flat]
    return tensor_of(np.array(made, kind).reshape(wanted.shape))


def dynamic_partition(data: object, partitions: object, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """The values of each of several groups.

    >>> import feedline.tf as tf
    >>> [t.numpy().tolist() for t in tf.dynamic_partition([1, 2, 3], [0, 1, 0], 2)]
    [[1, 3], [2]]
    """
    array, groups = as_tensor(data)._array, as_tensor(partitions)._array
    if array.shape[: groups.ndim] != groups.shape:
        raise InvalidArgumentError(f"partitions of shape {groups.shape} do not fit data of shape {array.shape}")
    _check_indices(groups, num_partitions, "dynamic_partition")
    return [tensor_of(array[groups == i]) for i in builtins.range(num_partitions)]


def dynamic_stitch(indices: Sequence[object], data: Sequence[object], name: str | None = None) -> Tensor:
    """Joins tensors whose rows go to the given indices.

    >>> import feedline.tf as tf
    >>> tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy()
    array([10, 20, 30], dtype=int32)
    """
    places = [as_tensor(i)._array for i in indices]
    parts = [t._array for t in matched(*data)]
    inner = parts[0].shape[places[0].ndim :]
    count = builtins.max((int(p.max()) + 1 for p in places if p.size), default=0)
    out = np.full((count, *inner), b"" if parts[0].dtype.kind == "O" else 0, parts[0].dtype)
    for place, part in zip(places, parts, strict=True):
        if place.size and place.min() < 0:
            raise InvalidArgumentError(f"dynamic_stitch: indices must be 0 or more, got {place.min()}")
        out[place] = part
    return tensor_of(out)


def diag(
    diagonal: object,
    name: str = "diag",
    k: object = 0,
    num_rows: object = -1,
    num_cols: object = -1,
    padding_value: object = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals: one, the `k`-th, or those from the first to the second of `k`.

    >>> import feedline.tf as tf
    >>> tf.linalg.diag([1, 2]).numpy().tolist(), tf.linalg.diag([3], k=1).numpy().tolist()
    ([[1, 0], [0, 2]], [[0, 3], [0, 0]])
    """
    values = as_tensor(diagonal)._array
    low, high = _band(k)
    if not values.ndim or (high > low and (values.ndim < 2 or values.shape[-2] != high - low + 1)):
        raise InvalidArgumentError(f"diag: diagonals {low} to {high} cannot have the shape {values.shape}")
    longest = values.shape[-1]
    wanted = integer(num_rows, "num_rows"), integer(num_cols, "num_cols")
    least = longest - builtins.min(high, 0), longest + builtins.max(low, 0)
    square = wanted == (-1, -1)
    rows, columns = (
        builtins.max(least) if square else least[i] if wanted[i] == -1 else wanted[i] for i in builtins.range(2)
    )
    if rows < least[0] or columns < least[1] or longest != _longest(rows, columns, low, high):
        raise InvalidArgumentError(f"diag: {rows} rows and {columns} columns do not fit diagonals of {longest} values")
    batch = values.shape[: -1 if low == high else -2]
    padding = _padding(padding_value, values.dtype)
    out = np.full((*batch, rows, columns), padding, values.dtype)
    for d in builtins.range(low, high + 1):
        row = values if low == high else values[..., high - d, :]
        count = _length(rows, columns, d)
        place = np.arange(count)
        begin = longest - count if _aligned_right(d, align) else 0
        out[..., place - builtins.min(d, 0), place + builtins.max(d, 0)] = row[..., begin : begin + count]
    return tensor_of(out)


def diag_part(
    input: object, name: str = "diag_part", k: object = 0, padding_value: object = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The diagonals of matrices: one, the `k`-th, or those from the first to the second of `k`, the highest first.

    >>> import feedline.tf as tf
    >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy(), tf.linalg.diag_part([[1, 2], [3, 4]], k=(0, 1)).numpy().tolist()
    (array([1, 4], dtype=int32), [[0, 2], [1, 4]])
    """
    array = as_tensor(input)._array
    low, high = _band(k)
    if array.ndim < 2 or low > high or not -array.shape[-2] < low or not high < array.shape[-1]:
        raise InvalidArgumentError(f"diag_part: matrices of shape {array.shape} do not have diagonals {low} to {high}")
    if low == high:
        return tensor_of(np.diagonal(array, low, -2, -1))
    longest = _longest(array.shape[-2], array.shape[-1], low, high)
    padding = _padding(padding_value, array.dtype)
    out = np.full((*array.shape[:-2], high - low + 1, longest), padding, array.dtype)
    for d in builtins.range(low, high + 1):
        found = np.diagonal(array, d, -2, -1)
        begin = longest - found.shape[-1] if _aligned_right(d, align) else 0
        out[..., high - d, begin : begin + found.shape[-1]] = found
    return tensor_of(out)


def _padding(value: object, dtype: np.dtype[Any]) -> Array:
    """The padding beside a diagonal; 0 means False for bools."""
    if type(value) is int and dtype.kind == "b":
        value = builtins.bool(value)
    return as_tensor(value, None if isinstance(value, TensorBase) else dtype)._array


def _band(k: object) -> tuple[int, int]:
    """The lowest and the highest of the diagonals `k`."""
    found = ints(k, "k")
    if len(found) not in (1, 2) or found[0] > found[-1]:
        raise InvalidArgumentError(f"k must be one diagonal, or the lowest and the highest, got {k!r}")
    return found[0], found[-1]


def _length(rows: int, columns: int, d: int) -> int:
    return builtins.min(rows + builtins.min(d, 0), columns - builtins.max(d, 0))


def _longest(rows: int, columns: int, low: int, high: int) -> int:
    return builtins.min(rows + builtins.min(high, 0), columns - builtins.max(low, 0))


def _aligned_right(d: int, align: str) -> bool:
    """Whether padding comes before the values of a diagonal: `align` is for those above, then for those below."""
    if align not in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise InvalidArgumentError(f"align must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT, got {align!r}")
    above, _, below = align.partition("_")
    return (above if d >= 0 else below) == "RIGHT"


def band_part(input: object, num_lower: object, num_upper: object, name: str | None = None) -> Tensor:
    """Matrices with zeros outside of a band around the diagonal; -1 keeps a whole triangle.

    >>> import feedline.tf as tf
    >>> tf.linalg.band_part(tf.ones([2, 2]), -1, 0).numpy().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    array = as_tensor(input)._array
    lower, upper = integer(num_lower, "num_lower"), integer(num_upper, "num_upper")
    i, j = np.arange(array.shape[-2])[:, None], np.arange(array.shape[-1])
    keep = ((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper))
    return tensor_of(np.where(keep, array, np.zeros((), array.dtype)))


def type_spec(value: object) -> Any:
    """The spec of a value: `tf.type_spec_from_value`.

    >>> import feedline.tf as tf
    >>> tf.type_spec_from_value(tf.constant([1, 2]))
    TensorSpec(shape=(2,), dtype=int32)
    """
    return type_spec_from_value(value if isinstance(value, (TensorBase, Composite)) else as_tensor(value))


def identity_n(input: Sequence[object], name: str | None = None) -> list[Any]:
    """The tensors of a list.

    >>> import feedline.tf as tf
    >>> [x.numpy() for x in tf.identity_n([1, 2.5])]
    [np.int32(1), np.float32(2.5)]
    """
    return [identity(x) for x in input]


def unravel_index(indices: object, dims: object, name: str | None = None) -> Tensor:
    """The coordinates of places in a flattened array.

    >>> import feedline.tf as tf
    >>> tf.unravel_index([2, 5, 7], [3, 3]).numpy().tolist()
    [[0, 1, 2], [2, 2, 1]]
    """
    places, sizes = matched(indices, dims)
    array, shape = places._array, sizes._array
    if array.size and (array.min() < 0 or array.max() >= math.prod(shape.tolist())):
        raise InvalidArgumentError(f"unravel_index: index is out of bound of the dims {shape.tolist()}")
    return tensor_of(np.stack(np.unravel_index(array, tuple(shape.tolist()))).astype(array.dtype))


def space_to_batch_nd(input: object, block_shape: object, paddings: object, name: str | None = None) -> Tensor:
    """Blocks of the dimensions after the first, moved to the first.

    >>> import feedline.tf as tf
    >>> tf.space_to_batch([[[1], [2], [3], [4]]], [2], [[0, 0]]).numpy().tolist()
    [[[1], [3]], [[2], [4]]]
    """
    array, block = as_tensor(input)._array, ints(block_shape, "block_shape")
    widths, count = _paddings(paddings)._array, len(block)
    if widths.shape != (count, 2) or array.ndim < count + 1:
        raise InvalidArgumentError(f"space_to_batch: paddings of {widths.shape} do not fit {count} dimensions")
    rest = array.shape[count + 1 :]
    array = np.pad(array, [(0, 0), *widths.tolist(), *[(0, 0)] * len(rest)])
    sizes = array.shape[1 : count + 1]
    if any(size % part for size, part in zip(sizes, block, strict=True)):
        raise InvalidArgumentError(f"space_to_batch: padded sizes {list(sizes)} are not multiples of {block}")
    cut = [n for size, part in zip(sizes, block, strict=True) for n in (size // part, part)]
    order = [*builtins.range(2, 2 * count + 1, 2), 0, *builtins.range(1, 2 * count + 1, 2)]
    cut_array = array.reshape(array.shape[0], *cut, *rest)
    moved = cut_array.transpose(*order, *builtins.range(2 * count + 1, cut_array.ndim))
    return tensor_of(moved.reshape(-1, *[s // p for s, p in zip(sizes, block, strict=True)], *rest))


def block(given: object) -> list[int]:
    """The sizes of blocks of two dimensions from one number, or of any number of dimensions from a list."""
    sizes = ints(given, "block_shape")
    return sizes if as_tensor(given).ndim else sizes * 2


def batch_to_space(input: object, block_shape: object, crops: object, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch`.

    >>> import feedline.tf as tf
    >>> tf.batch_to_space([[[1], [3]], [[2], [4]]], [2], [[0, 0]]).numpy().tolist()
    [[[1], [2], [3], [4]]]
    """
    array, blocks = as_tensor(input)._array, block(block_shape)
    cut, count = _paddings(crops)._array, len(blocks)
    if cut.shape != (count, 2) or array.ndim < count + 1 or array.shape[0] % math.prod(blocks):
        raise InvalidArgumentError(f"batch_to_space: {list(array.shape)} does not have blocks of {blocks}")
    sizes, rest = array.shape[1 : count + 1], array.shape[count + 1 :]
    apart = array.reshape(*blocks, array.shape[0] // math.prod(blocks), *sizes, *rest)
    order = [count, *[i for k in builtins.range(count) for i in (count + 1 + k, k)]]
    moved = apart.transpose(*order, *builtins.range(2 * count + 1, apart.ndim))
    made = moved.reshape(-1, *[s * p for s, p in zip(sizes, blocks, strict=True)], *rest)
    kept = tuple(builtins.slice(first, made.shape[i + 1] - last) for i, (first, last) in enumerate(cut.tolist()))
    return tensor_of(made[(builtins.slice(None), *kept)])
