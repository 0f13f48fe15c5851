"""Workers that are other processes: loky starts them, cloudpickle carries functions, shared memory carries arrays.

A block travels as its pickle without the arrays, and one file in shared memory that holds those. The receiver maps the
file and removes its name at once, so nothing is left when both sides are done with it; names of files that nobody
received, because a worker died, are removed when the iterator is closed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import mmap
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import wait
from glob import glob
from typing import Any

from feedline.engine.call import Call
from feedline.engine.crew import PATIENCE
from feedline.errors import AbortedError, InvalidArgumentError
from feedline.plan.function import Function
from feedline.plan.node import Node, RowFailed, RowWise, node
from feedline.structure.block import Block

SMALL = 1 << 15
"""Fewer bytes of arrays than that travel in the message itself."""
ALIGNED = 64
IDLE_SECONDS = 0.6
"""How long worker processes wait for the next iterator before they end."""

_log = logging.getLogger("feedline")


class WorkerDied(Exception):
    """The process that made a call has ended."""


# Blocks on their way.


def shared_folder() -> str:
    """Where files are memory."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def dumps(value: tuple[Any, ...], buffer_callback: Any = None) -> bytes:
    """A pickle. Classes of elements that the other side cannot import, since they are defined in the program itself,
    travel along.
    """
    kinds = {k for v in value if isinstance(v, Block) for k in v.tree.kinds()}
    strange = [k for k in kinds if not _importable(k.__module__)]
    if not strange:
        return pickle.dumps(value, protocol=5, buffer_callback=buffer_callback)
    import cloudpickle

    _take_along(strange)
    return cloudpickle.dumps(value, protocol=5, buffer_callback=buffer_callback)  # type: ignore[no-any-return]


def _take_along(things: Iterable[Any]) -> None:
    """Has the modules of classes and functions sent by value where the other side cannot import them."""
    import cloudpickle

    for thing in things:
        module = getattr(thing, "__module__", None)
        if module in sys.modules and module != "__main__" and not _importable(module):
            cloudpickle.register_pickle_by_value(sys.modules[module])


@functools.cache
def _importable(module: str) -> bool:
    if module == "__main__":
        return False
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def pack(value: tuple[Any, ...], prefix: str) -> tuple[bytes, Any]:
    """Values as a pickle and their arrays: (name of the file, where each lies in it), or the arrays' bytes."""
    buffers: list[pickle.PickleBuffer] = []
    head = dumps(value, buffer_callback=buffers.append)
    raw = [b.raw() for b in buffers]
    total = sum(r.nbytes for r in raw)
    if total < SMALL:
        return head, [bytes(r) for r in raw]
    places, at = [], 0
    for r in raw:
        places.append((at, r.nbytes))
        at += -(-r.nbytes // ALIGNED) * ALIGNED
    path = f"{prefix}-{uuid.uuid4().hex}"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.ftruncate(handle, max(at, 1))
        with mmap.mmap(handle, max(at, 1)) as memory:
            for (start, size), r in zip(places, raw, strict=True):
                memory[start : start + size] = r
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)
    return head, (path, places)


def unpack(head: bytes, arrays: Any) -> tuple[Any, ...]:
    """The values that `pack` was given. Their arrays lie in the mapped file, whose name goes."""
    if isinstance(arrays, list):
        return pickle.loads(head, buffers=[bytearray(b) for b in arrays])  # type: ignore[no-any-return]
    path, places = arrays
    handle = os.open(path, os.O_RDWR)
    try:
        memory = memoryview(mmap.mmap(handle, 0))
    finally:
        os.close(handle)
        os.unlink(path)
    return pickle.loads(head, buffers=[memory[a : a + size] for a, size in places])  # type: ignore[no-any-return]


