"""The bytes of a file by position, plain or decompressed."""

from __future__ import annotations

import os
import stat
import sys
import weakref
from collections.abc import Callable
from typing import Any

from feedline import kernels
from feedline.errors import DataLossError, InvalidArgumentError, InvalidTypeError, OpError, ResourceExhaustedError
from feedline.io.compressed import DECODERS, INPUT, MOST, OUTPUT, PROBE_BYTES, Damaged, detect_compression
from feedline.io.files import as_op_error, shown, system_path
from feedline.io.read_ahead import EARLY_DEPTH, ReadAheadStream
from feedline.io.remote import RemoteFile
from feedline.kernels.threads import spare_processors
from feedline.provenance.identity import Identity

CHUNK = 1 << 20
GATHERED = 4 * CHUNK
"""Decompressed bytes that are taken at a time, if a thread has as many ready."""
FILES = 16
"""Up to this many open files are read a `CHUNK` at a time; with more, each gets a share, at least `LEAST_CHUNK`."""
LEAST_CHUNK = 1 << 16
HEAD = 4096
"""Bytes at the beginning of a file that show whether it was rewritten while it was read."""
LARGEST_READ = 0x7FFFF000
"""The most bytes the system reads in one call."""

PIECE = 1 << 20
OVERLAP = 1 << 15
"""Bytes by which consecutive read-ahead pieces overlap, so that a record across their border need not be joined."""
SEQUENTIAL_CHUNKS = 4
"""Chunks read in sequence before a thread reads ahead."""

MOST_LINE = 1 << 30
"""The longest line of a text, in bytes: the search for a line end stops there, as in a file without line ends."""

AUTO = "AUTO"

Plain = Callable[[bytes], bool]
"""Decides from the first bytes of a file whether it is uncompressed."""


