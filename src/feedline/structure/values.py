"""Conversion of users' values to leaves of elements: TensorFlow's rules for Python and NumPy values.

A leaf of an element is an array, a NumPy scalar, `bytes`, a ragged or sparse tensor, an optional, a dataset's plan, or
None.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.arguments import brief
from feedline.structure.datasets import Datasets, Nested
from feedline.structure.dense import dense, leaf_types
from feedline.structure.nest import flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import (
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
    register_spec_of,
    type_spec_from_value,
)

_INT32 = (-(2**31), 2**31 - 1)
_PYTHON = {bool, int, float, complex, str, bytes, type(None)}
_STRING_SPEC = TensorSpec((), types.string)

# Converters for leaf types of higher layers (optionals, datasets): each gives the leaf, or None for a value of another
# type.
_converters: list[Callable[[Any], Any]] = []


def register_leaf(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Registers a function that converts values of the types it knows to leaves, and gives None for others."""
    _converters.append(function)
    return function


def leaf_of(value: object) -> Any:
    """The leaf for any value a user may give: an int becomes int32, a float float32, str and bytes become bytes, a list
    an array; arrays keep their dtype, and those of a subclass become plain ones.
    """
    kind = type(value)
    convert = _CONVERT.get(kind)
    if convert is not None:
        return convert(value)
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, np.ndarray):  # of a subclass, whose own behaviour is not part of an element
        return _zero_d(np.asarray(value))
    if value is None or isinstance(value, (RaggedTensor, SparseTensor, Nested, Datasets)):
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return _int(value)
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(value, (list, tuple, range)):
        return _sequence(list(value))
    for function in _converters:
        leaf = function(value)
        if leaf is not None:
            return leaf
    return _foreign(value)


def element_of(value: object) -> Any:
    """The element for a structure of values."""
    leaves, tree = flatten(value)
    return tree.unflatten([leaf_of(v) for v in leaves])


def spec_of_element(element: object) -> Any:
    """The spec of an element whose leaves are converted."""
    leaves, tree = flatten(element)
    return tree.unflatten([type_spec_from_value(v) for v in leaves])


