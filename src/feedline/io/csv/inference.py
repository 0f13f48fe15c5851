"""Inference from CSV files: the names of columns from the header, and their types from the first records."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import Column
from feedline.io.csv.records import MOST_RECORD
from feedline.io.files import shown
from feedline.io.stream import Stream
from feedline.structure import types

ORDER = (types.int32, types.int64, types.float32, types.float64, types.string)
"""From the most specific type to the one that accepts every value."""


class Dialect(NamedTuple):
    """How the files are written."""

    delimiter: str = ","
    quotes: bool = True
    compression: str = ""
    encoding: str = "utf-8"


def column_names(files: Sequence[bytes], dialect: Dialect, op: str) -> list[str]:
    """The names in the header, which must be the same in all files."""
    names: list[str] | None = None
    for file in files:
        header = next(_rows(file, dialect, op), None)
        if header is None:
            raise InvalidArgumentError(f"{op}: {shown(file)} has no header line; is it empty?")
        if names is not None and header != names:
            raise InvalidArgumentError(
                f"{op}: all files must have the same column names; {shown(files[0])} has {names}, "
                f"{shown(file)} has {header}"
            )
        names = header
    return names or []


def column_types(
    files: Sequence[bytes],
    dialect: Dialect,
    width: int,
    header: bool,
    na_value: str,
    rows: int | None,
    select: Sequence[int],
    op: str,
) -> list[Column]:
    """For each selected column the most specific type for its values in the first `rows` records; 0 or "" if missing.
    """
    found: list[int | None] = [None] * len(select)
    for row in islice(_body(files, dialect, width, header, op), rows):
        for j, i in enumerate(select):
            if row[i] not in ("", na_value):
                found[j] = _least(row[i], found[j] or 0)
    kinds = [types.string if f is None else ORDER[f] for f in found]
    return [Column(k, b"" if k == types.string else k.dtype.type(0)) for k in kinds]


def _body(files: Sequence[bytes], dialect: Dialect, width: int, header: bool, op: str) -> Iterator[list[str]]:
    for file in files:
        for number, row in enumerate(_rows(file, dialect, op)):
            if header and not number:
                continue
            if len(row) != width:
                raise InvalidArgumentError(
                    f"{op}: the column types cannot be inferred: {shown(file)}, line {number + 1} has {len(row)} "
                    f"fields, expected {width}; give column_defaults"
                )
            yield row


def _rows(file: bytes, dialect: Dialect, op: str) -> Iterator[list[str]]:
    stream = Stream(file, dialect.compression)
    quoting: Any = csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE
    read = [0]

    def text() -> Iterator[str]:
        for line in _lines(stream, op):
            read[0] += 1
            yield line.decode(dialect.encoding)

    try:
        yield from csv.reader(text(), delimiter=dialect.delimiter, quoting=quoting)
    except UnicodeDecodeError as e:
        raise InvalidArgumentError(
            f"{op}: the column types cannot be inferred: {shown(file)}, line {read[0]} is not valid "
            f"{dialect.encoding} ({e.reason} at its byte {e.start}); give column_defaults, or the encoding"
        ) from None
    except csv.Error as e:
        raise InvalidArgumentError(f"{op}: {shown(file)} cannot be read: {e}") from None
    finally:
        stream.close()
    if stream.failure is not None:
        raise stream.failure


def _lines(stream: Stream, op: str) -> Iterator[bytes]:
    """The lines of a file, including their line ends."""
    offset, need = 0, 1
    while True:
        data, start = stream.window(offset, need)
        end = data.find(b"\n", start) + 1
        if end or stream.ended:
            line = data[start : end or len(data)]
            if not line:
                return
            yield line
            offset, need = offset + len(line), 1
        else:
            have = len(data) - start
            if have > MOST_RECORD:
                raise InvalidArgumentError(
                    f"{op}: {shown(stream.name)}, byte {offset}: a line has more than {MOST_RECORD} bytes"
                )
            need = min(2 * have, MOST_RECORD) + 1


def _least(text: str, at_least: int) -> int:
    """The number of the first type, from `at_least` on, that accepts a value."""
    return next(i for i in range(at_least, len(ORDER)) if _takes(ORDER[i], text))


def _takes(kind: Any, text: str) -> bool:
    """As in TensorFlow: Python's notion of a number, but finite."""
    if kind == types.string:
        return True
    try:
        if kind.is_integer:
            return bool(kind.min <= int(text) <= kind.max)
        with np.errstate(over="ignore"):
            return bool(kind.dtype.type(float(text)) < np.inf)
    except ValueError:
        return False