class Stream:
    """Reads a file ahead in chunks and gives access to its bytes from any position on.

    Damage (a bad checksum, a truncated stream) ends the stream instead of raising: everything before it can still be
    read, and `failure` describes it. With the compression "AUTO" the file's first bytes determine the compression,
    unless `plain` finds them to be uncompressed.
    """

    __slots__ = (
        *("_base", "_chunk", "_data", "_file", "_pieces", "_position", "_raw", "_sequential"),
        *("compression", "ended", "failure", "name"),
    )

    def __init__(
        self, name: bytes, compression: str = "", buffer_size: int | None = None, plain: Plain | None = None
    ) -> None:
        self.name = name
        self.compression = checked_compression(compression)
        if buffer_size is not None and buffer_size < 0:
            raise InvalidArgumentError(f"buffer_size must be zero or more, got {buffer_size}")
        self._chunk = min(buffer_size or 0, 64 * CHUNK)
        self._raw: LocalFile | RemoteFile | None = None
        self._file: Any = None
        self._pieces: ReadAheadStream | None = None
        self._restart(plain)

    def _restart(self, plain: Plain | None = None) -> None:
        self.close()
        self._base, self._data = 0, b""
        self._position = self._sequential = 0
        self.ended = False
        self.failure: OpError | None = None
        try:
            here = system_path(self.name)
            self._raw = RemoteFile(self.name) if here is None else LocalFile(here)
            if self.compression == AUTO:
                head = self._raw.ahead(PROBE_BYTES)
                is_plain = plain is not None and plain(head)
                self.compression = "" if is_plain else detect_compression(head, len(head) < PROBE_BYTES)
        except OSError as e:
            raise as_op_error(e, self.name) from None
        self._file = self._raw
        if self.compression:
            decoder = DECODERS[self.compression](self._raw)
            # A pipe may block for long, and a file at a URL is read ahead already.
            whole = isinstance(self._raw, LocalFile) and self._raw.seekable
            self._file = ReadAheadStream(decoder) if whole else decoder

    def begin(self) -> None:
        """Starts decompressing the file before any of it is needed."""
        if isinstance(self._file, ReadAheadStream):
            self._file.begin()

    def window(self, at: int, need: int) -> tuple[bytes, int]:
        """The buffer, and the index of byte `at` in it: at least `need` bytes follow, unless the file ends before."""
        if at < self._base:
            self._restart()
        if self.end - at < need and not self.ended:
            if isinstance(self._file, ReadAheadStream) and self._file.forked:
                self._restart()
            try:
                self._extend(at, need)
            except MemoryError:
                self._base, self._data, self.ended = at, b"", True
                self.failure = ResourceExhaustedError(
                    f"{shown(self.name)}: the {need} bytes from byte {at} on do not fit in memory"
                )
        return self._data, at - self._base

    def view(self, at: int, need: int) -> memoryview:
        """`window` as one view that begins at `at`."""
        data, start = self.window(at, need)
        return memoryview(data)[start:]

    def peek(self, at: int, size: int) -> bytes:
        """The bytes from `at` on, fewer at the end of the file. Skipped bytes are not kept if the file can seek;
        otherwise the buffer keeps everything read.
        """
        if (at < self._base or at + size > self.end) and self.direct:
            try:
                return self._opened.read_at(at, size)
            except (OSError, OpError):  # raised again by the read that needs these bytes
                return b""
        self.window(self._base, at + size - self._base)
        return self._data[at - self._base : at - self._base + size]

    @property
    def _opened(self) -> LocalFile | RemoteFile:
        if self._raw is None:
            raise ValueError("the file is closed")
        return self._raw

    @property
    def direct(self) -> bool:
        """Whether the stream can seek to any position at no cost."""
        return not self.compression and self._opened.seekable

    @property
    def on_disk(self) -> bool:
        """Whether it is a local file that can be read at any position."""
        return self.direct and isinstance(self._raw, LocalFile)

    @property
    def end(self) -> int:
        """The position after the last byte read: the end of the file once `ended` is True."""
        return self._base + len(self._data)

    @property
    def descriptor(self) -> int | None:
        """The file descriptor of a file `on_disk`, for kernels that read it themselves; None for other files."""
        return self._raw.fileno() if self.direct and isinstance(self._raw, LocalFile) else None

    def _extend(self, at: int, need: int) -> None:
        """Reads until `need` bytes from `at` on are in the buffer, and drops those before `at`."""
        pieces: list[bytes] = []
        have = skip = 0
        chunk = self._chunk or _share_of(CHUNK)
        if self.direct and self._read_ahead(at, need):
            return
        if self.direct:
            # Reading the rest of the last chunk again is cheaper than copying the next one behind it.
            self._position = self._opened.seek(at)
        else:
            pieces = [self._data[at - self._base :]]
            have = len(pieces[0])
            # After a restore the reader asks for a position far ahead. A compressed file must be decompressed up to it.
            skip = max(0, at - self._base - len(self._data))
        while (have < need or skip) and not self.ended:
            piece = self._read(max(chunk, need - have))
            dropped = min(skip, len(piece))
            skip -= dropped
            pieces.append(piece[dropped:] if dropped else piece)
            have += len(piece) - dropped
        while have < GATHERED and not self.ended and isinstance(self._file, ReadAheadStream) and self._file.ready:
            pieces.append(self._read(chunk))
            have += len(pieces[-1])
        self._base, self._data = at, pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_ahead(self, at: int, need: int) -> bool:
        """Takes the next piece from the read-ahead thread if it holds the bytes needed. A file that is read
        sequentially, chunk by chunk, gets such a thread.
        """
        if self._pieces is None:
            self._sequential = self._sequential + 1 if self._base < at <= self.end and need <= OVERLAP else 0
            if self._sequential < SEQUENTIAL_CHUNKS or self._chunk or not self.on_disk:
                return False
            if len(_open) > FILES or spare_processors() < 1:
                return False
            assert isinstance(self._raw, LocalFile)
            self._pieces = ReadAheadStream(_Pieces(self._raw.reopened(), self.end - OVERLAP))
        start = self.end - OVERLAP
        try:
            piece = self._pieces.read(CHUNK) if start <= at and not self._pieces.forked else b""
        except OSError:  # raised again by the read that needs these bytes
            piece = b""
        if not start <= at <= start + len(piece) - need:
            self._stop_ahead()
            if at < start:  # the records are too large for read-ahead
                self._sequential = -sys.maxsize
            return False
        self._base, self._data = start, piece
        return True

    def _stop_ahead(self) -> None:
        """Stops the thread, if there is one. It has its own handle of the file."""
        pieces, self._pieces, self._sequential = self._pieces, None, 0
        if pieces is not None:
            pieces.stop()

    def _read(self, size: int) -> bytes:
        try:
            piece: bytes = self._file.read(min(size, LARGEST_READ))
        except Damaged as e:
            hint = '; compression_type="AUTO" detects the compression' if "does not begin" in str(e) else ""
            self.failure = DataLossError(
                f"{shown(self.name)}: the {self.compression} data cannot be decompressed after byte {self._position}: "
                f"{e}{hint}"
            )
            piece = b""
        except (OSError, OpError) as e:
            self.failure = as_op_error(e, self.name)
            piece = b""
        self._position += len(piece)
        self.ended = not piece
        return piece

    def at_most(self, at: int) -> int:
        """Upper bound of the bytes that follow `at`: no length read from the file may exceed it."""
        ahead = self.end - at
        if self.ended:
            return max(0, ahead)
        size = self._opened.size()
        if size is None:
            return sys.maxsize
        if not self.compression:
            return max(ahead, size - at)
        # The decoder's pending output comes from at most its input buffer; the pieces decompressed ahead come on top.
        left = size - self._opened.tell() + 2 * INPUT
        return ahead + left * MOST[self.compression] + (EARLY_DEPTH + 2) * OUTPUT

    def size(self) -> int | None:
        """The size of the file; None for a compressed or endless one."""
        return None if self.compression else self._opened.size()

    def check_unchanged(self) -> None:
        """Raises if the file could not be read to its end, has been truncated since it was opened, or replaced while it
        was read.
        """
        if self.failure is not None:
            raise self.failure
        raw = self._opened
        if isinstance(raw, RemoteFile) or raw.seekable:
            raw.check_unchanged()

    @property
    def here(self) -> bool:
        """Whether the file is a local one."""
        return isinstance(self._raw, LocalFile)

    @property
    def identity(self) -> Identity | None:
        """The identity of the file as it was opened; None if it cannot be read twice, as a pipe."""
        raw = self._opened
        return None if isinstance(raw, LocalFile) and not raw.seekable else raw.identity

    def close(self) -> None:
        """Closes the file."""
        stopped = self._file.stop() if isinstance(self._file, ReadAheadStream) else True
        self._stop_ahead()
        if self._raw is not None and stopped:
            self._raw.close()


