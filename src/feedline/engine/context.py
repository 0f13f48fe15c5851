"""Who works for an iterator: its threads, the settings they work under, and the bytes they may hold.

Threads are daemons and belong to one iterator: they start when there is something to do ahead and end with it. A thread
that is stuck in a user's function is left behind and frees what it holds when the function returns.

An iterator that is garbage may be collected in any thread, at any moment, in one of its own as well: locks here are
reentrant, and nothing waits for the thread that it runs in.
"""

from __future__ import annotations

import atexit
import contextvars
import functools
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

from feedline.errors import FailedPreconditionError
from feedline.kernels.threads import most as kernel_threads
from feedline.structure.buffer_pool import buffers

_log = logging.getLogger("feedline")

TRIED = 16
"""So many blocks are read in the background before it is decided whether that pays."""
PATIENCE = 0.5
"""How many seconds closing waits for threads that are in the middle of something."""


class Closing(BaseException):
    """Raised in threads whose iterator is being closed. No `except Exception` on the way stops it."""


class NoThreadLeft(Exception):
    """The system gives this program no more threads: it goes on with those it has."""


class Settings(NamedTuple):
    """What a dataset's options say about how it is run; the defaults where they say nothing."""

    threads: int | None = None
    ordered: bool = True
    tuned: bool = True
    cores: int = 0
    memory: int | None = None
    initial_calls: int | None = None
    fewest_calls: int | None = None
    timeout: float | None = None
    processes: bool = False
    warm: bool = False
    slack: bool = False
    name: str = ""
    kernel_threads: int | None = None
    chosen: dict[str, Any] | None = None
    """Values of an earlier run, by `Report.key`: what is found here is not tuned."""


class forced:
    """Within it, new runs use workers wherever they may, however little it pays: "thread" or "process"; "loose" is
    threads with blocks of odd sizes. Results must not depend on it.

    >>> from feedline.engine.context import forced
    >>> with forced("thread"):
    ...     list(fl.Dataset.range(4).map(lambda x: x + 1).batch(3))
    [array([1, 2, 3]), array([4])]
    """

    mode: str | None = None

    def __init__(self, mode: str | None) -> None:
        self.mine = mode

    def __enter__(self) -> None:
        self.outer, forced.mode = forced.mode, self.mine

    def __exit__(self, *_: object) -> None:
        forced.mode = self.outer


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def may_start_processes() -> bool:
    """False in a worker of a loader such as PyTorch's, which must not have children; that is told once."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    _tell_of_threads(os.getpid())
    return False


@functools.cache
def _tell_of_threads(pid: int) -> None:
    _log.warning(
        'workers="process" has no effect here: this is a daemonic process (a worker of a DataLoader, for instance), '
        "which must not start others; threads make the calls instead"
    )


def memory() -> int:
    """How many bytes of memory there are, or the container's limit where that is less."""
    found = [16 << 30]
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
        with open("/sys/fs/cgroup/memory.max") as limit:
            found.append(int(limit.read()))
    except (OSError, ValueError, AttributeError):
        pass
    return min(found)


UNKNOWN_BYTES = 1 << 24
"""What an element takes of which nobody knows the size, or a quarter of the budget where that is less."""


