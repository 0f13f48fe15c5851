"""Reading TFRecord files. Both checksums of every record are verified, and no length is trusted before that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import DataLossError, ResourceExhaustedError
from feedline.io.addresses import read_records
from feedline.io.compressed import PROBE_BYTES, detect_compression
from feedline.io.files import shown
from feedline.io.reader import END, FilePosition, Read, RecordReader
from feedline.io.stream import CHUNK, OVERLAP
from feedline.io.tfrecord.framing import AROUND, CHECKSUM, HEADER, Stop, length_of, mask
from feedline.kernels.threads import team, wide
from feedline.structure.block import Array, Block, Bytes, Unread
from feedline.structure.buffer_pool import buffers
from feedline.structure.nest import LEAF

LARGE = 1 << 15
"""Records of at least this size are not copied out of the read-ahead buffer but read straight into their own memory."""
MOST_AT_ONCE = 1 << 24
WIDE = 1 << 20
"""If more than this many bytes of short records are wanted, a wide team reads them together; a smaller team gains less
than the thread that reads ahead.
"""
FALSE_RECORDS = 1 << 20
"""Bytes, plus four for each one skipped, that are read to verify whether apparent records are real."""


class Corruption(NamedTuple):
    """A damaged part of a file: the file's name, the byte (after decompression) and number of the record that could not
    be read, the number of bytes skipped, and the error. `bytes_lost` is None if the rest of a compressed file is lost,
    whose size is unknown.
    """

    file: str
    offset: int
    record: int
    bytes_lost: int | None
    error: Exception


class TFRecordReader(RecordReader):
    """An open TFRecord file. With `resync`, reading continues after a bad record at the next good one."""

    kind = "tfrecord"

    def __init__(
        self, name: bytes, compression: str = "", buffer_size: int | None = None, resync: bool = False
    ) -> None:
        super().__init__(name, compression, buffer_size, lambda head: length_of(head) is not None)
        self._resync, self._buffered = resync, bool(buffer_size)
        self._record_size, self._large = 0, False  # the size of the last records, and whether it counts as large
        self._bad: tuple[FilePosition, Read] | None = None

    def read(self, place: FilePosition, want: int) -> Read:
        """The next records, as far as they have been read ahead. They stay in the memory they were read into."""
        if self._bad is not None and self._bad[0] == place:
            return self._bad[1]
        try:
            got = self._read_large(place, want) if self._large else self._read_wide(place, want)
            return got or self._read_ahead(place, want)
        except MemoryError as e:
            where = f"{shown(self._stream.name)}, record {place.number} (byte {place.offset})"
            return Read(None, None, ResourceExhaustedError(f"{where} does not fit in memory: {e}"))

    def locate(self, place: FilePosition, want: int) -> Read:
        """The addresses of the next records, which are verified but not kept; for other files than plain local ones,
        and at the end and before a damaged record, what `read` gives.
        """
        descriptor = None if self._buffered or self.number is None else self._stream.descriptor
        if descriptor is None:
            return self.read(place, want)
        begins, sums = kernels.tfrecord_places(descriptor, place.offset, want, MOST_AT_ONCE)
        addresses, n = self.provenance(0, begins[:-1]), len(sums)
        if not n or addresses is None:
            return self.read(place, want)
        rows = Unread(addresses, np.diff(begins) - AROUND, sums, read_records)
        return Read(Block([rows], n, LEAF, addresses), FilePosition(int(begins[-1]), place.number + n))

    def read_into(self, offset: int, rows: Array, lengths: Array, numbers: Array) -> Array:
        """Writes the records from `offset` on into these rows of a matrix, as far as they can be read without the
        read-ahead buffer. Returns where each of them begins, and the offset after them.
        """
        descriptor = None if self._large or self._buffered else self._stream.descriptor
        if descriptor is None:
            return np.array([offset])
        return kernels.tfrecord_to_rows(descriptor, offset, rows, lengths, numbers, team())

    def _read_large(self, place: FilePosition, want: int) -> Read | None:
        """Large records, each in its own memory; None if the next ones are not large."""
        descriptor = self._stream.descriptor
        if descriptor is None:
            return None
        rows, after = kernels.tfrecord_large(descriptor, place.offset, want, LARGE // 2, MOST_AT_ONCE, team())
        self._large = len(rows) > 0
        if not self._large:
            return None
        sizes = np.fromiter((len(row) + AROUND for row in rows), np.int64, len(rows))
        provenance = self.provenance(place.offset, np.cumsum(sizes) - sizes)
        return Read(Block([rows], len(rows), LEAF, provenance), FilePosition(after, place.number + len(rows)))

    def _read_wide(self, place: FilePosition, want: int) -> Read | None:
        """Many records at once, which the thread team reads and checks; None if few are wanted, or on an error."""
        size = want * self._record_size
        together = size > WIDE and not self._buffered and wide()
        descriptor = self._stream.descriptor if together else None
        if descriptor is None:
            return None
        size = min(size + size // 64, MOST_AT_ONCE)
        data = buffers.empty((1 << (size - 1).bit_length(),), np.dtype(np.uint8))
        offsets, _, _ = kernels.tfrecord_read(descriptor, place.offset, want, data[:size], team())
        return self._found(data, offsets, place, 0) if len(offsets) > 1 else None

    def _found(self, data: Array, offsets: Array, place: FilePosition, start: int) -> Read:
        """The records at these offsets of a buffer, in which `place` is at `start`."""
        n, base = len(offsets) - 1, place.offset - start - HEADER.size
        after = FilePosition(base + int(offsets[-1]), place.number + n)
        self._record_size = (after.offset - place.offset) // n
        self._large = self._record_size >= LARGE and self._stream.on_disk
        provenance = self.provenance(base, offsets[:n])
        return Read(Block([Bytes(data, offsets, AROUND)], n, LEAF, provenance), after)

    def _read_ahead(self, place: FilePosition, want: int) -> Read:
        # The short rest of the last piece is not worth a block of its own.
        left = self._stream.end - place.offset
        short_rest = 0 < left < min(want * self._record_size // 8, OVERLAP)
        data, start = self._stream.window(place.offset, left + 1 if short_rest else HEADER.size)
        start = min(start, len(data))
        if start == len(data) and self._stream.failure is None:
            return END
        offsets, stop, length = kernels.tfrecord_frames(data, start, want)
        if len(offsets) == 1 and stop == Stop.DATA_CUT and length + AROUND <= self._stream.at_most(place.offset):
            large = length >= LARGE and self._stream.on_disk
            got = self._read_large(place, want) if large else None
            if got is not None:
                return got
            if large and not self._checksum_matches(place.offset, length):
                stop = Stop.DATA_DAMAGED
            else:
                data, start = self._stream.window(place.offset, length + AROUND)
                offsets, stop, length = kernels.tfrecord_frames(data, start, want)
        if len(offsets) > 1:  # an error in the record after them is found when that record comes first
            return self._found(np.frombuffer(data, np.uint8), offsets, place, start)
        cut = stop in (Stop.HEADER_CUT, Stop.DATA_CUT)
        if cut and self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        problem = {
            Stop.HEADER_CUT: f"the file ends {len(data) - start} bytes into its header",
            Stop.LENGTH_DAMAGED: "the checksum of its length is wrong",
            Stop.DATA_CUT: f"its length is {length} bytes, more than the file holds",
            Stop.DATA_DAMAGED: "the checksum of its data is wrong",
        }[Stop(stop)]
        if stop == Stop.LENGTH_DAMAGED and not place.offset:
            problem += self._hint(data)
        where = f"{shown(self._stream.name)}, record {place.number} (byte {place.offset})"
        error = DataLossError(f"{where} is {'truncated' if cut else 'corrupt'}: {problem}")
        got = self._skipped(place, error) if self._resync else Read(None, None, error)
        self._bad = place, got
        return got

    def _checksum_matches(self, at: int, length: int) -> bool:
        """Whether the data of a large record match their checksum, computed without holding them all."""
        crc, at, end = 0, at + HEADER.size, at + HEADER.size + length
        while at < end and (piece := self._stream.peek(at, min(CHUNK, end - at))):
            crc, at = kernels.crc32c(piece, crc), at + len(piece)
        return self._stream.peek(at, CHECKSUM.size) == CHECKSUM.pack(mask(crc))

    def _hint(self, data: bytes) -> str:
        kind = detect_compression(data[:PROBE_BYTES], len(data) < PROBE_BYTES) if not self._stream.compression else ""
        if kind:
            return f'; it looks {kind}-compressed, so give compression_type="{kind}", or "AUTO"'
        return "; is it a TFRecord file?"

    def _skipped(self, place: FilePosition, error: DataLossError) -> Read:
        """The error, and the position of the next record."""
        after = self._next_record(place.offset)
        if after is not None:
            return Read(None, FilePosition(after, place.number + 1), error, after - place.offset)
        if self._stream.failure is not None:
            return Read(None, None, error)
        return Read(None, None, error, self._stream.end - place.offset)

    def _next_record(self, offset: int) -> int | None:
        """The offset of the first record after a bad one at `offset`; None if there is none.

        1. A length that matches its checksum gives the offset of the next record, or the file ends there.
        2. Otherwise a record may begin at any byte that holds a length matching its checksum, if either another such
           length is where the record would end, or its data match their checksum.

        The bytes read to verify candidates are bounded in proportion to the bytes skipped, so that no file can make
        this take for ever.
        """
        length = length_of(self._stream.peek(offset, HEADER.size))
        if length is not None and AROUND + length <= self._stream.at_most(offset) and self._begins(offset, length):
            return offset + AROUND + length
        at, spent = offset + 1, 0
        while True:
            data, start = self._stream.window(at, HEADER.size)
            if len(data) - start < HEADER.size:
                return None
            found = kernels.tfrecord_header(data, start)
            if found < 0:
                at += len(data) - start - HEADER.size + 1
                continue
            at += found - start
            length = length_of(data[found : found + HEADER.size])
            if length is not None and AROUND + length <= self._stream.at_most(at):
                if self._begins(at, length):
                    return at
                if spent + length <= FALSE_RECORDS + 4 * (at - offset):
                    spent += length
                    if self._whole(at, length):
                        return at
            at += 1

    def _begins(self, at: int, length: int) -> bool:
        """Whether a record follows the one at `at`, or that one is the last and complete."""
        head = self._stream.peek(at + AROUND + length - 1, HEADER.size + 1)
        return length_of(head[1:]) is not None or (len(head) == 1 and self._stream.failure is None)

    def _whole(self, at: int, length: int) -> bool:
        """Whether the data of the record at `at` match their checksum."""
        data, start = self._stream.window(at, AROUND + length)
        return len(kernels.tfrecord_frames(data, start, 1)[0]) == 2
