"""What all file readers share: positions in a file, and the results of a read.

A reader returns the rows from a given position on, with the position after them. It keeps no state that matters, so a
checkpoint needs only the position. Rows carry their provenance, so a checkpoint stores that in place of the buffered
rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.io.record_file import FilePosition as FilePosition
from feedline.io.record_file import RecordFile, register_reader
from feedline.io.stream import Plain, Stream
from feedline.provenance.files import number_of
from feedline.provenance.rows import Provenance
from feedline.structure.block import Array, Block, Bytes
from feedline.structure.nest import LEAF


class Read(NamedTuple):
    """The result of one read.

        rows  place   error
        some  after           rows; those before a bad record come alone, the next call meets the bad one
        None  None            the end of the file
        None  after   some    a record that cannot be read; the file goes on after it
        None  None    some    the rest of the file cannot be read

    `lost` is the number of bytes skipped with a bad record, if known.
    """

    rows: Block | None
    place: FilePosition | None = None
    error: Exception | None = None
    lost: int | None = None


END = Read(None)


def strings(parts: Sequence[bytes | memoryview]) -> Block:
    """A block of these strings, in one buffer."""
    offsets = np.fromiter(accumulate(map(len, parts), initial=0), np.int64, len(parts) + 1)
    return Block([Bytes(np.frombuffer(b"".join(parts), np.uint8), offsets)], len(parts), LEAF)


class RecordReader:
    """An open file of records. Subclasses define what a record is."""

    kind: ClassVar[str] = ""
    """The name of this class of readers in checkpoints; empty if single rows cannot be read again by position."""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            register_reader(cls.kind, cls)

    def __init__(
        self, name: bytes, compression: str = "", buffer_size: int | None = None, plain: Plain | None = None
    ) -> None:
        self._stream = Stream(name, compression, buffer_size, plain)
        known, recipe = self._stream.identity, self.recipe()
        self.file = None if known is None else RecordFile.of(recipe or (), name, known)
        # Rows of remote files are kept in checkpoints themselves: reading them again would take a request each.
        recomputable = recipe is not None and self._stream.here
        self.number = number_of(self.file) if recomputable and self.file is not None else None
        self._files = () if self.number is None else (self.number,)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments with which `of_recipe` makes an equal reader, as JSON values."""
        return ()

    def recipe(self) -> tuple[Any, ...] | None:
        """How to make an equal reader of another file: kind, arguments and compression. None if single rows cannot be
        read again by position.
        """
        return (self.kind, *self.arguments(), self._stream.compression) if self.kind else None

    @classmethod
    def of_recipe(cls, name: bytes, arguments: Sequence[Any], buffer_size: int | None) -> RecordReader:
        """A reader made from these arguments, the last of which is the compression."""
        make: Callable[..., RecordReader] = cls
        return make(name, *arguments, buffer_size=buffer_size)

    def provenance(self, offset: int, offsets: Array) -> Provenance | None:
        """The provenance of rows that begin at `offset + offsets[i]` of this file."""
        return None if self.number is None else Provenance(self.number.base + offset, offsets, self._files)

    def read(self, place: FilePosition, want: int) -> Read:
        """At most `want` rows from `place` on; at least one, unless the file ends there or the record is bad."""
        raise TypeError(f"{type(self).__name__} does not define read")

    def locate(self, place: FilePosition, want: int) -> Read:
        """As `read`, but the rows may be `Unread`: verified, and known by their addresses only."""
        return self.read(place, want)

    def check_unchanged(self) -> None:
        """Raises if the file could not be read to its end, or has been truncated or replaced since it was opened.
        Called at its end.
        """
        self._stream.check_unchanged()

    def doubt(self) -> None:
        """Marks the file as damaged: a checkpoint then records only its length, so that it may be repaired."""
        if self.file is not None:
            self.file = self.file._replace(mtime=0, version="")

    def begin(self) -> None:
        """Starts reading ahead before anything is needed, if that takes long."""
        self._stream.begin()

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


class CountedReader(RecordReader):
    """An open file whose rows can be read by number."""

    @property
    def count(self) -> int | None:
        """The number of rows; None if the file does not store it."""
        raise TypeError(f"{type(self).__name__} does not define count")

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        raise TypeError(f"{type(self).__name__} does not define take")
