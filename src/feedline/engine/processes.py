"""Worker processes: loky starts them, cloudpickle carries functions, shared memory carries arrays.

See transport.py and worker_process.py.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import multiprocessing.process
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterable
from concurrent.futures import wait
from typing import Any, ClassVar

from loky import ProcessPoolExecutor

from feedline.engine.batch_buffer import Allocate
from feedline.engine.context import PATIENCE, shutdown_all
from feedline.engine.serialization import serialize_node
from feedline.engine.shared_memory import SharedMemoryUnavailable
from feedline.engine.task import Task
from feedline.engine.transport import AddressesUnavailable, RowsLost, Transport
from feedline.engine.worker_process import NUMBER, Outcome, exit_with_parent, run_task
from feedline.engine.workers import WorkerDied
from feedline.errors import AbortedError, InvalidArgumentError
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, epochs_of
from feedline.reports.measured import WorkerReport

IDLE_SECONDS = 0.2
"""Seconds that worker processes wait for the next iterator before they end."""

CLOCK_SLOTS = 1024
_log = logging.getLogger("feedline")


class ProcessPool:
    """A pool of worker processes. It is kept for a moment after an iterator is done with it, for the next one.

    `held` references all pools until they end: an iterator passes its pool on while it is being collected, and without
    this reference the executor's pipes would be collected and closed with it.
    """

    held: ClassVar[set[ProcessPool]] = set()
    ending: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    """The processes of pools that have been asked to end."""
    threads: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    """Those of loky for these pools."""

    def __init__(self, size: int) -> None:
        self.size, self.pid, self.begun = size, os.getpid(), False
        self.executor = ProcessPoolExecutor(max_workers=size, initializer=exit_with_parent, initargs=(self.pid,))
        self.held.add(self)

    def submit(self, *arguments: Any) -> Any:
        """Submits `run_task` to a process."""
        with _forks.lock:
            future = self.executor.submit(run_task, *arguments)
        if not self.begun:
            self.begun = True
            _end_before_loky()
            _end_before_queues(self.pid)
        return future

    def end(self, at_once: bool = False) -> None:
        """Ends the processes: when they are done, or at once."""
        if self.pid != os.getpid():
            return
        self.held.discard(self)
        with _forks.lock:  # not while more of them are being started
            processes = self._processes()
            self.ending.update(processes or ())
            self.threads.update(self._threads())
            if at_once and processes is not None:
                kill(processes)
            with contextlib.suppress(OSError):  # the executor is broken already
                self.executor.shutdown(wait=False, kill_workers=at_once and processes is None)

    def _processes(self) -> list[Any] | None:
        """The processes; None for a loky that does not tell them. Its own way to kill them takes effect later, and also
        kills the programs that functions have started.
        """
        try:
            return list((self.executor._processes or {}).values())
        except AttributeError:
            return None

    def _threads(self) -> list[Any]:
        """The threads that loky has for the pool; none for a loky that does not tell."""
        try:
            found = self.executor._executor_manager_thread, self.executor._call_queue._thread
        except AttributeError:  # the executor was shut down, perhaps
            return []
        return [thread for thread in found if thread is not None]

    @property
    def broken(self) -> bool:
        """Whether the pool can take no more tasks. For a loky that does not tell, no pool is used twice."""
        try:
            flags = self.executor._flags
            return bool(flags.broken or flags.shutdown)
        except AttributeError:
            return True


def kill(processes: Iterable[Any]) -> None:
    """Kills those of the processes that have not ended."""
    for process in processes:
        if process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


def _end_before_loky() -> None:
    """Has iterators shut down at exit before loky waits for all tasks, which may take any time. Exit hooks are called
    last registered first, and loky registers its own when a pool starts its first process.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(shutdown_all)


@functools.cache
def _end_before_queues(pid: int) -> None:
    """In a multiprocessing child, ends worker processes before it exits: the child closes its queues and then waits for
    its own children, which the request to end would no longer reach.
    """
    from multiprocessing.util import Finalize

    Finalize(None, _end_now, exitpriority=1000)
    atexit.register(_join_threads)


def _join_threads() -> None:
    """Waits at exit for loky's threads. They free semaphores; one that the exit stops in the middle of it, as it does
    with daemons, leaves them to loky's resource tracker, which warns of them.
    """
    until = time.monotonic() + PATIENCE
    for thread in list(ProcessPool.threads):
        with contextlib.suppress(RuntimeError):  # it was not started
            thread.join(max(0.0, until - time.monotonic()))


