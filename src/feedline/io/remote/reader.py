"""Reading remote files ahead: the next ranges are requested while the last one is in use."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections import deque
from typing import Any, NamedTuple

from feedline.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    UnavailableError,
    UnimplementedError,
)
from feedline.io.remote import web
from feedline.io.remote.calls import filesystem, identity_of, info
from feedline.io.remote.errors import as_op_error
from feedline.io.remote.retry import with_retries
from feedline.provenance.identity import Identity

FIRST = 1 << 20
RANGE = 8 << 20
GROWTH = 4
"""Factor by which ranges grow from `FIRST` to `RANGE` in a sequential read: short reads then transfer little."""

DEPTH = 4
"""The most ranges of a file to read ahead."""

AHEAD_BYTES = 256 << 20
"""The most bytes that all open files together read ahead. Beyond that a file requests only the range it needs."""

IO_BUFFER = 1 << 16

REQUEST_S = 120.0
"""Seconds after which a range request counts as failed."""


_held: dict[int, int] = {}
"""Bytes that each open file has read or requested, by its id. Each file changes only its own entry, so no lock is
needed on which the finalizer of a dropped file could deadlock.
"""


class _There(NamedTuple):
    """A remote file in the version that was opened."""

    name: bytes
    fs: Any
    path: str
    identity: Identity


class _Range:
    """Bytes start to stop of a file, being requested."""

    __slots__ = ("_data", "_future", "_got", "_have", "_there", "start", "stop")

    def __init__(self, there: _There, start: int, stop: int) -> None:
        self._there = there
        self.start, self.stop = start, stop
        self._data: bytes | None = None
        self._future: Any = None
        self._have, self._got = bytearray(), bytearray()  # in total, and of the current request
        self._request()

    def _request(self) -> None:
        from concurrent.futures import Future

        from fsspec.asyn import AsyncFileSystem

        name, fs, path, identity = self._there
        span = {"start": self.start, "end": self.stop}
        if isinstance(fs, AsyncFileSystem):
            import asyncio

            if web.is_web(fs):
                self._got = bytearray()
                start = self.start + len(self._have)
                call = web.fetch(name, fs, path, identity, start, self.stop, self._got)
            else:
                call = fs._cat_file(path, **span)
            self._future = asyncio.run_coroutine_threadsafe(call, fs.loop)
            return
        self._future = future = Future[bytes]()
        # The thread refers to the request only, so that it does not keep a dropped file alive.
        threading.Thread(target=_fetch, args=(future, fs, path, span), name="feedline read-ahead", daemon=True).start()

    def data(self) -> bytes:
        """The bytes; waits for them."""
        if self._data is None:
            patience = web.PATIENCE_S if web.is_web(self._there.fs) else None
            self._data = with_retries(self._there.name, self._wait, lambda: len(self._have), patience)
            self._future = None
            self._have, self._got = bytearray(), bytearray()
        return self._data

    def _wait(self) -> bytes:
        from concurrent.futures import CancelledError

        if self._future is None:
            self._request()
        future, self._future = self._future, None  # the next call sends a new request
        name, size = os.fsdecode(self._there.name), self.stop - self.start
        try:
            data: bytes | None = future.result(REQUEST_S)
        except CancelledError:
            raise UnavailableError(f"{name}: the request was cancelled") from None
        except TimeoutError:
            if future.done():
                raise
            raise UnavailableError(
                f"{name}: bytes {self.start} to {self.stop - 1} did not arrive within {REQUEST_S:g} s"
            ) from None
        finally:
            future.cancel()
            self._have += bytes(self._got)
        if data is None:  # it has arrived in pieces
            if len(self._have) < size:
                raise UnavailableError(f"{name}: {len(self._have)} of {size} bytes arrived from byte {self.start} on")
            data = bytes(self._have)
        if len(data) != size:
            raise DataLossError(
                f"{name}: {len(data)} bytes arrived instead of {size} from byte {self.start} on; was it changed "
                "while it was read?"
            )
        return data

    def drop(self) -> None:
        """Cancels the request."""
        if self._future is not None:
            self._future.cancel()
            self._future = None


def _fetch(future: Any, fs: Any, path: str, span: dict[str, int]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(fs.cat_file(path, **span))
    except BaseException as e:
        future.set_exception(e)


class RemoteFile:
    """A file at a URL, open for reading from any position.

    In a sequential read the next ranges are requested ahead. The previous range is kept too, since readers look back a
    little. A file of unknown size is read from beginning to end.
    """

    def __init__(self, name: bytes) -> None:
        self.name = name
        self._window: deque[_Range] = deque()
        self._at = 0
        self._peeked = b""
        self._step, self._depth = FIRST, 0
        self._current: _Range | None = None
        self._whole: Any = None
        about = info(name)
        if about["type"] == "directory":
            raise FailedPreconditionError(f"{os.fsdecode(name)}: Is a directory")
        fs, path = filesystem(name)
        self.identity = identity_of(name, about)
        self._there = _There(name, fs, path, self.identity)
        self._size: int | None = about.get("size")
        self._parts = 0
        if self._size is None or not about.get("partial", True):  # the server does not support ranges
            self._size = None
            if web.is_web(fs):
                self._whole = web.WholeBody(name, fs, path, self.identity, about.get("encoding", ""))
            else:
                self._whole = with_retries(name, lambda: fs.open(path, "rb"))

    def size(self) -> int | None:
        """The size of the file; None if unknown."""
        return self._size

    @property
    def seekable(self) -> bool:
        """Whether it can be read from any position."""
        return self._size is not None

    def tell(self) -> int:
        """The current position."""
        return self._at

    def seek(self, position: int) -> int:
        """Moves to a position."""
        if self._size is None and position != self._at:
            raise UnimplementedError(
                f"{os.fsdecode(self.name)}: its server does not support range requests, so it cannot be read from "
                f"byte {position} on; copy it to a local file"
            )
        self._at = position
        return position

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`, none at the end of the file."""
        if size <= 0:
            return b""
        if self._size is None:
            piece, self._peeked = self._peeked[:size], self._peeked[size:]
            piece = piece or self._read_sequentially(size)
        elif self._at >= self._size:
            self.check_unchanged()
            return b""
        else:
            found = self._range()
            piece = found.data()[self._at - found.start : self._at - found.start + size]
        self._at += len(piece)
        return piece

    def read_at(self, position: int, size: int) -> bytes:
        """The bytes at a position, fewer at the end of the file. Neither the position nor pending requests change."""
        assert self._size is not None
        stop = min(position + size, self._size)
        if position >= stop:
            return b""
        held = next((r for r in self._window if r.start <= position and stop <= r.stop), None)
        if held is not None:
            return held.data()[position - held.start : stop - held.start]
        return _Range(self._there, position, stop).data()

    def ahead(self, size: int) -> bytes:
        """The next bytes, without consuming them; fewer at the end of the file."""
        if self._size is not None:
            if self._at < self._size:
                self._range()  # it is read next
            return self.read_at(self._at, size)
        while len(self._peeked) < size and (piece := self._read_sequentially(size - len(self._peeked))):
            self._peeked += piece
        return self._peeked

    def readinto(self, view: memoryview) -> int:
        """Fills a buffer with the next bytes; returns their number."""
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def read_all(self) -> bytes:
        """Everything from the current position on."""
        pieces = []
        while piece := self.read(RANGE):
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def as_io(self) -> io.BufferedReader:
        """The file as a Python file object; closing that closes this one."""
        return io.BufferedReader(_Io(self), IO_BUFFER)

    def close(self) -> None:
        """Cancels pending requests."""
        while self._window:
            self._window.pop().drop()
        self._weigh()
        self._current = None
        whole, self._whole = self._whole, None
        if whole is not None:
            whole.close()

    def _read_sequentially(self, size: int) -> bytes:
        if self._whole is None:
            raise ValueError("the file is closed")
        try:
            piece: bytes = self._whole.read(size)
        except Exception as e:
            raise as_op_error(e, self.name) from e
        return piece

    def _range(self) -> _Range:
        """The range at the current position; requests the ones after it."""
        window = self._window
        found = next((r for r in window if r.start <= self._at < r.stop), None)
        if found is None:
            if not window or window[-1].stop != self._at:
                self.close()
                self._step, self._depth = FIRST, 0
            self._send_for(self._at, must=True)
            found = window[-1]
        if found is not self._current:
            self._current, self._depth = found, min(DEPTH, self._depth + 1)
            while len(window) > 1 and window[1] is not found and window[0] is not found:
                window.popleft().drop()
            self._weigh()
        after = sum(r.start > self._at for r in window)
        while after < self._depth and self._send_for(window[-1].stop, must=False):
            after += 1
        return found

    def _send_for(self, start: int, must: bool) -> bool:
        """Requests the range that begins at `start`; False at the end, or if the read-ahead limit is reached."""
        assert self._size is not None
        if start >= self._size:
            return False
        stop = start + self._step
        if self._size - stop < self._step // 2:  # not worth a request of its own
            stop = self._size
        if not must and sum(list(_held.values())) + stop - start > AHEAD_BYTES:
            return False
        self._window.append(_Range(self._there, start, stop))
        self._parts += 1
        self._weigh()
        self._step = min(RANGE, self._step * GROWTH)
        return True

    def check_unchanged(self) -> None:
        """Raises if the file was replaced while it was read in parts. Over HTTP every response shows that."""
        parts, self._parts = self._parts, 0
        if parts < 2 or web.is_web(self._there.fs):
            return
        try:
            now = identity_of(self.name)
        except NotFoundError:  # removed since, which does no harm
            return
        what = self.identity.differs(now)
        if not what and not self.identity.version and self.identity.time != now.time:
            what = "it was written since"
        if what:
            raise FailedPreconditionError(
                f"{os.fsdecode(self.name)} was changed while it was read: {what}; read it again"
            )

    def _weigh(self) -> None:
        if self._window:
            _held[id(self)] = sum(r.stop - r.start for r in self._window)
        else:
            _held.pop(id(self), None)

    def __del__(self) -> None:
        if "_whole" in self.__dict__:
            with contextlib.suppress(Exception):  # the interpreter may be shutting down
                self.close()


class _Io(io.RawIOBase):
    def __init__(self, file: RemoteFile) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable

    def readinto(self, view: Any) -> int:
        return self._file.readinto(view)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._file.size()
        if size is None:
            raise io.UnsupportedOperation(f"{os.fsdecode(self._file.name)} can only be read sequentially")
        return self._file.seek(offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._file.tell(), io.SEEK_END: size}[whence])

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


def read(name: bytes) -> bytes:
    """The contents of a file."""
    with contextlib.closing(RemoteFile(name)) as file:
        return file.read_all()
