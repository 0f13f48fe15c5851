"""The files of a viewer: each record by its number, whatever the format; a file that cannot be read says why."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import NotFoundError, OpError
from feedline.io.arrow.table import TableReader
from feedline.io.reader import FilePosition, Read, RecordReader
from feedline.kernels.entries import entries, kind_of, sequence_entries, spans, values
from feedline.structure.block import Array, Block, rows_of
from feedline.tools.shared.csv_fields import numbers_of
from feedline.tools.shared.formats import ARRAY_RECORD, CSV, JSONL, TAR, TFRECORD, DataFile, recognised
from feedline.tools.shared.inputs import display_error, display_name
from feedline.tools.shared.records import FEW, RECORD, csv_reader, feature_name, json_object, reader_of
from feedline.tools.view.places import APART, MarkPlaces, RecordPlaces, find_marks, known_places
from feedline.wire import WireError

MOST_PAGE_BYTES = 1 << 26
"""The most bytes of records that are read for a page; further ones are shown when they are opened."""
CLOSING_S = 0.3


class ViewedRow(NamedTuple):
    """A record: its number in the file and the values of its features; or why it cannot be shown."""

    number: int
    values: dict[str, Any]
    error: str = ""
    size: int | None = None
    left_out: bool = False
    """Whether it was not read because it is large."""


class ViewedFile:
    """One of the files."""

    def __init__(self, name: bytes, given: str | None = None) -> None:
        self.name, self._given = name, given
        self.source: DataFile | None = None
        self.error = ""
        self.counted = threading.Event()
        """Set when all records are known."""
        self.places: RecordPlaces = MarkPlaces()
        self._lock = threading.Lock()
        self._reader: RecordReader | None = None
        self._names: list[str] = []
        self._examples = False

    @property
    def shown(self) -> str:
        """The name as people see it."""
        return display_name(self.name)

    @property
    def count(self) -> int:
        """The number of records that are known so far."""
        return self.places.count

    # Finding out what it holds.

    def find_records(self, stopped: Callable[[], bool]) -> None:
        """Recognises the format and finds the places of all records. Never raises: `error` says what is wrong."""
        try:
            self.source = source = recognised(self.name, self._given)
            marks = MarkPlaces()
            self.places = marks
            self._begin(source, marks)
            known = known_places(source)
            if known is not None:
                self.places = known
            elif (error := find_marks(source, marks, stopped)) is not None:
                self.error = error_text(error)
        except Exception as e:  # whatever is wrong with one file, the others are shown
            self.error = error_text(e)
        finally:
            self.counted.set()

    def _begin(self, source: DataFile, marks: MarkPlaces) -> None:
        """The first records, which are shown while the others are found."""
        with self._lock:
            reader = self._opened(source)
            got, _ = _read(reader, FilePosition(), APART)
            while got.rows is None and got.place is not None:  # damaged records
                marks.add(got.place)
                got, _ = _read(reader, got.place, APART)
            if got.rows is not None and source.format in (TFRECORD, ARRAY_RECORD):
                self._examples = _mostly_examples(rows_of(got.rows.slice(0, FEW).columns[0]))
            if got.place is not None:
                marks.add(got.place)

    def _opened(self, source: DataFile) -> RecordReader:
        if self._reader is None:
            if source.format == CSV:
                self._reader, self._names = csv_reader(source)
            else:
                self._reader = reader_of(source)
        return self._reader

    # Reading records.

    def rows(self, numbers: Iterable[int], most_bytes: int = MOST_PAGE_BYTES) -> dict[int, ViewedRow]:
        """The records with these numbers. What exceeds `most_bytes` is left out, where sizes are known before reading;
        0 is no limit.
        """
        found: dict[int, ViewedRow] = {}
        wanted = []
        places, left = self.places, most_bytes
        for number in sorted(set(numbers)):
            size = places.size(number) if number < places.count else None
            if size is not None and size > left and most_bytes:
                found[number] = ViewedRow(number, {}, "", size, True)
            else:
                left -= size or 0
                wanted.append(number)
        with self._lock:
            try:
                self._add_rows(places, wanted, found)
            except Exception as e:
                self._close()
                for number in wanted:
                    found.setdefault(number, ViewedRow(number, {}, error_text(e)))
        return found

    def _add_rows(self, places: RecordPlaces, numbers: list[int], found: dict[int, ViewedRow]) -> None:
        if not numbers or self.source is None:
            return
        reader = self._opened(self.source)
        here: FilePosition | None = None
        for start, stop in _runs(numbers):
            nearest = places.at(start)
            if here is None or not nearest.number <= here.number <= start:
                here = nearest
            while here is not None and here.number < stop:
                first = here.number
                wanted = first >= start
                got, nulls = _read(reader, here, (stop if wanted else start) - first)
                if wanted and got.rows is not None:
                    found.update(self._rows_of(got.rows, first, nulls))
                elif wanted and got.error is not None:
                    found[first] = ViewedRow(first, {}, str(got.error))
                here = got.place

    def _rows_of(self, block: Block, first: int, nulls: dict[str, Array]) -> Iterator[tuple[int, ViewedRow]]:
        assert self.source is not None
        for i, made in enumerate(self._values(self.source, block, first, nulls)):
            if isinstance(made, str):
                yield first + i, ViewedRow(first + i, {}, made)
            else:
                yield first + i, ViewedRow(first + i, made)

    def _values(
        self, source: DataFile, block: Block, first: int, nulls: dict[str, Array]
    ) -> Iterator[dict[str, Any] | str]:
        if source.format in (TFRECORD, ARRAY_RECORD):
            for data in rows_of(block.columns[0]):
                yield _example(bytes(data)) if self._examples else {RECORD: bytes(data)}
        elif source.format == JSONL:
            for line in rows_of(block.columns[0]):
                yield _json(line)
        elif source.format == CSV:
            for fields in zip(*map(rows_of, block.columns), strict=True):
                yield {n: _field(f) for n, f in zip(self._names, fields, strict=True) if f}
        elif source.format == TAR:
            for files in zip(*map(rows_of, block.columns), strict=True):
                yield {n: f for n, f in zip(block.tree.keys, files, strict=True) if f}
        else:
            assert isinstance(self._reader, TableReader)
            paths = [leaf.path for leaf in self._reader.form.leaves]
            absent = {path: set(rows.tolist()) for path, rows in nulls.items()}
            others = _without_dtype(self._reader, first, block.n)
            for i, leaves in enumerate(zip(*map(rows_of, block.columns), strict=True)):
                held = zip(paths, leaves, strict=True)
                yield {path: leaf for path, leaf in held if i not in absent.get(path, ())} | others[i]

    def close(self) -> None:
        """Closes the file, unless it is being read for long."""
        if self._lock.acquire(timeout=CLOSING_S):
            try:
                self._close()
            finally:
                self._lock.release()

    def _close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(OpError, OSError):
                reader.close()


def error_text(error: Exception) -> str:
    """What is wrong with a file or a record, on one line; errors that are not feedline's are shown with their class."""
    text = display_error(error)
    return text if isinstance(error, OpError) and text else f"{type(error).__name__}: {text}"