def array_of(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array in the form that elements hold: native byte order, strings as bytes in an object array."""
    kind = value.dtype.kind
    if kind in "biufc":
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if kind == "S":
        return value.astype(object)
    if kind == "U":
        return _bytes_array([s.encode() for s in value.ravel().tolist()], value.shape)
    if kind == "O":
        return _object_array(value)
    if type(value).__name__ == "StringDType" or kind == "T":
        return _bytes_array([s.encode() for s in value.ravel().tolist()], value.shape)
    types.supported(value.dtype)
    return value


def _object_array(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    items = value.ravel().tolist()
    if set(map(type, items)) <= {bytes}:
        return value
    out = []
    for item in items:
        if isinstance(item, str):
            out.append(item.encode())
        elif isinstance(item, bytes):
            out.append(bytes(item))
        else:
            raise InvalidTypeError(
                f"an object array may contain only str and bytes, got {type(item).__name__}: give it a number dtype, "
                "or use from_list or from_generator for rows of differing shape"
            )
    return _bytes_array(out, value.shape)


def _bytes_array(items: list[bytes], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    out = np.empty(len(items), object)
    out[:] = items
    return out.reshape(shape)


def _int(value: int) -> Any:
    if _INT32[0] <= value <= _INT32[1]:
        return np.int32(value)
    if -(2**63) <= value < 2**63:
        return np.int64(value)
    raise InvalidTypeError(f"the integer {value} is out of range for int64")


def _numpy_scalar(value: Any) -> Any:
    if isinstance(value, (np.str_, np.bytes_)):
        return value.encode() if isinstance(value, np.str_) else bytes(value)
    types.supported(value.dtype)
    return value


def _zero_d(value: np.ndarray[Any, Any]) -> Any:
    if value.ndim:
        return array_of(value)
    # A 0-d array and a scalar are the same element; rows of a block are scalars.
    got = array_of(value)[()]
    return got


def _identity(value: object) -> Any:
    return value


_CONVERT: dict[type, Callable[[Any], Any]] = {
    np.ndarray: _zero_d,
    bool: np.bool_,
    int: _int,
    float: np.float32,
    complex: np.complex128,
    str: str.encode,
    bytes: _identity,
    bytearray: bytes,
    memoryview: bytes,
    type(None): _identity,
    **{
        t: _identity
        for t in (
            *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
            *(np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_),
        )
    },
}


def converters(dtype: np.dtype[Any]) -> dict[type, Callable[[Any], Any]]:
    """How scalars of each type become leaves of `dtype`, for the types that may: None for a value that does not."""
    if dtype.kind == "O":
        return {bytes: _identity, str: str.encode}
    found: dict[type, Callable[[Any], Any]] = {dtype.type: _identity} if dtype.type in _CONVERT else {}
    if dtype == np.bool_:
        found[bool] = np.bool_
    if dtype == np.complex128:
        found[complex] = np.complex128
    if dtype == np.int32:
        found[int] = _int32
    if dtype == np.float32:
        found[float] = _float32
    return found


_ZERO, _ONE = np.int32(0), np.float32(1)


def _int32(value: int) -> Any:
    return _ZERO + value if -0x80000000 <= value <= 0x7FFFFFFF else None  # five times as fast as np.int32(value)


def _float32(value: float) -> Any:
    return _ONE * value if -1e38 < value < 1e38 else np.float32(value)


def _sequence(items: list[Any]) -> Any:
    """An array from a list: Python values get TensorFlow's dtype for them, NumPy values keep their own."""
    if all(kind in _PYTHON or (isinstance(kind, np.dtype) and kind.kind in "US") for kind in leaf_types(items)):
        return dense(items)
    return _stacked(items)


def literal_of(value: object) -> Any:
    """`leaf_of` for literal data: NumPy scalars in a list count as Python numbers, as in TensorFlow."""
    if (
        isinstance(value, list)
        and not _holds_arrays(value)
        and all(kind in _PYTHON or _is_scalar_type(kind) for kind in leaf_types(value))
    ):
        return dense(value)
    return leaf_of(value)


def _is_scalar_type(leaf: object) -> bool:
    return isinstance(leaf, np.dtype) and leaf.kind in "biufc"


def _holds_arrays(items: Sequence[Any]) -> bool:
    return any(_holds_arrays(i) if isinstance(i, (list, tuple)) else isinstance(i, np.ndarray) for i in items)


def _stacked(items: list[Any]) -> Any:
    """An array from a list that holds arrays or NumPy scalars."""
    parts = [leaf_of(list(x) if isinstance(x, tuple) else x) for x in items]
    if all(isinstance(p, Nested) for p in parts) or len({len(p) for p in parts if isinstance(p, Datasets)}) == 1:
        return _side_by_side(parts)
    dtypes = {p.dtype for p, x in zip(parts, items, strict=True) if hasattr(p, "dtype") and hasattr(x, "dtype")}
    if any(not isinstance(p, (np.ndarray, np.generic)) for p in parts):
        odd = next(p for p in parts if not isinstance(p, (np.ndarray, np.generic)))
        raise InvalidTypeError(f"a {type(odd).__name__} inside a list cannot be part of an array; use a tuple")
    if len(dtypes) > 1:
        raise InvalidArgumentError(
            f"a list of arrays with different dtypes ({', '.join(sorted(map(str, dtypes)))}) cannot be converted to an "
            "array"
        )
    if len({p.shape for p in parts}) > 1:
        raise _not_rectangular()
    return np.stack([np.asarray(p, *dtypes) for p in parts])


def _side_by_side(parts: list[Any]) -> Datasets:
    if len(set(map(type, parts))) == 1:
        with suppress(TypeError):
            made = Datasets(parts)
            type_spec_from_value(made)
            return made
    raise InvalidTypeError(
        "the datasets in a list must have elements of the same structure and types; use a tuple for others"
    )


def _not_rectangular() -> InvalidTypeError:
    return InvalidTypeError(
        "a list whose rows differ in length cannot be converted to an array; use fl.ragged.constant, from_list or "
        "from_generator"
    )


def _table(value: object) -> Any:
    """A data frame of numbers as one array, as in TensorFlow. Other data frames and Arrow tables are rejected."""
    kind = type(value).__name__
    if hasattr(value, "column_names"):
        remedy = "pass its columns as a dict: dict(zip(table.column_names, table.columns))"
    else:
        array = np.asarray(value)
        if array.dtype.kind in "biufc":
            return array_of(array)
        remedy = "pass its columns as a dict: dict(df)"
    raise InvalidTypeError(f"a {kind} has columns with names and types and is not an array; {remedy}")


NOT_CARRIED = ("string", "variant", "resource")
"""TensorFlow dtypes whose tensors crash the process on a DLPack export."""


def _foreign(value: Any) -> Any:
    """An array of another library: through DLPack without a copy if it supports that, else through `__array__`."""
    if hasattr(value, "__dataframe__"):
        return _table(value)
    if hasattr(value, "numpy") and callable(value.numpy) and hasattr(value, "row_splits"):
        return RaggedTensor.from_row_splits(_ragged_values(value.values), np.asarray(value.row_splits))
    if hasattr(value, "indices") and hasattr(value, "dense_shape") and hasattr(value, "values"):
        return SparseTensor(np.asarray(value.indices), np.asarray(value.values), np.asarray(value.dense_shape))
    if hasattr(value, "detach") and getattr(value, "requires_grad", False):
        value = value.detach()
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # unknown to NumPy: copy the bits
        bits = value.contiguous().view(sys.modules["torch"].int16)
        return _zero_d(np.from_dlpack(bits).view(types.as_dtype("bfloat16").dtype))
    if hasattr(value, "__dlpack__") and getattr(getattr(value, "dtype", None), "name", "") not in NOT_CARRIED:
        try:
            return _zero_d(np.from_dlpack(value))
        except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
            pass  # a device or dtype DLPack does not carry to NumPy; __array__ may
    if hasattr(value, "__array__"):
        got = np.asarray(value)
        if got.dtype.kind != "O" or not isinstance(got.item() if got.ndim == 0 else None, type(value)):
            return _zero_d(got)
    remedy = "use an array, number or string, or a tuple or dict of them"
    if isinstance(value, dict):
        remedy = "for rows as dicts, make one dict of lists, or yield the rows in from_generator"
        raise InvalidTypeError(f"a dict cannot be part of a list in an element: {brief(value)}; {remedy}")
    if hasattr(value, "__getitem__") and hasattr(value, "__len__"):
        remedy += "; rows that are read by their number are a fl.Source, for Dataset.from_source"
    raise InvalidTypeError(f"a {type(value).__name__} cannot be part of an element: {brief(value)}; {remedy}")


def _ragged_values(values: object) -> Any:
    return leaf_of(values) if hasattr(values, "row_splits") else np.asarray(values)


@register_spec_of
def _spec_of(value: object) -> Any:
    if isinstance(value, bytes):
        return _STRING_SPEC
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    return None
