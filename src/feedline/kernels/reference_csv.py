"""The kernels for text in plain Python: lines, and the fields of CSV records."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.reference import _strings

Buffer = bytes | bytearray | memoryview | NDArray[Any]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

DONE, CUT, STRAY, SINGLE_QUOTE, OPEN_QUOTE, MISCOUNTED, MISSING, NO_NUMBER = range(8)

_DTYPES: dict[int, Any] = {1: np.float32, 2: np.float64, 3: np.int32, 4: np.int64, 5: object}
_QUOTE, _LF, _CR = b'"\n\r'
_SPACE = rb"[ \t\n\v\f\r]*"
_INT = re.compile(_SPACE + rb"([+-]?[0-9]+)" + _SPACE)
_FLOAT = re.compile(
    _SPACE
    + rb"(?P<number>(?P<sign>[+-]?)(?:"
    + rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
    + rb"|(?P<hex>0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    + rb"|inf(?:inity)?|(?P<nan>nan(?:\([0-9a-z_]*\))?)))"
    + _SPACE,
    re.IGNORECASE,
)


def line_offsets(data: Buffer, start: int, want: int) -> Int64:
    """The offsets of at most `want` lines, from `start` on, and the position after the last.

    Line i, with the `\\n` at its end, is data[offsets[i] : offsets[i + 1]]. Bytes after the last `\\n` are not a line.

    >>> fl.kernels.line_offsets(b"one\\nthree\\n\\nrest", 0, 10)
    array([ 0,  4, 10, 11])
    """
    raw = _bytes_of(data)
    _place(start, want, len(raw))
    offsets = [start]
    while len(offsets) <= want and (end := raw.find(b"\n", offsets[-1])) >= 0:
        offsets.append(end + 1)
    return np.array(offsets, np.int64)


def csv_strings(
    records: object,
    delimiter: int,
    quotes: bool,
    na_value: bytes,
    kinds: UInt8,
    defaults: list[Any],
    wanted: UInt8,
    rest: bool,
    threads: int = 1,
) -> tuple[list[NDArray[Any]], int, int, bytes]:
    """The fields of strings that hold one CSV record each, as columns, up to the first record that cannot be read.
    `records` are `bytes` in a list, an object array, or one buffer: data, offsets and gap, as in `bytes_rows`.

    There is a column for each wanted field: field i if `wanted[i]` is not 0, and fields beyond `wanted` if `rest`.
    `kinds` are 1 float32, 2 float64, 3 int32, 4 int64, 5 string. A field that is empty or equals `na_value` gets its
    column's default, unless that is None. Numbers are those that C's strtof, strtod and strtoll read, with spaces
    around them. Bytes after the last wanted field are not read. Up to `threads` threads read the records.

    Returns the columns, the reason for stopping, the index of the column at fault or the number of fields found, and
    the text that is not a number. Reasons: 0 all records were read; 2 an unquoted field contains a quote or line end;
    3 a quote inside quotes is not doubled; 4 quotes are not closed where the field ends; 5 the number of fields is
    wrong; 6 a field without a default is missing; 7 a field is not a number of its column's type.

    >>> kinds, wanted = np.array([3, 5], np.uint8), np.empty(0, np.uint8)
    >>> fl.kernels.csv_strings([b'1,"a, b"', b",c"], ord(","), True, b"", kinds, [7, b""], wanted, True)
    ([array([1, 7], dtype=int32), array([b'a, b', b'c'], dtype=object)], 0, 0, b'')
    >>> fl.kernels.csv_strings([b"1,a", b"x,b"], ord(","), True, b"", kinds, [7, b""], wanted, True)
    ([array([1], dtype=int32), array([b'a'], dtype=object)], 7, 0, b'x')
    """
    table = _Table(delimiter, quotes, na_value, kinds, defaults, wanted, rest)
    for record in _strings(records, "a record"):
        fields, problem = _string_fields(record, table)
        if not table.add(fields, problem):
            break
    return table.columns(), table.stop, table.at, table.text


def csv_records(
    data: Buffer,
    start: int,
    want: int,
    final: bool,
    delimiter: int,
    quotes: bool,
    na_value: bytes,
    kinds: UInt8,
    defaults: list[Any],
    wanted: UInt8,
    rest: bool,
) -> tuple[list[NDArray[Any]], Int64, int, int, bytes, int]:
    """The records of a CSV file from `start` on, at most `want`, as columns, up to the first that cannot be read.

    As `csv_strings`, but records end at `\\n`, `\\r` or `\\r\\n` outside quotes, and quoted fields at a quote before a
    delimiter, a line end or the end of the file. Unless the data are `final`, a record that reaches their end may
    continue after them, and is not read.

    Returns the columns, the position after each record, the reason for stopping, number and text as `csv_strings`, and
    the position after the last record examined. Reasons: 0 all records that are wanted or present were read; 1 the next
    one may continue after the data; 2 to 7 as for strings.

    >>> kinds, wanted = np.array([3], np.uint8), np.array([0, 1], np.uint8)
    >>> fl.kernels.csv_records(b"a,1\\n'b',x\\n", 0, 10, True, ord(","), True, b"", kinds, [0], wanted, False)
    ([array([1], dtype=int32)], array([4]), 7, 0, b'x', 10)
    """
    raw = _bytes_of(data)
    _place(start, want, len(raw))
    table = _Table(delimiter, quotes, na_value, kinds, defaults, wanted, rest)
    ends: list[int] = []
    at, stop = start, DONE
    while len(ends) < want and at < len(raw):
        record = _record(raw, at, final, table)
        if record is None:
            stop = CUT
            break
        fields, at, problem = record
        if not table.add(fields, problem):
            stop = table.stop
            break
        ends.append(at)
    return table.columns(), np.array(ends, np.int64), stop, table.at, table.text, at


class _Table:
    """The columns that are being filled."""

    def __init__(
        self,
        delimiter: int,
        quotes: bool,
        na_value: bytes,
        kinds: UInt8,
        defaults: list[Any],
        wanted: UInt8,
        rest: bool,
    ) -> None:
        if not 0 <= delimiter < 256:
            raise ValueError("delimiter must be a byte")
        if len(kinds) != len(defaults):
            raise ValueError("kinds and defaults must have the same length")
        if not set(kinds.tolist()) <= set(_DTYPES):
            raise ValueError("a kind must be from 1 to 5")
        if not all(d is None or isinstance(d, bytes) for k, d in zip(kinds, defaults, strict=True) if k == 5):
            raise TypeError("a default must be bytes")
        self.delimiter, self.quotes = delimiter, quotes
        self.na_value, self.kinds, self.defaults = na_value, kinds.tolist(), defaults
        self.wanted, self.rest = wanted.tolist(), rest
        self.values: list[list[Any]] = [[] for _ in self.kinds]
        self.stop, self.at, self.text = DONE, 0, b""
        self.plain = re.compile(b"[^" + re.escape(bytes([delimiter])) + rb"\r\n]*")

    def takes(self, number: int) -> bool:
        return bool(self.wanted[number]) if number < len(self.wanted) else self.rest

    def add(self, fields: list[bytes], problem: int) -> bool:
        """Adds a record's fields as a row; returns False if they cannot be one."""
        fields = [field for i, field in enumerate(fields) if self.takes(i)]
        if not problem and len(fields) != len(self.kinds):
            problem, self.at = MISCOUNTED, len(fields)
        row = []
        for i, field in enumerate(fields if not problem else ()):
            if not field or field == self.na_value:
                value, wrong = self.defaults[i], MISSING
            else:
                value, wrong = _value(field, self.kinds[i]), NO_NUMBER
            if value is None:
                problem, self.at, self.text = wrong, i, field if wrong == NO_NUMBER else b""
                break
            row.append(value)
        self.stop = problem
        if not problem:
            for values, value in zip(self.values, row, strict=True):
                values.append(value)
        return not problem

    def columns(self) -> list[NDArray[Any]]:
        out = []
        for kind, values in zip(self.kinds, self.values, strict=True):
            array = np.empty(len(values), _DTYPES[kind])
            array[:] = values
            out.append(array)
        return out


