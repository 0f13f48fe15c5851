"""The kernels that make and use indexes of TFRecord files, in plain NumPy (see `reference`)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.reference import Buffer, Int64, _masked, _not_negative, _plain, crc32c


def tfrecord_lengths(data: Buffer, start: int, left: int) -> tuple[Int64, int, int, int]:
    """The lengths of the records whose headers lie in `data` from `start` on. `data` is a part of a file that has
    `left` bytes from the beginning of `data` on. Only the checksums of lengths are verified; the records are not read.

    Returns the lengths, the position of the next header (relative to `data`, often beyond its end), the reason for
    stopping, and the claimed length of the next record. Reasons: 0 the header is at the end of the file or not in
    `data`; 1, 2, 3 as in `tfrecord_frames`.

    >>> data = fl.kernels.tfrecord_framed([b"one", b"three"])
    >>> fl.kernels.tfrecord_lengths(data[:12], 0, 40)
    (array([3]), 19, 0, 0)
    >>> fl.kernels.tfrecord_lengths(data, 0, 39)
    (array([3]), 19, 3, 5)
    """
    _not_negative(start, "start")
    _not_negative(left, "left")
    raw: Any = data
    view = memoryview(raw).cast("B")[:left]
    lengths: list[int] = []
    at, stop, length = start, 0, 0
    while at < left:
        if left - at < 12:
            stop = 1
            break
        if len(view) - at < 12:
            break
        if _masked(crc32c(view[at : at + 8])) != int.from_bytes(view[at + 8 : at + 12], "little"):
            stop = 2
            break
        length = int.from_bytes(view[at : at + 8], "little")
        if at + 16 + length > left:
            stop = 3
            break
        lengths.append(length)
        at += 16 + length
    return np.array(lengths, np.int64), at, stop, length if stop == 3 else 0


def read_spans(files: Int64, starts: Int64, sizes: Int64) -> tuple[NDArray[np.uint8], int, int]:
    """Spans of open files, concatenated in new memory: span i has sizes[i] bytes of the file with the descriptor
    files[i], from starts[i] on. The files' own positions are neither used nor changed.

    Returns the memory, the number of complete spans, and, if that is not all, the errno, or 0 if the file ended.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(b"one two three"), file.flush()
    ...     both = np.array([file.fileno()] * 2)
    ...     data, whole, failure = fl.kernels.read_spans(both, np.array([8, 0]), np.array([5, 3]))
    >>> bytes(data), whole, failure
    (b'threeone', 2, 0)
    """
    for name, array in (("files", files), ("starts", starts), ("sizes", sizes)):
        _plain(array, np.int64, 1, name)
    if not len(files) == len(starts) == len(sizes):
        raise ValueError("files, starts and sizes must have the same length")
    spans = list(zip(files.tolist(), starts.tolist(), sizes.tolist(), strict=True))
    total = 0
    for i, (file, start, size) in enumerate(spans):
        if not 0 <= file < 2**31 or start < 0 or size < 0 or size > 2**63 - 1 - max(total, start):
            raise IndexError(f"span {i} is not inside a file")
        total += size
    out = np.empty(total, np.uint8)
    at = 0
    for i, (file, start, size) in enumerate(spans):
        done = 0
        while done < size:
            try:
                piece = os.pread(file, min(size - done, 1 << 30), start + done)
            except OSError as e:
                return out, i, e.errno or 0
            if not piece:
                return out, i, 0
            out[at + done : at + done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
        at += size
    return out, len(spans), 0
