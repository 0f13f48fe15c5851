"""Writing remote files atomically."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from typing import Any

from feedline.errors import FailedPreconditionError
from feedline.io.remote.calls import exists, send, writable_filesystem
from feedline.io.remote.reader import read


class RemoteWriter:
    """A file to be uploaded to a URL. It is written locally, and appears at the URL, complete, when it is closed.

    `discard`, or an exception inside `with`, leaves an existing file as it is.
    """

    def __init__(self, name: bytes, append: bool = False) -> None:
        self.name = name
        self._file: Any = None
        writable_filesystem(name)  # rejects URLs that cannot be written to before any work is done
        before = read(name) if append and exists(name) else b""
        number, self._here = tempfile.mkstemp(prefix="feedline-")
        self._file = os.fdopen(number, "wb", buffering=1 << 18)
        self._file.write(before)

    @property
    def closed(self) -> bool:
        """Whether it has been uploaded or discarded."""
        return self._file is None

    def write(self, data: object) -> int:
        """Writes bytes."""
        written: int = self._open().write(data)
        return written

    def tell(self) -> int:
        """The number of bytes written."""
        position: int = self._open().tell()
        return position

    def flush(self) -> None:
        """Flushes the local file; nothing is uploaded."""
        self._open().flush()

    def close(self) -> None:
        """Uploads the file. Closing it again does nothing."""
        if self._file is None:
            return
        try:
            self._file.close()
            send(self._here, self.name)
        finally:
            self.discard()

    def discard(self) -> None:
        """Drops the local file."""
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
