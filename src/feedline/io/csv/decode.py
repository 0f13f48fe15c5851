"""`decode_csv`: strings that are CSV records, to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import BadField, columns_of, converted
from feedline.structure.dense import dense

_QUOTE = 0x22
_LINE_ENDS = (0x0A, 0x0D)


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
    rows = []
    for i, record in enumerate(strings.ravel().tolist()):
        fields, problem = _fields(record, delimiter[0], use_quote_delim, select)
        if not problem and len(fields) != len(columns):
            problem = f"{len(columns)} fields are expected and it has {len(fields)}"
        if problem:
            raise InvalidArgumentError(f"{op}: record {i} cannot be read: {problem}")
        rows.append(fields)
    na = na_value.encode() if isinstance(na_value, str) else na_value
    out = []
    for number, column in enumerate(columns):
        try:
            array = converted([row[number] for row in rows], column, na, number)
        except BadField as bad:
            raise InvalidArgumentError(f"{op}: record {bad.row} cannot be read: {bad.problem}") from None
        out.append(array.reshape(strings.shape)[()])
    return out


def one_byte(field_delim: Any, op: str) -> bytes:
    """A delimiter as the byte it must be."""
    found = field_delim.encode() if isinstance(field_delim, str) else bytes(field_delim)
    if len(found) != 1:
        raise InvalidArgumentError(f"{op}: field_delim must be a single ASCII character, got {field_delim!r}")
    return found


def _checked_select(select: Sequence[int] | None, columns: int, op: str) -> list[int] | None:
    if select is None:
        return None
    numbers = [int(i) for i in select]
    if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 0):
        raise InvalidArgumentError(f"{op}: select_cols must be increasing and not negative, got {list(select)}")
    if len(numbers) != columns:
        raise InvalidArgumentError(
            f"{op}: select_cols and record_defaults must be of one length, got {len(numbers)} and {columns}"
        )
    return numbers


def _fields(record: bytes, delimiter: int, quotes: bool, select: list[int] | None) -> tuple[list[bytes], str]:
    """The wanted fields, and what is wrong with the record. As in TensorFlow, line ends before a field are skipped."""
    fields: list[bytes] = []
    at = number = 0
    while at < len(record):
        if record[at] in _LINE_ENDS:
            at += 1
            continue
        if quotes and record[at] == _QUOTE:
            field, at, problem = _quoted(record, at + 1, delimiter)
        else:
            end = record.find(delimiter, at)
            end = len(record) if end < 0 else end
            field, at = record[at:end], end + 1
            odd = any(c in _LINE_ENDS or (quotes and c == _QUOTE) for c in field)
            problem = "a field that is not in quotes has a quote or a line end in it" if odd else ""
        if problem:
            return fields, problem
        if select is None or number in select:
            fields.append(field)
            if select is not None and len(fields) == len(select):
                return fields, ""
        number += 1
    if record and record[-1] == delimiter and (select is None or number in select):
        fields.append(b"")
    return fields, ""


def _quoted(record: bytes, at: int, delimiter: int) -> tuple[bytes, int, str]:
    """The field in quotes whose inside begins at `at`: it ends at a quote before a delimiter or at the very end."""
    field = bytearray()
    last = len(record) - 1
    while at < last and not (record[at] == _QUOTE and record[at + 1] == delimiter):
        if record[at] != _QUOTE:
            field.append(record[at])
            at += 1
        elif record[at + 1] != _QUOTE:
            return b"", at, "a quote inside a field in quotes must be doubled"
        else:
            field.append(_QUOTE)
            at += 2
    if at > last or record[at] != _QUOTE:
        return b"", at, "a field in quotes must end with a quote before a delimiter or the end"
    return bytes(field), at + 2, ""
