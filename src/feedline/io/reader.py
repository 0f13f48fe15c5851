"""What all file readers share: where they stand, and what they give.

A reader is asked for rows from a place on and gives them together with the place after them. It remembers nothing that
matters, so a place is all a checkpoint needs. The rows say where they come from (see `places`), so that a checkpoint
needs no more than that of rows which wait somewhere, either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.io import record_locations
from feedline.io.record_locations import FilePosition as FilePosition
from feedline.io.stream import Plain, Stream
from feedline.structure.block import Array, Block, Bytes, Provenance
from feedline.structure.nest import LEAF


class Read(NamedTuple):
    """One answer of a reader.

    rows  place   error
    some  after           rows; the records before a bad one come alone, the bad one is met by the next call
    None  None            the end of the file
    None  after   some    a record that cannot be read; the file goes on after it
    None  None    some    the rest of the file cannot be read

    `lost` are the bytes that were passed over with a bad record, where they have been counted.
    """

    rows: Block | None
    place: FilePosition | None = None
    error: Exception | None = None
    lost: int | None = None


END = Read(None)


def strings(parts: Sequence[bytes | memoryview]) -> Block:
    """A block whose rows are these strings, in one buffer."""
    offsets = np.fromiter(accumulate(map(len, parts), initial=0), np.int64, len(parts) + 1)
    return Block([Bytes(np.frombuffer(b"".join(parts), np.uint8), offsets)], len(parts), LEAF)


class RecordReader:
    """An open file of records. Subclasses say what a record is."""

    kind: ClassVar[str] = ""
    """What checkpoints call readers of this class; empty where rows cannot be read from where they begin."""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            record_locations.register_reader(cls.kind, cls)

    def __init__(
        self, name: bytes, compression: str = "", buffer_size: int | None = None, plain: Plain | None = None
    ) -> None:
        self._stream = Stream(name, compression, buffer_size, plain)
        known, recipe = self._stream.identity, self.recipe()
        self.file = None if known is None else record_locations.File(recipe or (), name, *known)
        # Rows of files that are elsewhere are kept themselves: to read them again would take a request for each.
        recomputable = recipe is not None and self._stream.here
        self.base = record_locations.base_of(self.file) if recomputable and self.file is not None else None

    def arguments(self) -> tuple[Any, ...]:
        """What `of_recipe` is given to make such a reader: values of the plain kinds that JSON has."""
        return ()

    def recipe(self) -> tuple[Any, ...] | None:
        """How to make such a reader for another file: its kind, its arguments, and the compression. None where rows
        cannot be read from the place at which they begin.
        """
        return (self.kind, *self.arguments(), self._stream.compression) if self.kind else None

    @classmethod
    def of_recipe(cls, name: bytes, arguments: Sequence[Any], buffer_size: int | None) -> RecordReader:
        """A reader with these arguments, the compression the last of them."""
        make: Callable[..., RecordReader] = cls
        return make(name, *arguments, buffer_size=buffer_size)

    def provenance(self, offset: int, offsets: Array) -> Provenance | None:
        """That of rows which begin at `offset + offsets[i]` of this file."""
        return None if self.base is None else Provenance(self.base + offset, offsets)

    def read(self, place: FilePosition, want: int) -> Read:
        """At most `want` rows from `place` on, at least one unless the file ends there or the record is bad."""
        raise TypeError(f"{type(self).__name__} reads nothing")

    def must_be_whole(self) -> None:
        """Raises at the end of a file that has become shorter since it was opened, or was replaced."""
        self._stream.must_be_whole()

    def doubt(self) -> None:
        """It could not be read: a checkpoint says how long it was, and nothing else that would keep one from mending
        it.
        """
        if self.file is not None:
            self.file = self.file._replace(mtime=0, version="")

    def begin(self) -> None:
        """Begins to read ahead, where that takes long, though nothing is wanted yet."""
        self._stream.begin()

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


class CountedReader(RecordReader):
    """An open file whose rows can be had by number."""

    @property
    def count(self) -> int | None:
        """How many rows there are; None where the file does not say it."""
        raise TypeError(f"{type(self).__name__} counts nothing")

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        raise TypeError(f"{type(self).__name__} has no rows")
