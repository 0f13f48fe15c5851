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
import struct
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
from feedline.engine.crew import PATIENCE, end_all
from feedline.errors import AbortedError, InvalidArgumentError
from feedline.plan.function import Function
from feedline.plan.node import Node, RowFailed, RowWise, node
from feedline.structure.block import Block

SMALL = 1 << 15
"""Fewer bytes of arrays than that travel in the message itself."""
ALIGNED = 64
KEPT_NODES = 4
"""So many steps a worker process has ready; they may hold a lot of memory."""
CLOCK_SLOTS = 1024
NUMBER = struct.Struct("d")
IDLE_SECONDS = 0.6
"""How long worker processes wait for the next iterator before they end."""

_log = logging.getLogger("feedline")


class WorkerDied(Exception):
    """The process that made a call has ended; `hands` are those it was one of."""

    def __init__(self, why: str, hands: Hands) -> None:
        super().__init__(why)
        self.hands = hands


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
        os.ftruncate(handle, at)
        for (start, _), r in zip(places, raw, strict=True):
            _write(handle, r, start)
    except OSError:  # the memory that may be shared is used up: the message takes all
        os.unlink(path)
        return head, [bytes(r) for r in raw]
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)
    return head, (path, places)


def _write(handle: int, data: memoryview, at: int) -> None:
    """Not through a map of the file, where running out of memory would be a signal that ends the process."""
    while data.nbytes:
        n = os.pwrite(handle, data, at)
        data, at = data[n:], at + n


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


@functools.cache
def _world() -> str:
    """Tells containers apart that share memory but not the numbers of processes."""
    try:
        return f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return "0"


def _own_prefix() -> str:
    """What names of files begin with, unique to whom it is made for."""
    return f"{shared_folder()}/feedline-{os.getpid()}-{_world()}-{uuid.uuid4().hex[:12]}"


def _tidy() -> None:
    """Removes what processes that were killed have left in shared memory."""
    for path in glob(f"{shared_folder()}/feedline-*-{_world()}-*"):
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


def work(
    path: str, prefix: str, message: Any, number: int, draws: Any, clock: tuple[str, int] | None
) -> tuple[bytes, Any]:
    """Makes one call. Gives (rows, index of the row that failed, its error, path and link in it, whether random numbers
    were drawn, wall, cpu) as `pack` does.
    """
    if clock is not None:
        _write_time(*clock)
    made = _nodes.get(path)
    if made is None:
        while len(_nodes) >= KEPT_NODES:
            del _nodes[next(iter(_nodes))]
        with open(path, "rb") as file:
            made = _nodes[path] = pickle.load(file)()
    (block,) = unpack(*message)
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        outcome: tuple[Any, ...] = (made.applied(block, number, draws), None, None, "", None)
    except RowFailed as failed:
        outcome = (failed.done, failed.index, portable(failed.error), failed.path, getattr(failed, "link", None))
    spent = time.perf_counter() - wall, time.thread_time() - cpu
    return pack((*outcome, made.epochs is not None and made.epochs.used, *spent), prefix)


def _write_time(path: str, slot: int) -> None:
    with open(path, "r+b", buffering=0) as file:
        file.seek(slot * NUMBER.size)
        file.write(NUMBER.pack(time.monotonic()))


def watch(parent: int) -> None:
    """Ends a worker whose parent was killed: nobody else would."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=look, name="feedline-watch", daemon=True).start()


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
        self.executor = ProcessPoolExecutor(max_workers=size, initializer=watch, initargs=(self.pid,))

    def submit(self, *arguments: Any) -> Any:
        """Has `work` done by a process."""
        future = self.executor.submit(work, *arguments)
        _end_before_loky()
        return future

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


@functools.cache
def _end_before_loky() -> None:
    """When the program ends, loky waits for all calls to be made, which may take any time: iterators end before that.
    What was registered last is called first, and loky registers when its first process is started.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(end_all)


