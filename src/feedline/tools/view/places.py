"""Places of records: from where on a file is read for the record with a given number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from feedline.errors import DataLossError, FailedPreconditionError, OpError
from feedline.io.reader import CountedReader, FilePosition
from feedline.io.tfrecord import index as indexing
from feedline.io.tfrecord.index import Index
from feedline.tools.shared.formats import TFRECORD, DataFile
from feedline.tools.shared.records import AT_ONCE, reader_of

APART = 1024
"""The most records between two marks."""
APART_BYTES = 1 << 22


class RecordPlaces(Protocol):
    """Where the records of a file are."""

    @property
    def count(self) -> int:
        """The number of records that are known."""

    def at(self, number: int) -> FilePosition:
        """A place at or before this record."""

    def size(self, number: int) -> int | None:
        """The bytes that the record takes in the file, where that is known without reading it."""


class IndexPlaces:
    """The places in the index of a TFRecord file: exact."""

    def __init__(self, index: Index) -> None:
        self._starts = index.starts
        self.count = len(index)

    def at(self, number: int) -> FilePosition:
        """The record's own place."""
        return FilePosition(int(self._starts[number]), number)

    def size(self, number: int) -> int | None:
        """The size of the record with its frame."""
        return int(self._starts[number + 1]) - int(self._starts[number])


class NumberPlaces:
    """The places in a file whose reader takes the numbers of records."""

    def __init__(self, count: int) -> None:
        self.count = count

    def at(self, number: int) -> FilePosition:
        """The number itself."""
        return FilePosition(number, number)

    def size(self, number: int) -> int | None:
        """Unknown."""
        return None


class MarkPlaces:
    """Marks at some records of a file that is read from its beginning; the others are counted from there.

    >>> from feedline.io.reader import FilePosition
    >>> from feedline.tools.view.places import MarkPlaces
    >>> places = MarkPlaces()
    >>> places.add(FilePosition(9000, 2000))
    >>> places.count, places.at(1999), places.at(2000)
    (2000, FilePosition(offset=0, number=0), FilePosition(offset=9000, number=2000))
    """

    def __init__(self) -> None:
        self._marks = [FilePosition()]
        self.count = 0

    def add(self, place: FilePosition) -> None:
        """Notes the place after records that have been read."""
        last = self._marks[-1]
        if place.number - last.number >= APART or place.offset - last.offset >= APART_BYTES:
            self._marks.append(place)
        self.count = place.number

    def at(self, number: int) -> FilePosition:
        """The last mark up to this record."""
        return self._marks[bisect_right(self._marks, number, key=lambda mark: mark.number) - 1]

    def size(self, number: int) -> int | None:
        """Unknown."""
        return None


def known_places(source: DataFile) -> RecordPlaces | None:
    """The places that a file gives away: it stores the number of its records, or has an index, or gets one now. None if
    it has to be read.
    """
    if source.format == TFRECORD:
        if source.compression or b"://" in source.name:
            return None
        try:
            return IndexPlaces(indexing.indexes([source.name], None, False)[0])
        except (DataLossError, FailedPreconditionError):  # damaged: what can be read is found by reading it
            return None
    with closing(reader_of(source)) as reader:
        count = reader.count if isinstance(reader, CountedReader) else None
    return None if count is None else NumberPlaces(count)


def find_marks(source: DataFile, places: MarkPlaces, stopped: Callable[[], bool]) -> OpError | None:
    """Reads a file and adds marks. Returns the error after which it cannot be read further; damaged records that it
    goes on after count as records.
    """
    place = FilePosition()
    with closing(reader_of(source)) as reader:
        while not stopped():
            got = reader.read(place, APART if place.number < AT_ONCE else AT_ONCE)
            if got.place is None:
                error = got.error
                return error if error is None or isinstance(error, OpError) else DataLossError(str(error))
            place = got.place
            places.add(place)
    return None
