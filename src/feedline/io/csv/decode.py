"""`decode_csv`: strings that are CSV records, to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import columns_of, problem, table
from feedline.structure.dense import dense


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """The columns of strings that are CSV records: a list with an array for each, of the shape of `records`.

    >>> fl.io.decode_csv(["1,a", "2,"], [[0], ["none"]])
    [array([1, 2], dtype=int32), array([b'a', b'none'], dtype=object)]

    `record_defaults` has an item per column: the value of a field that is empty or equals `na_value`, or an empty array
    for a column that must have a value; its type is that of the column (float32, float64, int32, int64, string).
    `select_cols` are the numbers of the columns to read. A record must have no line end outside quotes.

    >>> fl.io.decode_csv('x,"a ""quoted"" word",2.5', [[""], [0.0]], select_cols=[1, 2])
    [b'a "quoted" word', np.float32(2.5)]
    """
    op = "decode_csv"
    columns = columns_of(record_defaults, op, dtypes_allowed=False)
    delimiter = one_byte(field_delim, op)
    select = _checked_select(select_cols, len(columns), op)
    strings = dense(records)
    if strings.dtype.kind != "O":
        raise InvalidArgumentError(f"{op}: records must be strings, got {strings.dtype}")
    na = na_value.encode() if isinstance(na_value, str) else na_value
    fields = table(columns, delimiter, use_quote_delim, na, select)
    arrays, stop, number, text = kernels.csv_strings(strings.ravel().tolist(), *fields)
    if stop:
        wrong = problem(stop, number, text, columns)
        raise InvalidArgumentError(f"{op}: record {len(arrays[0])} cannot be read: {wrong}")
    return [array.reshape(strings.shape)[()] for array in arrays]


def one_byte(field_delim: Any, op: str) -> bytes:
    """A delimiter as the byte it must be."""
    found = field_delim.encode() if isinstance(field_delim, str) else bytes(field_delim)
    if len(found) != 1:
        raise InvalidArgumentError(f"{op}: field_delim must be a single ASCII character, got {field_delim!r}")
    return found


def _checked_select(select: Sequence[int] | None, columns: int, op: str) -> list[int]:
    if select is None:
        return []
    numbers = [int(i) for i in select]
    if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 0):
        raise InvalidArgumentError(f"{op}: select_cols must be increasing and not negative, got {list(select)}")
    if len(numbers) != columns:
        raise InvalidArgumentError(
            f"{op}: select_cols and record_defaults must be of one length, got {len(numbers)} and {columns}"
        )
    return numbers
