"""What all file readers share: where they stand, and what they give.

A reader is asked for rows from a place on and gives them together with the place after them. It remembers nothing that
matters, so a place is all a checkpoint needs.
"""

from __future__ import annotations

from typing import NamedTuple

from feedline.io.stream import Stream
from feedline.structure.block import Block


class Place(NamedTuple):
    """A position in a file: the byte, after decompression, and the number of the record that begins there."""

    offset: int = 0
    number: int = 0


class Read(NamedTuple):
    """One answer of a reader.

    rows  place   error
    some  after           rows; the records before a bad one come alone, the bad one is met by the next call
    None  None            the end of the file
    None  after   some    a record that cannot be read; the file goes on after it
    None  None    some    the rest of the file cannot be read
    """

    rows: Block | None
    place: Place | None = None
    error: Exception | None = None


END = Read(None)


class Reader:
    """An open file of records. Subclasses say what a record is."""

    def __init__(self, name: bytes, compression: str = "", buffer_size: int | None = None) -> None:
        self._stream = Stream(name, compression, buffer_size)

    def read(self, place: Place, want: int) -> Read:
        """At most `want` rows from `place` on, at least one unless the file ends there or the record is bad."""
        raise TypeError(f"{type(self).__name__} reads nothing")

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()
