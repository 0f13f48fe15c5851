"""`tf.Tensor`: an immutable value with TensorFlow's rules, in NumPy's memory; and how functions on tensors are made.

A function of `feedline.tf` converts its arguments with `as_tensor` and calls an `Op`: a kernel on arrays, registered
under the name of TensorFlow's op. So everything that concerns all functions (tensors to arrays and back, ragged
operands, errors) is in one place, `Op.__call__`.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, UnimplementedError
from feedline.plan.trials import count_turns
from feedline.structure import types
from feedline.structure.dense import Array, dense
from feedline.structure.spec import TensorShape, TensorSpec, register_spec_of
from feedline.structure.types import DType, as_dtype
from feedline.structure.values import leaf_of, register_leaf
from feedline.tf import arithmetic
from feedline.tf.arithmetic import INTEGERS, NUMBERS, REALS, SIGNED

_DTYPES: dict[np.dtype[Any], DType] = {
    t.dtype: t
    for t in (
        *(types.int8, types.int16, types.int32, types.int64, types.uint8, types.uint16, types.uint32, types.uint64),
        *(types.float16, types.float32, types.float64, types.complex64, types.complex128, types.bool, types.string),
    )
}
_FLOAT32, _INT32, _INT64 = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.int64)
_BOOL, _STRING = np.dtype(bool), np.dtype(object)


Made = TypeVar("Made")
"""The type of what operators make: a tensor of the same kind."""


class Operators(Generic[Made]):
    """Python's operators, for tensors of all kinds."""

    __slots__ = ()

    __array_priority__ = 100

    def __add__(self, other: object) -> Made:
        return add.binary(self, other)

    def __radd__(self, other: object) -> Made:
        return add.reflected(self, other)

    def __sub__(self, other: object) -> Made:
        return subtract.binary(self, other)

    def __rsub__(self, other: object) -> Made:
        return subtract.reflected(self, other)

    def __mul__(self, other: object) -> Made:
        if isinstance(self, TensorBase) and (_is_bool(self) or _is_bool(other)):
            return _product_of_bools(self, other)
        return multiply.binary(self, other)

    def __rmul__(self, other: object) -> Made:
        return multiply.reflected(self, other)

    def __truediv__(self, other: object) -> Made:
        return truediv.binary(self, other)

    def __rtruediv__(self, other: object) -> Made:
        return truediv.reflected(self, other)

    def __floordiv__(self, other: object) -> Made:
        return floordiv.binary(self, other)

    def __rfloordiv__(self, other: object) -> Made:
        return floordiv.reflected(self, other)

    def __mod__(self, other: object) -> Made:
        return floormod.binary(self, other)

    def __rmod__(self, other: object) -> Made:
        return floormod.reflected(self, other)

    def __pow__(self, other: object) -> Made:
        return pow_.binary(self, other)

    def __rpow__(self, other: object) -> Made:
        return pow_.reflected(self, other)

    def __matmul__(self, other: object) -> Made:
        return matmul.binary(self, other)

    def __rmatmul__(self, other: object) -> Made:
        return matmul.reflected(self, other)

    def __and__(self, other: object) -> Made:
        return and_.binary(self, other)

    def __rand__(self, other: object) -> Made:
        return and_.reflected(self, other)

    def __or__(self, other: object) -> Made:
        return or_.binary(self, other)

    def __ror__(self, other: object) -> Made:
        return or_.reflected(self, other)

    def __xor__(self, other: object) -> Made:
        return xor_.binary(self, other)

    def __rxor__(self, other: object) -> Made:
        return xor_.reflected(self, other)

    def __lt__(self, other: object) -> Made:
        return less.binary(self, other)

    def __le__(self, other: object) -> Made:
        return less_equal.binary(self, other)

    def __gt__(self, other: object) -> Made:
        return greater.binary(self, other)

    def __ge__(self, other: object) -> Made:
        return greater_equal.binary(self, other)

    def __neg__(self) -> Made:
        return negative(self)

    def __abs__(self) -> Made:
        return absolute(self)

    def __invert__(self) -> Made:
        return invert(self)