class Budget:
    """The bytes that may wait in an iterator's buffers all together. Each stage may hold one thing beyond it, so that
    elements always move.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit if limit is not None else memory() // 4
        self.unknown = min(UNKNOWN_BYTES, self.limit // 4)
        self.piece = max(1, self.limit // 16)
        """The most bytes that are moved together, where more than one element is."""
        self.held = 0
        self.most = 0
        self.lock = threading.RLock()

    def add(self, n: int) -> None:
        """So many bytes more (fewer where negative) are waiting."""
        with self.lock:
            self.held += n
            self.most = max(self.most, self.held)

    @property
    def left(self) -> int:
        """How many bytes more may wait."""
        return self.limit - self.held

    @property
    def spent(self) -> bool:
        """True when nothing more should be made ready."""
        return self.held >= self.limit


class Reservation:
    """What one thing that waits takes of a budget. How much that is may be known later, and from another thread."""

    __slots__ = ("_budget", "_free", "size")

    def __init__(self, budget: Budget, size: int) -> None:
        self._budget, self._free, self.size = budget, False, size
        budget.add(size)

    def resize(self, size: int) -> None:
        """It takes so many bytes."""
        with self._budget.lock:
            if not self._free:
                self._budget.add(size - self.size)
                self.size = size

    def free(self) -> None:
        """It does not wait any more."""
        with self._budget.lock:
            if not self._free:
                self._free = True
                self._budget.add(-self.size)


class BackgroundReadPolicy:
    """Whether reading nested datasets in the background pays: it does if the consumer waits less than it would take to
    read by itself. Where it does not, it is tried again after a while.
    """

    def __init__(self) -> None:
        self._read = self._waited = 0.0
        self._count = 0
        self._until = 0.0
        self._rest = 0.25

    def record(self, read: float, waited: float) -> None:
        """A block took so many seconds to read, and the consumer waited so many for it."""
        self._read += read
        self._waited += waited
        self._count += 1

    def pays(self) -> bool:
        """True when blocks should be read in the background."""
        now = time.perf_counter()
        if now < self._until:
            return False
        if self._count >= TRIED:
            gained = self._waited < 0.7 * self._read
            self._read = self._waited = self._count = 0
            if not gained:
                self._until = now + self._rest
                self._rest = min(2 * self._rest, 8.0)
                return False
            self._rest = 0.25
        return True


class WorkerThread(threading.Thread):
    """A thread of an iterator's. Where starting it is interrupted, nobody knows whether it runs: then whoever comes
    first, the thread or the one that wanted it, decides.
    """

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._do = target
        self._decided = threading.Lock()

    def run(self) -> None:
        """Does its work, unless it has been called off."""
        if self._decided.acquire(blocking=False):
            self._do()

    def cancelled(self) -> bool:
        """True when it has not begun, and never will."""
        return self._decided.acquire(blocking=False)


def single_threaded() -> bool:
    """True in a program with one thread of its own, in which nobody can close an iterator while it is being read."""
    return threading.active_count() == 1 or sum(not isinstance(t, WorkerThread) for t in threading.enumerate()) < 2


def closable_by_others() -> bool:
    """True for a thread of the program's, where others might close what it waits for: it should wait where it can be
    woken, not in a function of the user's that a worker may as well be in.
    """
    return not single_threaded() and not isinstance(threading.current_thread(), WorkerThread)


class ThreadPool:
    """Threads that take jobs in the order they were given, as many as are needed and allowed. Where the system has none
    left, whoever gives a job does it.
    """

    def __init__(self, context: ExecutionContext, size: int, name: str) -> None:
        self.context, self.size, self.name = context, size, name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0
        self._spare = 0  # threads without a job, less jobs without a thread
        self._lock = threading.RLock()

    def submit(self, job: Callable[[], None]) -> None:
        """Has the job done by a thread."""
        with self._lock:
            self._spare -= 1
        self._jobs.put(job)
        self._grow()

    def replace_one(self) -> None:
        """One thread is stuck for good: another takes its place, at once where jobs wait for it."""
        with self._lock:
            self._threads -= 1
        self._grow()

    def _grow(self) -> None:
        """One thread more, where jobs wait for it and it may be had."""
        worker, counted = None, False
        try:
            with self._lock:
                if self._spare >= 0 or self._threads >= self.size:
                    return
                self._threads += 1
                self._spare += 1
                counted = True
            worker = self.context.worker(self._work, self.name)
            self.context.start(worker)
        except BaseException as e:
            if counted and (worker is None or worker.cancelled()):
                with self._lock:
                    self._threads -= 1
                    self._spare -= 1
            if not isinstance(e, NoThreadLeft):
                raise
            if not self._threads:
                self._do_one()

    def _do_one(self) -> None:
        job = self._jobs.get()
        if job is None:
            self._jobs.put(None)
            return
        job()
        with self._lock:
            self._spare += 1

    def close(self) -> None:
        """Ends the threads, each when it is done with what it does."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # what it holds may go while the thread waits for the next one
            with self._lock:
                self._spare += 1
        self._jobs.put(None)  # for the next thread, also one that is stuck now


