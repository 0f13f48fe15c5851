"""Reading ahead: a thread prepares the next pieces of a file while the last ones are in use. Decoders and file reads
release the GIL.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import Any, Protocol

from feedline.io.compressed import OUTPUT
from feedline.kernels.threads import processors

BEGINS = 1 << 20
"""Bytes read from a file before it gets a thread."""
DEPTH = 3
"""The most pieces that wait to be consumed."""
EARLY_DEPTH = 24
"""The same for a file that has no consumer yet."""
PATIENCE_S = 1.0
"""Seconds to wait for the thread to end."""


class PieceSource(Protocol):
    """A source of pieces: a decoder, or a plain file. `raw_file` is closed when the thread is stopped."""

    raw_file: Any

    def read(self, size: int) -> bytes:
        """At least one byte, none at the end."""


class _ThreadLimit:
    """Limits the number of threads: when many files are open, not every one gets its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Frees all permits."""
        self.left = threading.Semaphore(processors() if processors() > 1 else 0)


_places = _ThreadLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_places.reset)


class _SharedQueue:
    """What the thread and the reader share. The queues use no lock on which a dropped reader could deadlock."""

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
    """A decoder that runs in a thread: the same pieces in the same order, up to the same damage."""

    def __init__(self, decoder: PieceSource) -> None:
        self._decoder = decoder
        self._inline = 0
        self._queue: _SharedQueue | None = None
        self._thread: threading.Thread | None = None
        self._last: bytes | BaseException | None = None
        self._process = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this is a copy in a forked process, which has no thread to wait for."""
        return self._queue is not None and self._process != os.getpid()

    def read(self, size: int) -> bytes:
        """At least one byte, none at the end: at most `size`, or one piece of the thread."""
        if self._queue is None and (self._inline < BEGINS or not self._begun()):
            piece = self._decoder.read(size)
            self._inline += len(piece)
            return piece
        assert self._queue is not None
        if self._last is None:
            got = self._queue.pieces.get()
            self._queue.room.put(None)
            if isinstance(got, bytes) and got:
                return got
            self._last = got  # nothing comes after it
        if isinstance(self._last, BaseException):
            raise self._last
        return self._last

    @property
    def ready(self) -> bool:
        """Whether the thread has a piece, or the end, for the next `read`, which then does not wait."""
        return self._queue is not None and not self.forked and not self._queue.pieces.empty()

    def begin(self) -> None:
        """Starts now, for a reader that comes later."""
        if self._queue is None:
            self._begun(EARLY_DEPTH)

    def _begun(self, depth: int = DEPTH) -> bool:
        """Starts the thread, if the limit allows one more."""
        places = _places.left
        if not places.acquire(blocking=False):
            return False
        queue = _SharedQueue(depth)
        thread = threading.Thread(
            target=_work, args=(self._decoder, queue, places), name="feedline-read", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads, or the interpreter is shutting down
            places.release()
            return False
        self._queue, self._thread, self._process = queue, thread, os.getpid()
        return True

    def stop(self) -> bool:
        """Stops the thread. False if it is still running: it then closes the file itself when it ends."""
        if self._queue is None or self._thread is None or self.forked:
            return True
        self._queue.stop()
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE_S)
        return not self._thread.is_alive()

    def __del__(self) -> None:
        queue = self.__dict__.get("_queue")
        if queue is not None and not self.forked:
            queue.stop()


def _work(decoder: PieceSource, queue: _SharedQueue, places: threading.Semaphore) -> None:
    """The thread's loop. It holds no reference to the reader or the stream, so they can be collected while it waits."""
    raw: Any = decoder.raw_file
    last: bytes | BaseException = ValueError("the file is closed")
    try:
        queue.room.get()
        while not queue.stopped:
            piece = decoder.read(OUTPUT)
            if not piece:
                last = piece
                break
            queue.pieces.put(piece)
            del piece
            queue.room.get()
    except BaseException as e:
        last = e.with_traceback(None)
    finally:
        if queue.stopped:
            raw.close()
        places.release()
        queue.pieces.put(last)
