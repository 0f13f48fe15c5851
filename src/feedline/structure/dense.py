"""Arrays from Python and NumPy values, with TensorFlow's dtypes. Ragged and sparse tensors are built from these."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types

Array = np.ndarray[Any, Any]

_INT32 = np.iinfo(np.int32)
# Lossless conversions: a bool may stand for a number, an int for a float, never the other way.
_WIDTH = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def dense(value: object, dtype: object = None) -> Array:
    """Converts a number, a string, nested lists of them, or an array to an array.

    Python ints become int32, or int64 if necessary, floats float32, str and bytes become bytes in an object array, and
    an empty list is float32. Arrays keep their dtype and, if nothing has to change, their memory.

    >>> from feedline.structure.dense import dense
    >>> dense([1, 2.5]), dense(["a"]), dense([1, 2], fl.int64)
    (array([1. , 2.5], dtype=float32), array([b'a'], dtype=object), array([1, 2]))
    """
    if dtype is None and type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.isnative:
        return value
    want = None if dtype is None else types.as_dtype(dtype).dtype
    if hasattr(value, "__array__") and not isinstance(value, (str, bytes)):
        array = np.asarray(value)
        family = _family(array.dtype)
    else:
        leaves = leaf_types(value)
        family = _common_family(leaves)
        array = _natural(value, family)
        if want is None:
            want = _inferred(array, family, leaves)
    if family == "string":
        array = _bytes(array)
    return _cast(array, family, array.dtype.newbyteorder("=") if want is None else want)


def strings_of(value: object, needed: str) -> Array:
    """An array of strings; an error message begins with `needed`. As in TensorFlow, an empty array of any dtype, or an
    empty list, is accepted.

    >>> from feedline.structure.dense import strings_of
    >>> strings_of([], "records must be strings").dtype, strings_of("a", "records must be strings")
    (dtype('O'), array(b'a', dtype=object))
    """
    array = dense(value)
    if array.dtype.kind != "O" and array.size:
        raise InvalidTypeError(f"{needed}, got {array.dtype}")
    return array.astype(object, copy=False)


_LANES = {np.dtype(np.float16): 16, np.dtype(np.float32): 32, np.dtype(np.float64): 16}
"""How many floats TensorFlow casts to integers of 8 or 16 bits at a time; 8 of other dtypes, and to uint32."""


def integers(floats: Array, dtype: np.dtype[Any], rows: bool = False) -> Array:
    """Floats as integers, without their fractions. Those out of range become what TensorFlow's vector code makes of
    them: the nearest integer of 8 or 16 bits, 2**31 as uint32. Values that do not fill a vector, at the end of an array
    or, with `rows`, of each of its rows, become the low bits of the signed integer.

    >>> from feedline.structure.dense import integers
    >>> integers(np.array([-1.0, 1.5, 256.0]), np.dtype(np.uint8))
    array([255,   1,   0], dtype=uint8)
    >>> integers(np.full(17, 300.0), np.dtype(np.uint8))[[0, 15, 16]]
    array([255, 255,  44], dtype=uint8)
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype.itemsize == 8 and dtype.kind == "u":
            large = ~(floats < 2.0**64)
            return np.where(large, np.uint64(1 << 63), np.where(large, 0, floats).astype(dtype))
        if dtype.itemsize == 8 or dtype == np.int32:
            return floats.astype(dtype)
        signed: Array = floats.astype(np.int64 if dtype.itemsize == 4 else np.int32, order="C")
    size = floats.size // max(len(floats), 1) if rows else floats.size
    lanes = 8 if dtype.itemsize == 4 else _LANES.get(floats.dtype, 8)
    if size >= lanes:
        vectors = signed.reshape(-1, size)[:, : size - size % lanes]
        if dtype.itemsize == 4:
            vectors[(vectors < -(1 << 31)) | (vectors >= 1 << 32)] = 1 << 31
        else:
            if dtype == np.uint8 and lanes == 16:  # by way of 16 bits, of which the highest becomes a sign
                vectors[vectors > 32767] = 0
            most = (1 << 8 * dtype.itemsize - (dtype.kind == "i")) - 1
            np.maximum(vectors, -1 - most if dtype.kind == "i" else 0, out=vectors)
            np.minimum(vectors, most, out=vectors)
    return signed.astype(dtype)


def same(a: Array, b: Array) -> bool:
    """Whether two arrays have the same dtype, shape and values; NaNs are equal."""
    return a.dtype == b.dtype and a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def text(value: Any, size: int | None = None) -> str:
    """An array, or a tensor with rows, as nested brackets; a long one is abbreviated as in NumPy.

    >>> from feedline.structure.dense import text
    >>> text(np.zeros((2, 2))), text(np.arange(5000))
    ('[[0.0, 0.0], [0.0, 0.0]]', '[0, 1, 2, ..., 4997, 4998, 4999]')
    """
    if not getattr(value, "shape", ()):
        return repr(value) if isinstance(value, bytes) else str(value)
    options = np.get_printoptions()
    size = value.size if size is None else size
    edge = options["edgeitems"]
    if size <= options["threshold"] or len(value) <= 2 * edge:
        parts = [text(v, size) for v in value]
    else:
        parts = [*(text(v, size) for v in value[:edge]), "...", *(text(v, size) for v in value[-edge:])]
    return f"[{', '.join(parts)}]"


