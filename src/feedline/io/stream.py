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
from feedline.io.compressed import DECODERS, INPUT, MOST, OUTPUT, SIGHT, Damaged, likely
from feedline.io.files import as_op_error, shown, system_path
from feedline.io.read_ahead import EARLY_DEPTH, ReadAheadStream
from feedline.io.remote import Identity, RemoteFile
from feedline.kernels.threads import allowed, spare_processors
from feedline.structure.block import Array

CHUNK = 1 << 20
FILES = 16
"""So many open files are read a `CHUNK` at a time; of more, each gets its share, but no less than this:"""
LEAST_CHUNK = 1 << 16
HEAD = 4096
"""So many bytes at the beginning of a file tell whether it was written anew while it was read."""
LARGEST_READ = 0x7FFFF000
"""More than this the system does not read at once."""

PIECE = 1 << 20
OVERLAP = 1 << 15
"""Pieces that are read ahead begin so many bytes before the last one ends, so that a record that lies across need not
be put together.
"""
STEADY = 4
"""So many chunks in a row are read before a thread reads the next ones."""

MOST_THREADS = 4
"""Large records are read by no more threads at once: memory has no room for more."""

MOST_LINE = 1 << 30
"""No line of a text is longer: who looks for its end gives up there, as in a file that has no line ends."""

AUTO = "AUTO"

Plain = Callable[[bytes], bool]
"""Says of the first bytes of a file that they are those of one that is not compressed."""


