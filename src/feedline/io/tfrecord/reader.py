"""Reading TFRecord files. Both checksums of every record are compared, and no length is believed before that."""

from __future__ import annotations

import numpy as np

from feedline import kernels
from feedline.errors import DataLossError
from feedline.io.files import shown
from feedline.io.reader import END, Place, Read, Reader
from feedline.io.tfrecord.framing import AROUND, HEADER, Stop
from feedline.structure.block import Block, Bytes
from feedline.structure.nest import LEAF


class TFRecordReader(Reader):
    """An open TFRecord file."""

    def read(self, place: Place, want: int) -> Read:
        """The records that follow, as far as they have been read ahead. They stay in the memory they were read into."""
        data, start = self._stream.window(place.offset, HEADER.size)
        start = min(start, len(data))
        if start == len(data) and self._stream.failure is None:
            return END
        offsets, stop, length = kernels.tfrecord_frames(data, start, want)
        if len(offsets) == 1 and stop == Stop.DATA_CUT and length + AROUND <= self._stream.at_most(place.offset):
            data, start = self._stream.window(place.offset, length + AROUND)
            offsets, stop, length = kernels.tfrecord_frames(data, start, want)
        n = len(offsets) - 1
        if n:  # what is wrong with the record after them, if anything, is found when it comes first
            after = Place(place.offset + int(offsets[-1]) - HEADER.size - start, place.number + n)
            return Read(Block([Bytes(np.frombuffer(data, np.uint8), offsets, AROUND)], n, LEAF), after)
        cut = stop in (Stop.HEADER_CUT, Stop.DATA_CUT)
        if cut and self._stream.failure is not None:
            return Read(None, None, self._stream.failure)
        problem = {
            Stop.HEADER_CUT: f"the file ends {len(data) - start} bytes into its header",
            Stop.LENGTH_DAMAGED: "the checksum of its length is wrong",
            Stop.DATA_CUT: f"it says it has {length} bytes, more than the file holds",
            Stop.DATA_DAMAGED: "the checksum of its data is wrong",
        }[Stop(stop)]
        where = f"{shown(self._stream.name)}, record {place.number} (byte {place.offset})"
        return Read(None, None, DataLossError(f"{where} is {'cut' if cut else 'damaged'}: {problem}"))
