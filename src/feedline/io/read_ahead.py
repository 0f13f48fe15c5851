"""Reading ahead: a thread makes the next pieces of a file while the last ones are in use. Decoders, and the system's
own reading, drop the GIL.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import Any, Protocol

from feedline.io.compressed import OUTPUT
from feedline.kernels.threads import processors

BEGINS = 1 << 20
"""So much of a file is read before a thread is worth its while."""
DEPTH = 3
"""At most so many pieces wait to be read."""
EARLY_DEPTH = 24
"""The same for a file that nobody reads yet."""
PATIENCE_S = 1.0
"""So long is waited for the thread to end."""


class PieceSource(Protocol):
    """Something with pieces: a decoder, or a plain file. `raw_file` is closed when the thread is stopped."""

    raw_file: Any

    def read(self, size: int) -> bytes:
        """At least one byte, none at the end."""


class _ThreadLimit:
    """How many threads there may be: many files that are open together do not get one each."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """All places are free."""
        self.left = threading.Semaphore(processors() if processors() > 1 else 0)


_places = _ThreadLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_places.reset)


class _SharedQueue:
    """What the thread and the reader share. The queues need no lock that a dropped reader could wait for in vain."""

    def __init__(self, depth: int) -> None:
        self.pieces: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self.room: SimpleQueue[None] = SimpleQueue()
        self.stopped = False
        for _ in range(depth):
            self.room.put(None)

    def stop(self) -> None:
        self.stopped = True
        self.room.put(None)


class ReadAheadStream:
    """A decoder whose pieces come in the same order, up to the same damage, from a thread."""

    def __init__(self, decoder: PieceSource) -> None:
        self._decoder = decoder
        self._inline = 0
        self._belt: _SharedQueue | None = None
        self._thread: threading.Thread | None = None
        self._last: bytes | BaseException | None = None
        self._process = os.getpid()

    @property
    def forked(self) -> bool:
        """True in a process that has only a copy of this, with no thread to wait for."""
        return self._belt is not None and self._process != os.getpid()

    def read(self, size: int) -> bytes:
        """At least one byte, none at the end: at most `size`, or what the thread has made."""
        if self._belt is None and (self._inline < BEGINS or not self._begun()):
            piece = self._decoder.read(size)
            self._inline += len(piece)
            return piece
        assert self._belt is not None
        if self._last is None:
            got = self._belt.pieces.get()
            self._belt.room.put(None)
            if isinstance(got, bytes) and got:
                return got
            self._last = got  # nothing comes after it
        if isinstance(self._last, BaseException):
            raise self._last
        return self._last

    def begin(self) -> None:
        """Begins now, for a reader that comes later."""
        if self._belt is None:
            self._begun(EARLY_DEPTH)

    def _begun(self, depth: int = DEPTH) -> bool:
        """Begins the thread, where there is a place for one."""
        places = _places.left
        if not places.acquire(blocking=False):
            return False
        belt = _SharedQueue(depth)
        thread = threading.Thread(
            target=_work, args=(self._decoder, belt, places), name="feedline-read", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads, or the interpreter ends
            places.release()
            return False
        self._belt, self._thread, self._process = belt, thread, os.getpid()
        return True

    def stop(self) -> bool:
        """Ends the thread. False where it is still at work: it then closes the file itself, once it has ended."""
        if self._belt is None or self._thread is None or self.forked:
            return True
        self._belt.stop()
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE_S)
        return not self._thread.is_alive()

    def __del__(self) -> None:
        belt = self.__dict__.get("_belt")
        if belt is not None and not self.forked:
            belt.stop()


def _work(decoder: PieceSource, belt: _SharedQueue, places: threading.Semaphore) -> None:
    """Knows neither the reader nor the stream, so that they can be dropped while it waits."""
    raw: Any = decoder.raw_file
    last: bytes | BaseException = ValueError("the file is closed")
    try:
        belt.room.get()
        while not belt.stopped:
            piece = decoder.read(OUTPUT)
            if not piece:
                last = piece
                break
            belt.pieces.put(piece)
            del piece
            belt.room.get()
    except BaseException as e:
        last = e.with_traceback(None)
    finally:
        if belt.stopped:
            raw.close()
        places.release()
        belt.pieces.put(last)
