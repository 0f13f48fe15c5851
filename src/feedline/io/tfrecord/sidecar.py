"""The file that stores the index of a TFRecord file: its format, and its location.

    magic, size and mtime of the TFRecord file, checksum of its beginning and end,
    number of records, the shortest length, bytes per entry,
    one entry per record: how much longer than the shortest it is, in the narrowest type that fits,
    checksum of all that

It lies beside the TFRecord file, hidden so that a pattern like `train-*` does not match it, or, if that folder cannot
be written, in a cache folder. It may be removed at any time: an invalid index is ignored and built again.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from feedline import drafts, kernels
from feedline.io.files import INDEX_SUFFIX
from feedline.io.tfrecord.framing import AROUND, CHECKSUM

Array = np.ndarray[Any, Any]

MAGIC = b"FLTFRIX\x01"
HEAD = struct.Struct("<8sQqIQQB")
EDGE = 4096
_WIDTHS: dict[int, Any] = {0: None, 1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}


class Stamp(NamedTuple):
    """Identifies the version of a file that was indexed."""

    size: int
    mtime: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """From the result of `os.stat`."""
        return cls(status.st_size, status.st_mtime_ns)


def edges(fd: int, size: int) -> int:
    """The checksum of a file's beginning and end, which tells apart files of equal size and time."""
    n = min(EDGE, size)
    spans = np.array([0, size - n]), np.array([n, n])
    return kernels.crc32c(kernels.read_spans(np.array([fd, fd]), *spans)[0])


def places(path: bytes) -> Iterator[bytes]:
    """Where the index of the file `path` (absolute) may be: beside it, or in the cache folder."""
    folder, name = os.path.split(path)
    yield os.path.join(folder, b"." + name + INDEX_SUFFIX.encode())
    cache = os.environ.get("FEEDLINE_CACHE")
    if not cache:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        cache = os.path.join(home, "feedline")
    hashed = hashlib.sha256(path).hexdigest()[:32]
    yield os.path.join(os.fsencode(cache), b"tfrecord", hashed.encode() + INDEX_SUFFIX.encode())


def read(path: bytes, stamp: Stamp, edges: int) -> Array | None:
    """The offset of each record of the file, and the end of the last one; None if there is no valid index of it."""
    for place in places(path):
        try:
            with open(place, "rb") as file:
                head = file.read(HEAD.size)
                if len(head) < HEAD.size or head[: len(MAGIC)] != MAGIC:
                    continue
                starts = _decoded(head, file, stamp, edges)
        except OSError:
            continue
        if starts is not None:
            return starts
    return None


def _decoded(head: bytes, file: Any, stamp: Stamp, edges: int) -> Array | None:
    _, size, mtime, sum_, records, shortest, width = HEAD.unpack(head)
    if (size, mtime, sum_) != (*stamp, edges) or width not in _WIDTHS:
        return None
    if records > size // AROUND or os.fstat(file.fileno()).st_size != HEAD.size + records * width + CHECKSUM.size:
        return None
    body = file.read()
    if len(body) != records * width + CHECKSUM.size:
        return None
    data, stored = body[: -CHECKSUM.size], body[-CHECKSUM.size :]
    if CHECKSUM.pack(kernels.crc32c(data, kernels.crc32c(head))) != stored or shortest > size:
        return None
    steps = np.full(records, shortest + AROUND, np.int64)
    if width:
        steps += np.frombuffer(data, _WIDTHS[width]).astype(np.int64)
    if records and (int(steps.min()) < AROUND or int(steps.max()) > size):
        return None
    ends = np.cumsum(steps)
    # An overflow of the sums would show as a negative step.
    if (int(ends[-1]) if records else 0) != size or not bool((ends[1:] > ends[:-1]).all()):
        return None
    return starts_of(steps, size)


def starts_of(steps: Array, size: int) -> Array:
    """The offsets of consecutive frames of these sizes, and the end of the last one."""
    starts = np.zeros(len(steps) + 1, np.uint32 if size < 1 << 32 else np.int64)
    starts[1:] = np.cumsum(steps)
    return starts


def write(path: bytes, stamp: Stamp, edges: int, starts: Array) -> bytes | None:
    """Stores an index; returns its path, or None if no folder can be written. The file is replaced atomically:
    concurrent readers see the old or the new one, and one of several writers wins.
    """
    steps = np.diff(starts).astype(np.int64) - AROUND
    shortest = int(steps.min()) if len(steps) else 0
    steps -= shortest
    most = int(steps.max()) if len(steps) else 0
    width = next(w for w in _WIDTHS if most < 1 << 8 * w)
    head = HEAD.pack(MAGIC, *stamp, edges, len(steps), shortest, width)
    data = steps.astype(_WIDTHS[width]).tobytes() if width else b""
    whole = b"".join((head, data, CHECKSUM.pack(kernels.crc32c(data, kernels.crc32c(head)))))
    for number, place in enumerate(places(path)):
        try:
            if number:
                os.makedirs(os.path.dirname(place), exist_ok=True)
            drafts.written(place, whole, durable=False)
            return place
        except OSError:  # the folder is read-only, full, or missing
            continue
    return None