class Stream:
    """Reads a file ahead in chunks and shows it from any position on.

    Damage (a bad checksum, a stream that is cut) is no exception but the end: what came before it can still be seen,
    and `failure` says what there is after it. With the compression "AUTO" the file's first bytes tell how it is
    compressed, unless `plain` says of them that it is not.
    """

    __slots__ = (
        *("_base", "_chunk", "_data", "_file", "_pieces", "_position", "_raw", "_steady"),
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
        self._position = self._steady = 0
        self.ended = False
        self.failure: OpError | None = None
        try:
            here = system_path(self.name)
            self._raw = RemoteFile(self.name) if here is None else LocalFile(here)
            if self.compression == AUTO:
                head = self._raw.ahead(SIGHT)
                is_plain = plain is not None and plain(head)
                self.compression = "" if is_plain else likely(head, len(head) < SIGHT)
        except OSError as e:
            raise as_op_error(e, self.name) from None
        self._file = self._raw
        if self.compression:
            decoder = DECODERS[self.compression](self._raw)
            # A pipe may give nothing for long, and a file at a URL is read ahead already.
            whole = isinstance(self._raw, LocalFile) and self._raw.seekable
            self._file = ReadAheadStream(decoder) if whole else decoder

    def begin(self) -> None:
        """Begins to decompress the file, of which nothing is wanted yet."""
        if isinstance(self._file, ReadAheadStream):
            self._file.begin()

    def window(self, at: int, need: int) -> tuple[bytes, int]:
        """What has been read, and where in it the bytes from `at` on begin: at least `need` of them, unless the file
        ends before.
        """
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
                    f"{shown(self.name)}: {need} bytes from byte {at} on belong together, and memory has no room"
                )
        return self._data, at - self._base

    def view(self, at: int, need: int) -> memoryview:
        """`window` as one view of the bytes from `at` on."""
        data, start = self.window(at, need)
        return memoryview(data)[start:]

    def glimpse(self, at: int, size: int) -> bytes:
        """The bytes from `at` on, fewer where the file ends. What lies between is not kept, where it can be passed
        over; elsewhere what has been read stays.
        """
        if (at < self._base or at + size > self.end) and self.direct:
            try:
                return self._opened.read_at(at, size)
            except (OSError, OpError):  # it will be met again by whoever reads there
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
        """True where any position can be gone to at once."""
        return not self.compression and self._opened.seekable

    @property
    def on_disk(self) -> bool:
        """True where the system itself can read any position."""
        return self.direct and isinstance(self._raw, LocalFile)

    @property
    def end(self) -> int:
        """Where what has been read ends: the end of the file, once `ended` is True."""
        return self._base + len(self._data)

    def large_records(self, at: int, want: int, least: int, most: int) -> tuple[Any, int]:
        """Records of a TFRecord file from `at` on, as `kernels.tfrecord_large` gives them, and the place after them."""
        assert isinstance(self._raw, LocalFile)
        threads = allowed(max(1, min(MOST_THREADS, spare_processors())))
        return kernels.tfrecord_large(self._raw.fileno(), at, want, least, most, threads)

    @property
    def shelvable(self) -> bool:
        """True where `records_to_rows` can be asked."""
        return self.on_disk and not self._chunk

    def records_to_rows(self, at: int, rows: Array, lengths: Array, numbers: Array) -> Array:
        """Records of a TFRecord file from `at` on, as `kernels.tfrecord_to_rows` puts them into rows."""
        assert isinstance(self._raw, LocalFile)
        return kernels.tfrecord_to_rows(self._raw.fileno(), at, rows, lengths, numbers)

    def _extend(self, at: int, need: int) -> None:
        """Reads on until `need` bytes from `at` on are there, and forgets those before `at`."""
        pieces: list[bytes] = []
        have = skip = 0
        chunk = self._chunk or _share_of(CHUNK)
        if self.direct and self._read_ahead(at, need):
            return
        if self.direct:
            # To read what is left of the last chunk once more is cheaper than to copy the next one behind it.
            self._position = self._opened.seek(at)
        else:
            pieces = [self._data[at - self._base :]]
            have = len(pieces[0])
            # After a restore the reader asks for a place far ahead. In a compressed file there is no way there but
            # through what is before it.
            skip = max(0, at - self._base - len(self._data))
        while (have < need or skip) and not self.ended:
            piece = self._read(max(chunk, need - have))
            dropped = min(skip, len(piece))
            skip -= dropped
            pieces.append(piece[dropped:] if dropped else piece)
            have += len(piece) - dropped
        self._base, self._data = at, pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_ahead(self, at: int, need: int) -> bool:
        """Takes the next piece of those that a thread reads, if that is what is wanted. A file that is read steadily,
        chunk by chunk, gets such a thread.
        """
        if self._pieces is None:
            self._steady = self._steady + 1 if self._base < at <= self.end and need <= OVERLAP else 0
            if self._steady < STEADY or self._chunk or not self.on_disk or len(_open) > FILES or spare_processors() < 1:
                return False
            assert isinstance(self._raw, LocalFile)
            self._pieces = ReadAheadStream(_Pieces(self._raw.twin(), self.end - OVERLAP))
        start = self.end - OVERLAP
        try:
            piece = self._pieces.read(CHUNK) if start <= at and not self._pieces.forked else b""
        except OSError:  # met again by whoever reads there
            piece = b""
        if not start <= at <= start + len(piece) - need:
            self._stop_ahead()
            if at < start:  # records are too large for that
                self._steady = -sys.maxsize
            return False
        self._base, self._data = start, piece
        return True

    def _stop_ahead(self) -> None:
        """Ends the thread, if there is one. It has the file open for itself."""
        pieces, self._pieces, self._steady = self._pieces, None, 0
        if pieces is not None:
            pieces.stop()

    def _read(self, size: int) -> bytes:
        try:
            piece: bytes = self._file.read(min(size, LARGEST_READ))
        except Damaged as e:
            hint = '; compression_type="AUTO" finds out what it is' if "does not begin" in str(e) else ""
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
        """No more bytes than this can follow `at`: a length read from the file is not believed beyond it."""
        ahead = self.end - at
        if self.ended:
            return max(0, ahead)
        size = self._opened.size()
        if size is None:
            return sys.maxsize
        if not self.compression:
            return max(ahead, size - at)
        # What the decoder holds back comes from input that has been read: not more than its input buffer. Besides there
        # are the pieces that were made ahead.
        left = size - self._opened.tell() + 2 * INPUT
        return ahead + left * MOST[self.compression] + (EARLY_DEPTH + 2) * OUTPUT

    def size(self) -> int | None:
        """The size of the file; None for a compressed or endless one."""
        return None if self.compression else self._opened.size()

    def must_be_whole(self) -> None:
        """Raises where the file has become shorter since it was opened, or was replaced while it was read."""
        raw = self._opened
        if isinstance(raw, RemoteFile) or raw.seekable:
            raw.must_be_whole()

    @property
    def here(self) -> bool:
        """True where the file is the system's."""
        return isinstance(self._raw, LocalFile)

    @property
    def identity(self) -> Identity | None:
        """By what the file is known as it was opened; None where it cannot be read a second time, as a pipe."""
        raw = self._opened
        return None if isinstance(raw, LocalFile) and not raw.seekable else raw.identity

    def close(self) -> None:
        """Closes the file."""
        stopped = self._file.stop() if isinstance(self._file, ReadAheadStream) else True
        self._stop_ahead()
        if self._raw is not None and stopped:
            self._raw.close()


