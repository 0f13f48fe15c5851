"""The execution context of an iterator: its threads, settings and memory budget.

Threads are daemons and belong to one iterator: they start when there is background work and end with the iterator. A
thread that is stuck in a user function is left behind and frees its resources when the function returns.

The garbage collector may finalize an iterator in any thread at any moment, one of the iterator's own included: locks
here are reentrant, and no thread waits for itself.
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

from feedline.engine.meter import Meters
from feedline.engine.recorder import Recorder, recording
from feedline.errors import FailedPreconditionError
from feedline.kernels.memory import keep_freed_memory
from feedline.kernels.threads import most as kernel_threads
from feedline.kernels.threads import processors, team
from feedline.structure.buffer_pool import buffers

_log = logging.getLogger("feedline")

TRIAL_BLOCKS = 16
"""Blocks to read in the background before deciding whether that pays."""
PATIENCE = 0.5
"""Seconds that closing waits for busy threads."""


class Closing(BaseException):
    """Raised in threads whose iterator is being closed. No `except Exception` on the way stops it."""


class NoThreadLeft(Exception):
    """The system refuses to start another thread: the pool goes on with those it has."""


class Settings(NamedTuple):
    """How to run a dataset, from its options; defaults where those are not set."""

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
    chosen: Mapping[str, Mapping[str, int | None]] | None = None
    """Tuned values of an earlier run, by the key of their step: they are used as they are, not tuned again."""
    full_tracebacks: bool = False


class forced:
    """Context manager: new runs use workers wherever they are allowed, even where that does not pay. The mode is
    "thread", "process" or "loose" (threads, with blocks of odd sizes). Results must not depend on it.

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
    """The number of processors that this process may use."""
    return processors()


WIDE_SHARE = 1 << 19
WIDEST_BLOCK = 1 << 23


def block_bytes(least: int) -> int:
    """The most bytes in a block: `least`, or more with many processors, so that each has a share of its rows."""
    return max(least, min(WIDE_SHARE * team(), WIDEST_BLOCK))


def may_start_processes() -> bool:
    """Whether this process may have children: a daemonic one, such as a PyTorch loader worker, may not. Warns once."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not process.current_process().daemon:
        return True
    _warn_daemonic(os.getpid())
    return False


@functools.cache
def _warn_daemonic(pid: int) -> None:
    _log.warning(
        'workers="process" has no effect here: a daemonic process (for instance a DataLoader worker) '
        "cannot start processes; threads are used instead"
    )


@functools.cache
def memory() -> int:
    """The bytes of physical memory, or the container's limit if that is lower."""
    found = [16 << 30]
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
        with open("/sys/fs/cgroup/memory.max") as limit:
            found.append(int(limit.read()))
    except (OSError, ValueError, AttributeError):
        pass
    return min(found)


UNKNOWN_BYTES = 1 << 24
"""Bytes assumed for an element of unknown size, at most a quarter of the budget."""


class Budget:
    """The bytes that may wait in all buffers of an iterator together. Each stage may exceed it by one item, so that
    elements always move.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit if limit is not None else memory() // 4
        self.unknown = min(UNKNOWN_BYTES, self.limit // 4)
        self.piece = max(1, self.limit // 16)
        """The most bytes in one block, unless a single element is larger."""
        self.held = 0
        self.most = 0
        self.refused = 0
        """How often a stage could have used more."""
        self.lock = threading.RLock()

    def add(self, n: int) -> None:
        """Adds `n` waiting bytes; a negative number removes them."""
        with self.lock:
            self.held += n
            self.most = max(self.most, self.held)

    @property
    def left(self) -> int:
        """The bytes still free in the budget."""
        return self.limit - self.held

    @property
    def spent(self) -> bool:
        """Whether the budget is used up, so that nothing more should be buffered."""
        return self.held >= self.limit


class Reservation:
    """The share of a budget that one waiting item takes. Its size may become known later, in another thread."""

    __slots__ = ("_budget", "_free", "size")

    def __init__(self, budget: Budget, size: int) -> None:
        self._budget, self._free, self.size = budget, False, size
        budget.add(size)

    def resize(self, size: int) -> None:
        """Sets the item's size in bytes."""
        with self._budget.lock:
            if not self._free:
                self._budget.add(size - self.size)
                self.size = size

    def free(self) -> None:
        """Returns the bytes to the budget."""
        with self._budget.lock:
            if not self._free:
                self._free = True
                self._budget.add(-self.size)


