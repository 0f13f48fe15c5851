"""Blocks of nested runs that are read in the background."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from feedline.early import Early, working
from feedline.engine.crew import PATIENCE, Closing, Crew, Share
from feedline.kernels.interrupts import paused
from feedline.plan.pull import Child, Pending
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.engine.run import Moment, Run


class Asked:
    """A block of a nested run that is read in the background, or by whoever wants it first."""

    __slots__ = (
        "_begun", "_block", "_closed", "_crew", "_done", "_error", "_news", "_orphan", "_run", "_share", "_want",
        "finished", "stood", "taken",
    )

    def __init__(
        self, run: Run, crew: Crew, want: int, stood: Moment | None, share: Share, news: SimpleQueue[None] | None = None
    ) -> None:
        self._run, self._crew, self._want, self._share, self._news = run, crew, want, share, news
        self.stood = stood  # where the run stood before
        self._begun = threading.Lock()
        self._done = threading.Lock()
        self._closed = threading.Lock()
        self._done.acquire()
        self.finished = False  # whether the block is there
        self.taken = False  # whether somebody has got it, or the error in its stead
        self._block: Block | None = None
        self._error: BaseException | None = None
        self._orphan: Child | None = None

    def begin(self, calls: int) -> None:
        """Has it read by a thread, of which there may be so many."""
        self._crew.pool((self._run.level, "read"), calls, "read").submit(self._run_ahead)

    def _run_ahead(self) -> None:
        outer, working.ahead = working.ahead, True
        try:
            self.run_it()
        finally:
            working.ahead = outer

    def run_it(self) -> None:
        """Reads the block, unless somebody has begun to already."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._block = self._run(self._want)
            self._share.weighed(0 if self._block is None else self._block.nbytes)
        except BaseException as e:
            self._error = e
        self.finished = True
        self._done.release()
        if self._news is not None and self._news.empty():  # one word is enough, however many are finished
            self._news.put(None)
        if self._orphan is not None:
            self._close(self._orphan)

    def wait(self, again: bool = True) -> Block | None:
        """The block. Where nobody has begun to read it, or it could not be read ahead of its time, the caller does; the
        latter only if it is to be tried `again`.
        """
        began = perf_counter()
        self.run_it()
        while not self.finished:
            with paused():
                if self._done.acquire(timeout=PATIENCE):
                    self._done.release()
            if self._crew.closing and not self.finished:
                raise Closing
        self.taken = True
        self._share.free()
        self._crew.asking.told(self._run.seconds, perf_counter() - began)
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
            if self._crew.closing:
                raise Closing

    def drop(self, child: Child) -> None:
        """Closes the child. Where it is being read from, the reader does that when it is done; only the end of an
        iterator waits for it, a moment.
        """
        self._share.free()
        if not self._begun.acquire(blocking=False):
            self._orphan = child
            child.tell_closing()
            if not (self._done.acquire(timeout=max(0.0, self._crew.until - monotonic())) or self.finished):
                return
        self._close(child)

    def _close(self, child: Child) -> None:
        if self._closed.acquire(blocking=False):  # both may come to it
            child.close()
