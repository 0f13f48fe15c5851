"""Files that are elsewhere: what a URL names, through fsspec, which is imported when the first one is met.

    RemoteFile    reads ahead: large ranges, several on their way at a time
    RemoteWriter  writes a file here first, and sends it when it is closed
    asked         runs any other call on a file system

All of them try again, a few times, where an error may pass, and raise TensorFlow's classes with the URL in the text.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import random
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from feedline.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)

T = TypeVar("T")

FIRST = 1 << 20
RANGE = 8 << 20
GROWTH = 4
"""Ranges grow from `FIRST` to `RANGE` while a file is read on: what is read in places, or left early, costs little."""

DEPTH = 4
"""At most so many ranges of a file are read ahead."""

AHEAD_BYTES = 256 << 20
"""What all open files together may read ahead. Beyond it a file gets the range that it needs, and no more."""

PAUSES_S = (0.1, 0.4, 1.6)
PATIENCE_S = 10.0
"""After an error that may pass, a call is made again, once after each pause, unless so much time has gone by: file
systems have a patience of their own.
"""

IO_BUFFER = 1 << 16

REQUEST_S = 120.0
"""A range that is not there by then counts as failed."""


# Errors.

_CLASSES: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (FileExistsError, AlreadyExistsError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
    (TimeoutError, UnavailableError),
    (ConnectionError, UnavailableError),
    (NotImplementedError, UnimplementedError),
    (MemoryError, ResourceExhaustedError),
)
_STATUSES: dict[int, type[OpError]] = {
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: UnimplementedError,
    408: UnavailableError,
    409: UnavailableError,
    410: NotFoundError,
    416: OutOfRangeError,
    429: UnavailableError,
    501: UnimplementedError,
}
_NUMBERS: dict[int, type[OpError]] = {
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EPERM: PermissionDeniedError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.ENOSYS: UnimplementedError,
    **dict.fromkeys((errno.EBUSY, errno.EIO, errno.EPIPE, errno.ECONNRESET), UnavailableError),
    **({errno.EREMOTEIO: UnavailableError} if hasattr(errno, "EREMOTEIO") else {}),
}
_PASSING = ("Connect", "Timeout", "Disconnect", "Payload", "IncompleteRead", "Protocol", "DNS", "HTTPClient")
"""In the names of the classes by which HTTP libraries say that a connection failed."""


def as_op_error(error: BaseException, name: bytes) -> OpError:
    """What a file system, or the library below it, reported of a URL, as TensorFlow's class for it."""
    if isinstance(error, OpError):
        return error
    return _class_for(error)(f"{os.fsdecode(name)}: {_words(error)}")


def _class_for(error: BaseException) -> type[OpError]:
    for theirs, ours in _CLASSES:
        if isinstance(error, theirs):
            return ours
    status = _status(error)
    if status is not None:
        return _STATUSES.get(status, UnavailableError if status >= 500 else UnknownError)
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    names = [c.__name__ for c in type(error).__mro__]
    if any("Credentials" in n for n in names):
        return UnauthenticatedError
    if any(word in n for n in names for word in _PASSING):
        return UnavailableError
    return UnknownError


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error of one of several libraries carries."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    elif response is not None:
        status = getattr(response, "status_code", None)
    else:
        status = error.status if hasattr(error, "status") else getattr(error, "code", None)
    return status if isinstance(status, int) and 400 <= status < 600 else None