def _share_of(chunk: int) -> int:
    """How much is read at once: less where many files are open, so that they do not take more memory than few."""
    opened = len(_open)
    return chunk if opened <= FILES else max(LEAST_CHUNK, chunk * FILES // opened)


class LocalFile:
    """A file as the system has it. When it is dropped it is closed without the warning that Python's own would give: an
    iterator that nobody refers to any more may be the last to hold it.
    """

    def __init__(self, name: bytes) -> None:
        self.name = name
        self._number: int | None = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        status = os.fstat(self._number)
        self.seekable = stat.S_ISREG(status.st_mode)
        self.identity = Identity(status.st_size, status.st_mtime_ns)
        self._head = self._beginning()
        self._ahead = b""
        _open.add(self)

    def twin(self) -> LocalFile:
        """The same file, open once more."""
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
            self.must_be_whole(self.tell())
        return piece

    def must_be_whole(self, read: int | None = None) -> None:
        """Raises where the file has become shorter since it was opened, or was written anew in its place. It was `read`
        up to there: all of it, if nothing is said.
        """
        status = os.fstat(self.fileno())
        now, size = Identity(status.st_size, status.st_mtime_ns), self.identity.size
        whole = now.size >= size and (read is None or read >= size)
        if now == self.identity or (whole and self._beginning() == self._head):
            return  # the same, or one that has grown
        what = f"it had {size} bytes when it was opened and has {now.size}"
        if now.size == size:
            what = "it was written anew"
        raise DataLossError(f"{shown(self.name)} was changed while it was read: {what}")

    def _beginning(self) -> int:
        """A checksum of the first bytes."""
        return kernels.crc32c(os.pread(self.fileno(), HEAD, 0)) if self.seekable else 0

    def read_at(self, position: int, size: int) -> bytes:
        """The bytes at a position, fewer where the file ends. The file stays where it is."""
        here = self.tell()
        self.seek(position)
        pieces = []
        while size and (piece := os.read(self.fileno(), min(size, LARGEST_READ))):
            pieces.append(piece)
            size -= len(piece)
        self.seek(here)
        return b"".join(pieces)

    def ahead(self, size: int) -> bytes:
        """The next bytes, which stay to be read."""
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
        """The size of the file as it is now; None for one that has none, such as a pipe."""
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
    """A file in pieces that overlap, for a thread: it moves nobody's place in the file."""

    def __init__(self, raw: Any, start: int) -> None:
        self.raw_file, self._at = raw, start

    def read(self, size: int) -> bytes:
        """The next piece; none where it would have nothing new."""
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
