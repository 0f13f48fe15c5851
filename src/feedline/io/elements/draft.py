"""A file while it is being written: nobody sees it before it is complete, and nobody else writes it meanwhile.

Locks are the system's, on the files themselves: a program that dies, however it does, leaves none behind.
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
from feedline.io.files import as_op_error, shown, system_path
from feedline.sharing import Guard
from feedline.structure.block import Block


class WrittenElsewhere(AlreadyExistsError):
    """Another process is writing the file."""


class Draft:
    """Writes `<path>.partial`, which `finish` moves into its place and `close` removes, unless it was saved.

    The file is locked: for another draft of it in this process it is an `AlreadyExistsError`, in another process a
    `WrittenElsewhere`. The lock of a program that died is gone, so what it left behind is written over. A file at a URL
    is written here and sent by `finish`: nothing is there before, and of two that are written at once one stays.

    `saved` is what `save` gave: the draft goes on from there. Where that is not to be had any more, since somebody has
    begun anew, it is a `NotFoundError`.
    """

    _held: ClassVar[dict[tuple[int, int, int], weakref.ref[Draft]]] = {}
    """Those that hold a lock, by process, device and number of the file. A forked process has none of them."""

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
                raise ValueError("it is written elsewhere")
            with open(self._partial, "r+b") as file:
                self._writer.load(saved, file)
        except Exception as e:
            if not os.fstat(self._file.fileno()).st_size:  # it is here since it was opened
                self._kept = False
            self.close()
            raise NotFoundError(f"{shown(self._partial)} is not what it was when it was saved: {e}") from None

    def save(self) -> dict[str, Any] | None:
        """How far it has been written; from now on `close` leaves the file there. None where it cannot be kept."""
        if self._file is None or self._sent:
            return None
        with self._lock:
            self._kept = True
            return {"mark": self._mark, "file": self._writer.save()}

    def notify_error(self) -> None:
        """Its iterator has raised an error and may be gone, though something still holds it (the error, for one): who
        wants to write the file takes its place. It goes on writing until then, since a thread may do so for nobody;
        and should it go on after that, nothing is written any more.
        """
        self._yields = True

    def write(self, block: Block) -> None:
        """Adds rows, which must be read-only."""
        with self._lock:
            if self._file is not None:
                self._writer.write(block)

    def finish(self, known: object) -> None:
        """Completes the file and puts it into its place."""
        with self._lock:
            if self._file is None:
                return
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
        """Removes the file, unless it was finished, or saved."""
        with self._lock:
            if self._file is None:
                return
            # A forked process has a copy of everything but not the right to remove it.
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
        import fcntl  # not on every system, and needed here alone

        tried = 0
        while True:
            file = open(self._partial, "ab", buffering=0)  # noqa: SIM115 - closed by close()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self._partial)):
                    self._key = _key(file)
                    self._held[self._key] = weakref.ref(self)
                    return file
                file.close()  # it was finished or removed before the lock was taken; this is another file by now
            except FileNotFoundError:
                file.close()
            except BlockingIOError:
                key = _key(file)
                here = key in self._held
                file.close()
                if here and self._handed_over(key, tried):
                    tried += 1
                    continue
                where = "here" if here else "in another process"
                raise (AlreadyExistsError if here else WrittenElsewhere)(
                    f"{shown(self._path)} is being written by another iterator, {where}; "
                    "finish that one first, or close it"
                ) from None


    def _handed_over(self, key: tuple[int, int, int], tried: int) -> bool:
        """True when the lock may be free now: its holder has failed, or may have been garbage."""
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
    """Writes pieces, all of each, to the end of an unbuffered file."""
    try:
        for piece in pieces:
            view = memoryview(piece).cast("B") if memoryview(piece).nbytes else memoryview(b"")
            while view:
                view = view[file.write(view) :]
    except OSError as e:
        raise as_op_error(e, path) from None
