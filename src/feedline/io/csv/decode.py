"""`decode_csv`: from strings with CSV records to columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.csv.columns import Column, Table, columns_of, problem, table
from feedline.io.parsing.culprit import about
from feedline.kernels.threads import team
from feedline.structure.arguments import boolean_attribute, integer_attribute, text_attribute
from feedline.structure.dense import strings_of
from feedline.structure.strings import Array, Bytes

OP = "decode_csv"
MOST_FORMS = 256

_FORMS: dict[Any, tuple[tuple[Column, ...], Table]] = {}


def decode_csv(
    records: object,
    record_defaults: object,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Decodes strings with CSV records into a list of columns: an array for each, of the shape of `records`.

    >>> fl.io.decode_csv(["1,a", "2,"], [[0], ["none"]])
    [array([1, 2], dtype=int32), array([b'a', b'none'], dtype=object)]

    `record_defaults` has an item per column: the default for a field that is empty or equals `na_value`, or an empty
    array for a required column; its type is that of the column (float32, float64, int32, int64, string). `select_cols`
    are the numbers of the columns to read. A record must have no line end outside quotes.

    >>> fl.io.decode_csv('x,"a ""quoted"" word",2.5', [[""], [0.0]], select_cols=[1, 2])
    [b'a "quoted" word', np.float32(2.5)]
    """
    columns, fields = _known_form(record_defaults, field_delim, use_quote_delim, na_value, select_cols)
    if type(records) is bytes:
        return [array[0] for array in _decoded([records], columns, fields)]
    strings = strings_of(records, f"{OP}: records must be strings")
    arrays = _decoded(strings.ravel().tolist(), columns, fields)
    return [array.reshape(strings.shape)[()] for array in arrays]


def decode_csv_column(
    records: Bytes,
    record_defaults: object,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: object = None,
) -> list[Array] | None:
    """`decode_csv` of each string of a column; None if one of them cannot be read."""
    _, fields = _known_form(record_defaults, field_delim, use_quote_delim, na_value, select_cols)
    strings = records.data, np.ascontiguousarray(records.offsets), records.gap
    arrays, stop, _, _ = kernels.csv_strings(strings, *fields, team())
    return None if stop else arrays


def _decoded(strings: list[bytes], columns: tuple[Column, ...], fields: Table) -> list[Any]:
    arrays, stop, number, text = kernels.csv_strings(strings, *fields, team())
    if stop:
        wrong = problem(stop, number, text, columns)
        raise about(f"{OP}: record {len(arrays[0])} cannot be read: {wrong}", strings, len(arrays[0]))
    return arrays


def _known_form(*arguments: Any) -> tuple[tuple[Column, ...], Table]:
    """The form of the records that these arguments describe. It is made once."""
    key = _key(*arguments)
    form = _FORMS.get(key)
    if form is None:
        form = _form(*arguments)
        if key is not None and len(_FORMS) < MOST_FORMS:
            _FORMS[key] = form
    return form


def _form(
    record_defaults: Any, field_delim: Any, use_quote_delim: Any, na_value: Any, select_cols: Any
) -> tuple[tuple[Column, ...], Table]:
    columns = columns_of(record_defaults, OP, dtypes_allowed=False)
    select = _checked_select(select_cols, len(columns), OP)
    na = os.fsencode(text_attribute(na_value, "", "na_value", OP))
    quotes = boolean_attribute(use_quote_delim, True, "use_quote_delim", OP)
    delimiter = "," if field_delim is None else field_delim
    return columns, table(columns, one_byte(delimiter, OP), quotes, na, select)


def _key(record_defaults: Any, *more: Any) -> Any:
    """A cache key for arguments, so that they need not be validated for every record; None if they must be."""
    if type(record_defaults) not in (list, tuple):
        return None
    key: list[Any] = []
    for value in record_defaults:
        if type(value) is list and len(value) == 1:
            value = value[0]
        if type(value) in (float, int, str, bytes):
            key.append(repr(value))  # distinguishes -0.0 from 0.0
        elif type(value) is np.ndarray and not value.size and value.ndim == 1:
            key.append(value.dtype)
        else:
            return None
    *others, select = more
    if not all(type(v) in (bool, str) for v in others) or not (select is None or type(select) in (list, tuple)):
        return None
    return (*key, *others, None if select is None else repr(select))


def one_byte(field_delim: object, op: str) -> bytes:
    """A delimiter, which must be one byte."""
    found = field_delim.encode() if isinstance(field_delim, str) else field_delim
    if not isinstance(found, bytes) or len(found) != 1:
        raise InvalidTypeError(f"{op}: field_delim must be a single ASCII character, got {field_delim!r}")
    return found


def _checked_select(select: object, columns: int, op: str) -> list[int]:
    if select is None:
        return []
    if isinstance(select, (str, bytes)) or not isinstance(select, Sequence | np.ndarray) or np.ndim(select) != 1:
        raise InvalidTypeError(f"{op}: select_cols must be a list of numbers of columns, got {select!r}")
    numbers = [integer_attribute(i, 0, "a number in select_cols", op) for i in select]
    if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 0):
        raise InvalidArgumentError(f"{op}: select_cols must be increasing and non-negative, got {numbers}")
    if len(numbers) != columns:
        raise InvalidArgumentError(
            f"{op}: select_cols and record_defaults must have the same length, got {len(numbers)} and {columns}"
        )
    return numbers