class _Record(NamedTuple):
    fields: list[bytes]
    after: int
    problem: int


def _string_fields(record: bytes, table: _Table) -> tuple[list[bytes], int]:
    """The fields of a string up to the last wanted one, and the problem code. Line ends before a field are skipped."""
    fields: list[bytes] = []
    taken = at = 0
    while at < len(record):
        if record[at] in (_LF, _CR):
            at += 1
            continue
        if table.quotes and record[at] == _QUOTE:
            field, at, problem = _quoted_in_string(record, at + 1, table.delimiter)
        else:
            end = record.find(table.delimiter, at)
            end = len(record) if end < 0 else end
            field, at = record[at:end], end + 1
            odd = any(c in (_LF, _CR) or (table.quotes and c == _QUOTE) for c in field)
            problem = STRAY if odd else DONE
        if problem:
            return fields, problem
        taken += table.takes(len(fields))
        fields.append(field)
        if not table.rest and taken == len(table.kinds):
            return fields, DONE
    if record and record[-1] == table.delimiter:
        fields.append(b"")
    return fields, DONE


def _quoted_in_string(record: bytes, at: int, delimiter: int) -> tuple[bytes, int, int]:
    """The quoted field whose contents begin at `at`: it ends at a quote before a delimiter or at the very end."""
    field = bytearray()
    last = len(record) - 1
    while at < last and not (record[at] == _QUOTE and record[at + 1] == delimiter):
        if record[at] != _QUOTE:
            field.append(record[at])
            at += 1
        elif record[at + 1] != _QUOTE:
            return b"", at, SINGLE_QUOTE
        else:
            field.append(_QUOTE)
            at += 2
    if at > last or record[at] != _QUOTE:
        return b"", at, OPEN_QUOTE
    return bytes(field), at + 2, DONE


