"""A file while it is being written: invisible until it is complete, and locked against other writers.

Locks are those of the operating system, on the files themselves: a program that dies leaves none behind.
"""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
import weakref
from typing import Any, ClassVar

from feedline.errors import AlreadyExistsError, NotFoundError, OpError
from feedline.io import remote
from feedline.io.elements.writer import ElementsWriter
from feedline.io.files import as_op_error, op_errors, shown, system_path
from feedline.sharing import Guard
from feedline.structure.block import Block


class WrittenElsewhere(AlreadyExistsError):
    """Another process is writing the file."""


class Draft:
    """Writes `<path>.partial`, which `finish` moves to its final path and `close` removes, unless it was saved.

    The file is locked: a second draft of it raises `AlreadyExistsError` in this process and `WrittenElsewhere` in
    another. The lock of a program that died is gone, so its leftovers are overwritten. A file at a URL is written
    locally and uploaded by `finish`: nothing appears there before, and of two concurrent writers one wins.

    `saved` is a result of `save`: the draft continues from there. If that file is gone, because another writer started
    over, it raises `NotFoundError`.
    """

    _held: ClassVar[dict[tuple[int, int, int], weakref.ref[Draft]]] = {}
    """Drafts that hold a lock, by process, device and inode. A forked process has none of them."""

    def __init__(self, path: bytes, fingerprint: str, saved: dict[str, Any] | None = None) -> None:
        self._path, self._partial = path, path + b".partial"
        self._owner = os.getpid()
        self._file: Any = None
        self._key: tuple[int, int, int] | None = None
        self._kept = saved is not None
        self._yields = False
        self._lock = Guard()
        self._mark = os.urandom(8).hex() if saved is None else str(saved["mark"])
        here = system_path(path)
        self._sent = here is None
        try:
            if here is None:
                number, partial = tempfile.mkstemp(prefix="feedline-")
                self._file, self._partial = os.fdopen(number, "wb", buffering=0), os.fsencode(partial)
            else:
                self._path, self._partial = here, here + b".partial"
                self._file = self._locked()
                if saved is None:
                    self._file.truncate(0)
        except OSError as e:
            raise e if isinstance(e, OpError) else as_op_error(e, self._partial) from None
        self._writer = ElementsWriter(self._append, fingerprint=fingerprint, mark=self._mark)
        if saved is not None:
            self._load(saved["file"])

    def _load(self, saved: dict[str, Any]) -> None:
        try:
            if self._sent:
                raise ValueError("a remote file cannot be resumed")
            with open(self._partial, "r+b") as file:
                self._writer.load(saved, file)
        except Exception as e:
            if not os.fstat(self._file.fileno()).st_size:  # opening has only just created it
                self._kept = False
            self.close()
            raise NotFoundError(f"{shown(self._partial)} has changed since the state was saved: {e}") from None

    def save(self) -> dict[str, Any] | None:
        """The progress of writing; from now on `close` keeps the file. None if it cannot be kept."""
        if self._file is None or self._sent:
            return None
        with self._lock:
            self._kept = True
            return {"mark": self._mark, "file": self._writer.save()}

    def notify_error(self) -> None:
        """Marks the draft as replaceable: its iterator has raised an error and may be garbage, though something (the
        error, for one) still holds it. It keeps writing until another writer takes over; from then on its writes are
        ignored.
        """
        self._yields = True

    def write(self, block: Block) -> None:
        """Writes rows, which must be read-only."""
        with self._lock:
            if self._file is not None:
                self._writer.write(block)

    def finish(self, known: object) -> None:
        """Completes the file and moves it to its final path."""
        with self._lock:
            if self._file is None:
                return
            self._writer.finish(known)
            if self._sent:
                remote.send(self._partial, self._path)
                self.close()
                return
            with op_errors(self._path):
                os.replace(self._partial, self._path)
            self._release()

    def close(self) -> None:
        """Removes the file, unless it was finished or saved."""
        with self._lock:
            if self._file is None:
                return
            # A forked process has a copy of everything, but must not remove the file.
            if self._owner == os.getpid() and not self._kept:
                with contextlib.suppress(OSError):
                    os.unlink(self._partial)
            self._release()

    def _release(self) -> None:
        file, self._file = self._file, None
        if self._key is not None:
            self._held.pop(self._key, None)
        file.close()

    def _append(self, pieces: list[Any]) -> None:
        append(self._file, pieces, self._partial)

    def _locked(self) -> Any:
        import fcntl  # not available on every system, and only needed here

        tried = 0
        while True:
            file = open(self._partial, "ab", buffering=0)  # noqa: SIM115 - closed by close()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self._partial)):
                    self._key = _key(file)
                    self._held[self._key] = weakref.ref(self)
                    return file
                file.close()  # finished or removed before the lock was taken: the path is another file by now
            except FileNotFoundError:
                file.close()
            except BlockingIOError:
                key = _key(file)
                here = key in self._held
                file.close()
                if here and self._may_be_free(key, tried):
                    tried += 1
                    continue
                where = "here" if here else "in another process"
                raise (AlreadyExistsError if here else WrittenElsewhere)(
                    f"{shown(self._path)} is being written by another iterator, {where}; "
                    "finish that one first, or close it"
                ) from None


    def _may_be_free(self, key: tuple[int, int, int], tried: int) -> bool:
        """Whether the lock may be free now: its holder has failed, or may have been garbage."""
        held = self._held.get(key)
        holder = held() if held is not None else None
        if holder is not None and holder._yields:
            holder.close()
            return True
        if holder is not None and tried == 0:
            del holder
            gc.collect()
        return tried == 0


def _key(file: Any) -> tuple[int, int, int]:
    status = os.fstat(file.fileno())
    return os.getpid(), status.st_dev, status.st_ino


def append(file: Any, pieces: list[Any], path: bytes) -> None:
    """Appends all pieces to an unbuffered file."""
    with op_errors(path):
        for piece in pieces:
            view = memoryview(piece).cast("B") if memoryview(piece).nbytes else memoryview(b"")
            while view:
                view = view[file.write(view) :]
