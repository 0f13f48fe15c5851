"""The kernels that find TFRecord headers after damage and read records from open files (see `reference`)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.reference import Buffer, Int64, UInt8, _masked, _not_negative, crc32c, tfrecord_frames
from feedline.kernels.reference_strings import _slots

PIECE = 1 << 18


def tfrecord_header(data: Buffer, start: int) -> int:
    """The first position from `start` on where 12 bytes are a length and its checksum; -1 if there is none.

    >>> data = fl.kernels.tfrecord_framed([b"one", b"three"])
    >>> fl.kernels.tfrecord_header(data, 0), fl.kernels.tfrecord_header(data, 1), fl.kernels.tfrecord_header(data, 20)
    (0, 19, -1)
    """
    _not_negative(start, "start")
    raw: Any = data
    view = memoryview(raw).cast("B")
    if start > len(view):
        raise IndexError("start is beyond the end of the data")
    for at in range(start, len(view) - 11):
        if _masked(crc32c(view[at : at + 8])) == int.from_bytes(view[at + 8 : at + 12], "little"):
            return at
    return -1


def tfrecord_large(
    file: int, start: int, want: int, least: int, most: int, threads: int = 1
) -> tuple[NDArray[Any], int]:
    """Records of an open TFRecord file (`file` is its descriptor), each read straight into its `bytes` object.

    Returns at most `want` records, from byte `start` on, and the position after them. It stops before a record of fewer
    than `least` bytes, before the total exceeds `most` bytes, at the end of the file, and before a damaged record, for
    which `tfrecord_frames` gives the reason. Large reads use up to `threads` threads.

    >>> import os, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     done = os.write(file.fileno(), fl.kernels.tfrecord_framed([b"one", b"two"]))
    ...     fl.kernels.tfrecord_large(file.fileno(), 0, 10, 1, 1000)
    (array([b'one', b'two'], dtype=object), 38)
    """
    for n, name in ((start, "start"), (want, "want"), (least, "least"), (most, "most"), (threads, "threads")):
        _not_negative(n, name)
    found: list[bytes] = []
    taken = 0
    while len(found) < want and hasattr(os, "pread"):
        try:
            head, size = os.pread(file, 12, start), os.fstat(file).st_size
        except OSError:
            break
        if len(head) < 12 or _masked(crc32c(head[:8])) != int.from_bytes(head[8:], "little"):
            break
        length = int.from_bytes(head[:8], "little")
        if length > size - start - 16 or length < least or (taken and length > most - taken):
            break
        data, check = os.pread(file, length, start + 12), os.pread(file, 4, start + 12 + length)
        if len(data) < length or len(check) < 4 or _masked(crc32c(data)) != int.from_bytes(check, "little"):
            break
        found.append(data)
        start += length + 16
        taken = min(most, taken + length)
    out = np.empty(len(found), object)
    out[:] = found
    return out, start


def tfrecord_places(file: int, start: int, want: int, most: int) -> tuple[Int64, NDArray[np.uint32]]:
    """Verifies records of an open TFRecord file (`file` is its descriptor), from byte `start` on, without keeping them.
    Returns the offset of each record and of the next one, and the `crc32c` of each one's data. It stops after `want`
    records, after the one with which they take at least `most` bytes of the file, at the end of the file, and before a
    damaged record.

    >>> import os, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     done = os.write(file.fileno(), fl.kernels.tfrecord_framed([b"one", b"to", b"three"]))
    ...     fl.kernels.tfrecord_places(file.fileno(), 0, 2, 1000)
    (array([ 0, 19, 37]), array([ 714388201, 1063742927], dtype=uint32))
    """
    for n, name in ((start, "start"), (want, "want"), (most, "most")):
        _not_negative(n, name)
    begins: list[int] = [start]
    sums: list[int] = []
    while len(sums) < want and begins[-1] - start < most:
        found, after = tfrecord_large(file, begins[-1], 1, 0, 0)
        if not len(found):
            break
        begins.append(after)
        sums.append(crc32c(found[0]))
    return np.array(begins, np.int64), np.array(sums, np.uint32)


def tfrecord_to_rows(
    file: int, start: int, rows: UInt8, lengths: Int64, numbers: Int64, threads: int = 1
) -> Int64:
    """Reads records of an open TFRecord file (`file` is its descriptor), from byte `start` on, into the rows with these
    numbers, and their lengths into lengths[numbers[i]]. Returns the offset of each record, and of the next one. It
    stops early before a record that is too long for a row or for a 256 KiB piece, at the end of the file, and before a
    damaged record. The numbers differ from each other. Up to `threads` threads read.

    >>> import os, tempfile
    >>> rows, lengths = np.zeros((3, 4), np.uint8), np.zeros(3, np.int64)
    >>> with tempfile.TemporaryFile() as file:
    ...     done = os.write(file.fileno(), fl.kernels.tfrecord_framed([b"one", b"to", b"three"]))
    ...     fl.kernels.tfrecord_to_rows(file.fileno(), 0, rows, lengths, np.array([2, 0, 1]))
    array([ 0, 19, 37])
    >>> rows.tobytes(), lengths
    (b'to\\x00\\x00\\x00\\x00\\x00\\x00one\\x00', array([2, 0, 3]))
    """
    _not_negative(start, "start")
    _not_negative(threads, "threads")
    _slots(rows, lengths, numbers)
    begins = [start]
    for i, row in enumerate(numbers.tolist()):
        found, start = tfrecord_large(file, start, 1, 0, 0)
        if not len(found) or len(found[0]) > PIECE - 16:
            break
        if not 0 <= row < len(rows):
            raise IndexError(f"row {i} is not inside the data")
        if len(found[0]) > rows.shape[1]:
            break
        rows[row, : len(found[0])] = np.frombuffer(found[0], np.uint8)
        lengths[row] = len(found[0])
        begins.append(start)
    return np.array(begins, np.int64)


def tfrecord_read(file: int, start: int, want: int, into: UInt8, threads: int = 1) -> tuple[Int64, int, int]:
    """Reads an open TFRecord file (`file` is its descriptor) from byte `start` on into a buffer, until that is full or
    the file ends, and returns what `tfrecord_frames` finds there. Up to `threads` threads read.

    >>> import os, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     done = os.write(file.fileno(), fl.kernels.tfrecord_framed([b"one", b"three"]))
    ...     fl.kernels.tfrecord_read(file.fileno(), 19, 10, np.empty(100, np.uint8))
    (array([12, 33]), 1, 0)
    """
    for n, name in ((start, "start"), (want, "want"), (threads, "threads")):
        _not_negative(n, name)
    raw: Any = into
    view = memoryview(raw).cast("B")
    got = 0
    while got < len(view) and hasattr(os, "pread"):
        try:
            piece = os.pread(file, len(view) - got, start + got)
        except OSError:
            break
        if not piece:
            break
        view[got : got + len(piece)] = piece
        got += len(piece)
    return tfrecord_frames(view[:got], 0, want)