class Composite(Operators[Made]):
    """A tensor that is not one array: ragged, sparse. `Op` applies elementwise functions to their values."""

    __slots__ = ()

    def _mapped(self, function: Callable[[Any], Any]) -> Any:
        """This tensor with other values."""
        raise TypeError(f"{type(self).__name__} must define _mapped")

    def _matched(self, other: Any) -> Any:
        """The operand to use with this tensor's values, in place of `other`."""
        raise TypeError(f"{type(self).__name__} must define _matched")

    @property
    def _array(self) -> Array:
        """Raises: functions on tensors that are a single array ask for it."""
        raise _not_one_array(self)

    ndim = _array


class TensorBase(Operators["Tensor"]):
    """What tensors and variables have in common: an array, and TensorFlow's operators on it."""

    __slots__ = ("__weakref__", "_array")

    _array: Array

    @property
    def dtype(self) -> DType:
        """The dtype."""
        found = _DTYPES.get(self._array.dtype)
        return as_dtype(self._array.dtype) if found is None else found

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def device(self) -> str:
        """TensorFlow's name for the processor."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Raises ValueError if the value has another shape.

        >>> import feedline.tf as tf
        >>> tf.zeros([2, 3]).set_shape([None, 3])
        """
        if not self.shape.is_compatible_with(TensorShape(shape)):
            raise InvalidArgumentError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}"
            )

    def numpy(self) -> Any:
        """The value as an array, or as a NumPy scalar or `bytes` if it has no dimensions. No memory is copied.

        >>> import feedline.tf as tf
        >>> tf.constant([1, 2]).numpy(), tf.constant("a").numpy()
        (array([1, 2], dtype=int32), b'a')
        """
        return self._array if self._array.ndim else self._array[()]

    def ref(self) -> Reference:
        """A hashable reference to this object, for sets and keys of dicts."""
        return Reference(self)

    experimental_ref = ref

    # Other libraries

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self._array
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __jax_array__(self) -> Any:
        return importlib.import_module("jax.numpy").asarray(self._array)

    def __dlpack__(self, **options: Any) -> Any:
        if self._array.dtype.kind == "O":
            raise BufferError("a tensor of strings cannot be exported with DLPack; use .numpy()")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    # Python's conversions

    def __bool__(self) -> bool:
        array = self._array
        return bool(array[()]) if not array.ndim else array.size > 0 and bool(array)

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self._array.dtype.kind not in INTEGERS:
            raise InvalidTypeError(f"only integer tensors can be used as an index, got {self.dtype.name}")
        return int(self._scalar())

    def _scalar(self) -> Any:
        if self._array.ndim:
            raise InvalidTypeError(
                f"only tensors without dimensions can be converted to Python numbers, got {self.shape}"
            )
        return self._array[()]

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        array = self._array
        count_turns(len(array))
        return (tensor_of(array[i, ...]) for i in range(len(array)))

    def __getitem__(self, key: Any) -> Tensor:
        array = self._array
        if type(key) is int:
            try:
                return tensor_of(array[key, ...])
            except IndexError:
                raise _index_error(array, key) from None
        if isinstance(key, (TensorBase, np.ndarray)) and key.dtype == _BOOL:
            mask = np.asarray(key)
            if not mask.ndim or mask.shape != array.shape[: mask.ndim]:
                raise InvalidArgumentError(f"a mask of shape {mask.shape} does not fit a tensor of shape {array.shape}")
            return tensor_of(array[mask])
        parts = tuple(_index(k) for k in (key if isinstance(key, (tuple, list)) else (key,)))
        try:
            return tensor_of(array[parts if Ellipsis in parts else (*parts, ...)])
        except IndexError:
            raise _index_error(array, key) from None
        except ValueError as e:  # a step of 0
            raise InvalidArgumentError(f"strides must be non-zero, got {key!r}") from e

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, True)

    def __ne__(self, other: object) -> Any:
        return _compared(self, other, False)

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def _text(self) -> str:
        if not self._array.ndim:
            value = self._array[()]
            return repr(value) if isinstance(value, bytes) else str(value)
        return str(self._array)


