"""Indexes of TFRecord files: the offset of each record, for random access without reading the others.

An index is built by hopping from header to header, which costs little. It is kept in memory, and for large files in a
file of its own (see `sidecar`). It is valid only for the file it was built from: a file that was modified or replaced
is indexed again.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from feedline import kernels
from feedline.errors import DataLossError, FailedPreconditionError
from feedline.io.files import as_op_error, as_paths, op_errors, shown
from feedline.io.progress import Progress
from feedline.io.tfrecord import sidecar
from feedline.io.tfrecord.framing import AROUND, HEADER, Stop
from feedline.io.tfrecord.sidecar import Array, Stamp
from feedline.sharing import Guard

CHUNK = 1 << 19
LARGE = 1 << 16
"""From this record size on, only the headers are read."""

STORE_FROM = 1 << 24
"""Smaller files are indexed in no noticeable time, so their index is stored only on request."""

KEEP = 1 << 28
"""Bytes of indexes that stay in memory when no dataset uses them."""

MOST_THREADS = 8
TRIES = 3


class Index:
    """The offsets of a file's records: record i, with its frame, from starts[i] to starts[i + 1]."""

    __slots__ = ("stamp", "starts")

    def __init__(self, stamp: Stamp, starts: Array) -> None:
        self.stamp, self.starts = stamp, starts

    def __len__(self) -> int:
        return len(self.starts) - 1


class _Memory:
    """A cache of the most recently used indexes, by file name."""

    def __init__(self) -> None:
        self._lock = Guard()
        self._held: OrderedDict[bytes, Index] = OrderedDict()
        self._bytes = 0

    def get(self, path: bytes, stamp: Stamp) -> Index | None:
        with self._lock:
            index = self._held.get(path)
            if index is None or index.stamp != stamp:
                return None
            self._held.move_to_end(path)
            return index

    def put(self, path: bytes, index: Index) -> None:
        with self._lock:
            self._drop(path)
            self._held[path] = index
            self._bytes += index.starts.nbytes
            while self._bytes > KEEP and len(self._held) > 1:
                self._drop(next(iter(self._held)))

    def forget(self, path: bytes) -> None:
        with self._lock:
            self._drop(path)

    def _drop(self, path: bytes) -> None:
        index = self._held.pop(path, None)
        if index is not None:
            self._bytes -= index.starts.nbytes


_memory = _Memory()


def stamp_of(path: bytes) -> Stamp:
    """Size and modification time of a file that can be indexed."""
    if b"://" in path:
        raise FailedPreconditionError(
            f"{shown(path)}: records can be read by number only in local files; copy the file first"
        )
    with op_errors(path):
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise FailedPreconditionError(f"{shown(path)} is not a regular file, so its records cannot be read by number")
    return Stamp.of(status)


def found(path: bytes) -> Index | None:
    """The index of a file if it exists, in memory or beside the file; the file itself is not read."""
    return _found(os.path.abspath(path), stamp_of(path))


def _found(path: bytes, stamp: Stamp) -> Index | None:
    index = _memory.get(path, stamp)
    if index is None and any(map(os.path.exists, sidecar.places(path))):
        with OpenFile(path) as fd:
            starts = sidecar.read(path, stamp, sidecar.edges(fd, stamp.size))
        if starts is not None:
            index = Index(stamp, starts)
            _memory.put(path, index)
    return index


def forget(path: bytes) -> None:
    """Drops the index of a file, in memory and on disk, because it has turned out to be wrong."""
    whole = os.path.abspath(path)
    _memory.forget(whole)
    for place in sidecar.places(whole):
        with suppress(OSError):
            os.remove(place)


def indexes(
    paths: Sequence[bytes], store: bool | None = None, shown: bool | None = None, anew: bool = False
) -> list[Index]:
    """The indexes of files: existing ones, and the missing ones built now, in parallel.

    They are stored as well if `store` is True, or None and the file is not small. `anew` ignores existing ones.
    """
    whole = [os.path.abspath(p) for p in paths]
    stamps = [stamp_of(p) for p in paths]
    have = [None if anew else _found(p, s) for p, s in zip(whole, stamps, strict=True)]
    missing = {i: None for i, index in enumerate(have) if index is None}
    if missing:
        size = sum(stamps[i].size for i in missing)
        files = f"{len(missing)} TFRecord file{'s' * (len(missing) > 1)}"
        with Progress(f"feedline: indexing {files}", size, shown) as progress:
            for i, index in zip(missing, _built([paths[i] for i in missing], progress), strict=True):
                have[i] = index
                _memory.put(whole[i], index)
    made = [index for index in have if index is not None]
    for i, (path, index) in enumerate(zip(whole, made, strict=True)):
        fresh = i in missing
        if store or (store is None and fresh and index.stamp.size >= STORE_FROM):
            _store(path, index, keep_existing=not fresh)
    return made


def _store(path: bytes, index: Index, keep_existing: bool) -> None:
    with OpenFile(path) as fd:
        edges = sidecar.edges(fd, index.stamp.size)
        if Stamp.of(os.fstat(fd)) != index.stamp:
            return
        if not (keep_existing and sidecar.read(path, index.stamp, edges) is not None):
            sidecar.write(path, index.stamp, edges, index.starts)


