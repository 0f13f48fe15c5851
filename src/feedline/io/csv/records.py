"""Records of CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import Column, problem, table
from feedline.io.files import shown
from feedline.io.reader import END, FilePosition, Read, RecordReader
from feedline.structure.block import Block, read_only
from feedline.structure.nest import flat
from feedline.structure.types import DType, as_dtype

AHEAD = 256
"""Records to read at once, even if fewer are requested: buffered rows cost a tenth of a separate read."""

MOST_RECORD = 1 << 26
"""The most bytes of a record: an unclosed quote would make one of the whole rest of the file."""

_CUT = 1
_TOO_LONG = -1
_PROBLEMS = {
    _TOO_LONG: f"it has more than {MOST_RECORD} bytes, so a quote may be unclosed; the rest of the file is not read",
    2: "an unquoted field contains a quote",
    4: "the file ends inside a quoted field",
}


class Format(NamedTuple):
    """How the records of a file are written, and which of their fields to read."""

    columns: tuple[Column, ...]
    header: bool = False
    delimiter: bytes = b","
    quotes: bool = True
    na_value: bytes = b""
    select: tuple[int, ...] = ()
    """The numbers of the fields to read; all if empty."""
    exclude: tuple[int, ...] = ()
    """The numbers of the fields to leave out."""

    def plain(self) -> tuple[Any, ...]:
        """The same as JSON values."""
        columns = tuple((c.dtype.name, _plain(c.default)) for c in self.columns)
        texts = self.delimiter.decode("latin-1"), self.na_value.decode("latin-1")
        return columns, self.header, texts[0], self.quotes, texts[1], self.select, self.exclude

    @classmethod
    def of_plain(cls, plain: Any) -> Format:
        """The format given to `plain`."""
        columns, header, delimiter, quotes, na_value, select, exclude = plain
        made = tuple(Column(as_dtype(name), _typed(as_dtype(name), default)) for name, default in columns)
        texts = delimiter.encode("latin-1"), na_value.encode("latin-1")
        return cls(made, header, texts[0], quotes, texts[1], tuple(select), tuple(exclude))


def _plain(default: Any) -> Any:
    return default.decode("latin-1") if isinstance(default, bytes) else None if default is None else default.item()


def _typed(dtype: DType, default: object) -> Any:
    if default is None:
        return None
    return default.encode("latin-1") if isinstance(default, str) else dtype.dtype.type(default)


class _Held(NamedTuple):
    """Buffered rows, the position of the first, and the offset at which each ends."""

    offset: int
    number: int
    rows: Block
    ends: Any

    def row_at(self, offset: int, number: int) -> int | None:
        """The index of the row at this position, or None."""
        i = number - self.number
        if not 0 <= i < self.rows.n or (self.ends[i - 1] if i else self.offset) != offset:
            return None
        return i


class CsvReader(RecordReader):
    """An open CSV file. `\\n`, `\\r` and `\\r\\n` end a record; in quotes they are part of a field."""

    kind = "csv"

    def __init__(self, name: bytes, form: Format, compression: str = "", buffer_size: int | None = None) -> None:
        self._form = form
        super().__init__(name, compression, buffer_size)
        self._table = table(form.columns, form.delimiter, form.quotes, form.na_value, form.select, form.exclude)
        # A header is a record without fields to read.
        self._header = self._table._replace(
            kinds=np.empty(0, np.uint8), defaults=[], wanted=np.empty(0, np.uint8), rest=False
        )
        self._held = _Held(0, 0, Block([], 0, flat(0)), None)

    def arguments(self) -> tuple[Any, ...]:
        """The format, as JSON values."""
        return (self._form.plain(),)

    @classmethod
    def of_recipe(cls, name: bytes, arguments: Sequence[Any], buffer_size: int | None) -> RecordReader:
        """Takes the format as plain values."""
        form, compression = arguments
        return cls(name, Format.of_plain(form), compression, buffer_size)

    def read(self, place: FilePosition, want: int) -> Read:
        """The next records, as far as they have been read ahead, up to a bad one."""
        offset, number = place
        if self._form.header and not offset:
            _, ends, stop, at, text, offset = self._records(0, 1, self._header)
            if stop:
                bad = self._error(place, f"in the header, {self._problem(stop, at, text)}")
                return Read(None, None if offset is None else FilePosition(offset), bad)
            if not len(ends):
                return Read(None, None, self._stream.failure or self._error(place, "the header is missing"))
        i = self._held.row_at(offset, number)
        if i is None:
            columns, ends, stop, at, text, after = self._records(offset, max(want, AHEAD), self._table)
            n = len(ends)
            if not n and not stop:
                return END if self._stream.failure is None else Read(None, None, self._stream.failure)
            if not n:
                bad = self._error(place, self._problem(stop, at, text))
                return Read(None, None if after is None else FilePosition(after, number + 1), bad)
            # Read-only, since a reader that goes back to an earlier position gets the same rows again.
            starts = np.concatenate([[offset], ends[:-1]])
            rows = Block([read_only(c) for c in columns], n, flat(len(columns)), self.provenance(0, starts))
            self._held, i = _Held(offset, number, rows, ends), 0
        held = self._held
        stop = min(i + want, held.rows.n)
        return Read(held.rows.slice(i, stop), FilePosition(int(held.ends[stop - 1]), number + stop - i))

    def _records(self, offset: int, want: int, fields: Any) -> tuple[Any, ...]:
        """The kernel's output for the records at `offset`, at least one of them complete, with positions in the file. A
        record truncated by damage of the file is not reported.
        """
        need = 1
        while True:
            data, start = self._stream.window(offset, need)
            final = self._stream.ended and (self._stream.failure is None or data[-1:] in (b"\n", b"\r"))
            columns, ends, stop, at, text, after = kernels.csv_records(data, start, want, final, *fields)
            if stop != _CUT or len(ends) or self._stream.ended:
                return columns, ends + (offset - start), 0 if stop == _CUT else stop, at, text, offset - start + after
            have = len(data) - start
            if have > MOST_RECORD:
                return columns, ends, _TOO_LONG, at, text, None
            need = min(2 * have, MOST_RECORD) + 1

    def _problem(self, stop: int, at: int, text: bytes) -> str:
        return _PROBLEMS.get(stop) or problem(stop, at, text, self._form.columns)

    def _error(self, place: FilePosition, wrong: str) -> Exception:
        return InvalidArgumentError(
            f"{shown(self._stream.name)}, record {place.number} (byte {place.offset}): {wrong}"
        )