def _record(data: bytes, at: int, final: bool, table: _Table) -> _Record | None:
    """The record of a file at `at`; None if it may continue after the data."""
    fields: list[bytes] = []
    problem = DONE
    while True:
        if at >= len(data):
            return _Record([*fields, b""], at, problem) if final else None
        if table.quotes and data[at] == _QUOTE:
            field, at, wrong = _quoted_in_file(data, at, table.delimiter)
        else:
            match = table.plain.match(data, at)
            end = match.end() if match else at  # the pattern always matches, if only an empty string
            field, at = data[at:end], end
            wrong = STRAY if table.quotes and b'"' in field else DONE
        problem = problem or wrong
        fields.append(field)
        if at >= len(data):
            return _Record(fields, at, problem) if final else None
        if data[at] == table.delimiter:
            at += 1
            continue
        if data[at] == _CR:
            if at + 1 >= len(data) and not final:
                return None
            at += data[at + 1 : at + 2] == b"\n"
        return _Record(fields, at + 1, problem)


def _quoted_in_file(data: bytes, at: int, delimiter: int) -> tuple[bytes, int, int]:
    """The quoted field at `at`, the position after it, and its problem code."""
    start, wrong = at + 1, DONE
    at = start
    while True:
        end = data.find(b'"', at)
        if end < 0:
            return b"", len(data), wrong or OPEN_QUOTE
        if end + 1 >= len(data) or data[end + 1] in (delimiter, _LF, _CR):
            return data[start:end].replace(b'""', b'"'), end + 1, wrong
        if data[end + 1] != _QUOTE:
            wrong = wrong or SINGLE_QUOTE
        at = end + 2


def _value(field: bytes, kind: int) -> Any:
    """A field as a value of its column; None if it is not valid."""
    if kind == 5:
        return field
    if kind in (3, 4):
        return _integer(field, np.iinfo(_DTYPES[kind]))
    value = _double(field)
    return value if kind == 2 or value is None else _float(value, field)


def _integer(field: bytes, limits: Any) -> int | None:
    match = _INT.fullmatch(field)
    if match is None:
        return None
    digits = match[1].lstrip(b"+-").lstrip(b"0")
    if len(digits) > 19:  # beyond int64, and Python refuses thousands of digits
        return None
    value = int(digits or b"0") * (-1 if match[1].startswith(b"-") else 1)
    return value if limits.min <= value <= limits.max else None


def _double(field: bytes) -> float | None:
    match = _FLOAT.fullmatch(field)
    if match is None:
        return None
    if match["nan"]:
        return -math.nan if match["sign"] == b"-" else math.nan
    text = match["number"].decode()
    if not match["hex"]:
        return float(text)
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if match["sign"] == b"-" else math.inf


def _float(double: float, field: bytes) -> Any:
    """Rounds to float32 as if directly from the text. Double rounding is wrong only if the double lies exactly between
    two floats and the text does not: then the text decides.
    """
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(double)
        if not math.isfinite(double) or float(value) == double:
            return value
        other = np.nextafter(value, np.float32(math.inf if double > float(value) else -math.inf))
    # For rounding, the next float above the largest is 2**128.
    near, far = (math.copysign(2.0**128, x) if np.isinf(x) else float(x) for x in (value, other))
    if 2 * double != near + far:
        return value
    exact, middle = _exactly(field), Fraction(double)
    return other if exact != middle and (exact > middle) == (far > near) else value


def _exactly(field: bytes) -> Fraction:
    text = field.strip().decode()
    if "x" not in text.lower():
        return Fraction(text)
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    mantissa, _, exponent = digits[2:].lower().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return sign * int(whole + fraction, 16) * Fraction(2) ** (int(exponent or 0) - 4 * len(fraction))


def _bytes_of(data: Buffer) -> bytes:
    raw: Any = data
    return raw if isinstance(raw, bytes) else bytes(memoryview(raw).cast("B"))


def _place(start: int, want: int, size: int) -> None:
    if start < 0 or want < 0:
        raise ValueError(f"start and want must not be negative, got {start} and {want}")
    if start > size:
        raise IndexError("start is beyond the end of the data")
