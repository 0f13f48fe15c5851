"""Columns of CSV fields: their types, defaults for missing fields, and their description for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.dense import dense
from feedline.structure.types import DType, as_dtype

Array = np.ndarray[Any, Any]

TYPES = (types.float32, types.float64, types.int32, types.int64, types.string)

_KINDS = {dtype: kind for kind, dtype in enumerate(TYPES, 1)}
"""The kernels' numbers of the types."""

_NUMBERS: dict[float, DType] = {1: types.float32, 2: types.float64, 3: types.int32, 7: types.string, 9: types.int64}
"""TensorFlow's numbers of the types."""

_PROBLEMS = {
    2: "an unquoted field contains a quote or a line end",
    3: "a quote inside a quoted field must be doubled",
    4: "a quoted field must end with a quote before a delimiter or the end",
}


class Column(NamedTuple):
    """One column: its type, and the default for a missing field; None if the field is required."""

    dtype: DType
    default: Any


class Table(NamedTuple):
    """The description of records for the kernels: how they are written, their columns, and the fields to read."""

    delimiter: int
    quotes: bool
    na_value: bytes
    kinds: Array
    defaults: list[Any]
    wanted: Array
    rest: bool


def columns_of(record_defaults: object, op: str, dtypes_allowed: bool) -> tuple[Column, ...]:
    """The columns that `record_defaults` describe: a value, a list with one, an empty list or array for a required
    column, or, if allowed, its dtype, which may be TensorFlow's number of one.
    """
    scalar = isinstance(record_defaults, np.ndarray) and not record_defaults.ndim
    if scalar or isinstance(record_defaults, (str, bytes)) or not isinstance(record_defaults, Sequence | np.ndarray):
        raise InvalidTypeError(
            f"{op}: record_defaults must be a list with one item per column, got {record_defaults!r}"
        )
    if not len(record_defaults):
        raise InvalidArgumentError(f"{op}: record_defaults must have at least one column")
    return tuple(_column(d, i, op, dtypes_allowed) for i, d in enumerate(record_defaults))


def _column(given: object, i: int, op: str, dtypes_allowed: bool) -> Column:
    if dtypes_allowed and type(given) in (int, float, bool) and given in _NUMBERS:
        given = _NUMBERS[given]
    if type(given) is float and abs(given) < 1e38:  # the most common case first: this may run for every record
        return Column(types.float32, np.float32(given))
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


def table(
    columns: Sequence[Column],
    delimiter: bytes = b",",
    quotes: bool = True,
    na_value: bytes = b"",
    select: Sequence[int] = (),
    exclude: Sequence[int] = (),
) -> Table:
    """The fields that are selected, not excluded, or all, as the given columns."""
    kinds = np.array([_KINDS[c.dtype] for c in columns], np.uint8)
    defaults = [c.default if isinstance(c.default, bytes) or c.default is None else c.default.item() for c in columns]
    numbers = select or exclude
    wanted = np.full(1 + max(numbers, default=-1), not select, np.uint8)
    wanted[list(numbers)] = bool(select)
    return Table(delimiter[0], quotes, na_value, kinds, defaults, wanted, not select)


def problem(stop: int, number: int, text: bytes, columns: Sequence[Column]) -> str:
    """The error in a record, in words, from the kernel's output: the reason it stopped, and the number and text."""
    if stop == 5:
        return f"expected {len(columns)} fields, got {number}"
    if stop == 6:
        return f"field {number} is missing and has no default"
    if stop == 7:
        shown = text if len(text) < 80 else text[:77] + b"..."
        return f"field {number} is not a valid {columns[number].dtype.name}: {shown.decode(errors='replace')!r}"
    return _PROBLEMS[stop]
