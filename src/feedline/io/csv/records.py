"""Records of CSV files."""

from __future__ import annotations

import re
from typing import NamedTuple

from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import BadField, Column, converted
from feedline.io.files import shown
from feedline.io.reader import END, Place, Read, Reader
from feedline.structure.block import Block
from feedline.structure.nest import flat

_QUOTE = 0x22
_LF, _CR = 0x0A, 0x0D


class Format(NamedTuple):
    """How the records of a file are written, and which of their fields are wanted."""

    columns: tuple[Column, ...]
    header: bool = False
    delimiter: bytes = b","
    quotes: bool = True
    na_value: bytes = b""
    select: tuple[int, ...] = ()
    """The numbers of the wanted fields; all if empty."""
    exclude: tuple[int, ...] = ()
    """The numbers of those that are not wanted."""


class Record(NamedTuple):
    """The fields of a record, the place after it, and what is wrong with it."""

    fields: list[bytes]
    after: int
    problem: str = ""


class CsvReader(Reader):
    """An open CSV file. `\\n`, `\\r` and `\\r\\n` end a record; in quotes they are part of a field."""

    def __init__(self, name: bytes, form: Format, compression: str = "", buffer_size: int | None = None) -> None:
        super().__init__(name, compression, buffer_size)
        self._form = form
        self._plain = re.compile(b"[^" + re.escape(form.delimiter) + rb"\r\n]*")

    def read(self, place: Place, want: int) -> Read:
        """The records that follow, as far as they have been read ahead, up to one that cannot be read."""
        offset = place.offset
        if self._form.header and not offset:
            header = self._record(0)
            if header is None:
                return Read(None, None, self._stream.failure or self._error(place, "there is no header"))
            if header.problem:
                return Read(None, Place(header.after), self._error(place, f"in the header, {header.problem}"))
            offset = header.after
        rows: list[list[bytes]] = []
        ends: list[int] = []
        problem, at = "", offset
        while len(rows) < want and not problem:
            record = self._record(at, more=not rows)
            if record is None:
                break
            problem = record.problem or self._miscounted(record.fields)
            if not problem:
                rows.append(self._chosen(record.fields))
                ends.append(at := record.after)
            elif not rows:
                return Read(None, Place(record.after, place.number + 1), self._error(place, problem))
        if not rows:
            return END if self._stream.failure is None else Read(None, None, self._stream.failure)
        return self._converted(place, rows, ends)

    def _converted(self, place: Place, rows: list[list[bytes]], ends: list[int]) -> Read:
        """The rows up to the first with a field that is not of its column's type."""
        good, problem = len(rows), ""
        columns = []
        for number, (fields, column) in enumerate(zip(zip(*rows, strict=True), self._form.columns, strict=True)):
            try:
                columns.append(converted(list(fields[:good]), column, self._form.na_value, number))
            except BadField as bad:
                good, problem = bad.row, bad.problem
                columns.append(converted(list(fields[:good]), column, self._form.na_value, number))
        if not good:
            return Read(None, Place(ends[0], place.number + 1), self._error(place, problem))
        block = Block([c[:good] for c in columns], good, flat(len(columns)))
        return Read(block, Place(ends[good - 1], place.number + good))

    def _chosen(self, fields: list[bytes]) -> list[bytes]:
        form = self._form
        if form.select:
            return [fields[i] for i in form.select]
        return [f for i, f in enumerate(fields) if i not in form.exclude] if form.exclude else fields

    def _miscounted(self, fields: list[bytes]) -> str:
        form, have = self._form, len(fields)
        if form.select:
            have = sum(i < have for i in form.select)
        elif form.exclude:
            have -= sum(i < have for i in form.exclude)
        return "" if have == len(form.columns) else f"{len(form.columns)} fields are expected and it has {have}"

    def _error(self, place: Place, problem: str) -> Exception:
        return InvalidArgumentError(f"{shown(self._stream.name)}, record {place.number}: {problem}")

    def _record(self, offset: int, more: bool = True) -> Record | None:
        """The record at `offset`; None at the end of the file. It is read whole, unless `more` is False: then a record
        that is not there as a whole is None too.
        """
        need = 1
        while True:
            data, start = self._stream.window(offset, need)
            have = len(data) - start
            if not have:
                return None
            final = self._stream.ended
            found = self._split(data, start, final)
            if found is not None:
                if self._stream.failure is not None and found.after == len(data) and data[-1] not in (_LF, _CR):
                    return None  # the file is cut, and so may be this record
                return found._replace(after=offset + found.after - start)
            if not more:
                return None
            need = 2 * have

    def _split(self, data: bytes, at: int, final: bool) -> Record | None:
        """The record at `at`; None where it may go on after what has been read."""
        fields: list[bytes] = []
        problem = ""
        delimiter, quotes = self._form.delimiter[0], self._form.quotes
        while True:
            if at >= len(data):
                return Record([*fields, b""], at, problem) if final else None
            if quotes and data[at] == _QUOTE:
                field, at, wrong = _quoted(data, at, delimiter)
            else:
                match = self._plain.match(data, at)
                end = match.end() if match else at  # it always matches, nothing at least
                field, at = data[at:end], end
                wrong = "a field that is not in quotes has a quote in it" if quotes and b'"' in field else ""
            problem = problem or wrong
            fields.append(field)
            if at >= len(data) and not final:
                return None
            if at >= len(data):
                return Record(fields, at, problem)
            if data[at] == delimiter:
                at += 1
                continue
            if data[at] == _CR:
                if at + 1 >= len(data) and not final:
                    return None
                at += data[at + 1 : at + 2] == b"\n"
            return Record(fields, at + 1, problem)


def _quoted(data: bytes, at: int, delimiter: int) -> tuple[bytes, int, str]:
    """The field in quotes at `at`, the place after it, and what is wrong with it. It ends at a quote before a delimiter
    or a line end, or at the end of the data.
    """
    start, wrong = at + 1, ""
    at = start
    while True:
        end = data.find(b'"', at)
        if end < 0:
            return b"", len(data), wrong or "the file ends inside a field in quotes"
        if end + 1 >= len(data) or data[end + 1] in (delimiter, _LF, _CR):
            return data[start:end].replace(b'""', b'"'), end + 1, wrong
        if data[end + 1] != _QUOTE:
            wrong = wrong or "a quote inside a field in quotes must be doubled"
        at = end + 2
