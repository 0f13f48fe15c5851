"""Lines of text files."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import ResourceExhaustedError
from feedline.io.files import shown
from feedline.io.reader import END, FilePosition, Read, RecordReader, strings
from feedline.io.stream import MOST_LINE
from feedline.structure.block import Block, Bytes
from feedline.structure.nest import LEAF

AHEAD = 256
"""Lines to look for at once, even if fewer are requested."""


class TextLineReader(RecordReader):
    """An open text file. Lines end at `\\n`; every `\\r` is dropped, as in TensorFlow, wherever it occurs."""

    kind = "text"

    def __init__(self, name: bytes, compression: str = "", buffer_size: int | None = None) -> None:
        super().__init__(name, compression, buffer_size)
        # Lines found so far: the buffer that was scanned, the starts of lines in it, and the position of the first.
        self._data = b""
        self._offsets: Any = np.zeros(1, np.int64)
        self._first = FilePosition()

    def read(self, place: FilePosition, want: int) -> Read:
        """The next lines, as far as they have been read ahead."""
        i = place.number - self._first.number
        if not (0 <= i < len(self._offsets) - 1 and self._shift(i) == place.offset):
            data, start = self._lines_at(place.offset)
            if len(data) - start > MOST_LINE and data.find(b"\n", start) < 0:
                return Read(None, None, self._too_long(place))
            self._offsets = kernels.line_offsets(data, start, max(want, AHEAD))
            if len(self._offsets) == 1:
                return self._tail(place, data[start:])
            self._data, self._first, i = data, place, 0
        offsets = self._offsets[i : i + want + 1]
        after = FilePosition(self._shift(i + len(offsets) - 1), place.number + len(offsets) - 1)
        lines = _lines(self._data, offsets)
        lines.provenance = self.provenance(self._first.offset - int(self._offsets[0]), offsets[:-1])
        return Read(lines, after)

    def _shift(self, i: int) -> int:
        """The offset in the file of line i of those found."""
        return int(self._offsets[i] - self._offsets[0]) + self._first.offset

    def _lines_at(self, offset: int) -> tuple[bytes, int]:
        """A window with at least one complete line, unless the file ends before that line does."""
        need, searched = 1, 0
        while True:
            data, start = self._stream.window(offset, need)
            have = len(data) - start
            if have < need or have > MOST_LINE or data.find(b"\n", start + searched) >= 0:
                return data, start
            need, searched = min(2 * have, MOST_LINE) + 1, have

    def _too_long(self, place: FilePosition) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"{shown(self._stream.name)}, line {place.number} (byte {place.offset}) has more than {MOST_LINE} "
            "bytes; is this a text file?"
        )

    def _tail(self, place: FilePosition, data: bytes) -> Read:
        """The bytes after the last line end: a line of its own unless they are only `\\r`."""
        if self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        line = data.replace(b"\r", b"")
        if not line:
            return END
        rows = strings([line])
        rows.provenance = self.provenance(place.offset, np.zeros(1, np.int64))
        return Read(rows, FilePosition(place.offset + len(data), place.number + 1))


def _lines(data: bytes, offsets: Any) -> Block:
    """The lines that begin at these offsets, without a copy; a copy without `\\r` if there are any."""
    start, after = int(offsets[0]), int(offsets[-1])
    if data.find(b"\r", start, after) >= 0:
        data = data[start:after].replace(b"\r", b"")
        offsets = kernels.line_offsets(data, 0, len(offsets) - 1)
    return Block([Bytes(np.frombuffer(data, np.uint8), offsets, 1)], len(offsets) - 1, LEAF)