def _read(reader: RecordReader, place: FilePosition, want: int) -> tuple[Read, dict[str, Array]]:
    """The next rows; of a table also which values are null."""
    if isinstance(reader, TableReader):
        return reader.read_with_nulls(place, want)
    return reader.read(place, want), {}


def _without_dtype(reader: TableReader, first: int, n: int) -> list[dict[str, Any]]:
    """The values of columns that arrays cannot hold, such as decimals and lists of structs, for each of some rows."""
    names = [name for name in reader.names if name not in reader.form.tree.keys]
    rows: list[dict[str, Any]] = [{} for _ in range(n)]
    if not names:
        return rows
    stored = reader.stored_rows(first, n)
    for name in names:
        for row, value in zip(rows, stored.column(name).to_pylist(), strict=True):
            _add_plain(row, name, value)
    return rows


def _add_plain(row: dict[str, Any], name: str, value: Any) -> None:
    """Adds a value; the fields of a struct have its name before theirs."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _add_plain(row, f"{name}.{key}", inner)
    elif value is not None:
        row[name] = _plain(value)


def _plain(value: Any) -> Any:
    """A value of numbers, strings, lists and dicts; decimals, dates and the like are text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str, bytes)) else str(value)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers of a sorted list: the first, and the one after the last."""
    array = np.asarray(numbers, np.int64)
    cuts = np.flatnonzero(np.diff(array) != 1) + 1
    for part in np.split(array, cuts):
        yield int(part[0]), int(part[-1]) + 1


def example_features(data: bytes) -> dict[str, Any] | None:
    """The features of a serialized Example; None if the bytes are something else.

    >>> from feedline.tools.view.files import example_features
    >>> example_features(fl.train.example({"label": 3}).SerializeToString())
    {'label': np.int64(3)}
    """
    found = _example(data) if _mostly_examples([data]) else None
    return found if isinstance(found, dict) else None


def _mostly_examples(records: Sequence[bytes]) -> bool:
    good = sum(done == 1 and not bare for done, bare, _ in (kernels.scan_examples([r]) for r in records))
    return 2 * good > len(records)


def _example(data: bytes) -> dict[str, Any] | str:
    """The features of an Example; feature lists of a SequenceExample are lists of steps."""
    try:
        made = {feature_name(key): _listed(data, span) for key, span in sorted(dict(entries(data)).items())}
        for key, (at, end) in sorted(sequence_entries(data)[1].items()):
            made[feature_name(key)] = [_listed(data, span) for span in spans(data, at, end)]
        return made
    except WireError as e:
        return f"not a valid Example: {e}"


def _listed(data: bytes, span: tuple[int, int]) -> Any:
    """The values of a feature: an array, or a list of strings."""
    if kind_of(data, span) is None:
        return []
    found = values(data, span)
    return found[0] if len(found) == 1 else found


def _json(line: bytes) -> dict[str, Any] | str:
    if not line.strip():
        return "an empty line"
    try:
        return json_object(line)
    except ValueError as e:
        return f"not a JSON object: {e}"


def _field(text: bytes) -> Any:
    """A field of a CSV file: a number if it is one, else text."""
    found = numbers_of([text])
    return text if found is None else found.item()


class ViewedFiles:
    """All files, with one numbering of their records."""

    def __init__(self, names: Sequence[bytes], given: str | None = None) -> None:
        self.files = [ViewedFile(name, given) for name in names]
        self._stopped = threading.Event()

    def find_records(self) -> None:
        """Finds the records of one file after the other."""
        for file in self.files:
            if not self._stopped.is_set():
                file.find_records(self._stopped.is_set)

    @property
    def complete(self) -> bool:
        """Whether all records of all files are known."""
        return all(file.counted.is_set() for file in self.files)

    @property
    def firsts(self) -> Array:
        """The number of the first record of each file, and the total, as far as they are known."""
        counts: list[int] = []
        for file in self.files:
            counted = file.counted.is_set()
            counts.append(file.count)
            if not counted:
                break
        return np.cumsum([0, *counts])

    @property
    def total(self) -> int:
        """The number of records that are known."""
        return int(self.firsts[-1])

    def rows(self, numbers: Sequence[int], most_bytes: int = MOST_PAGE_BYTES) -> list[tuple[int, ViewedRow]]:
        """The records with these numbers, in this order, each with the number of its file."""
        firsts = self.firsts
        if numbers and not 0 <= min(numbers) <= max(numbers) < firsts[-1]:
            raise NotFoundError(f"there is no record {max(numbers):,}; {int(firsts[-1]):,} are known")
        which = (np.searchsorted(firsts, numbers, "right") - 1).tolist()
        places = [(i, number - int(firsts[i])) for i, number in zip(which, numbers, strict=True)]
        by_file: dict[int, list[int]] = {}
        for i, number in places:
            by_file.setdefault(i, []).append(number)
        found = {i: self.files[i].rows(asked, most_bytes) for i, asked in by_file.items()}
        return [(i, found[i].get(n) or ViewedRow(n, {}, "this record cannot be read")) for i, n in places]

    def close(self) -> None:
        """Stops the search for records, and closes the files."""
        self._stopped.set()
        for file in self.files:
            file.close()