def _tidy() -> None:
    """Removes what processes that were killed have left in shared memory."""
    for path in glob(f"{shared_folder()}/feedline-*-*"):
        pid = os.path.basename(path).split("-")[1]
        if pid.isdigit() and not _alive(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


# In the worker.


@node
class Elsewhere(Node):
    """Stands for the input of a node that runs in another process."""

    op = "elsewhere"


_nodes: dict[str, RowWise] = {}


def work(path: str, prefix: str, message: Any, number: int, draws: Any) -> tuple[bytes, Any]:
    """Makes one call. Gives (rows, index of the row that failed, its error, path in it, wall, cpu) as `pack` does."""
    made = _nodes.get(path)
    if made is None:
        with open(path, "rb") as file:
            made = _nodes[path] = pickle.load(file)()
    (block,) = unpack(*message)
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        outcome: tuple[Any, ...] = (made.applied(block, number, draws), None, None, "", None)
    except RowFailed as failed:
        outcome = (failed.done, failed.index, portable(failed.error), failed.path, getattr(failed, "link", None))
    spent = time.perf_counter() - wall, time.thread_time() - cpu
    return pack((*outcome, *spent), prefix)


def portable(error: Exception) -> Exception:
    """The error as it is, if it survives the journey; else one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Shipped:
    """A node on its way to a worker, with what its functions have found out about their results."""

    def __init__(self, made: RowWise) -> None:
        self.node = made.replace(input=Elsewhere())
        self.functions = [f.for_worker() for f in functions_of(made)]

    def __call__(self) -> RowWise:
        """The node, in the worker."""
        for function, (call, signature) in zip(functions_of(self.node), self.functions, strict=True):
            function.__init__(call, signature)  # type: ignore[misc]
        return self.node  # type: ignore[no-any-return]


def functions_of(made: Node) -> list[Function]:
    """The user's functions in one node."""
    found = []
    for value in made.arguments().values():
        if isinstance(value, Function):
            found.append(value)
        elif isinstance(value, tuple):
            found += [link.function for link in value if isinstance(getattr(link, "function", None), Function)]
    return found


def shipped(made: RowWise) -> bytes:
    """The node as bytes; an error that names what cannot travel."""
    import cloudpickle

    _take_along(f.call for f in functions_of(made))
    try:
        return cloudpickle.dumps(Shipped(made))  # type: ignore[no-any-return]
    except Exception as e:
        culprit = next(filter(None, (_culprit(f.call) for f in functions_of(made))), "")
        names = ", ".join(repr(f) for f in functions_of(made))
        raise InvalidArgumentError(
            f"{made.op} at step {made.position}: {names} cannot be sent to another process: {culprit or e}; "
            'make it inside the function, or use workers="thread"'
        ) from e


def _culprit(call: Callable[..., Any]) -> str:
    """Which of a function's variables cannot be pickled."""
    import inspect

    import cloudpickle

    try:
        seen = inspect.getclosurevars(inspect.unwrap(call))
        given = {p.name: p.default for p in inspect.signature(call).parameters.values() if p.default is not p.empty}
    except (TypeError, ValueError):
        return ""
    for name, value in {**seen.globals, **seen.nonlocals, **given}.items():
        try:
            cloudpickle.dumps(value)
        except Exception as e:
            return f"its variable {name!r}, a {type(value).__name__}, cannot be pickled ({e})"
    return ""


# In the process of the iterator.


class Hands:
    """Worker processes. Kept for a moment when an iterator is done with them, for the next one."""

    def __init__(self, size: int) -> None:
        from loky import ProcessPoolExecutor

        self.size, self.pid = size, os.getpid()
        self.executor = ProcessPoolExecutor(max_workers=size)

    def end(self, at_once: bool = False) -> None:
        """Ends the processes: as soon as they are done, or at once."""
        if self.pid != os.getpid():
            return
        if at_once:
            for pid in list(self.executor._processes or ()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # it has broken down by itself
            self.executor.shutdown(wait=False)

    @property
    def broken(self) -> bool:
        """True when it can take no more calls."""
        flags = self.executor._flags
        return bool(flags.broken or flags.shutdown)


class _Idle:
    """The hands that wait for the next iterator."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.hands: Hands | None = None
        self.timer: threading.Timer | None = None

    def take(self, size: int) -> Hands:
        """Hands of that size: those that wait, or new ones."""
        with self.lock:
            found, self.hands = self.hands, None
            if self.timer is not None:
                self.timer.cancel()
        if found is not None and (found.size != size or found.pid != os.getpid() or found.broken):
            found.end()
            found = None
        return found if found is not None else Hands(size)

    def leave(self, hands: Hands) -> None:
        """Keeps hands for a moment."""
        with self.lock:
            others, self.hands = self.hands, hands
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(IDLE_SECONDS, self._end)
            self.timer.daemon = True
            self.timer.start()
        if others is not None:
            others.end()

    def _end(self) -> None:
        with self.lock:
            found, self.hands = self.hands, None
        if found is not None:
            found.end()


_idle = _Idle()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _idle.__init__())  # type: ignore[misc]


def _exit_code(why: str) -> str:
    told = (line.strip() for line in why.splitlines() if "exit code" in line)
    return next(told, why.split(".")[0] or "no reason given")


class Processes:
    """Workers that are other processes."""

    def __init__(self, crew: Any, made: RowWise, calls: int) -> None:
        self.node, self.calls, self.crew = made, min(calls, crew.settings.threads or calls), crew
        self.prefix = f"{shared_folder()}/feedline-{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.path = f"{self.prefix}-node"
        payload = shipped(made)
        crew.must_end()
        _tidy()
        with open(self.path, "xb") as file:
            file.write(payload)
        self.hands: Hands | None = _idle.take(self.calls)
        self.pending: set[Any] = set()
        self.lock = threading.Lock()
        self.stopped = False

    def submit(self, call: Call) -> None:
        """Has the call made."""
        if self.stopped:
            return
        if self.hands is None:
            self.hands = Hands(self.calls)
        message = pack((call.block,), self.prefix)
        call.started = time.perf_counter()
        try:
            future = self.hands.executor.submit(work, self.path, self.prefix, message, call.number, call.draws)
        except Exception as e:  # the executor has broken meanwhile
            call.failed = WorkerDied(str(e))
            call.finish(0.0, 0.0)
            return
        with self.lock:
            self.pending.add(future)
        future.add_done_callback(lambda done: self._done(done, call))

    def _done(self, future: Any, call: Call) -> None:
        with self.lock:
            self.pending.discard(future)
        if future.cancelled() or self.stopped:
            return
        error = future.exception()
        if error is not None:
            died = type(error).__name__ in ("TerminatedWorkerError", "BrokenProcessPool", "ShutdownExecutorError")
            call.failed = WorkerDied(str(error)) if died else error
            call.finish(0.0, 0.0)
            return
        rows, index, failure, path, link, wall, cpu = unpack(*future.result())
        if failure is None:
            call.rows = rows
        else:
            call.failed = failed = RowFailed(index, rows, failure, path)
            if link is not None:
                failed.link = link  # type: ignore[attr-defined]
        call.finish(wall, cpu)

    def revive(self, why: str) -> None:
        """A worker has died: the others go too, and new ones are hired when the next call is made."""
        place = f"{self.node.op} at step {self.node.position}"
        _log.warning("a worker process of %s has died: %s", place, _exit_code(why))
        hands, self.hands = self.hands, None
        if hands is not None:
            hands.end(at_once=True)

    def death(self, why: str) -> AbortedError:
        """The error for a call that its worker did not survive."""
        return AbortedError(
            "the worker process died in this call; the others go on in new processes. It may have been killed for "
            f"using too much memory, or crashed in native code: {_exit_code(why)}"
        )

    def given_up(self) -> None:
        """A call will not return: its process is ended, and with it, since nobody knows which it is, all."""
        self.revive("a call took too long")

    def forget(self) -> None:
        """What comes from now on is of no interest."""
        self.stopped = True

    def close(self) -> None:
        """Lets the processes go, and removes what they left."""
        self.forget()
        hands, self.hands = self.hands, None
        if hands is not None:
            if not self.crew.lost:
                wait(list(self.pending), timeout=PATIENCE)
            busy = any(not f.done() for f in self.pending)
            if busy or self.crew.lost or hands.broken:
                hands.end(at_once=busy)
            else:
                _idle.leave(hands)
        if not self.crew.lost:
            for path in glob(f"{self.prefix}-*"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

