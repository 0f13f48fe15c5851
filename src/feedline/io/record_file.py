"""Files of records: the records at given locations, and the location and number of a record in words.

Readers register themselves here by their `kind`, the first part of a file's recipe.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, OpError
from feedline.io import unchanged
from feedline.io.files import shown, system_path
from feedline.provenance.codec import marks
from feedline.provenance.files import FileNumber, by_file
from feedline.provenance.identity import UNKNOWN, Identity
from feedline.provenance.rows import Provenance
from feedline.sharing import Guard
from feedline.structure.block import Array, Block, concat

if TYPE_CHECKING:
    from feedline.io.reader import RecordReader

ROWS = 4096
COUNTED = 1 << 30
"""Bytes read in total to find record numbers for error messages."""
COUNTED_FILES = 4
SPARSE = 1 << 18
"""Records that are further apart than this on average are read with a small buffer, to skip the bytes between them."""

_readers: dict[str, type[RecordReader]] = {}


def register_reader(kind: str, reader: type[RecordReader]) -> None:
    """Registers the reader class that checkpoints call `kind`. Subclasses of `RecordReader` with a `kind` are
    registered automatically.
    """
    if kind in _readers:
        raise TypeError(f"both {_readers[kind].__name__} and {reader.__name__} are readers of the kind {kind!r}")
    _readers[kind] = reader


class FilePosition(NamedTuple):
    """A position in a file: the byte, after decompression, and the number of the record that begins there."""

    offset: int = 0
    number: int = 0


class RecordFile(NamedTuple):
    """A file in the version that was opened, and how to read it: implements `provenance.files.File`."""

    recipe: tuple[Any, ...]
    name: bytes
    size: int
    mtime: int
    version: str = ""
    folder: bytes = b""
    """The working directory when it was opened, if its name is relative."""

    @classmethod
    def of(cls, recipe: tuple[Any, ...], name: bytes, identity: Identity) -> RecordFile:
        """The file that has this name now."""
        here = system_path(name)
        folder = b"" if here is None or os.path.isabs(here) else os.getcwdb()
        return cls(recipe, name, identity.size, identity.time, identity.version, folder)

    @classmethod
    def current(cls, recipe: tuple[Any, ...], name: bytes, mark: Sequence[Any]) -> RecordFile:
        """The current version of a file; the one with this mark if it is missing."""
        try:
            return cls.of(recipe, name, unchanged.identity_of(name))
        except OpError:
            return cls(recipe, name, mark[0], mark[1])

    @property
    def absolute(self) -> RecordFile:
        """The file by a name that is valid in any working directory."""
        if not self.folder:
            return self
        return self._replace(name=os.path.join(self.folder, system_path(self.name) or self.name), folder=b"")

    @property
    def identity(self) -> Identity:
        """The identity of that version."""
        return Identity(self.size, self.mtime, self.version)

    def mark(self) -> list[Any]:
        """A mark by which a later check tells whether the file has changed."""
        return unchanged.mark_of(self.name, self.identity)

    def describe(self, offset: int) -> str:
        """The file, record and byte, as error messages show them."""
        record = _counted.number(self, offset)
        return f"{shown(self.name)}, {'' if record is None else f'record {record}, '}byte {offset}"

    def opened(self, buffer_size: int | None = None) -> RecordReader:
        """A reader of the current version of the file."""
        kind, *arguments = self.recipe
        return _readers[kind].of_recipe(self.name, arguments, buffer_size)

    def no_record(self, offset: int) -> FailedPreconditionError:
        """The error for a missing record."""
        return FailedPreconditionError(
            f"{shown(self.name)} has no record at byte {offset}, where it had one before: the file has "
            "changed; restore the file, or start a new epoch"
        )


def any_changed(plain: Any) -> bool:
    """Whether a file behind packed locations has changed, or may have."""
    return any(
        mark[2] == UNKNOWN or RecordFile.current((), name, mark).identity != Identity(*mark[:2])
        for name, mark in marks(plain)
    )


# Records by location.


def rows_at(provenance: Provenance) -> Block:
    """The records at these locations, in their order. Each file is read once, forwards."""
    ordered, back = np.unique(provenance.numbers(), return_inverse=True)
    parts = list(_by_file(ordered))
    if len(parts) > 1 and any(file.recipe[-1] for file, *_ in parts):  # compressed: each read up to its last offset
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1), "feedline-restore") as pool:
            blocks = list(pool.map(lambda part: _rows_of(*part), parts))
    else:
        blocks = [_rows_of(*part) for part in parts]
    return concat(blocks).take(back)


def _by_file(ordered: Array) -> Iterator[tuple[RecordFile, FileNumber, Array]]:
    """For ascending locations: each file, its number, and the offsets in it."""
    for number, start, stop in by_file(ordered):
        assert isinstance(number.file, RecordFile)
        yield number.file, number, ordered[start:stop] - number.base


def _rows_of(file: RecordFile, number: FileNumber, offsets: Array) -> Block:
    gap = int(offsets[-1] - offsets[0]) // len(offsets)
    reader = file.opened(1 << 16 if gap > SPARSE and not file.recipe[-1] else None)
    found: list[Block] = []
    at = 0
    try:
        while at < len(offsets):
            block = _block_at(reader, file, int(offsets[at]))
            if block.provenance is None or reader.number is None:
                raise file.no_record(int(offsets[at]))
            starts = block.provenance.numbers() - reader.number.base
            wanted = offsets[at : at + int(np.searchsorted(offsets[at:], starts[-1], "right"))]
            index = np.searchsorted(starts, wanted)
            wrong = np.flatnonzero(starts[index] != wanted)
            if len(wrong):
                raise file.no_record(int(wanted[wrong[0]]))
            found.append(block.take(index))
            at += len(wanted)
    finally:
        reader.close()
    rows = concat(found)
    rows.provenance = Provenance(number.base, offsets, (number,))
    return rows


def _block_at(reader: RecordReader, file: RecordFile, offset: int) -> Block:
    got = reader.read(FilePosition(offset, 0), ROWS)
    if got.rows is None:
        raise file.no_record(offset) from got.error
    return got.rows


class Sample(NamedTuple):
    """The origin of a row: the file, the number of the record in it, and the byte at which it begins, after
    decompression. Rows in memory have no file; their record is the number of the row.
    """

    file: str | None
    record: int
    offset: int | None = None


def samples(provenance: Provenance) -> list[Sample]:
    """The samples at these locations. Files are read up to the last offset, to count their records."""
    numbers = provenance.numbers()
    found = [Sample(None, -1 - n) for n in numbers.tolist()]
    ordered, back = np.unique(numbers[numbers >= 0], return_inverse=True)
    named: list[Sample] = []
    for file, _, offsets in _by_file(ordered):
        records = _record_numbers(file, offsets)
        named += [Sample(shown(file.name), *pair) for pair in zip(records, offsets.tolist(), strict=True)]
    for i, k in zip(np.flatnonzero(numbers >= 0).tolist(), back.tolist(), strict=True):
        found[i] = named[k]
    return found


def _record_numbers(file: RecordFile, offsets: Array) -> list[int]:
    """The numbers of the records at these offsets."""
    records = _Records(file)
    records.read_to(int(offsets[-1]))
    begins = records.begins
    at = np.searchsorted(begins, offsets)
    wrong = np.flatnonzero(begins[np.minimum(at, len(begins) - 1)] != offsets) if len(begins) else np.arange(1)
    if len(wrong):
        raise file.no_record(int(offsets[wrong[0]]))
    return [int(i) for i in at]


class _Records:
    """The offsets of a file's records, as far as it has been read for them."""

    def __init__(self, file: RecordFile) -> None:
        self.file, self.begins = file, np.empty(0, np.int64)
        self._place: Any = None

    @property
    def end(self) -> int:
        """The offset up to which the file has been read."""
        return 0 if self._place is None else int(self._place.offset)

    def read_to(self, offset: int) -> None:
        """Reads further, past the record at `offset`."""
        reader, place, found = self.file.opened(), self._place or FilePosition(), [self.begins]
        try:
            while place.offset <= offset:
                got = reader.read(place, ROWS)
                if got.place is None:
                    break
                if got.rows is not None and got.rows.provenance is not None:
                    found.append(got.rows.provenance.numbers() - (reader.number.base if reader.number else 0))
                place = got.place
        finally:
            reader.close()
        self._place, self.begins = place, np.concatenate(found)


class _Counted:
    """Record numbers for error messages. Counting has a limit, since a run that ignores errors may meet many."""

    def __init__(self) -> None:
        self._left = COUNTED
        self._files: list[_Records] = []
        self._lock = Guard()

    def number(self, file: RecordFile, offset: int) -> int | None:
        """The number of the record at `offset`; None if it takes too long to find, or cannot be found."""
        with self._lock:
            try:
                return self._number(file, offset)
            except Exception:  # the file is missing or replaced: that must not hide the error being reported
                return None

    def _number(self, file: RecordFile, offset: int) -> int | None:
        if b"://" in file.name:
            return None
        records = next((r for r in self._files if r.file == file), None) or _Records(file)
        self._files = [records, *(r for r in self._files if r is not records)][:COUNTED_FILES]
        if records.end <= offset:
            before = 0 if file.recipe[-1] else records.end  # compressed files are read from their beginning
            if offset - before > self._left:
                return None
            records.read_to(offset)
            self._left -= records.end - before
        at = int(np.searchsorted(records.begins, offset))
        return at if at < len(records.begins) and records.begins[at] == offset else None


_counted = _Counted()
