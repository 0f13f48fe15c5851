"""Record locations: numbers that stand for records in files, and the records read back by them.

A number stands for a file, in the version that was opened, and a byte in it (after decompression). Numbers are valid in
this process only; `packed` turns them into values that a checkpoint can hold, `unpacked` reverses that.
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, OpError
from feedline.io import identity
from feedline.io.files import shown
from feedline.io.remote import Identity
from feedline.sharing import Guard
from feedline.structure.block import Array, Block, Provenance, concat
from feedline.structure.provenance import register_describer

if TYPE_CHECKING:
    from feedline.io.reader import RecordReader

SHIFT = 42
"""Bits for the offset in a file: 4 TiB, which leaves room for two million files."""

ROWS = 4096
COUNTED = 1 << 30
"""Bytes read in total to find record numbers for error messages."""
COUNTED_FILES = 4
MOST_PLACES = 1 << 40
RATIO = 1040
"""The most bytes that one compressed byte expands to: 1,032 for zlib, and a margin."""
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


class File(NamedTuple):
    """A file in the version that was opened, and how to read it."""

    recipe: tuple[Any, ...]
    name: bytes
    size: int
    mtime: int
    version: str = ""

    @property
    def identity(self) -> Identity:
        """The identity of that version."""
        return Identity(self.size, self.mtime, self.version)


class _Known:
    """The table of all files with record locations."""

    def __init__(self) -> None:
        self.files: list[File] = []
        self.numbers: dict[File, int] = {}
        self.lock = Guard()

    def number(self, file: File) -> int:
        with self.lock:
            number = self.numbers.setdefault(file, len(self.files))
            if number == len(self.files):
                self.files.append(file)
            return number


_known = _Known()


def base_of(file: File) -> int | None:
    """The number of the first byte of a file; None if it is too large, or there are too many files."""
    number = _known.number(file)
    return number << SHIFT if number < 1 << (62 - SHIFT) and file.size < 1 << SHIFT else None


def file_of(number: int) -> File:
    """The file that a number lies in."""
    return _known.files[number >> SHIFT]


def described_location(number: int) -> str:
    """The file, record and byte that a number stands for, as error messages show them; empty in a process that has not
    read the file.
    """
    if number >> SHIFT >= len(_known.files):
        return ""
    file, offset = file_of(number), number & ((1 << SHIFT) - 1)
    record = _counted.number(file, offset)
    return f"{shown(file.name)}, {'' if record is None else f'record {record}, '}byte {offset}"


register_describer(described_location)


def by_file(ordered: Array) -> Iterator[tuple[File, int, int, int]]:
    """For ascending numbers: each file with the number of its first byte, and the range of its numbers among them."""
    which = ordered >> SHIFT
    starts = np.flatnonzero(np.diff(which, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(ordered)]):
        number = int(which[start])
        yield _known.files[number], number << SHIFT, start, stop


# Records by number.


def rows_at(numbers: Array) -> Block:
    """The records at these numbers, in their order. Each file is read once, forwards."""
    ordered, back = np.unique(numbers, return_inverse=True)
    parts = [(file, base, ordered[start:stop] - base) for file, base, start, stop in by_file(ordered)]
    if len(parts) > 1 and any(file.recipe[-1] for file, _, _ in parts):  # compressed: each read up to its last offset
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1), "feedline-restore") as pool:
            blocks = list(pool.map(lambda part: _rows_of(*part), parts))
    else:
        blocks = [_rows_of(*part) for part in parts]
    return concat(blocks).take(back)


def _rows_of(file: File, base: int, offsets: Array) -> Block:
    gap = int(offsets[-1] - offsets[0]) // len(offsets)
    reader = opened(file, 1 << 16 if gap > SPARSE and not file.recipe[-1] else None)
    found: list[Block] = []
    at = 0
    try:
        while at < len(offsets):
            block = _block_at(reader, file, int(offsets[at]))
            if block.provenance is None or reader.base is None:
                raise no_record(file, int(offsets[at]))
            starts = block.provenance.numbers() - reader.base
            wanted = offsets[at : at + int(np.searchsorted(offsets[at:], starts[-1], "right"))]
            index = np.searchsorted(starts, wanted)
            wrong = np.flatnonzero(starts[index] != wanted)
            if len(wrong):
                raise no_record(file, int(wanted[wrong[0]]))
            found.append(block.take(index))
            at += len(wanted)
    finally:
        reader.close()
    rows = concat(found)
    rows.provenance = Provenance(base, offsets)
    return rows


def _block_at(reader: RecordReader, file: File, offset: int) -> Block:
    got = reader.read(FilePosition(offset, 0), ROWS)
    if got.rows is None:
        raise no_record(file, offset) from got.error
    return got.rows


def opened(file: File, buffer_size: int | None = None) -> RecordReader:
    """A reader of the current version of the file."""
    kind, *arguments = file.recipe
    return _readers[kind].of_recipe(file.name, arguments, buffer_size)


def no_record(file: File, offset: int) -> FailedPreconditionError:
    """The error for a missing record."""
    return FailedPreconditionError(
        f"{shown(file.name)} has no record at byte {offset}, where there was one when it was read first: the file has "
        "changed; put the file back, or start the epoch anew"
    )


class Sample(NamedTuple):
    """The origin of a row: the file, the number of the record in it, and the byte at which it begins, after
    decompression. Rows in memory have no file; their record is the number of the row.
    """

    file: str | None
    record: int
    offset: int | None = None


def samples(numbers: Array) -> list[Sample]:
    """The samples at these numbers; negative numbers stand for rows in memory. Files are read up to the last offset, to
    count their records.
    """
    found = [Sample(None, -1 - n) for n in numbers.tolist()]
    ordered, back = np.unique(numbers[numbers >= 0], return_inverse=True)
    named: list[Sample] = []
    for file, base, start, stop in by_file(ordered):
        offsets = ordered[start:stop] - base
        records = _record_numbers(file, offsets)
        named += [Sample(shown(file.name), *pair) for pair in zip(records, offsets.tolist(), strict=True)]
    for i, k in zip(np.flatnonzero(numbers >= 0).tolist(), back.tolist(), strict=True):
        found[i] = named[k]
    return found


def _record_numbers(file: File, offsets: Array) -> list[int]:
    """The numbers of the records at these offsets."""
    records = _Records(file)
    records.read_to(int(offsets[-1]))
    begins = records.begins
    at = np.searchsorted(begins, offsets)
    wrong = np.flatnonzero(begins[np.minimum(at, len(begins) - 1)] != offsets) if len(begins) else np.arange(1)
    if len(wrong):
        raise no_record(file, int(offsets[wrong[0]]))
    return [int(i) for i in at]


class _Records:
    """The offsets of a file's records, as far as it has been read for them."""

    def __init__(self, file: File) -> None:
        self.file, self.begins = file, np.empty(0, np.int64)
        self._place: Any = None

    @property
    def end(self) -> int:
        """The offset up to which the file has been read."""
        return 0 if self._place is None else int(self._place.offset)

    def read_to(self, offset: int) -> None:
        """Reads further, past the record at `offset`."""
        reader, place, found = opened(self.file), self._place or FilePosition(), [self.begins]
        try:
            while place.offset <= offset:
                got = reader.read(place, ROWS)
                if got.place is None:
                    break
                if got.rows is not None and got.rows.provenance is not None:
                    found.append(got.rows.provenance.numbers() - (reader.base or 0))
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

    def number(self, file: File, offset: int) -> int | None:
        """The number of the record at `offset`; None if it takes too long to find, or cannot be found."""
        with self._lock:
            try:
                return self._number(file, offset)
            except Exception:  # the file is missing or replaced: that must not hide the error being reported
                return None

    def _number(self, file: File, offset: int) -> int | None:
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