def _built(paths: Sequence[bytes], progress: Progress) -> list[Index]:
    threads = min(len(paths), os.cpu_count() or 1, MOST_THREADS)
    if threads == 1:
        return [_scanned(path, progress, threading.Event()) for path in paths]
    stop = threading.Event()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, "feedline-index") as pool:
        jobs = [pool.submit(_scanned, path, progress, stop) for path in paths]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _scanned(path: bytes, progress: Progress, stop: threading.Event) -> Index:
    """Builds the index of a file. A file that is written meanwhile is tried again."""
    for _ in range(TRIES):
        with OpenFile(path) as fd:
            stamp = Stamp.of(os.fstat(fd))
            try:
                starts = _starts(path, fd, stamp.size, progress, stop)
            except DataLossError:
                if Stamp.of(os.fstat(fd)) == stamp:
                    raise
                continue
            if Stamp.of(os.fstat(fd)) == stamp:
                return Index(stamp, starts)
    raise FailedPreconditionError(f"{shown(path)} is being written; its records can be counted when that is finished")


def _starts(path: bytes, fd: int, size: int, progress: Progress, stop: threading.Event) -> Array:
    parts: list[Array] = []
    at = number = 0
    chunk = CHUNK
    while at < size and not stop.is_set():
        lengths, after = scan_headers(path, fd, at, size, number, chunk)
        parts.append(lengths + AROUND)
        number += len(lengths)
        progress.add(after)
        at += after
        # If records are large, the data between their headers are not read.
        chunk = HEADER.size if after > LARGE * max(1, len(lengths)) else CHUNK
    return sidecar.starts_of(np.concatenate(parts) if parts else np.empty(0, np.int64), size)


def scan_headers(path: bytes, fd: int, at: int, size: int, number: int, chunk: int) -> tuple[Array, int]:
    """The lengths of the records whose headers lie in the `chunk` bytes from `at` on (the first has this number), and
    the distance from there to the next header.
    """
    want = min(chunk, size - at)
    data, whole, failure = kernels.read_spans(np.array([fd]), np.array([at]), np.array([want]))
    if failure:
        raise as_op_error(OSError(failure, os.strerror(failure)), path)
    if not whole:
        raise DataLossError(f"{shown(path)} was truncated to less than {at + want} bytes while it was read")
    lengths, after, stop, length = kernels.tfrecord_lengths(data, 0, size - at)
    if stop and not len(lengths):
        kind = _compression(bytes(data[:4])) if at == 0 else ""
        if kind:
            raise FailedPreconditionError(
                f"{shown(path)} looks {kind}-compressed, and records of compressed files cannot be read by "
                "number; write them to files without compression, or use save and Dataset.load"
            )
        raise damage(path, number, at, stop, length, size)
    # An error in a record that follows good ones is reported when that record comes first.
    return lengths, after


def damage(path: bytes, number: int, at: int, stop: int, length: int, size: int) -> DataLossError:
    """The error for a bad record."""
    cut = stop in (Stop.HEADER_CUT, Stop.DATA_CUT)
    problem = {
        Stop.HEADER_CUT: f"the file ends {size - at} bytes into its header",
        Stop.LENGTH_DAMAGED: "the checksum of its length is wrong",
        Stop.DATA_CUT: f"its length is {length} bytes, more than the file holds",
        Stop.DATA_DAMAGED: "the checksum of its data is wrong",
    }[Stop(stop)]
    return DataLossError(
        f"{shown(path)}, record {number} (byte {at}) is {'truncated' if cut else 'corrupt'}: {problem}"
    )


def _compression(begin: bytes) -> str:
    """The compression of a file that begins with these bytes, which are no record; empty if there is none."""
    if begin[:2] == b"\x1f\x8b":
        return "GZIP"
    if begin == b"\x28\xb5\x2f\xfd":
        return "ZSTD"
    return "ZLIB" if begin[:1] == b"\x78" and int.from_bytes(begin[:2], "big") % 31 == 0 else ""


class OpenFile:
    """An open file, closed at the end of a `with` block or when the last reference is dropped."""

    __slots__ = ("fd",)

    def __init__(self, path: bytes) -> None:
        with op_errors(path):
            self.fd: int = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def close(self) -> None:
        """Closes the file. Closing it again does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            self.close()


def tfrecord_index(filenames: object, progress: bool | None = None) -> Array:
    """Counts the records of TFRecord files and stores an index of them, for random access by record number.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/words.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for word in ("one", "two", "three"):
    ...         writer.write(word)
    >>> fl.io.tfrecord_index(path)
    array([3])
    >>> ds = fl.TFRecordDataset(path)
    >>> len(ds), ds.at(2), [len(word) for word in ds.global_shuffle(seed=1)]
    (3, b'three', [5, 3, 3])

    `filenames` is a name or a list of names; the result has one number per file. Calling it is never required: `len`,
    `at` and `global_shuffle` build the index themselves. Calling it ahead saves them that time: at most that of reading
    the files once, and less if records are large. With an index, `shuffle` buffers record numbers instead of records,
    and `skip` and `shard` skip records without reading them.

    The index of `train.tfrecord` is the file `.train.tfrecord.feedline-index` beside it, with at most eight bytes per
    record, or, if that folder is read-only, a file in FEEDLINE_CACHE (default `~/.cache/feedline`). It may be removed
    at any time, and is valid as long as the size and time of the TFRecord file stay the same. `progress` True or False
    shows a line on stderr or not; None shows it for long work on a terminal.

    Compressed files cannot be indexed and raise `FailedPreconditionError`. A truncated or damaged file raises
    `DataLossError`.
    """
    return np.array([len(index) for index in indexes(as_paths(filenames), True, progress)], np.int64)