class Tensor(TensorBase):
    """A value of one dtype: a number, a string, or an array of them. Made by `tf.constant` and by every function.

    >>> import feedline.tf as tf
    >>> x = tf.constant([[1, 2], [3, 4]])
    >>> x
    <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
    array([[1, 2],
           [3, 4]], dtype=int32)>
    >>> x[0] * 10, (x / 2).dtype.name, tf.constant(["a", "b"]) == "a"
    (<tf.Tensor: shape=(2,), dtype=int32, numpy=array([10, 20], dtype=int32)>, 'float64',
     <tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>)

    Python numbers and arrays take the dtype of the tensor they are combined with; two tensors must have the same dtype.
    NumPy, PyTorch and JAX take a tensor wherever they take an array, without a copy.
    """

    __slots__ = ()

    @property
    def name(self) -> NoReturn:
        """Not defined for values."""
        raise AttributeError("Tensor.name is undefined when eager execution is enabled.")

    @property
    def op(self) -> NoReturn:
        """Not defined for values."""
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    def __repr__(self) -> str:
        text = repr(self._array) if self._array.ndim else repr(self._array.item())
        text = f"\n{text}" if "\n" in text else text
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"

    def __str__(self) -> str:
        text = self._text()
        text = f"\n{text}" if "\n" in text else text
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __getattr__(self, name: str) -> NoReturn:
        instead = _INSTEAD.get(name)
        raise AttributeError(f"'Tensor' object has no attribute {name!r}" + (f"; use {instead}" if instead else ""))

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, _: object) -> Tensor:
        return self

    def __reduce__(self) -> Any:
        return tensor_of, (self._array,)


TensorLike: TypeAlias = TensorBase | Array | np.generic | bytes | str | complex | Sequence[Any]
"""Whatever `tf.convert_to_tensor` takes."""

_INSTEAD = {
    "astype": "tf.cast(x, dtype)",
    "reshape": "tf.reshape(x, shape)",
    "sum": "tf.reduce_sum(x)",
    "mean": "tf.reduce_mean(x)",
    "max": "tf.reduce_max(x)",
    "min": "tf.reduce_min(x)",
    "any": "tf.reduce_any(x)",
    "all": "tf.reduce_all(x)",
    "T": "tf.transpose(x)",
    "transpose": "tf.transpose(x)",
    "ravel": "tf.reshape(x, [-1])",
    "flatten": "tf.reshape(x, [-1])",
    "size": "tf.size(x)",
    "tolist": "x.numpy().tolist()",
    "item": "x.numpy().item()",
    "copy": "tf.identity(x); tensors do not change",
    "clip": "tf.clip_by_value(x, low, high)",
    "decode": "x.numpy().decode()",
    "split": "tf.strings.split(x)",
    "data": "x.numpy().data",
}
"""What to write in place of an attribute of arrays that tensors lack."""


class Reference:
    """A hashable reference to a tensor or variable: equal if it is to the same object."""

    __slots__ = ("_of",)

    def __init__(self, of: TensorBase) -> None:
        self._of = of

    def deref(self) -> Any:
        """The object."""
        return self._of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._of is other._of

    def __hash__(self) -> int:
        return id(self._of)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._of!r}>"


def tensor_of(array: Array) -> Tensor:
    """A tensor in an array's memory. The array must have a dtype of TensorFlow's."""
    made = Tensor.__new__(Tensor)
    made._array = array
    return made


