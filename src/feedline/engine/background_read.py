"""Blocks of nested runs that are read in the background."""

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
    """A block of a nested run that is read in the background, or by whoever wants it first."""

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
        self.finished = False  # whether the block is there
        self.taken = False  # whether somebody has got it, or the error in its stead
        self._block: Block | None = None
        self._error: BaseException | None = None
        self._abandoned_child: Child | None = None

    def begin(self, calls: int) -> None:
        """Has it read by a thread, of which there may be so many."""
        self._context.pool((self._run.level, "read"), calls, "read").submit(self._run_ahead)

    def _run_ahead(self) -> None:
        outer, working.ahead = working.ahead, True
        try:
            self.run_once()
        finally:
            working.ahead = outer

    def run_once(self) -> None:
        """Reads the block, unless somebody has begun to already."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._block = self._run(self._want)
            self._reservation.resize(0 if self._block is None else self._block.nbytes)
        except BaseException as e:
            self._error = e
        self.finished = True
        self._done.release()
        if self._notify is not None and self._notify.empty():  # one word is enough, however many are finished
            self._notify.put(None)
        if self._abandoned_child is not None:
            self._close(self._abandoned_child)

    def wait(self, again: bool = True) -> Block | None:
        """The block. Where nobody has begun to read it, or it could not be read ahead of its time, the caller does; the
        latter only if it is to be tried `again`.
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

    def wait_for_any(self, asked: Sequence[Pending | None], news: SimpleQueue[None]) -> None:
        """Returns when one of these is finished, all of which tell the same news."""
        while not any(one is not None and one.finished for one in asked):
            with suppress(Empty), paused():
                news.get(timeout=PATIENCE)
            if self._context.closing:
                raise Closing

    def drop(self, child: Child) -> None:
        """Closes the child. Where it is being read from, the reader does that when it is done; only the end of an
        iterator waits for it, a moment.
        """
        self._reservation.free()
        if not self._begun.acquire(blocking=False):
            self._abandoned_child = child
            child.cancel()
            if not (self._done.acquire(timeout=max(0.0, self._context.until - monotonic())) or self.finished):
                return
        self._close(child)

    def _close(self, child: Child) -> None:
        if self._closed.acquire(blocking=False):  # both may come to it
            child.close()
