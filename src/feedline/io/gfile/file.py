"""`GFile`: one file, to read or to write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from feedline.errors import (
    InvalidArgumentError,
    OutOfRangeError,
    PermissionDeniedError,
)
from feedline.io import remote
from feedline.io.files import as_path, op_errors, shown, system_path
from feedline.io.gfile.paths import stat


class GFile:
    """A file of `str` or, with a `b` in the mode, of `bytes`. Modes are r, w, a, r+, w+ and a+.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/poem.txt"
    >>> with fl.io.gfile.GFile(path, "w") as f:
    ...     f.write("one\\n")
    ...     f.write("two\\n")
    >>> with fl.io.gfile.GFile(path) as f:
    ...     f.size(), f.readline(), f.tell(), f.read()
    (8, 'one\\n', 4, 'two\\n')

    As in TensorFlow, it is opened by the first call that needs it; sizes and positions count bytes; a `\\r` before a
    line end is not part of the line; and in a mode with both, reading and writing have separate positions, with writing
    as in "w" or, for "a+", as in "a". A file at a URL appears when it is closed, and an exception inside `with` leaves
    it unchanged.
    """

    def __init__(self, name: object, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        self._path = as_path(name)
        self._reader: Any = None
        self._writer: Any = None
        plain = mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(f"mode must be r, w, a, r+, w+ or a+, with a b for bytes, got {mode!r}")
        self._bytes = "b" in mode
        self._may_read, self._may_write = plain not in ("w", "a"), plain != "r"

    @property
    def name(self) -> Any:
        """The name as given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode as given."""
        return self._mode

    def size(self) -> int:
        """The size of the file."""
        if system_path(self._path) is None:
            return int(remote.info(self._path).get("size") or 0)
        return stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """The next n bytes, or all remaining ones."""
        file = self._to_read()
        if n < -1:
            raise InvalidArgumentError(f"{shown(self._path)}: the number of bytes to read must be -1 or more, got {n}")
        return self._given(self._run(lambda: file.read(None if n == -1 else n)))

    def readline(self) -> Any:
        """The next line with its end; empty at the end of the file."""
        file = self._to_read()
        return self._given(self._run(file.readline).replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """The remaining lines."""
        return list(self)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves the position of reading: to `offset` bytes from the start, or with a `whence` of 1 from the current
        position, with 2 from the end.
        """
        file = self._to_read()
        if (offset is None) == (position is None):
            raise TypeError("seek takes either offset or position, which mean the same")
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(f"whence must be 0, 1 or 2, got {whence}")
        size = self.size()
        at = (position if offset is None else offset) or 0
        at += (0, self.tell() if whence == 1 else 0, size)[whence]
        if at < 0:
            raise InvalidArgumentError(f"{shown(self._path)}: {at} is not a valid position")
        self._run(lambda: file.seek(min(at, size)))
        if at > size:
            raise OutOfRangeError(f"{shown(self._path)}: position {at} is beyond the end at {size}")

    def tell(self) -> int:
        """The position of reading, or of writing if the file cannot be read."""
        return int(self._to_read().tell() if self._may_read else self._to_write().tell())

    def write(self, file_content: object) -> None:
        """Appends a str or bytes."""
        if not isinstance(file_content, (str, bytes)):
            raise TypeError(f"write takes str or bytes, got {file_content!r} of type {type(file_content).__name__}")
        file = self._to_write()
        self._run(lambda: file.write(file_content.encode() if isinstance(file_content, str) else file_content))

    def flush(self) -> None:
        """Passes written data to the system."""
        if self._writer is not None:
            self._run(self._writer.flush)

    def close(self) -> None:
        """Closes the file. A later call opens it again."""
        reader, self._reader = self._reader, None
        writer, self._writer = self._writer, None
        try:
            if reader is not None:
                reader.close()
        finally:
            if writer is not None:
                self._run(writer.close)

    def seekable(self) -> bool:
        """True: `seek` works."""
        return True

    def _to_read(self) -> Any:
        if self._reader is None:
            if not self._may_read:
                raise PermissionDeniedError(f"{shown(self._path)} is not open for reading: its mode is {self._mode!r}")
            here = system_path(self._path)
            if here is None:
                self._reader = remote.RemoteFile(self._path).as_io()
            else:
                self._reader = self._run(lambda: open(here, "rb"))  # noqa: SIM115 - closed by close()
        return self._reader

    def _to_write(self) -> Any:
        if self._writer is None:
            if not self._may_write:
                raise PermissionDeniedError(f"{shown(self._path)} is not open for writing: its mode is {self._mode!r}")
            append = self._mode.startswith("a")
            here = system_path(self._path)
            if here is None:
                self._writer = remote.RemoteWriter(self._path, append)
            else:
                self._writer = self._run(lambda: open(here, "ab" if append else "wb"))  # noqa: SIM115 - as above
        return self._writer

    def _run(self, call: Callable[[], Any]) -> Any:
        with op_errors(self._path):
            return call()

    def _given(self, data: bytes) -> Any:
        return data if self._bytes else data.decode()

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and isinstance(self._writer, remote.RemoteWriter):
            self._writer.discard()
        self.close()

    def __del__(self) -> None:
        if isinstance(self.__dict__.get("_writer"), remote.RemoteWriter):
            self._writer = None  # dropping it warns that it was not closed
        if "_writer" in self.__dict__:
            with contextlib.suppress(Exception):
                self.close()
