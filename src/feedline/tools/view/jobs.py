"""Work in the background of a viewer, with progress and cancellation."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
WAIT_S = 0.05


class JobCancelled(Exception):
    """Ends the work of a job that has been cancelled."""


class Job:
    """Work that a thread does. `done` of `total` says how far it is; a total of 0 is unknown. With `quiet`, it goes on
    only while that is set.
    """

    def __init__(self, number: int, what: str, quiet: threading.Event | None = None) -> None:
        self.id, self.what, self._quiet = number, what, quiet
        self.state, self.error = RUNNING, ""
        self.done = self.total = 0
        self._cancelled, self._ended = threading.Event(), threading.Event()
        self._began = time.monotonic()
        self._took = 0.0

    def check(self) -> None:
        """Raises if the job has been cancelled, and waits while others go first; the work calls it often."""
        while not self._cancelled.is_set():
            if self._quiet is None or self._quiet.wait(WAIT_S):
                return
        raise JobCancelled

    @property
    def cancelled(self) -> bool:
        """Whether the work is to end."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Asks the work to end."""
        self._cancelled.set()

    def run(self, work: Callable[[Job], None]) -> None:
        """Does the work in this thread."""
        try:
            work(self)
            self.state = DONE
        except JobCancelled:
            self.state = CANCELLED
        except Exception as e:
            self.state, self.error = FAILED, str(e) or type(e).__name__
        finally:
            self._took = time.monotonic() - self._began
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the end; returns whether it came."""
        return self._ended.wait(seconds)

    def as_json(self) -> dict[str, Any]:
        """The state for the page."""
        seconds = self._took if self.state != RUNNING else time.monotonic() - self._began
        return {
            "id": self.id, "what": self.what, "state": self.state, "error": self.error,
            "done": self.done, "total": self.total, "seconds": round(seconds, 3),
        }  # fmt: skip


class Jobs:
    """The jobs of a viewer, each in a thread of its own.

    >>> from feedline.tools.view.jobs import Jobs
    >>> jobs = Jobs()
    >>> job = jobs.start("counting", lambda job: None)
    >>> jobs.close()
    >>> job.state
    'done'
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._running: dict[int, tuple[Job, threading.Thread]] = {}
        self._lock = threading.Lock()
        self._quiet = threading.Event()
        self._quiet.set()
        self._first: set[int] = set()

    def start(self, what: str, work: Callable[[Job], None], first: bool = True) -> Job:
        """Starts work; `what` names it for people. Jobs that are not `first` wait while those that are run."""
        with self._lock:
            job = Job(next(self._numbers), what, None if first else self._quiet)
            if first:
                self._first.add(job.id)
                self._quiet.clear()
            thread = threading.Thread(target=self._run, args=(job, work), name=f"feedline-view-{job.id}", daemon=True)
            self._running[job.id] = job, thread
        thread.start()
        return job

    def _run(self, job: Job, work: Callable[[Job], None]) -> None:
        job.run(work)
        with self._lock:
            self._running.pop(job.id, None)
            self._first.discard(job.id)
            if not self._first:
                self._quiet.set()

    def close(self, patience: float = 0.5) -> None:
        """Cancels all jobs, and waits for them, but not forever: one may be inside a long call."""
        with self._lock:
            left = list(self._running.values())
        for job, _ in left:
            job.cancel()
        until = time.monotonic() + patience
        for _, thread in left:
            thread.join(max(0.0, until - time.monotonic()))