# Whether a file has changed.


def mark_of(file: File) -> list[Any]:
    """A mark by which a later check tells whether the file has changed."""
    return identity.mark_of(file.name, file.identity)


class Expected(NamedTuple):
    """Placeholder for a file that was open when a checkpoint was made, until it is reopened."""

    name: bytes
    mark: list[Any]

    def close(self) -> None:
        """Does nothing: no file is open."""


# Numbers in checkpoints.


def packed(numbers: Array) -> list[Any]:
    """Numbers as JSON values: the files with their first offsets, the steps between ascending offsets, and the
    permutation that restores the order of the numbers.
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    files = []
    steps = np.zeros(len(ordered), np.int64)
    steps[1:] = np.diff(ordered)
    for file, base, start, stop in by_file(ordered):
        steps[start] = 0
        name = base64.b64encode(file.name).decode()
        files.append([list(file.recipe), name, mark_of(file), stop - start, int(ordered[start]) - base])
    width = max(1, (int(steps.max(initial=0)).bit_length() + 7) // 8)
    # One plane per byte: the high ones are nearly all zero and compress to almost nothing.
    planes = steps.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].T
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    rising = bool((order[1:] > order[:-1]).all())
    columns = [((places >> b) & 1).astype(np.uint8) for b in range(0 if rising else _bits(len(order)))]
    ranks = np.packbits(np.stack(columns, axis=1)).tobytes() if columns else b""
    data = zlib.compress(planes.tobytes(), 1)
    return [len(order), files, width, base64.b64encode(data).decode(), base64.b64encode(ranks).decode()]


def any_changed(plain: Any) -> bool:
    """Whether a file behind packed numbers has changed."""
    files = [_as_now((), base64.b64decode(name), mark) for _, name, mark, *_ in plain[1]]
    marks = [mark for _, _, mark, *_ in plain[1]]
    return any(m[2] == identity.UNKNOWN or f.identity != Identity(*m[:2]) for f, m in zip(files, marks, strict=True))


def unpacked(plain: Any, strict: bool = True, check: Callable[[Any, bytes], None] | None = None) -> Array:
    """The numbers given to `packed`, in their order. With `strict`, files must be unchanged; `check` is called with the
    recipe and name of each file before it is opened.
    """
    n, files, width, data, ranks = plain
    steps, places = _steps(n, width, base64.b64decode(data)), _order(n, base64.b64decode(ranks))
    if sum(count for *_, count, _ in files) != n or any(count < 1 or first < 0 for *_, count, first in files):
        raise ValueError("places of rows that do not fit their files")
    ordered = np.empty(n, np.int64)
    at = 0
    for recipe, name_, mark, count, first in files:
        name = base64.b64decode(name_)
        if check is not None:
            check(_tuples(recipe), name)
        if strict:
            identity.must_be_same(name, mark)
        base = base_of(_as_now(_tuples(recipe), name, mark))
        offsets = first + np.cumsum(steps[at : at + count])
        if base is None or steps[at] or int(offsets[-1]) >= 1 << SHIFT:
            raise ValueError(f"places beyond the end of {shown(name)}")
        ordered[at : at + count] = base + offsets
        at += count
    return ordered[places]


def _steps(n: int, width: int, packed: bytes) -> Array:
    """The steps between offsets. No more is decompressed than `n` steps take, and exactly that."""
    if not 0 <= n <= MOST_PLACES or not 1 <= width <= 8 or n * width > len(packed) * RATIO:
        raise ValueError(f"{n} places in {len(packed)} bytes")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(packed, n * width + 1)
    if len(raw) != n * width or not unpacker.eof:
        raise ValueError(f"{n} places of {width} bytes in other than {n * width} bytes")
    wide = np.zeros((n, 8), np.uint8)
    wide[:, :width] = np.frombuffer(raw, np.uint8).reshape(width, n).T
    steps = wide.ravel().view("<i8").astype(np.int64)
    if n and (int(steps.min()) < 0 or float(steps.sum(dtype=np.float64)) >= 1 << 62):
        raise ValueError("places that go backwards")
    return steps


def _order(n: int, ranks: bytes) -> Array:
    """The permutation of the offsets; empty `ranks` mean ascending order."""
    if not ranks:
        return np.arange(n)
    places, bits = np.zeros(n, np.int64), _bits(n)
    if len(ranks) != -(-n * bits // 8):
        raise ValueError(f"the order of {n} places in {len(ranks)} bytes")
    ones = np.unpackbits(np.frombuffer(ranks, np.uint8))[: n * bits].reshape(n, bits)
    for b in range(bits):
        places |= ones[:, b].astype(np.int64) << b
    if int(places.max(initial=0)) >= n or int(np.bincount(places, minlength=n).max(initial=0)) > 1:
        raise ValueError("an order in which a place comes twice")
    return places


def _as_now(recipe: tuple[Any, ...], name: bytes, mark: Sequence[int]) -> File:
    """The current version of the file; the one recorded if it is missing."""
    try:
        return File(recipe, name, *identity.identity_of(name))
    except OpError:
        return File(recipe, name, mark[0], mark[1])


def _bits(n: int) -> int:
    return max(0, n - 1).bit_length()


def _tuples(value: object) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