def _words(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "No such file or directory"
    said = getattr(error, "strerror", None) or str(error)
    return str(said) if said else type(error).__name__


# Calls.


def filesystem(name: bytes) -> tuple[Any, str]:
    """The file system of a URL, and what it calls the file."""
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(os.fsdecode(name))
    except (ImportError, ValueError) as e:
        raise UnimplementedError(
            f"{os.fsdecode(name)}: there is no file system for it: {e}; install the package that gives fsspec one"
        ) from e
    except Exception as e:
        raise as_op_error(e, name) from e
    return found


def asked(name: bytes, call: Callable[[], T]) -> T:
    """What `call` gives. Where it fails in a way that may pass, it is called again, a few times."""
    began = time.monotonic()
    for pause in (*PAUSES_S, None):
        try:
            return call()
        except Exception as e:
            error = as_op_error(e, name)
            passing = isinstance(error, UnavailableError) and time.monotonic() - began < PATIENCE_S
            if pause is None or not passing:
                if error is e:
                    raise
                raise error from e
            time.sleep(pause * random.uniform(0.5, 1.0))
    raise AssertionError  # the last turn returns or raises


def info(name: bytes) -> dict[str, Any]:
    """What the file system knows of a file or folder, as of now."""
    fs, path = filesystem(name)
    fs.invalidate_cache(path)
    found: dict[str, Any] = asked(name, lambda: fs.info(path))
    return found


def exists(name: bytes) -> bool:
    """True for a file or folder that is there."""
    try:
        return bool(info(name))
    except NotFoundError:
        return False


def isdir(name: bytes) -> bool:
    """True for a folder that is there."""
    try:
        return bool(info(name)["type"] == "directory")
    except NotFoundError:
        return False


def children(name: bytes) -> dict[str, bool]:
    """The names in a folder, and which of them are folders; none where there is no such folder."""
    fs, path = filesystem(name)
    fs.invalidate_cache()
    try:
        found = asked(name, lambda: fs.ls(path, detail=True))
    except (NotFoundError, FailedPreconditionError):
        return {}
    itself = str(path).rstrip("/").rpartition("/")[2]
    names = {}
    for entry in found:
        full = entry["name"].rstrip("/")
        base = full.rpartition("/")[2]
        # Stores that have no folders keep an object of no bytes for one. A file is listed as its own only content.
        if base and not (base == itself and full.strip("/").endswith(str(path).strip("/"))):
            names[base] = entry["type"] == "directory"
    return names


def read(name: bytes) -> bytes:
    """The contents of a file."""
    with contextlib.closing(RemoteFile(name)) as file:
        return file.read_all()


def write(name: bytes, data: bytes) -> None:
    """Writes a file anew, all of it or nothing."""
    fs, path = filesystem(name)
    asked(name, lambda: fs.pipe_file(path, data))


def modified_ns(name: bytes) -> int:
    """When a file was changed last, in nanoseconds since 1970; 0 where its file system does not tell."""
    fs, path = filesystem(name)
    try:
        return int(fs.modified(path).timestamp() * 1_000_000) * 1000
    except Exception:  # each file system has its own way to say that it does not know
        return 0


def send(file: str | bytes, name: bytes) -> None:
    """Writes a file anew with the contents of one that is here."""
    fs, path = filesystem(name)
    asked(name, lambda: fs.put_file(os.fsdecode(file), path))


def send_all(folder: str | bytes, name: bytes) -> None:
    """Sends the files of a folder that is here, several at a time."""
    from concurrent.futures import ThreadPoolExecutor

    files = sorted(os.listdir(os.fsencode(folder)))
    with ThreadPoolExecutor(DEPTH) as several:
        list(several.map(lambda file: send(os.path.join(os.fsencode(folder), file), name + b"/" + file), files))


def remove_all(name: bytes) -> None:
    """Removes a file, or a folder with everything in it."""
    fs, path = filesystem(name)
    asked(name, lambda: fs.rm(path, recursive=True))


# Reading.


class _Allowance:
    """How much more may be read ahead."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int, must: bool) -> bool:
        """Takes so much, if there is as much, or if it must be."""
        with self._lock:
            if self._left < size and not must:
                return False
            self._left -= size
            return True

    def give(self, size: int) -> None:
        """Puts it back."""
        with self._lock:
            self._left += size


_allowance = _Allowance(AHEAD_BYTES)


class _Range:
    """Bytes start to stop of a file, on their way."""

    __slots__ = ("_data", "_fs", "_future", "_name", "_path", "start", "stop")

    def __init__(self, name: bytes, fs: Any, path: str, start: int, stop: int) -> None:
        self._name, self._fs, self._path = name, fs, path
        self.start, self.stop = start, stop
        self._data: bytes | None = None
        self._future: Any = None
        self._request()

    def _request(self) -> None:
        from concurrent.futures import Future

        from fsspec.asyn import AsyncFileSystem

        fs, path, span = self._fs, self._path, {"start": self.start, "end": self.stop}
        if isinstance(fs, AsyncFileSystem):
            import asyncio

            self._future = asyncio.run_coroutine_threadsafe(fs._cat_file(path, **span), fs.loop)
            return
        self._future = future = Future[bytes]()
        # It knows the request alone: a file that nobody refers to any more must not live on in it.
        threading.Thread(target=_fetch, args=(future, fs, path, span), name="feedline read-ahead", daemon=True).start()

    def data(self) -> bytes:
        """The bytes, once they are there."""
        if self._data is None:
            self._data = asked(self._name, self._wait)
            self._future = None
        return self._data

    def _wait(self) -> bytes:
        from concurrent.futures import CancelledError

        if self._future is None:
            self._request()
        future, self._future = self._future, None  # the next call asks anew
        try:
            data: bytes = future.result(REQUEST_S)
        except CancelledError:
            raise UnavailableError(f"{os.fsdecode(self._name)}: the request was cancelled") from None
        finally:
            future.cancel()
        if len(data) != self.stop - self.start:
            raise DataLossError(
                f"{os.fsdecode(self._name)}: {len(data)} bytes came instead of the {self.stop - self.start} from byte "
                f"{self.start} on; was it changed while it was read?"
            )
        return data

    def drop(self) -> None:
        """It is not needed any more."""
        _allowance.give(self.stop - self.start)
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

    Where it is read on from the last position, the next ranges are on their way already. The range before stays too:
    readers look back a little. A file whose size nobody knows is read from its beginning to its end.
    """

    def __init__(self, name: bytes) -> None:
        self.name = name
        self._window: deque[_Range] = deque()
        self._at = 0
        self._step, self._depth = FIRST, 0
        self._current: _Range | None = None
        self._whole: Any = None
        about = info(name)
        if about["type"] == "directory":
            raise FailedPreconditionError(f"{os.fsdecode(name)}: Is a directory")
        self._fs, self._path = filesystem(name)
        self._size: int | None = about.get("size")
        if self._size is None or about.get("partial") is False:  # a server that knows no ranges
            self._size = None
            self._whole = asked(name, lambda: self._fs.open(self._path, "rb"))

    def size(self) -> int | None:
        """The size of the file; None where nobody knows it."""
        return self._size

    def tell(self) -> int:
        """The position."""
        return self._at

    def seek(self, position: int) -> int:
        """Goes to a position."""
        if self._size is None and position != self._at:
            raise UnimplementedError(
                f"{os.fsdecode(self.name)}: its server gives it from the beginning to the end, and not from byte "
                f"{position} on; copy it to where it can be read in parts"
            )
        self._at = position
        return position

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`, none at the end of the file."""
        if self._size is None:
            piece = self._read_on(size)
        elif size <= 0 or self._at >= self._size:
            return b""
        else:
            found = self._range()
            piece = found.data()[self._at - found.start : self._at - found.start + size]
        self._at += len(piece)
        return piece

    def readinto(self, view: memoryview) -> int:
        """Fills a buffer with the next bytes; how many there were."""
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def read_all(self) -> bytes:
        """Everything from the position on."""
        pieces = []
        while piece := self.read(RANGE):
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def as_io(self) -> io.BufferedReader:
        """The same file as Python's own are; closing that one closes this one."""
        return io.BufferedReader(_Io(self), IO_BUFFER)

    def close(self) -> None:
        """Calls off what is on its way."""
        while self._window:
            self._window.pop().drop()
        self._current = None
        whole, self._whole = self._whole, None
        if whole is not None:
            whole.close()

    def _read_on(self, size: int) -> bytes:
        if self._whole is None:
            raise ValueError("the file is closed")
        try:
            piece: bytes = self._whole.read(size)
        except Exception as e:
            raise as_op_error(e, self.name) from e
        return piece

    def _range(self) -> _Range:
        """The range with the position in it; those that are next are sent for."""
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
        after = sum(r.start > self._at for r in window)
        while after < self._depth and self._send_for(window[-1].stop, must=False):
            after += 1
        return found

    def _send_for(self, start: int, must: bool) -> bool:
        """Asks for the range that begins there; False at the end, or where nothing more may be read ahead."""
        assert self._size is not None
        if start >= self._size:
            return False
        stop = start + self._step
        if self._size - stop < self._step // 2:  # not worth a request of its own
            stop = self._size
        if not _allowance.take(stop - start, must):
            return False
        try:
            self._window.append(_Range(self.name, self._fs, self._path, start, stop))
        except BaseException:
            _allowance.give(stop - start)
            raise
        self._step = min(RANGE, self._step * GROWTH)
        return True

    def __del__(self) -> None:
        if "_window" in self.__dict__:
            with contextlib.suppress(Exception):  # the interpreter may be on its way out
                self.close()


class _Io(io.RawIOBase):
    def __init__(self, file: RemoteFile) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.size() is not None

    def readinto(self, view: Any) -> int:
        return self._file.readinto(view)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._file.size()
        if size is None:
            raise io.UnsupportedOperation(f"{os.fsdecode(self._file.name)} is read from its beginning to its end")
        return self._file.seek(offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._file.tell(), io.SEEK_END: size}[whence])

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


# Writing.


class RemoteWriter:
    """A file that will be at a URL. It is written here, and is there, as a whole, when it is closed.

    `discard` leaves what is there as it is, and so does an exception inside `with`.
    """

    def __init__(self, name: bytes, append: bool = False) -> None:
        self.name = name
        self._file: Any = None
        filesystem(name)  # what cannot be written to at all is refused before the work is done
        before = read(name) if append and exists(name) else b""
        number, self._here = tempfile.mkstemp(prefix="feedline-")
        self._file = os.fdopen(number, "wb", buffering=1 << 18)
        self._file.write(before)

    @property
    def closed(self) -> bool:
        """True when it is sent, or discarded."""
        return self._file is None

    def write(self, data: Any) -> int:
        """Adds bytes."""
        written: int = self._open().write(data)
        return written

    def tell(self) -> int:
        """How many bytes there are."""
        position: int = self._open().tell()
        return position

    def flush(self) -> None:
        """Keeps what is written here; nothing is sent."""
        self._open().flush()

    def close(self) -> None:
        """Sends the file. Closing it again does nothing."""
        if self._file is None:
            return
        try:
            self._file.close()
            send(self._here, self.name)
        finally:
            self.discard()

    def discard(self) -> None:
        """Forgets what was written."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            with contextlib.suppress(OSError):
                os.unlink(self._here)

    def _open(self) -> Any:
        if self._file is None:
            raise FailedPreconditionError(f"{os.fsdecode(self.name)} is closed; open it again to write more")
        return self._file

    def __enter__(self) -> RemoteWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        if self.__dict__.get("_file") is not None:
            self.discard()
            warnings.warn(
                f"{os.fsdecode(self.name)} was not closed, so nothing was written to it", ResourceWarning, stacklevel=2
            )