class _Idle:
    """The hands that wait for the next iterator."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
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

    afterlife = "its process was ended"

    def __init__(self, crew: Any, made: RowWise, calls: int) -> None:
        self.node, self.calls, self.crew = made, min(calls, crew.settings.threads or calls), crew
        self.prefix = _own_prefix()
        self.path = f"{self.prefix}-node"
        payload = shipped(made)
        crew.must_end()
        _tidy()
        with open(self.path, "xb") as file:
            file.write(payload)
        self.clock = Clock(f"{self.prefix}-clock") if crew.settings.timeout is not None else None
        self.hands: Hands | None = _idle.take(self.calls)
        self.pending: set[Any] = set()
        self.lock = threading.RLock()
        self.stopped = False

    def submit(self, call: Call) -> None:
        """Has the call made."""
        if self.stopped:
            return
        if self.hands is None:
            self.hands = Hands(self.calls)
        hands = self.hands
        try:
            message = pack((call.block,), self.prefix)
        except Exception as e:
            error = InvalidArgumentError(f'the element cannot be sent to another process ({e}); use workers="thread"')
            call.failed = RowFailed(0, None, error)
            call.finish(0.0, 0.0)
            return
        call.started = time.perf_counter()
        clock = self.clock.slot(call) if self.clock is not None else None
        try:
            future = hands.submit(self.path, self.prefix, message, call.number, call.draws, clock)
        except Exception as e:  # the executor has broken meanwhile
            call.failed = WorkerDied(str(e), hands)
            call.finish(0.0, 0.0)
            return
        with self.lock:
            self.pending.add(future)
        future.add_done_callback(lambda done: self._done(done, call, hands))

    def _done(self, future: Any, call: Call, hands: Hands) -> None:
        with self.lock:
            self.pending.discard(future)
        if future.cancelled() or self.stopped:
            return
        spent = 0.0, 0.0
        try:
            spent = self._brought(future.result(), call)
        except BaseException as e:  # whatever it is, somebody waits for it
            died = type(e).__name__ in ("TerminatedWorkerError", "BrokenProcessPool", "ShutdownExecutorError")
            call.failed = WorkerDied(str(e), hands) if died else e
        call.finish(*spent)

    def _brought(self, outcome: Any, call: Call) -> tuple[float, float]:
        rows, index, failure, path, link, drew, wall, cpu = unpack(*outcome)
        if drew and self.node.epochs is not None:
            self.node.epochs.used = True
        if failure is None:
            call.rows = rows
        else:
            call.failed = failed = RowFailed(index, rows, failure, path)
            if link is not None:
                failed.link = link  # type: ignore[attr-defined]
        return wall, cpu

    def revive(self, died: WorkerDied) -> None:
        """A worker has died: the others go too, and new ones are hired when the next call is made."""
        if self.hands is died.hands:
            self._dismiss(str(died))

    def _dismiss(self, why: str) -> None:
        place = f"{self.node.op} at step {self.node.position}"
        _log.warning("a worker process of %s has died: %s", place, _exit_code(why))
        hands, self.hands = self.hands, None
        if hands is not None:
            hands.end(at_once=True)

    def death(self, died: WorkerDied) -> AbortedError:
        """The error for a call that its worker did not survive."""
        return AbortedError(
            "the worker process died in this call; the others go on in new processes. It may have been killed for "
            f"using too much memory, or crashed in native code: {_exit_code(str(died))}"
        )

    def age(self, call: Call) -> float:
        """How many seconds ago a call was begun; 0 for one that waits, perhaps for processes that are starting."""
        return 0.0 if self.clock is None else self.clock.age(call)

    def given_up(self) -> None:
        """A call will not return: its process is ended, and with it, since nobody knows which it is, all."""
        self._dismiss("a call took too long")

    def forget(self) -> None:
        """What comes from now on is of no interest."""
        self.stopped = True

    def close(self) -> None:
        """Lets the processes go, and removes what they left."""
        self.forget()
        hands, self.hands = self.hands, None
        if self.crew.lost:
            return
        if hands is not None:
            with self.lock:
                pending = list(self.pending)
            busy = wait(pending, timeout=PATIENCE).not_done
            if busy or hands.broken:
                hands.end(at_once=bool(busy))
            else:
                _idle.leave(hands)
        for path in glob(f"{self.prefix}-*"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


class Clock:
    """Says when calls were begun: a file in shared memory, with a number for each call on its way, that workers write.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.given = 0
        with open(path, "xb") as file:
            file.write(bytes(CLOCK_SLOTS * NUMBER.size))

    def slot(self, call: Call) -> tuple[str, int]:
        """Where the worker that begins the call must write the time."""
        self.given += 1
        call.slot = self.given % CLOCK_SLOTS
        with open(self.path, "r+b", buffering=0) as file:
            file.seek(call.slot * NUMBER.size)
            file.write(NUMBER.pack(0.0))
        return self.path, call.slot

    def age(self, call: Call) -> float:
        """How many seconds ago a call was begun; 0 for one that was not."""
        with open(self.path, "rb", buffering=0) as file:
            file.seek(call.slot * NUMBER.size)
            (began,) = NUMBER.unpack(file.read(NUMBER.size))
        return time.monotonic() - began if began else 0.0
