"""A file while it is being written: nobody sees it before it is complete, and nobody else writes it meanwhile.

Locks are the system's, on the files themselves: a program that dies, however it does, leaves none behind.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, ClassVar

from feedline.errors import AlreadyExistsError, OpError
from feedline.io import remote
from feedline.io.elements.writer import ElementsWriter
from feedline.io.files import as_op_error, shown, system_path
from feedline.structure.block import Block


class WrittenElsewhere(AlreadyExistsError):
    """Another process is writing the file."""


class Draft:
    """Writes `<path>.partial`, which `finish` moves into its place and `close` removes.

    The file is locked: for another draft of it in this process it is an `AlreadyExistsError`, in another process a
    `WrittenElsewhere`. The lock of a program that died is gone, so what it left behind is written over. A file at a URL
    is written here and sent by `finish`: nothing is there before, and of two that are written at once one stays.
    """

    _held: ClassVar[set[tuple[int, int, int]]] = set()
    """The files that are locked: process, device and number of each. A forked process has none of them."""

    def __init__(self, path: bytes, fingerprint: str) -> None:
        self._path, self._partial = path, path + b".partial"
        self._owner = os.getpid()
        self._file: Any = None
        self._key: tuple[int, int, int] | None = None
        here = system_path(path)
        self._sent = here is None
        try:
            if here is None:
                number, partial = tempfile.mkstemp(prefix="feedline-")
                self._file, self._partial = os.fdopen(number, "wb", buffering=0), os.fsencode(partial)
            else:
                self._path, self._partial = here, here + b".partial"
                self._file = self._locked()
                self._file.truncate(0)
        except OSError as e:
            raise e if isinstance(e, OpError) else as_op_error(e, self._partial) from None
        self._writer = ElementsWriter(self._append, fingerprint=fingerprint)

    def write(self, block: Block) -> None:
        """Adds rows, which must be read-only."""
        self._writer.write(block)

    def finish(self, known: Any) -> None:
        """Completes the file and puts it into its place."""
        self._writer.finish(known)
        if self._sent:
            remote.send(self._partial, self._path)
            self.close()
            return
        try:
            os.replace(self._partial, self._path)
        except OSError as e:
            raise as_op_error(e, self._path) from None
        self._release()

    def close(self) -> None:
        """Removes the file, unless it was finished."""
        if self._file is None:
            return
        if self._owner == os.getpid():  # a forked process has a copy of everything but not the right to remove it
            with contextlib.suppress(OSError):
                os.unlink(self._partial)
        self._release()

    def _release(self) -> None:
        file, self._file = self._file, None
        if self._key is not None:
            self._held.discard(self._key)
        file.close()

    def _append(self, pieces: list[Any]) -> None:
        append(self._file, pieces, self._partial)

    def _locked(self) -> Any:
        import fcntl  # not on every system, and needed here alone

        while True:
            file = open(self._partial, "ab", buffering=0)  # noqa: SIM115 - closed by close()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self._partial)):
                    self._key = _key(file)
                    self._held.add(self._key)
                    return file
                file.close()  # it was finished or removed before the lock was taken; this is another file by now
            except FileNotFoundError:
                file.close()
            except BlockingIOError:
                here = _key(file) in self._held
                file.close()
                where = "here" if here else "in another process"
                raise (AlreadyExistsError if here else WrittenElsewhere)(
                    f"{shown(self._path)} is being written by another iterator, {where}; "
                    "finish that one first, or close it"
                ) from None


def _key(file: Any) -> tuple[int, int, int]:
    status = os.fstat(file.fileno())
    return os.getpid(), status.st_dev, status.st_ino


def append(file: Any, pieces: list[Any], path: bytes) -> None:
    """Writes pieces, all of each, to the end of an unbuffered file."""
    try:
        for piece in pieces:
            view = memoryview(piece).cast("B") if memoryview(piece).nbytes else memoryview(b"")
            while view:
                view = view[file.write(view) :]
    except OSError as e:
        raise as_op_error(e, path) from None