class BackgroundReadPolicy:
    """Decides whether reading nested datasets in the background pays: it does if the consumer waits for less time than
    reading takes. If it does not, it is tried again after a pause.
    """

    def __init__(self) -> None:
        self._read = self._waited = 0.0
        self._count = 0
        self._until = 0.0
        self._rest = 0.25

    def record(self, read: float, waited: float) -> None:
        """Records the read time and the consumer's wait time of one block, in seconds."""
        self._read += read
        self._waited += waited
        self._count += 1

    def pays(self) -> bool:
        """Whether blocks should be read in the background."""
        now = time.perf_counter()
        if now < self._until:
            return False
        if self._count >= TRIAL_BLOCKS:
            gained = self._waited < 0.7 * self._read
            self._read = self._waited = self._count = 0
            if not gained:
                self._until = now + self._rest
                self._rest = min(2 * self._rest, 8.0)
                return False
            self._rest = 0.25
        return True


class WorkerThread(threading.Thread):
    """A thread that works for an iterator. If starting it is interrupted, it may or may not run: a lock decides between
    `run` and `cancelled`, and the first to take it wins.
    """

    def __init__(self, target: Callable[[], None], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._do = target
        self._decided = threading.Lock()

    def run(self) -> None:
        """Runs the target, unless the thread was cancelled."""
        if self._decided.acquire(blocking=False):
            self._do()

    def cancelled(self) -> bool:
        """Cancels the target if it has not begun; returns whether that succeeded."""
        return self._decided.acquire(blocking=False)


def single_threaded() -> bool:
    """Whether the program has one thread of its own, so that no other can close an iterator that is being read."""
    return threading.active_count() == 1 or sum(not isinstance(t, WorkerThread) for t in threading.enumerate()) < 2


def closable_by_others() -> bool:
    """Whether another thread of the program could close what this one waits for. If so, this thread should wait on
    something that can wake it and leave user functions to the workers.
    """
    return not single_threaded() and not isinstance(threading.current_thread(), WorkerThread)


class ThreadPool:
    """A thread pool: jobs are taken in the order of submission, threads are started on demand up to `size`. If the
    system has no thread left, the submitter runs the job.
    """

    def __init__(self, context: ExecutionContext, size: int, name: str) -> None:
        self.context, self.size, self.name = context, size, name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0
        self._spare = 0  # threads without a job, less jobs without a thread
        self._lock = threading.RLock()

    def submit(self, job: Callable[[], None]) -> None:
        """Queues a job for a thread."""
        with self._lock:
            self._spare -= 1
        self._jobs.put(job)
        self._grow()

    def resize(self, size: int) -> None:
        """Sets the number of threads. Those that are too many end, each after its current job."""
        self.size = size
        self._grow()

    def replace_one(self) -> None:
        """Replaces a thread that is stuck for good, at once if jobs wait."""
        with self._lock:
            self._threads -= 1
        self._grow()

    def _grow(self) -> None:
        """Starts another thread if jobs wait and the limit allows it."""
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
        """Ends each thread after its current job."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # releases what it holds while the thread waits for the next one
            with self._lock:
                if self._threads > self.size:
                    self._threads -= 1
                    return
                self._spare += 1
        self._jobs.put(None)  # for the next thread, one that is stuck now included


class ExecutionContext:
    """The threads, settings and memory budget of one iterator."""

    def __init__(self, settings: Settings | None = None) -> None:
        keep_freed_memory()
        self.settings = settings if settings is not None else Settings()
        self.budget = Budget(self.settings.memory)
        self.stages: weakref.WeakSet[Any] = weakref.WeakSet()
        self.background_reads = BackgroundReadPolicy()
        self.meters = Meters()
        self.recorder: Recorder | None = recording.recorder
        self.lost = False  # in a child process
        self.closing = False
        self.until = 0.0  # deadline of closing's wait for threads, as of `time.monotonic`
        self.began, self.cpu_before = time.perf_counter(), time.process_time()
        contexts.add(self)
        self._pools: dict[Any, ThreadPool] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.RLock()
        self._context = contextvars.copy_context()
        if self.settings.kernel_threads is not None:
            self._context.run(kernel_threads.set, self.settings.kernel_threads)

    @property
    def cores(self) -> int:
        """The number of processors to plan for."""
        return self.settings.cores or cores()

    def worker(self, target: Callable[[], None], name: str) -> WorkerThread:
        """A new thread, not started. It sees the context variables of the thread that made the iterator."""
        name = f"feedline-{name} of {self.settings.name}" if self.settings.name else f"feedline-{name}"
        return WorkerThread(functools.partial(self._context.copy().run, target), name)

    def start(self, worker: WorkerThread) -> None:
        """Starts a thread. If this raises, as an interrupt may at any moment, the thread may run nevertheless, unless
        `worker.cancelled()`.
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
        """Registers this context to be shut down when the program exits."""
        _live.add(self)

    def pool(self, key: object, size: int, name: str, fewer: bool = False) -> ThreadPool:
        """The thread pool for one kind of work: one per key. Its size may grow, and shrinks if it is to have `fewer`
        threads than before.
        """
        size = min(size, self.settings.threads or size)
        with self._lock:
            found = self._pools.get(key)
            if found is None:
                found = self._pools[key] = ThreadPool(self, size, name)
        if fewer or found.size < size:
            found.resize(size)
        return found

    def check(self) -> None:
        """Raises in a forked child, which has none of the threads."""
        if self.lost:
            raise FailedPreconditionError(
                "this iterator belongs to the parent process: its threads do not exist after a fork; create a "
                "new iterator in this process"
            )

    def cancel(self) -> None:
        """Cancels all stages, those of nested runs included, and wakes their waiters. No work is begun any more."""
        if not self.closing:
            self.closing, self.until = True, time.monotonic() + PATIENCE
        for stage in live_members(self.stages):
            stage.cancel()

    def close(self) -> None:
        """Ends all threads and waits for them briefly."""
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
    """Joins threads until the deadline `until`."""
    for thread in threads:
        with suppress(RuntimeError):  # the current thread, or one that was never started
            thread.join(max(0.0, until - time.monotonic()))


def live_members(found: weakref.WeakSet[Any]) -> list[Any]:
    """The members of a set to which other threads may be adding."""
    while True:
        with suppress(RuntimeError):  # the set changed during iteration
            return list(found)


contexts: weakref.WeakSet[ExecutionContext] = weakref.WeakSet()
"""Those of all iterators."""
_live: weakref.WeakSet[ExecutionContext] = weakref.WeakSet()


def shutdown_all() -> None:
    """Shuts down the contexts of all open iterators: at program exit."""
    contexts = live_members(_live)
    for context in contexts:
        context.cancel()
    for context in contexts:
        context.close()  # before the stages: threads use the states below them
        for stage in live_members(context.stages):
            stage.finish()


class forked:
    """What a fork has left to this process."""

    from_ray = False
    """Whether the parent is connected to a Ray cluster, by threads that are not here."""


def _after_fork() -> None:
    """Marks all contexts as lost: a forked child has no threads, and a lock that one of them held stays locked."""
    ray = sys.modules.get("ray")
    with suppress(AttributeError):  # it was being imported
        forked.from_ray = forked.from_ray or (ray is not None and ray.is_initialized())
    for context in live_members(_live):
        context.lost = True
    _live.clear()


atexit.register(shutdown_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