def _end_now() -> None:
    shutdown_all()
    _idle.end(at_once=True)
    kill(list(ProcessPool.ending))  # the request to end may not have reached them


class _IdlePools:
    """Keeps one idle pool for the next iterator."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.process_pool: ProcessPool | None = None
        self.timer: threading.Timer | None = None

    def take(self, size: int) -> ProcessPool:
        """A pool of that size: the idle one, or a new one."""
        with self.lock:
            found, self.process_pool = self.process_pool, None
            if self.timer is not None:
                self.timer.cancel()
        if found is not None and (found.size != size or found.pid != os.getpid() or found.broken):
            found.end()
            found = None
        return found if found is not None else ProcessPool(size)

    def leave(self, process_pool: ProcessPool) -> None:
        """Keeps a pool for `IDLE_SECONDS`."""
        with self.lock:
            others, self.process_pool = self.process_pool, process_pool
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(IDLE_SECONDS, self.end)
            self.timer.name, self.timer.daemon = "feedline-idle", True
            self.timer.start()
        if others is not None:
            others.end()

    def end(self, at_once: bool = False) -> None:
        """Ends the idle pool."""
        with self.lock:
            found, self.process_pool = self.process_pool, None
            if self.timer is not None:
                self.timer.cancel()
        if found is not None:
            found.end(at_once)


class _Forks:
    """Keeps the program from forking while worker processes are being started: the child would inherit locked locks of
    multiprocessing and could never start a process.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def before(self) -> None:
        """Takes the lock before a fork."""
        self.lock.acquire()

    def in_parent(self) -> None:
        """Releases the lock after a fork."""
        self.lock.release()

    def in_child(self) -> None:
        """Drops the parent's pools in the child, which must neither use them nor wait for them at exit."""
        self.lock = threading.RLock()
        _IdlePools.__init__(_idle)
        ProcessPool.held.clear()
        ProcessPool.ending.clear()
        ProcessPool.threads.clear()
        getattr(multiprocessing.process, "_children", set()).clear()


_idle, _forks = _IdlePools(), _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forks.before, after_in_parent=_forks.in_parent, after_in_child=_forks.in_child)


def _exit_code(why: str) -> str:
    lines = (line.strip() for line in why.splitlines() if "exit code" in line)
    return next(lines, why.split(".")[0] or "no reason given")


