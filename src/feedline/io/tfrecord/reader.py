"""Reading TFRecord files. Both checksums of every record are compared, and no length is believed before that."""

from __future__ import annotations

from feedline.errors import DataLossError
from feedline.io.files import shown
from feedline.io.reader import END, Place, Read, Reader, strings
from feedline.io.tfrecord.framing import AROUND, CHECKSUM, HEADER, LENGTH, masked_crc


class TFRecordReader(Reader):
    """An open TFRecord file."""

    def read(self, place: Place, want: int) -> Read:
        """The records that follow, as far as they have been read ahead."""
        view = self._stream.view(place.offset, HEADER.size)
        if not view and self._stream.failure is None:
            return END
        parts: list[memoryview] = []
        at, problem, cut = 0, "", False
        while len(parts) < want:
            if len(view) - at < HEADER.size:
                problem, cut = f"the file ends {len(view) - at} bytes into its header", True
                break
            length, length_crc = HEADER.unpack_from(view, at)
            if masked_crc(view[at : at + LENGTH.size]) != length_crc:
                problem = "the checksum of its length is wrong"
                break
            end = at + HEADER.size + length
            if end + CHECKSUM.size > len(view) and not parts:
                view = self._whole(place.offset, length)
            if end + CHECKSUM.size > len(view):
                problem, cut = f"it says it has {length} bytes, more than the file holds", True
                break
            data = view[at + HEADER.size : end]
            if masked_crc(data) != CHECKSUM.unpack_from(view, end)[0]:
                problem = "the checksum of its data is wrong"
                break
            parts.append(data)
            at = end + CHECKSUM.size
        if parts:  # what is wrong with the record after them, if anything, is found when it comes first
            return Read(strings(parts), Place(place.offset + at, place.number + len(parts)))
        if cut and self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        where = f"{shown(self._stream.name)}, record {place.number} (byte {place.offset})"
        return Read(None, None, DataLossError(f"{where} is {'cut' if cut else 'damaged'}: {problem}"))

    def _whole(self, offset: int, length: int) -> memoryview:
        """A view of a whole record, or of what there is of it."""
        need = length + AROUND
        return self._stream.view(offset, need if need <= self._stream.at_most(offset) else HEADER.size)
