"""Reading TFRecord files. Both checksums of every record are compared, and no length is believed before that."""

from __future__ import annotations

import numpy as np

from feedline.errors import DataLossError
from feedline.io.files import shown
from feedline.io.reader import END, Place, Read
from feedline.io.stream import Stream
from feedline.io.tfrecord.framing import AROUND, CHECKSUM, HEADER, LENGTH, masked_crc
from feedline.structure.block import Block, Bytes
from feedline.structure.nest import LEAF


class TFRecordReader:
    """An open TFRecord file."""

    def __init__(self, name: bytes, compression: str = "", buffer_size: int | None = None) -> None:
        self._stream = Stream(name, compression, buffer_size)

    def read(self, place: Place, want: int) -> Read:
        """The records that follow, as far as they have been read ahead."""
        view = self._stream.view(place.offset, HEADER.size)
        if not view and self._stream.failure is None:
            return END
        parts: list[memoryview] = []
        at = 0
        while len(parts) < want:
            if len(view) - at < HEADER.size:
                problem = f"the file ends {len(view) - at} bytes into its header"
                break
            length, length_crc = HEADER.unpack_from(view, at)
            if masked_crc(view[at : at + LENGTH.size]) != length_crc:
                problem = "the checksum of its length is wrong"
                break
            end = at + HEADER.size + length
            if end + CHECKSUM.size > len(view) and not parts:
                view = self._whole(place.offset, length)
            if end + CHECKSUM.size > len(view):
                problem = f"it says it has {length} bytes, more than the file holds"
                break
            data = view[at + HEADER.size : end]
            if masked_crc(data) != CHECKSUM.unpack_from(view, end)[0]:
                problem = "the checksum of its data is wrong"
                break
            parts.append(data)
            at = end + CHECKSUM.size
        if parts:  # what is wrong with the record after them, if anything, is found when it comes first
            return Read(_block(parts), Place(place.offset + at, place.number + len(parts)))
        return Read(None, None, self._error(place, problem))

    def _whole(self, offset: int, length: int) -> memoryview:
        """A view of a whole record, or of what there is of it."""
        need = length + AROUND
        return self._stream.view(offset, need if need <= self._stream.at_most(offset) else HEADER.size)

    def _error(self, place: Place, problem: str) -> Exception:
        if self._stream.failure is not None and "file" in problem:
            return self._stream.failure
        where = f"{shown(self._stream.name)}, record {place.number} (byte {place.offset})"
        return DataLossError(f"{where} is damaged or cut: {problem}")

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


def _block(parts: list[memoryview]) -> Block:
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(p) for p in parts], out=offsets[1:])
    return Block([Bytes(np.frombuffer(b"".join(parts), np.uint8), offsets)], len(parts), LEAF)