def _made(result: Any) -> Any:
    """The result of a kernel as a tensor; NumPy returns scalars for arrays without dimensions."""
    made = Tensor.__new__(Tensor)
    made._array = result if type(result) is np.ndarray else _array_of(result)
    return made


def _array_of(value: Any) -> Array:
    if isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value)


# Conversion of arguments


def as_tensor(value: object, dtype: Any = None, like: np.dtype[Any] | None = None) -> Tensor:
    """Converts a number, a string, lists of them and of tensors, or an array, as `tf.convert_to_tensor` does.

    With `dtype` the value must fit it. With `like` it gets that dtype if it fits.

    >>> from feedline.tf.tensor import as_tensor
    >>> as_tensor([1, 2], np.float32).numpy(), as_tensor(1.5, like=np.dtype(np.int32)).dtype.name
    (array([1., 2.], dtype=float32), 'float32')
    """
    if type(value) is Tensor:
        if dtype is not None and value._array.dtype != as_dtype(dtype).dtype:
            raise _wrong_dtype(value, dtype)
        return value
    if dtype is not None:
        return tensor_of(_converted(value, as_dtype(dtype).dtype))
    if like is not None:
        try:
            return tensor_of(_converted(value, like))
        except (TypeError, ValueError):
            pass
    return tensor_of(_converted(value, None))


def operand(value: object, dtype: Any = None) -> Any:
    """As `as_tensor`, but ragged and sparse tensors stay as they are."""
    if isinstance(value, Composite):
        return value
    return as_tensor(value, dtype)


def _wrong_dtype(value: TensorBase, dtype: Any) -> Exception:
    return InvalidTypeError(
        f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}: {value!r}"
    )


_NATURAL: dict[type, np.dtype[Any]] = {int: _INT64, float: _FLOAT32, bool: _BOOL, complex: np.dtype(np.complex128)}
_FITS: dict[type, str] = {bool: "bifV", int: NUMBERS, float: "fcV", complex: "c"}