class ProcessWorkers:
    """The worker processes of one parallel map stage."""

    after_timeout = "its process was killed"

    def __init__(self, context: Any, made: RowWise, calls: int) -> None:
        self.node, self.calls, self.context = made, min(calls, context.settings.threads or calls), context
        payload = serialize_node(made)
        context.end_at_exit()
        self.transport = Transport()
        self.path = self.transport.write_file("node", payload)
        self.start_times = StartTimes(self.transport) if context.settings.timeout is not None else None
        self.process_pool: ProcessPool | None = _idle.take(self.calls)
        self.pending: set[Any] = set()
        self.lock = threading.RLock()
        self.stopped = False

    @property
    def memory(self) -> Allocate | None:
        """The allocator of memory that the processes can write to, if there is one."""
        return self.transport.allocate

    def submit(self, task: Task, seconds: float) -> None:
        """Sends a task, which may take `seconds`, to a process."""
        if self.stopped:
            return
        if self.process_pool is None:
            self.process_pool = ProcessPool(self.calls)
        process_pool = self.process_pool
        try:
            message, memory = self.transport.send(task.block, task.batch_slot)
        except RowsLost as e:
            task.failed = e
            task.finish(0.0, 0.0)
            return
        except Exception as e:
            error = InvalidArgumentError(f'the element cannot be sent to another process ({e}); use workers="thread"')
            task.failed = RowFailed(0, None, error)
            task.finish(0.0, 0.0)
            return
        task.started = time.perf_counter()
        clock = self.start_times.slot() if self.start_times is not None else None
        task.sent = memory, clock
        try:
            future = process_pool.submit(
                self.path, self.transport.prefix, message, task.number, task.draws, seconds, clock
            )
        except Exception as e:  # the executor has broken meanwhile
            task.failed = WorkerDied(str(e), process_pool)
            task.finish(0.0, 0.0)
            return
        with self.lock:
            self.pending.add(future)
        future.add_done_callback(lambda done: self._done(done, task, seconds, process_pool))

    def _done(self, future: Any, task: Task, seconds: float, process_pool: ProcessPool) -> None:
        with self.lock:
            self.pending.discard(future)
        task.sent = None
        if future.cancelled() or self.stopped:
            return
        spent = 0.0, 0.0
        try:
            spent = self._received(future.result(), task)
        except SharedMemoryUnavailable:
            self.transport.without_shared_memory()
            self.submit(task, seconds)
            return
        except AddressesUnavailable:
            self.transport.without_addresses()
            self.submit(task, seconds)
            return
        except BaseException as e:  # the consumer waits for the outcome, whatever it is
            died = type(e).__name__ in ("TerminatedWorkerError", "BrokenProcessPool", "ShutdownExecutorError")
            task.failed = WorkerDied(str(e), process_pool) if died else e
        task.finish(*spent)

    def _received(self, outcome: Any, task: Task) -> tuple[float, float]:
        made = Outcome(*self.transport.receive(outcome))
        epochs, rows = epochs_of(self.node), made.rows
        if made.drew and epochs is not None:
            epochs.used = True
        if not made.in_slot:
            task.batch_slot = None
        if rows is not None:
            rows = self.transport.restored(rows, task.block, self.node, task.batch_slot)
        if made.failure is None:
            task.used, task.rows = made.used, rows
        else:
            task.failed = failed = RowFailed(made.used, rows, made.failure, made.path)
            failed.link = made.link
        return made.wall, made.cpu

    def restart(self, died: WorkerDied) -> None:
        """Ends the pool after one of its workers has died; the next task starts a new one."""
        if self.process_pool is died.workers:
            self._stop_workers(str(died))

    def _stop_workers(self, why: str) -> None:
        place = f"{self.node.op} at step {self.node.position}"
        _log.warning("a worker process of %s died: %s", place, _exit_code(why))
        process_pool, self.process_pool = self.process_pool, None
        if process_pool is not None:
            process_pool.end(at_once=True)

    def death(self, died: WorkerDied) -> AbortedError:
        """The error for a call in which the worker died."""
        return AbortedError(
            "the worker process died in this call; the other calls continue in new processes. It may have "
            f"run out of memory, or crashed in native code: {_exit_code(str(died))}"
        )

    def age(self, task: Task) -> float:
        """Seconds since a task was begun; 0 if it still waits, perhaps for processes to start."""
        _, clock = task.sent or (None, None)
        return 0.0 if self.start_times is None or clock is None else self.start_times.age(clock[1])

    def abandoned(self, task: Task) -> None:
        """Ends all processes after a call that will not return, since it is not known which one makes it."""
        self._stop_workers("a call took too long")

    @property
    def breadth(self) -> int | None:
        """As many calls as they were started for."""
        return None

    def waited(self, seconds: float) -> None:
        """Does nothing: the number of processes is fixed."""

    def reports(self) -> tuple[WorkerReport, ...]:
        """None: loky does not tell which process has run a task."""
        return ()

    def forget(self) -> None:
        """Ignores all results from now on."""
        self.stopped = True

    def close(self) -> None:
        """Returns the pool and removes the shared files."""
        self.forget()
        process_pool, self.process_pool = self.process_pool, None
        if self.context.lost:
            return
        if process_pool is not None:
            with self.lock:
                pending = list(self.pending)
            busy = wait(pending, timeout=PATIENCE).not_done
            if busy or process_pool.broken:
                process_pool.end(at_once=bool(busy))
            else:
                _idle.leave(process_pool)
        self.transport.close()


class StartTimes:
    """The start times of tasks: a file in shared memory with one number per running task, written by the workers."""

    def __init__(self, transport: Transport) -> None:
        self.path = transport.write_file("clock", bytes(CLOCK_SLOTS * NUMBER.size))
        self.given = 0

    def slot(self) -> tuple[str, int]:
        """The path and index at which the worker must write the start time of the next task."""
        self.given += 1
        slot = self.given % CLOCK_SLOTS
        with open(self.path, "r+b", buffering=0) as file:
            file.seek(slot * NUMBER.size)
            file.write(NUMBER.pack(0.0))
        return self.path, slot

    def age(self, slot: int) -> float:
        """Seconds since the task with this slot was begun; 0 if it was not."""
        with open(self.path, "rb", buffering=0) as file:
            file.seek(slot * NUMBER.size)
            (began,) = NUMBER.unpack(file.read(NUMBER.size))
        return time.monotonic() - began if began else 0.0