class ExecutionContext:
    """All that works for one iterator."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings if settings is not None else Settings()
        self.budget = Budget(self.settings.memory)
        self.stages: weakref.WeakSet[Any] = weakref.WeakSet()
        self.background_reads = BackgroundReadPolicy()
        self.work: dict[str, Any] = {}  # of functions that nobody else calls, by step
        self.lost = False  # in a child process
        self.closing = False
        self.until = 0.0  # how long closing waits for threads, as `time.monotonic` counts
        self.began = time.perf_counter()
        self._pools: dict[Any, ThreadPool] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.RLock()
        self._context = contextvars.copy_context()
        if self.settings.kernel_threads is not None:
            self._context.run(kernel_threads.set, self.settings.kernel_threads)

    @property
    def cores(self) -> int:
        """How many processors may be planned with."""
        return self.settings.cores or cores()

    def worker(self, target: Callable[[], None], name: str) -> WorkerThread:
        """A thread that is to be started. It sees the context variables of the thread that made the iterator."""
        name = f"feedline-{name} of {self.settings.name}" if self.settings.name else f"feedline-{name}"
        return WorkerThread(functools.partial(self._context.copy().run, target), name)

    def start(self, worker: WorkerThread) -> None:
        """Starts a thread. If that raises, which an interrupt may do at any moment, `cancelled` says whether it runs.
        """
        self.check()
        if self.closing:
            raise Closing
        self.end_at_exit()
        with self._lock:
            self._threads = [worker, *(t for t in self._threads if t.is_alive())]
            try:
                worker.start()
            except RuntimeError as e:
                raise NoThreadLeft from e

    def end_at_exit(self) -> None:
        """There is something that does not end by itself: it is ended at the latest when the program ends."""
        _live.add(self)

    def pool(self, key: object, size: int, name: str) -> ThreadPool:
        """The threads for one kind of work; there is one pool per key, which may grow."""
        size = min(size, self.settings.threads or size)
        with self._lock:
            found = self._pools.get(key)
            if found is None:
                found = self._pools[key] = ThreadPool(self, size, name)
            found.size = max(found.size, size)
            return found

    def check(self) -> None:
        """Refuses to go on in a child process, where none of the threads are."""
        if self.lost:
            raise FailedPreconditionError(
                "this iterator belongs to the parent process: its threads do not exist after a fork; "
                "make a new iterator over the dataset in this process"
            )

    def cancel(self) -> None:
        """Wakes everything that waits, in nested runs too, to its end. Nothing is begun any more."""
        if not self.closing:
            self.closing, self.until = True, time.monotonic() + PATIENCE
        for stage in live_members(self.stages):
            stage.cancel()

    def close(self) -> None:
        """Ends all threads and waits a moment for them."""
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
            threads, self._threads = self._threads, []
        if self.lost:
            return
        for pool in pools:
            pool.close()
        wait_for(threads, self.until)
        buffers.trim()


def wait_for(threads: list[threading.Thread], until: float) -> None:
    """Joins threads, but no longer than until then."""
    for thread in threads:
        with suppress(RuntimeError):  # the one that this runs in, or one that was never started
            thread.join(max(0.0, until - time.monotonic()))


def live_members(found: weakref.WeakSet[Any]) -> list[Any]:
    """What is in a set that other threads add to meanwhile."""
    while True:
        with suppress(RuntimeError):  # it has changed while it was being read
            return list(found)


_live: weakref.WeakSet[ExecutionContext] = weakref.WeakSet()


def shutdown_all() -> None:
    """Ends what works for iterators that are still open: the program ends."""
    contexts = live_members(_live)
    for context in contexts:
        context.cancel()
    for context in contexts:
        context.close()  # before their stages: threads use what is below them
        for stage in live_members(context.stages):
            stage.finish()


def _after_fork() -> None:
    """In a child process none of the threads are, and a lock that one of them held stays locked for ever."""
    for context in live_members(_live):
        context.lost = True
    _live.clear()


atexit.register(shutdown_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
