"""Columns of CSV fields: what type they have, what stands for a missing one, and how text becomes numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.dense import dense
from feedline.structure.types import DType, as_dtype

Array = np.ndarray[Any, Any]

TYPES = (types.float32, types.float64, types.int32, types.int64, types.string)

_SPACE = rb"[ \t\n\v\f\r]*"
_INT = re.compile(_SPACE + rb"[+-]?[0-9]+" + _SPACE)
_FLOAT = re.compile(
    _SPACE
    + rb"(?P<number>(?P<sign>[+-]?)(?:"
    + rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
    + rb"|(?P<hex>0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    + rb"|inf(?:inity)?|(?P<nan>nan(?:\([0-9a-z_]*\))?)))"
    + _SPACE,
    re.IGNORECASE,
)


class Column(NamedTuple):
    """One column: its type, and the value of a missing field; None where a field must not be missing."""

    dtype: DType
    default: Any


class BadField(Exception):
    """The field in row `row` cannot be read; `problem` says why."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(row, problem)
        self.row, self.problem = row, problem


def columns_of(record_defaults: Any, op: str, dtypes_allowed: bool) -> tuple[Column, ...]:
    """The columns that `record_defaults` describe: a value, a list with one, an empty list or array for a column that
    must be there, or, where that is allowed, its dtype.
    """
    if isinstance(record_defaults, (str, bytes)) or not isinstance(record_defaults, Sequence | np.ndarray):
        raise InvalidTypeError(f"{op}: record_defaults must be a list with an item per column, got {record_defaults!r}")
    if not len(record_defaults):
        raise InvalidArgumentError(f"{op}: record_defaults must have at least one column")
    return tuple(_column(d, i, op, dtypes_allowed) for i, d in enumerate(record_defaults))


def _column(given: Any, i: int, op: str, dtypes_allowed: bool) -> Column:
    if isinstance(given, (DType, np.dtype, type)):
        if not dtypes_allowed:
            raise InvalidTypeError(
                f"{op}: record_defaults[{i}] must be a value, got the type {given!r}; an empty array of that type "
                "makes the column required"
            )
        return Column(_type(as_dtype(given), i, op), None)
    default = dense(given)
    dtype = _type(as_dtype(default.dtype), i, op)
    if default.ndim > 1 or default.size > 1:
        raise InvalidArgumentError(
            f"{op}: record_defaults[{i}] must be one value or none, got an array of shape {list(default.shape)}"
        )
    return Column(dtype, default.ravel()[0] if default.size else None)


def _type(dtype: DType, i: int, op: str) -> DType:
    if dtype not in TYPES:
        names = ", ".join(t.name for t in TYPES)
        raise InvalidTypeError(f"{op}: the type of column {i} must be one of {names}, got {dtype.name}")
    return dtype


def converted(fields: list[bytes], column: Column, na_value: bytes, number: int) -> Array:
    """The fields of a column as an array. Raises `BadField` for the first that is no value of the column's type."""
    missing = [i for i, field in enumerate(fields) if not field or field == na_value]
    if missing:
        if column.default is None:
            before = converted(fields[: missing[0]], column, na_value, number)  # an earlier field may be worse
            raise BadField(len(before), f"field {number} is missing, and it has no default")
        fields = fields.copy()
        for i in missing:
            fields[i] = b"0" if column.dtype != types.string else b""
    array = _numbers(fields, column.dtype, number) if column.dtype != types.string else _strings(fields)
    if missing:
        array[missing] = column.default
    return array


def _strings(fields: list[bytes]) -> Array:
    out = np.empty(len(fields), object)
    out[:] = fields
    return out


def _numbers(fields: list[bytes], dtype: DType, number: int) -> Array:
    """All at once where Python's own conversion is sure to agree, else one by one."""
    if not any(b"_" in field for field in fields):
        try:
            if dtype.is_integer:
                return np.array([int(field) for field in fields], dtype.dtype)
            doubles = np.array([float(field) for field in fields], np.float64)
            return _to_float32(doubles, fields) if dtype == types.float32 else doubles
        except (ValueError, OverflowError):
            pass
    read = _int if dtype.is_integer else _float
    values = []
    for i, field in enumerate(fields):
        value = read(field)
        if value is None or (dtype.is_integer and not dtype.min <= value <= dtype.max):
            shown = field if len(field) < 80 else field[:77] + b"..."
            raise BadField(i, f"field {number} is no valid {dtype.name}: {shown.decode(errors='replace')!r}")
        values.append(value)
    if dtype == types.float32:
        return _to_float32(np.array(values, np.float64), fields)
    return np.array(values, dtype.dtype)


def _int(field: bytes) -> int | None:
    return int(field) if _INT.fullmatch(field) and len(field) < 4000 else None


def _float(field: bytes) -> float | None:
    match = _FLOAT.fullmatch(field)
    if match is None:
        return None
    if match["nan"]:
        return math.nan
    text = match["number"].decode()
    if not match["hex"]:
        return float(text)
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if match["sign"] == b"-" else math.inf


def _to_float32(doubles: Array, fields: list[bytes]) -> Array:
    """Rounded to float32 as if straight from the text. Rounding twice goes wrong only where the double lies exactly
    between two floats and the text does not: there the text decides.
    """
    with np.errstate(over="ignore", under="ignore"):
        floats = doubles.astype(np.float32)
        back = floats.astype(np.float64)
        for i in np.flatnonzero((back != doubles) & np.isfinite(back) & np.isfinite(doubles)).tolist():
            toward = np.inf if doubles[i] > back[i] else -np.inf
            other = np.nextafter(floats[i], np.float32(toward))
            if float(doubles[i]) - float(back[i]) == float(other) - float(doubles[i]):
                exact = _exactly(fields[i])
                if (exact > Fraction(float(doubles[i]))) == (toward > 0) and exact != Fraction(float(doubles[i])):
                    floats[i] = other
    return floats


def _exactly(field: bytes) -> Fraction:
    text = field.strip().decode()
    if "x" not in text.lower():
        return Fraction(text)
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    mantissa, _, exponent = digits[2:].lower().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return sign * int(whole + fraction, 16) * Fraction(2) ** (int(exponent or 0) - 4 * len(fraction))
