"""Dtypes: TensorFlow's names for NumPy's types.

A `DType` is accepted wherever NumPy takes a dtype (`np.zeros(3, fl.int32)`) and equals NumPy's own (`fl.int32 ==
np.int32`). Strings are `bytes`; an array of them has NumPy's object dtype.
"""

from __future__ import annotations

import builtins
import importlib
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError


class DType:
    """One element type, for instance `fl.float32`.

    >>> fl.float32 == np.float32, fl.float32.name, np.zeros(2, fl.int8).dtype
    (True, 'float32', dtype('int8'))
    """

    __slots__ = ("as_numpy_dtype", "dtype", "name")

    name: str
    dtype: np.dtype[Any]
    as_numpy_dtype: Any

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self.name = name
        self.dtype = dtype
        self.as_numpy_dtype = dtype.type

    @property
    def kind(self) -> str:
        """NumPy's letter for the family of types."""
        return self.dtype.kind

    @property
    def size(self) -> int:
        """The size of one value in bytes."""
        return self.dtype.itemsize

    itemsize = size

    @property
    def is_integer(self) -> builtins.bool:
        """True for signed and unsigned integers."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> builtins.bool:
        """True for unsigned integers."""
        return self.kind == "u"

    @property
    def is_floating(self) -> builtins.bool:
        """True for floating point types, bfloat16 among them."""
        return self.kind == "f" or self.name == "bfloat16"

    @property
    def is_complex(self) -> builtins.bool:
        """True for complex types."""
        return self.kind == "c"

    @property
    def is_bool(self) -> builtins.bool:
        """True for bool."""
        return self.kind == "b"

    @property
    def is_numeric(self) -> builtins.bool:
        """True for all but bool and string."""
        return self.is_integer or self.is_floating or self.is_complex

    @property
    def min(self) -> Any:
        """The smallest value."""
        return False if self.is_bool else np.iinfo(self.dtype).min if self.is_integer else self._floats().min

    @property
    def max(self) -> Any:
        """The largest value."""
        return True if self.is_bool else np.iinfo(self.dtype).max if self.is_integer else self._floats().max

    def _floats(self) -> Any:
        """The limits of floats; NumPy does not know those of small floats such as bfloat16."""
        if self.dtype.kind == "V":
            return importlib.import_module("ml_dtypes").finfo(self.dtype)
        return np.finfo(self.dtype)

    @property
    def limits(self) -> tuple[Any, Any]:
        """The values from black to white of images of this type: 0 and 1 for float32 and float64, 0 and the largest
        value for integers.

        >>> fl.uint8.limits, fl.float32.limits
        ((0, 255), (0, 1))
        """
        if self.kind not in "biuf" or self == float16:
            raise ValueError(f"{self!r} does not have defined limits")
        return 0, 1 if self.is_floating else self.max

    @property
    def base_dtype(self) -> DType:
        """The type itself: there are no references."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part of complex numbers; the type itself for all others."""
        return as_dtype(np.empty(0, self.dtype).real.dtype) if self.is_complex else self

    @property
    def is_quantized(self) -> builtins.bool:
        """Always False."""
        return False

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Whether the other type is the same."""
        return self == as_dtype(other)

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self.dtype == other.dtype
        try:
            return other is not None and self.dtype == as_dtype(other).dtype
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"fl.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


def _numpy(name: str) -> DType:
    return DType(name, np.dtype(name))


int8, int16, int32, int64 = _numpy("int8"), _numpy("int16"), _numpy("int32"), _numpy("int64")
uint8, uint16, uint32, uint64 = _numpy("uint8"), _numpy("uint16"), _numpy("uint32"), _numpy("uint64")
float16, float32, float64 = _numpy("float16"), _numpy("float32"), _numpy("float64")
complex64, complex128 = _numpy("complex64"), _numpy("complex128")
bool = _numpy("bool")
string = DType("string", np.dtype(object))
half, double = float16, float64

_BY_DTYPE: dict[np.dtype[Any], DType] = {
    t.dtype: t
    for t in (
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        float16,
        float32,
        float64,
        complex64,
        complex128,
    )
}
_BY_DTYPE[bool.dtype] = bool
_BY_DTYPE[string.dtype] = string
_BY_NAME = {t.name: t for t in _BY_DTYPE.values()} | {
    "half": half,
    "double": double,
    "float": float32,
    "object": string,
}
_BY_PYTHON: dict[Any, DType] = {
    int: int32,
    float: float32,
    builtins.bool: bool,
    str: string,
    bytes: string,
    complex: complex128,
}


def _bfloat16() -> DType:
    try:
        import ml_dtypes
    except ImportError as e:
        raise ImportError("bfloat16 needs the package ml_dtypes: pip install 'feedline[bfloat16]'") from e
    return DType("bfloat16", np.dtype(ml_dtypes.bfloat16))


def as_dtype(dtype: Any) -> DType:
    """The `DType` for anything that names one: a DType, a NumPy dtype or type, a Python type, a name.

    >>> fl.as_dtype("int64"), fl.as_dtype(np.uint8), fl.as_dtype(str)
    (fl.int64, fl.uint8, fl.string)
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, np.dtype) and (known := _BY_DTYPE.get(dtype)) is not None:
        return known
    found = (
        _BY_PYTHON.get(dtype) if isinstance(dtype, type) else _BY_NAME.get(dtype) if isinstance(dtype, str) else None
    )
    if found is not None:
        return found
    if isinstance(dtype, str) and dtype == "bfloat16":
        return _bfloat16()
    is_array = hasattr(dtype, "dtype") and hasattr(dtype, "shape") and not isinstance(dtype, (type, np.dtype))
    if dtype is None or is_array:
        raise InvalidTypeError(f"{dtype!r} is not a dtype; use for instance fl.float32")
    name = getattr(dtype, "name", None)
    if isinstance(name, str) and not isinstance(dtype, np.dtype) and name in _BY_NAME:
        return _BY_NAME[name]  # tf.float32 and torch-like objects that carry a name
    try:
        given = np.dtype(dtype)
    except TypeError as e:
        raise InvalidTypeError(
            f"cannot interpret {dtype!r} as a dtype; use for instance fl.float32 or np.float32"
        ) from e
    if given.kind in "SU":
        return string
    found = _BY_DTYPE.get(given if given.isnative else given.newbyteorder("="))
    if found is not None:
        return found
    if given.name == "bfloat16":
        return DType("bfloat16", given)
    if given.kind == "V" and given.fields is None and given.itemsize:
        return DType(given.name, given)  # ml_dtypes' small floats
    if given.name.startswith(("float8", "int4", "uint4", "int2", "uint2", "float6", "float4")):
        return DType(given.name, given)
    raise InvalidTypeError(
        f"dtype {given} has no counterpart in TensorFlow; convert the array first, for instance to float32"
    )


def supported(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which an array of `dtype` is stored. Raises if there is none (dates, records …)."""
    if dtype in _BY_DTYPE:
        return dtype
    try:
        return as_dtype(dtype).dtype
    except TypeError as e:
        raise InvalidArgumentError(str(e)) from None
