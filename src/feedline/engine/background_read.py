"""Background reads: blocks of nested runs that a thread reads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from feedline.early import Early, working
from feedline.engine.context import PATIENCE, Closing, ExecutionContext, Reservation
from feedline.kernels.interrupts import paused
from feedline.plan.pull import Child, Pending
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.engine.run import Run, RunSnapshot


class BackgroundRead:
    """A block of a nested run that is read by a thread, or by its consumer if that comes first."""

    __slots__ = (
        "_abandoned_child", "_begun", "_block", "_closed", "_context", "_done", "_error", "_notify", "_reservation",
        "_run", "_want", "finished", "snapshot_before", "taken",
    )

    def __init__(
        self,
        run: Run,
        context: ExecutionContext,
        want: int,
        snapshot_before: RunSnapshot | None,
        reservation: Reservation,
        news: SimpleQueue[None] | None = None,
    ) -> None:
        self._run, self._context, self._want, self._reservation, self._notify = run, context, want, reservation, news
        self.snapshot_before = snapshot_before  # where the run stood before
        self._begun = threading.Lock()
        self._done = threading.Lock()
        self._closed = threading.Lock()
        self._done.acquire()
        self.finished = False  # whether the block, or an error, is ready
        self.taken = False  # whether the consumer has got the block or the error
        self._block: Block | None = None
        self._error: BaseException | None = None
        self._abandoned_child: Child | None = None

    def begin(self, calls: int) -> None:
        """Submits the read to a pool of at most `calls` threads."""
        self._context.pool((self._run.level, "read"), calls, "read").submit(self._run_ahead)

    def _run_ahead(self) -> None:
        outer, working.ahead = working.ahead, True
        try:
            self.run_once()
        finally:
            working.ahead = outer

    def run_once(self) -> None:
        """Reads the block, unless another thread has begun to."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._block = self._run(self._want)
            self._reservation.resize(0 if self._block is None else self._block.nbytes)
        except BaseException as e:
            self._error = e
        self.finished = True
        self._done.release()
        if self._notify is not None and self._notify.empty():  # one notification is enough for all that are finished
            self._notify.put(None)
        if self._abandoned_child is not None:
            self._close(self._abandoned_child)

    def wait(self, again: bool = True) -> Block | None:
        """Waits for the block. The caller reads it if no thread has begun to; and, with `again`, if the thread was not
        allowed to read it ahead of time.
        """
        began = perf_counter()
        self.run_once()
        while not self.finished:
            with paused():
                if self._done.acquire(timeout=PATIENCE):
                    self._done.release()
            if self._context.closing and not self.finished:
                raise Closing
        self.taken = True
        self._reservation.free()
        self._context.background_reads.record(self._run.seconds, perf_counter() - began)
        if isinstance(self._error, Early) and again:
            return self._run(self._want)
        if self._error is not None:
            raise self._error
        return self._block

    def finishes_within(self, seconds: float) -> bool:
        """Whether the read finishes in this time; waits for it."""
        if not self.finished and self._done.acquire(timeout=seconds):
            self._done.release()
        return self.finished

    def wait_for_any(self, reads: Sequence[Pending | None], news: SimpleQueue[None]) -> None:
        """Waits until one of these reads, which all notify the queue `news`, is finished."""
        while not any(one is not None and one.finished for one in reads):
            with suppress(Empty), paused():
                news.get(timeout=PATIENCE)
            if self._context.closing:
                raise Closing

    def drop(self, child: Child) -> None:
        """Closes the child. If a thread is reading from it, that thread closes it when done; only closing the iterator
        waits briefly for it.
        """
        self._reservation.free()
        if not self._begun.acquire(blocking=False):
            self._abandoned_child = child
            child.cancel()
            if not (self._done.acquire(timeout=max(0.0, self._context.until - monotonic())) or self.finished):
                return
        self._close(child)

    def _close(self, child: Child) -> None:
        if self._closed.acquire(blocking=False):  # the reader and `drop` may both get here
            child.close()
