"""The bytes of a file by position, plain or decompressed."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import zlib
from typing import Any, BinaryIO, cast

from feedline.errors import DataLossError, InvalidArgumentError, OpError
from feedline.io.files import as_op_error, shown, system_path
from feedline.io.remote import RemoteFile

CHUNK = 1 << 20
INPUT = 1 << 16
MOST_INFLATED = 1032
"""No byte of a deflate stream stands for more than so many."""


class Stream:
    """Reads a file ahead in chunks and shows it from any position on.

    Damage (a bad checksum, a stream that is cut) is no exception but the end: what came before it can still be seen,
    and `failure` says what there is after it.
    """

    __slots__ = ("_base", "_chunk", "_compression", "_data", "_file", "_position", "ended", "failure", "name")

    def __init__(self, name: bytes, compression: str = "", buffer_size: int | None = None) -> None:
        self.name = name
        self._compression = checked_compression(compression)
        if buffer_size is not None and buffer_size < 0:
            raise InvalidArgumentError(f"buffer_size must be zero or more, got {buffer_size}")
        self._chunk = min(buffer_size, 64 * CHUNK) if buffer_size else CHUNK
        self._file: Any = None
        self._restart()

    def _restart(self) -> None:
        self.close()
        self._base, self._data = 0, b""
        self._position = 0
        self.ended = False
        self.failure: OpError | None = None
        try:
            here = system_path(self.name)
            raw = RemoteFile(self.name) if here is None else _Raw(here)
        except OSError as e:
            raise as_op_error(e, self.name) from None
        self._file = _OPENERS[self._compression](raw)

    def window(self, at: int, need: int) -> tuple[bytes, int]:
        """What has been read, and where in it the bytes from `at` on begin: at least `need` of them, unless the file
        ends before.
        """
        if at < self._base:
            self._restart()
        if self._base + len(self._data) - at < need and not self.ended:
            self._extend(at, need)
        return self._data, at - self._base

    def view(self, at: int, need: int) -> memoryview:
        """`window` as one view of the bytes from `at` on."""
        data, start = self.window(at, need)
        return memoryview(data)[start:]

    def _extend(self, at: int, need: int) -> None:
        """Reads on until `need` bytes from `at` on are there, and forgets those before `at`."""
        pieces: list[bytes] = []
        have = skip = 0
        if self.size() is not None:
            # To read what is left of the last chunk once more is cheaper than to copy the next one behind it.
            self._position = self._file.seek(at)
        else:
            pieces = [self._data[at - self._base :]]
            have = len(pieces[0])
            # After a restore the reader asks for a place far ahead. In a compressed file there is no way there but
            # through what is before it.
            skip = max(0, at - self._base - len(self._data))
        while (have < need or skip) and not self.ended:
            piece = self._read(min(max(self._chunk, need - have), 64 * CHUNK))
            dropped = min(skip, len(piece))
            skip -= dropped
            pieces.append(piece[dropped:] if dropped else piece)
            have += len(piece) - dropped
        self._base, self._data = at, pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read(self, size: int) -> bytes:
        try:
            piece: bytes = self._file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as e:
            reason = "it is cut" if isinstance(e, EOFError) else str(e)
            self.failure = DataLossError(
                f"{shown(self.name)}: the {self._compression} data cannot be decompressed after byte {self._position}: "
                f"{reason}"
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
        ahead = self._base + len(self._data) - at
        if self.ended:
            return max(0, ahead)
        left = _left(self._file)
        return sys.maxsize if left is None else ahead + left

    def size(self) -> int | None:
        """The size of the file; None for a compressed or endless one."""
        return None if self._compression else self._file.size()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()


class _Raw:
    """A file as the system has it. When it is dropped it is closed without the warning that Python's own would give: an
    iterator that nobody refers to any more may be the last to hold it.
    """

    def __init__(self, name: bytes) -> None:
        self._number: int | None = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def fileno(self) -> int:
        if self._number is None:
            raise ValueError("the file is closed")
        return self._number

    def read(self, size: int) -> bytes:
        return os.read(self.fileno(), size)

    def seek(self, position: int) -> int:
        return os.lseek(self.fileno(), position, os.SEEK_SET)

    def tell(self) -> int:
        return os.lseek(self.fileno(), 0, os.SEEK_CUR)

    def size(self) -> int | None:
        status = os.fstat(self.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    def __del__(self) -> None:
        if "_number" in self.__dict__:
            self.close()


class _Gzip:
    """One gzip member or several, one after another."""

    def __init__(self, raw: _Raw) -> None:
        self.raw_file = raw
        self._zip = gzip.GzipFile(fileobj=cast(BinaryIO, raw), mode="rb")

    def read(self, size: int) -> bytes:
        return self._zip.read1(size)  # not read, which loses what it has collected when it meets damage

    def close(self) -> None:
        self._zip.close()
        self.raw_file.close()


class _Zlib:
    """One zlib stream. The checksum is worked out here: zlib's own check would take the bytes before it along."""

    def __init__(self, raw: _Raw) -> None:
        self.raw_file = raw
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._pending = b""
        self._sum = 1
        self._started = self._done = False

    def read(self, size: int) -> bytes:
        if not self._started and not self._start():
            return b""
        while not self._done:
            if not self._pending:
                self._pending = self.raw_file.read(INPUT)
                if not self._pending:
                    raise EOFError
            piece = self._inflate.decompress(self._pending, size)
            self._pending = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._done = True
                self._pending = self._inflate.unused_data
            if piece:
                self._sum = zlib.adler32(piece, self._sum)
                return piece
        self._finish()
        return b""

    def _start(self) -> bool:
        """Reads the two bytes before the data; False for a file with nothing in it."""
        self._started = True
        header = self._exactly(2, b"")
        if not header:
            self._done = True
            return False
        if len(header) < 2:
            raise EOFError
        if header[0] & 0x0F != 8 or int.from_bytes(header, "big") % 31 or header[1] & 0x20:
            raise zlib.error("it does not begin like zlib data")
        return True

    def _finish(self) -> None:
        """Compares the checksum after the data, and refuses anything after that."""
        trailer = self._exactly(5, self._pending)
        self._pending = b""
        if len(trailer) < 4:
            raise EOFError
        if int.from_bytes(trailer[:4], "big") != self._sum:
            raise zlib.error("the checksum is wrong")
        if len(trailer) > 4:
            raise zlib.error("there is something after its end")

    def _exactly(self, size: int, have: bytes) -> bytes:
        while len(have) < size:
            more = self.raw_file.read(size - len(have))
            if not more:
                break
            have += more
        return have

    def close(self) -> None:
        self.raw_file.close()


_OPENERS: dict[str, Any] = {"": lambda raw: raw, "GZIP": _Gzip, "ZLIB": _Zlib}


def checked_compression(compression: Any) -> str:
    """A `compression_type` as one of "", "GZIP", "ZLIB"."""
    name = "" if compression is None else compression
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    if name not in _OPENERS:
        raise InvalidArgumentError(f'compression_type must be "GZIP", "ZLIB" or "" for none, got {compression!r}')
    return str(name)


def _left(file: Any) -> int | None:
    """At most how many bytes a file object can still give; None where that is not known."""
    raw = getattr(file, "raw_file", file)
    size = raw.size()
    if size is None:
        return None
    left = size - raw.tell()
    # What the decompressor holds back comes from input that has been read: not more than its input buffer.
    return int(left) if raw is file else int(left + 2 * INPUT) * MOST_INFLATED