def leaf_types(value: object) -> dict[Any, None]:
    """The types of the leaves of nested lists, in order of appearance; arrays and NumPy scalars count with their
    dtype.
    """
    leaves: dict[Any, None] = {}
    _collect(value, leaves)
    return leaves


def _collect(value: object, leaves: dict[Any, None]) -> None:
    if isinstance(value, (list, tuple, range)):
        here = dict.fromkeys(map(type, value))
        if here.keys() <= {bool, int, float, complex, str, bytes}:
            leaves.update(here)
        else:
            for item in value:
                _collect(item, leaves)
    elif isinstance(value, (np.ndarray, np.generic)):
        leaves[value.dtype] = None
    else:
        leaves[type(value)] = None


def _family(leaf: Any) -> str:
    if isinstance(leaf, np.dtype):
        # ml_dtypes gives bfloat16 and the other small floats the kind V.
        families = {"b": "bool", "i": "int", "u": "int", "f": "float", "V": "float", "c": "complex"}
        if leaf.kind in "OSUT":
            return "string"
        if leaf.kind in families and leaf.fields is None:
            return families[leaf.kind]
    else:
        for types_, family in (((str, bytes), "string"), (bool, "bool"), (int, "int"), (float, "float")):
            if issubclass(leaf, types_):
                return family
        if issubclass(leaf, complex):
            return "complex"
    name = leaf.name if isinstance(leaf, np.dtype) else leaf.__name__
    raise InvalidTypeError(f"a {name} cannot be part of an array; pass numbers, bools or strings")


def _common_family(leaves: dict[Any, None]) -> str:
    families = {_family(leaf) for leaf in leaves}
    if len(families) > 1 and families & {"bool", "string"}:
        raise InvalidArgumentError(
            f"values that mix {' and '.join(sorted(families))} cannot be converted to an array; use one type for all "
            "items"
        )
    return max(families, key=lambda f: _WIDTH.get(f, 0), default="float")


def _natural(value: object, family: str) -> Array:
    """The array with NumPy's own, widest dtype for the values."""
    try:
        if family == "string":
            return np.array(value, dtype=object)
        array = np.array(value)
    except ValueError:
        raise _not_rectangular() from None
    if family == "int" and array.size and array.dtype.kind not in "iu":
        array = _unsigned(value, array)
    if array.dtype.kind == "O" or (family == "int" and array.size and array.dtype.kind not in "iu"):
        raise InvalidTypeError("an integer is out of range for int64 and uint64")
    return array


def _unsigned(value: object, array: Array) -> Array:
    """Integers that NumPy makes floats of, since some are too large for int64 and others small."""
    try:
        return np.array(value, np.uint64)
    except (OverflowError, ValueError):
        return array


def _inferred(array: Array, family: str, leaves: dict[Any, None]) -> Any:
    """TensorFlow's dtype for nested lists. NumPy ints count as Python ints; among floats the first determines the
    dtype.
    """
    if family == "int":
        small = not array.size or (array.min() >= _INT32.min and array.max() <= _INT32.max)
        return np.dtype(np.int32 if small else np.int64)
    if family in ("float", "complex"):
        first = next((leaf for leaf in leaves if _family(leaf) == family), float)
        if isinstance(first, np.dtype):
            return first
        return np.dtype(np.float32 if family == "float" else np.complex128)
    return np.dtype(object if family == "string" else bool)


def _bytes(array: Array) -> Array:
    if array.dtype.kind == "S":
        return array.astype(object)
    items = array.ravel().tolist()
    if array.dtype.kind == "O" and set(map(type, items)) <= {bytes}:
        return array
    out = np.empty(len(items), object)
    for i, item in enumerate(items):
        if isinstance(item, str):
            out[i] = item.encode()
        elif isinstance(item, bytes):
            out[i] = bytes(item)
        elif isinstance(item, (list, tuple, np.ndarray)):
            raise _not_rectangular()
        else:
            raise InvalidTypeError(f"an object array may contain only str and bytes, got {type(item).__name__}")
    return out.reshape(array.shape)


def _cast(array: Array, family: str, dtype: np.dtype[Any]) -> Array:
    if array.dtype == dtype:
        return array
    target = _family(dtype)
    if not array.size:
        return array.astype(dtype)
    if target != family and ("string" in (target, family) or target == "bool" or _WIDTH[family] > _WIDTH[target]):
        name = "string" if target == "string" else dtype.name
        raise InvalidTypeError(f"{family} values cannot be converted to {name}: {_short(array)}")
    if target == "int":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if int(array.min()) < low or int(array.max()) > high:
            raise InvalidArgumentError(f"an integer does not fit {dtype} ({low} to {high}): {_short(array)}")
    try:
        with np.errstate(over="raise"):
            return array.astype(dtype)
    except FloatingPointError:
        raise InvalidArgumentError(f"a number is too large for {dtype}: {_short(array)}; use float64") from None


def _not_rectangular() -> InvalidTypeError:
    return InvalidTypeError(
        "nested lists whose rows differ in length cannot be converted to an array; use fl.ragged.constant"
    )


def _short(array: Array) -> str:
    text = repr(array.ravel()[:4].tolist())
    return text if array.size <= 4 else text[:-1] + ", ...]"