def _share_of(chunk: int) -> int:
    """Bytes to read at once: fewer if many files are open, to bound their memory."""
    opened = len(_open)
    return chunk if opened <= FILES else max(LEAST_CHUNK, chunk * FILES // opened)


class LocalFile:
    """A local file. When garbage collected it is closed without Python's ResourceWarning: a dropped iterator may hold
    the last reference.
    """

    def __init__(self, name: bytes) -> None:
        self.name = name
        self._number: int | None = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        status = os.fstat(self._number)
        self.seekable = stat.S_ISREG(status.st_mode)
        self.identity = Identity(status.st_size, status.st_mtime_ns)
        self._head = self._head_checksum()
        self._ahead = b""
        _open.add(self)

    def reopened(self) -> LocalFile:
        """The same file, opened a second time."""
        other = object.__new__(LocalFile)
        other.__dict__.update(self.__dict__, _number=os.dup(self.fileno()), _ahead=b"")
        return other

    def fileno(self) -> int:
        if self._number is None:
            raise ValueError("the file is closed")
        return self._number

    def read(self, size: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        piece = os.read(self.fileno(), size)
        if not piece and size and self.seekable:
            self.check_unchanged(self.tell())
        return piece

    def check_unchanged(self, read: int | None = None) -> None:
        """Raises if the file has been truncated since it was opened, or rewritten in place. `read` bytes of it were
        read: all of them by default.
        """
        status = os.fstat(self.fileno())
        now, size = Identity(status.st_size, status.st_mtime_ns), self.identity.size
        whole = now.size >= size and (read is None or read >= size)
        if now == self.identity or (whole and self._head_checksum() == self._head):
            return  # unchanged, or appended to
        what = f"it had {size} bytes when it was opened and now has {now.size}"
        if now.size == size:
            what = "it was rewritten"
        raise DataLossError(f"{shown(self.name)} was changed while it was read: {what}")

    def _head_checksum(self) -> int:
        """Checksum of the first bytes."""
        return kernels.crc32c(os.pread(self.fileno(), HEAD, 0)) if self.seekable else 0

    def read_at(self, position: int, size: int) -> bytes:
        """The bytes at a position, fewer at the end of the file. Does not move the file position."""
        here = self.tell()
        self.seek(position)
        pieces = []
        while size and (piece := os.read(self.fileno(), min(size, LARGEST_READ))):
            pieces.append(piece)
            size -= len(piece)
        self.seek(here)
        return b"".join(pieces)

    def ahead(self, size: int) -> bytes:
        """The next bytes, without consuming them."""
        if self.seekable:
            return self.read_at(self.tell(), size)
        while len(self._ahead) < size and (piece := os.read(self.fileno(), size - len(self._ahead))):
            self._ahead += piece
        return self._ahead

    def seek(self, position: int) -> int:
        return os.lseek(self.fileno(), position, os.SEEK_SET)

    def tell(self) -> int:
        return os.lseek(self.fileno(), 0, os.SEEK_CUR)

    def size(self) -> int | None:
        """The current size of the file; None for one without a size, such as a pipe."""
        return os.fstat(self.fileno()).st_size if self.seekable else None

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            _open.discard(self)
            os.close(number)

    def __del__(self) -> None:
        if "_number" in self.__dict__:
            self.close()


_open: weakref.WeakSet[LocalFile] = weakref.WeakSet()


class _Pieces:
    """A file in overlapping pieces, for the read-ahead thread: it has a file position of its own."""

    def __init__(self, raw: Any, start: int) -> None:
        self.raw_file, self._at = raw, start

    def read(self, size: int) -> bytes:
        """The next piece; empty if it would hold nothing new."""
        piece = os.pread(self.raw_file.fileno(), PIECE + OVERLAP, self._at)
        if len(piece) <= OVERLAP:
            return b""
        self._at += len(piece) - OVERLAP
        return piece


def checked_compression(compression: object) -> str:
    """A `compression_type` as "" or one of "GZIP", "ZLIB", "ZSTD" and "AUTO"."""
    name = "" if compression is None else compression
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    if not isinstance(name, str) or name not in ("", AUTO, *DECODERS):
        kind = InvalidArgumentError if isinstance(name, str) else InvalidTypeError
        raise kind(
            f'compression_type must be "GZIP", "ZLIB", "ZSTD", "AUTO" or "" for none, got {compression!r}'
        )
    return name