def _converted(value: Any, dtype: np.dtype[Any] | None) -> Array:
    kind = type(value)
    if kind in _FITS:
        return _number(value, dtype)
    if kind is str or kind is bytes:
        if dtype is not None and dtype != _STRING:
            raise InvalidTypeError(f"Cannot convert {value!r} to a tensor of dtype {dtype}")
        return _array_of(value.encode() if kind is str else value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_numpy(value, dtype)
    if isinstance(value, TensorBase):
        if dtype is not None and value._array.dtype != dtype:
            raise _wrong_dtype(value, dtype)
        return value._array
    if isinstance(value, (list, tuple, range)):
        return _of_list(value, dtype)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise InvalidArgumentError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        return np.array(value.as_list(), dtype or _INT32)
    if value is None or isinstance(value, dict):
        raise InvalidTypeError(f"Attempt to convert a value ({value!r}) with an unsupported type ({kind}) to a Tensor.")
    if isinstance(value, Composite):
        raise _not_one_array(value)
    leaf = leaf_of(value)
    if not isinstance(leaf, (np.ndarray, np.generic, bytes)):
        raise InvalidTypeError(f"a {kind.__name__} cannot be converted to a tensor: {value!r}")
    return _of_numpy(leaf, dtype) if not isinstance(leaf, bytes) else _array_of(leaf)


def _not_one_array(value: Composite[Any]) -> Exception:
    return InvalidTypeError(
        f"a {type(value).__name__} is not one array: use .to_tensor() or tf.sparse.to_dense; got {value!r}"
    )


def _number(value: Any, dtype: np.dtype[Any] | None) -> Array:
    kind = type(value)
    if dtype is None:
        small = kind is int and -0x80000000 <= value <= 0x7FFFFFFF
        dtype = _INT32 if small else _NATURAL[kind]
    elif dtype.kind not in _FITS[kind] or (kind is bool and dtype.kind == "i" and dtype.itemsize < 4):
        raise InvalidTypeError(f"Cannot convert {value!r} to a tensor of dtype {dtype}")
    try:
        return np.array(value, dtype)
    except OverflowError:
        if dtype.kind in INTEGERS and -(1 << 63) <= value < 1 << 64 and dtype.itemsize < 8:
            return np.array(value & ((1 << 64) - 1), np.uint64).astype(dtype)
        raise InvalidArgumentError(f"the integer {value} is out of range for {dtype}") from None


def _of_numpy(value: Any, dtype: np.dtype[Any] | None) -> Array:
    array = np.asarray(value)
    if array.dtype not in _DTYPES:
        array = dense(array) if array.dtype.kind in "SU" else array.astype(types.supported(array.dtype), copy=False)
    elif array.dtype == _STRING:
        array = dense(array)
    if dtype is None or array.dtype == dtype:
        return array
    if (array.dtype == _STRING) is not (dtype == _STRING):
        if not array.size:
            return array.astype(dtype)
        raise InvalidTypeError(f"Cannot convert an array of {array.dtype} to a tensor of dtype {dtype}")
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _of_list(value: Any, dtype: np.dtype[Any] | None) -> Array:
    kinds = set(map(type, value)) if len(value) <= 64 else set()
    if kinds == {float} and (dtype is None or dtype.kind == "f"):
        with np.errstate(over="ignore"):
            return np.array(value, dtype or _FLOAT32)
    if kinds == {int} and (dtype is None or dtype == _INT32) and min(value) >= -0x80000000 and max(value) < 0x80000000:
        return np.array(value, _INT32)
    if not _holds_tensors(value):
        if dtype is not None and dtype.kind in NUMBERS and _holds_arrays(value):
            return _of_numpy(dense(value), dtype)
        try:
            return dense(value, dtype)
        except InvalidTypeError:
            raise
        except InvalidArgumentError as e:
            if dtype is None or dtype.kind not in INTEGERS:
                raise
            try:
                wide = dense(value, np.int64)
            except ValueError:
                raise e from None
            if dtype.itemsize == 8:
                raise
            return wide.astype(dtype)
    if dtype is None:
        dtype = _first_tensor(value)._array.dtype
        parts = [_converted(part, dtype) for part in value]
    else:
        parts = [_packed(part, dtype) for part in value]
    if len({part.shape for part in parts}) > 1:
        raise InvalidArgumentError(f"Shapes of all inputs must match, got {[part.shape for part in parts]}")
    return np.stack(parts)


def _packed(part: Any, dtype: np.dtype[Any]) -> Array:
    """A part of a list that has tensors in it, for a tensor of a given dtype: tensors are cast, as in TensorFlow."""
    if isinstance(part, TensorBase) and part._array.dtype != dtype and _STRING not in (dtype, part._array.dtype):
        cast: Array = quietly(part._array.astype, dtype)
        return cast
    return _converted(part, dtype)


def _holds_tensors(value: Any) -> bool:
    return any(
        _holds_tensors(v) if isinstance(v, (list, tuple)) else isinstance(v, (TensorBase, Composite)) for v in value
    )


def _holds_arrays(value: Any) -> bool:
    return any(
        _holds_arrays(v) if isinstance(v, (list, tuple)) else isinstance(v, (np.ndarray, np.generic)) for v in value
    )


def _first_tensor(value: Any) -> TensorBase:
    for v in value:
        if isinstance(v, TensorBase):
            return v
        if isinstance(v, (list, tuple)) and _holds_tensors(v):
            return _first_tensor(v)
        if isinstance(v, Composite):
            raise InvalidTypeError(f"a {type(v).__name__} in a list cannot be part of a tensor; use tf.ragged.stack")
    raise InvalidArgumentError("no tensor in the list")


def ints(value: object, what: str = "shape") -> list[int]:
    """A list of Python ints from a shape, a tensor, or a list of numbers and tensors."""
    if isinstance(value, (list, tuple)) and set(map(type, value)) <= {int}:
        return list(value)
    packed = isinstance(value, (list, tuple)) and _holds_tensors(value)
    array = as_tensor(value, _INT64 if packed else None)._array
    if array.size and array.dtype.kind not in INTEGERS:
        raise InvalidTypeError(f"{what} must be integers, got {array.dtype}: {value!r}")
    return [int(d) for d in array.ravel()]


def integer(value: object, what: str) -> int:
    """A Python int from a number or a tensor without dimensions."""
    if type(value) is int:
        return value
    array = as_tensor(value)._array
    if array.ndim and array.size != 1:
        raise InvalidArgumentError(f"{what} must be a single number, got the shape {array.shape}")
    if array.dtype.kind not in INTEGERS:
        raise InvalidTypeError(f"{what} must be an integer, got {array.dtype}")
    return int(array.reshape(())[()])


# Ops


class _Quiet(threading.local):
    """A context of this thread in which NumPy does not warn of infinities and the like, and whether it is in use.
    Entering a context costs a tenth of what `np.errstate` does.
    """

    def __init__(self) -> None:
        self.context = contextvars.Context()
        self.context.run(np.seterr, all="ignore")
        self.entered = False


_quiet = _Quiet()


def quietly(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a kernel, without NumPy's warnings."""
    if _quiet.entered:
        return kernel(*args, **kwargs)
    _quiet.entered = True
    try:
        return _quiet.context.run(kernel, *args, **kwargs)
    finally:
        _quiet.entered = False


class Op:
    """A function on tensors: TensorFlow's name for it, a kernel on arrays, and what is known of it.

    `kinds` are the kinds of dtypes that the kernel accepts, if they are limited. An `elementwise` kernel computes each
    value of the result from the values at the same place of its operands, which it broadcasts: it works for the values
    of ragged tensors, and for columns of many rows, as it is. `spec` gives the spec of the result from the specs of the
    operands, for kernels whose result's shape or dtype needs more than running it on an example.
    """

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        kinds: str = "",
        elementwise: bool = False,
        spec: Callable[..., Any] | None = None,
        stateful: bool = False,
    ) -> None:
        self.name, self.kernel, self.kinds, self.elementwise = name, kernel, kinds, elementwise
        self.spec, self.stateful = spec, stateful
        self.__doc__ = kernel.__doc__
        self.__wrapped__ = kernel

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        arrays = []
        for given in operands:
            if isinstance(given, TensorBase):
                arrays.append(given._array)
            else:
                return self._on_others(operands, attributes)
        if self.kinds and arrays:
            self._check_kind(arrays[0].dtype)
        try:
            result = quietly(self.kernel, *arrays, **attributes)
        except (ValueError, TypeError, IndexError) as e:
            raise self._explained(e, arrays) from None
        if type(result) in (list, tuple):
            return type(result)(_made(part) for part in result)
        return _made(result)

    def binary(self, x: Operators[Any], y: object) -> Any:
        """The op of a tensor and anything that can be converted to its dtype, as an operator has it."""
        if not isinstance(x, TensorBase):
            return self.function(x, y)
        a = x._array
        if isinstance(y, TensorBase):
            b = y._array
        elif isinstance(y, Composite):
            return self(x, y)
        elif type(y) is float and a.dtype.kind == "f":
            b = np.array(y, a.dtype)
        else:
            b = as_tensor(y, like=a.dtype)._array
        if a.dtype != b.dtype:
            raise self._mixed(a.dtype, b.dtype)
        if self.kinds and a.dtype.kind not in self.kinds:
            self._check_kind(a.dtype)
        try:
            return _made(quietly(self.kernel, a, b))
        except (ValueError, TypeError) as e:
            raise self._explained(e, [a, b]) from None

    def reflected(self, x: Operators[Any], y: object) -> Any:
        """The op of `y`, converted to the tensor's dtype, and the tensor."""
        return self.function(as_tensor(y, _dtype_in(x)), x)

    def function(self, x: object, y: object) -> Any:
        """The op of two values of which either may be a tensor: a Python number takes the other's dtype."""
        if isinstance(x, Composite):
            other: Any = y if isinstance(y, Composite) else as_tensor(y, like=_dtype_in(x))
            if _dtype_in(x) != _dtype_in(other):
                raise self._mixed(_dtype_in(x), _dtype_in(other))
            return self(x, other)
        if isinstance(x, TensorBase):
            return self.binary(x, y)
        if isinstance(y, Composite):
            return self(as_tensor(x, like=_dtype_in(y)), y)
        if isinstance(y, TensorBase):
            return self.binary(as_tensor(x, like=y._array.dtype), y)
        return self.binary(as_tensor(x), y)

    def _on_others(self, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """The op on ragged or sparse operands, and on values that have not been converted."""
        first = next((x for x in operands if isinstance(x, Composite)), None)
        if first is None:
            return self(*(as_tensor(x) for x in operands), **attributes)
        if not self.elementwise:
            raise InvalidTypeError(
                f"{self.name} takes no {type(first).__name__}: {first!r}; convert it to a tensor first"
            )
        others = [None if x is first else first._matched(x) for x in operands]
        return first._mapped(lambda values: self(*(values if o is None else o for o in others), **attributes))

    def _check_kind(self, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in self.kinds:
            raise _refused(self.name, dtype)

    def _mixed(self, a: np.dtype[Any], b: np.dtype[Any]) -> Exception:
        return InvalidTypeError(
            f"cannot compute {self.name} as input #1(zero-based) was expected to be a {_shown(a)} tensor but is a "
            f"{_shown(b)} tensor; convert one of them with tf.cast"
        )

    def _explained(self, error: Exception, arrays: Sequence[Array]) -> Exception:
        """The error of a kernel as one of TensorFlow's classes."""
        if isinstance(error, InvalidArgumentError):
            return error
        shapes = ", ".join(str(list(a.shape)) for a in arrays)
        if isinstance(error, ValueError) and "broadcast" in str(error):
            return InvalidArgumentError(f"{self.name}: Incompatible shapes: {shapes.replace('], [', '] vs. [')}")
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidArgumentError
        return kind(f"{self.name}: {error} (operands of shape {shapes})")

    def __repr__(self) -> str:
        return f"<tf op {self.name}>"


def op(
    name: str,
    kinds: str = "",
    elementwise: bool = False,
    spec: Callable[..., Any] | None = None,
    stateful: bool = False,
) -> Callable[[Callable[..., Any]], Op]:
    """Makes an `Op` of a kernel."""
    return functools.partial(Op, name, kinds=kinds, elementwise=elementwise, spec=spec, stateful=stateful)


def _is_bool(value: object) -> bool:
    return isinstance(value, TensorBase) and value._array.dtype == _BOOL


def _product_of_bools(x: object, y: object) -> Any:
    """The product; of bools, TensorFlow computes "and"."""
    return tensor_of(np.logical_and(_as_bools(x), _as_bools(y)))


def _as_bools(value: object) -> Array:
    array = as_tensor(value)._array
    if array.dtype == _STRING:
        raise UnimplementedError("Cast string to bool is not supported")
    return array.astype(bool)


def _dtype_in(value: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = value._array.dtype if isinstance(value, TensorBase) else value.dtype.dtype
    return found


def _shown(dtype: np.dtype[Any]) -> str:
    return as_dtype(dtype).name


def _refused(name: str, dtype: np.dtype[Any]) -> Exception:
    return InvalidTypeError(f"{name} does not take {_shown(dtype)}; cast the tensor first, with tf.cast")


def array_of(value: object, kinds: str, name: str) -> Array:
    """The array of a tensor. Raises unless its dtype is of one of the kinds.

    >>> from feedline.tf.tensor import array_of
    >>> array_of(1.5, "f", "Softmax")
    array(1.5, dtype=float32)
    """
    array: Array = as_tensor(value)._array
    if array.dtype.kind not in kinds:
        raise _refused(name, array.dtype)
    return array


def _elementwise(name: str, kernel: Callable[..., Any], kinds: str = NUMBERS) -> Op:
    return Op(name, kernel, kinds, elementwise=True)


add = _elementwise("AddV2", arithmetic.add, NUMBERS + "O")
subtract = _elementwise("Sub", np.subtract)
multiply = _elementwise("Mul", np.multiply)
truediv = _elementwise("RealDiv", arithmetic.true_div)
floordiv = _elementwise("FloorDiv", arithmetic.floor_div, REALS)
floormod = _elementwise("FloorMod", arithmetic.floor_mod, REALS)
pow_ = _elementwise("Pow", arithmetic.power, SIGNED)
matmul = Op("BatchMatMulV2", arithmetic.matmul, NUMBERS)
and_ = _elementwise("LogicalAnd", arithmetic.both(np.bitwise_and, np.logical_and), INTEGERS + "b")
or_ = _elementwise("LogicalOr", arithmetic.both(np.bitwise_or, np.logical_or), INTEGERS + "b")
xor_ = _elementwise("LogicalXor", arithmetic.both(np.bitwise_xor, np.logical_xor), INTEGERS + "b")
less = _elementwise("Less", np.less, REALS)
less_equal = _elementwise("LessEqual", np.less_equal, REALS)
greater = _elementwise("Greater", np.greater, REALS)
greater_equal = _elementwise("GreaterEqual", np.greater_equal, REALS)
equal = _elementwise("Equal", np.equal, "")
not_equal = _elementwise("NotEqual", np.not_equal, "")
negative = _elementwise("Neg", np.negative, SIGNED)
absolute = _elementwise("Abs", arithmetic.absolute, SIGNED)
invert = _elementwise("Invert", np.invert, INTEGERS + "b")


def _compared(x: TensorBase, y: object, same: bool) -> Any:
    """`==` and `!=`: shapes that cannot be broadcast are different, and nothing equals None."""
    if y is None:
        return not same
    if isinstance(y, Composite):
        return (equal if same else not_equal)(x, y)
    a, b = x._array, as_tensor(y, x._array.dtype if not isinstance(y, TensorBase) else None)._array
    if a.dtype != b.dtype:
        raise equal._mixed(a.dtype, b.dtype)
    try:
        return _made((np.equal if same else np.not_equal)(a, b))
    except ValueError:
        return tensor_of(np.asarray(not same))


def _index(key: object) -> Any:
    """One part of an index as NumPy takes it."""
    if key is None or key is Ellipsis or type(key) is int:
        return key
    if isinstance(key, slice):
        return slice(*(None if k is None else _bound(k) for k in (key.start, key.stop, key.step)))
    if isinstance(key, (TensorBase, np.ndarray, np.generic)):
        array = np.asarray(key)
        if array.dtype.kind in INTEGERS and not array.ndim:
            return int(array)
    raise InvalidTypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        f"valid indices, got {key!r}; tf.gather takes a tensor of indices"
    )


def _bound(key: Any) -> int:
    if isinstance(key, (TensorBase, np.ndarray)) and key.ndim == 1 and len(key) == 1:
        key = key[0]
    try:
        return int(key.__index__())
    except AttributeError:
        raise InvalidTypeError(f"a slice must be of integers, got {key!r}") from None


def _index_error(array: Array, key: object) -> Exception:
    return InvalidArgumentError(f"slice index {key!r} of a tensor of shape {array.shape} is out of bounds")


# Elements


@register_spec_of
def _spec_of(value: object) -> Any:
    return TensorSpec(value.shape, value.dtype) if isinstance(value, TensorBase) else None


@register_leaf
def _leaf_of(value: object) -> Any:
    return value.numpy() if isinstance(value, TensorBase) else None
