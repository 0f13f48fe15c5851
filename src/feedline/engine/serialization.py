"""Serialization of blocks, functions and results between processes.

A block is sent as a pickle without its arrays, which are written to one file in shared memory. The receiver maps the
file and unlinks it at once, so nothing is left when both sides are done with it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
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
from glob import glob
from typing import Any

from feedline.engine.batch_buffer import apply_into_slot
from feedline.engine.shared_memory import SharedSlot, drop_slot_columns, mapped
from feedline.engine.task import MAX_TASK_SECONDS
from feedline.errors import InvalidArgumentError
from feedline.kernels.memory import keep_freed_memory
from feedline.plan.function import Function
from feedline.plan.node import Node, node
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, applied, epochs_of
from feedline.provenance.rows import Provenance
from feedline.structure.block import Block

SMALL = 1 << 15
"""Arrays with fewer bytes than this are sent in the message itself."""
ALIGNED = 64
KEPT_NODES = 4
"""Nodes that a worker process keeps loaded; they may hold a lot of memory."""
CLOCK_SLOTS = 1024
NUMBER = struct.Struct("d")
_process, _files = uuid.uuid4().hex, itertools.count()

# Sending blocks.


def shared_folder() -> str:
    """The folder for shared-memory files."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def dumps(value: tuple[Any, ...], buffer_callback: Any = None) -> bytes:
    """A pickle. Element classes that the other side cannot import, since the program itself defines them, are pickled
    by value.
    """
    kinds = {k for v in value if isinstance(v, Block) for k in v.tree.kinds()}
    strange = [k for k in kinds if not _importable(k.__module__)]
    if not strange:
        return pickle.dumps(value, protocol=5, buffer_callback=buffer_callback)
    import cloudpickle

    _pickle_by_value(strange)
    return bytes(cloudpickle.dumps(value, protocol=5, buffer_callback=buffer_callback))


def _pickle_by_value(things: Iterable[Any]) -> None:
    """Registers modules of classes and functions to be pickled by value if the other side cannot import them."""
    import cloudpickle

    for thing in things:
        module = getattr(thing, "__module__", None)
        if module in sys.modules and module != "__main__" and not _importable(module):
            cloudpickle.register_pickle_by_value(sys.modules[module])


@functools.cache
def _importable(module: str) -> bool:
    """Whether another process can import the module by its name, which being loaded here does not prove."""
    if module == "__main__":
        return False
    package = module.partition(".")[0]
    found = (finder.find_spec(package, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return any(spec is not None for spec in found)


def pack(value: tuple[Any, ...], prefix: str) -> tuple[bytes, Any]:
    """Values as a pickle, and their arrays: (path of the file, offset and size of each), or the arrays' bytes."""
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
    path = f"{prefix}-{_process}-{next(_files)}"
    handle = private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.ftruncate(handle, at)
        for (start, _), r in zip(places, raw, strict=True):
            _write(handle, r, start)
    except OSError:  # shared memory is used up: the message takes all
        os.unlink(path)
        return head, [bytes(r) for r in raw]
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)
    return head, (path, places)


def without_lineage(block: Block) -> Block:
    """A block as it is sent: with the record locations of its rows, but with None in place of each lineage node, whose
    functions stay behind.
    """
    provenance = block.provenance
    if provenance is None and block.batch_provenance is None:
        return block
    told = None if provenance is None else provenance.with_lineage((None,) * len(provenance.lineage))
    return Block(block.columns, block.n, block.tree, told)


def with_lineage(rows: Block, block: Block, node: Node) -> Block:
    """The rows that a worker made of `block`, with their lineage: that of `block`, and the node itself if it adds
    to it.
    """
    if rows.provenance is None or block.provenance is None:
        return rows
    lineage = (*block.provenance.lineage, *[node] * (len(rows.provenance.lineage) - len(block.provenance.lineage)))
    found = Provenance(rows.provenance.base, rows.provenance.offsets, block.provenance.files, lineage)
    return Block(rows.columns, rows.n, rows.tree, found)


def _write(handle: int, data: memoryview, at: int) -> None:
    """Writes with `pwrite`: in a mapping of the file, running out of memory would be a SIGBUS, which ends the process.
    """
    while data.nbytes:
        n = os.pwrite(handle, data, at)
        data, at = data[n:], at + n


def unpack(head: bytes, arrays: Any) -> tuple[Any, ...]:
    """The values that `pack` was given. Their arrays lie in the mapped file, which is unlinked."""
    if isinstance(arrays, list):
        values: tuple[Any, ...] = pickle.loads(head, buffers=[bytearray(b) for b in arrays])
        return values
    path, places = arrays
    handle = os.open(path, os.O_RDWR)
    try:
        memory = memoryview(mmap.mmap(handle, 0))
    finally:
        os.close(handle)
        os.unlink(path)
    values = pickle.loads(head, buffers=[memory[a : a + size] for a, size in places])
    return values


@functools.cache
def _namespace() -> str:
    """Distinguishes containers that share memory but not process ids."""
    try:
        return f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return "0"


def own_prefix() -> str:
    """A unique prefix for one owner's shared-memory files."""
    return f"{shared_folder()}/feedline-{os.getpid()}-{_namespace()}-{uuid.uuid4().hex[:12]}"


def private(path: str, flags: int) -> int:
    """Opens a file that no other user may read."""
    return os.open(path, flags, 0o600)


def remove_stale_files() -> None:
    """Removes shared-memory files of processes that were killed."""
    for path in glob(f"{shared_folder()}/feedline-*-{_namespace()}-*"):
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
class RemoteInput(Node):
    """Placeholder for the input of a node that runs in another process."""

    op = "elsewhere"


_nodes: dict[str, RowWise] = {}


def run_task(
    path: str,
    prefix: str,
    message: Any,
    number: int,
    draws: Any,
    clock: tuple[str, int] | None,
    shared_slot: SharedSlot | None,
) -> tuple[bytes, Any]:
    """Runs one task. Returns, packed: (rows, number of input rows done, error of the next one if it failed, its path
    and link, whether large columns are in the batch slot, whether random numbers were drawn, wall, cpu).
    """
    made = _nodes.get(path)
    if made is None:
        while len(_nodes) >= KEPT_NODES:
            del _nodes[next(iter(_nodes))]
        with open(path, "rb") as file:
            made = _nodes[path] = pickle.load(file)()
    mapped.serve(path)
    block = mapped.block(*unpack(*message))
    if clock is not None:  # the time to load the function and its imports does not count
        _write_time(*clock)
    batch_slot = None if shared_slot is None else mapped.batch_slot(shared_slot)
    wall, cpu = time.perf_counter(), time.thread_time()
    used, in_slot, pid = block.n, False, os.getpid()
    try:
        try:
            if batch_slot is None:
                rows, used = applied(made, block, number, draws, wall + MAX_TASK_SECONDS)
            else:
                rows, in_slot = apply_into_slot(made, block, number, draws, batch_slot)
        finally:
            if os.getpid() != pid:
                _end_of_a_fork(made)
        made_there = drop_slot_columns(rows, batch_slot) if batch_slot and in_slot else without_lineage(rows)
        outcome: tuple[Any, ...] = (made_there, used, None, "", None, in_slot)
    except RowFailed as failed:
        done = None if failed.done is None else without_lineage(failed.done)
        outcome = done, failed.index, picklable_error(failed.error), failed.path, failed.link, False
    spent = time.perf_counter() - wall, time.thread_time() - cpu
    epochs = epochs_of(made)
    return pack((*outcome, epochs is not None and epochs.used, *spent), prefix)


def _end_of_a_fork(made: RowWise) -> None:
    """Ends a child that the function forked and that returned from it: the parent gives the results."""
    step = f"{made.op} at step {made.position}"
    told = f"feedline: {step}: the function has called os.fork(), and the child has returned from it, or raised; it "
    os.write(2, f"{told}ends here. A child that is forked in a worker process must end with os._exit()\n".encode())
    os._exit(1)


def _write_time(path: str, slot: int) -> None:
    with open(path, "r+b", buffering=0) as file:
        file.seek(slot * NUMBER.size)
        file.write(NUMBER.pack(time.monotonic()))


def turn_off_leak_check() -> None:
    """Turns off loky's memory-leak check, which replaces workers whose function keeps memory, and counts shared memory
    too. If loky has another name for it, workers are replaced now and then; no task is lost.
    """
    from loky import process_executor

    if hasattr(process_executor, "_MAX_MEMORY_LEAK_SIZE"):
        process_executor._MAX_MEMORY_LEAK_SIZE = float("inf")


def exit_with_parent(parent: int) -> None:
    """Has a worker end when its parent is killed."""
    turn_off_leak_check()
    keep_freed_memory()
    # Ctrl-C reaches all processes of a terminal; the parent decides what to do. (SIG_IGN would be inherited by programs
    # that a function starts.)
    signal.signal(signal.SIGINT, lambda *_: None)

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=look, name="feedline-watch", daemon=True).start()


def picklable_error(error: BaseException) -> BaseException:
    """The error itself if it can be pickled and unpickled, else a `RuntimeError` with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class SerializedNode:
    """A node to be sent to a worker, with what its functions know of their results."""

    def __init__(self, made: RowWise) -> None:
        self.node = made.replace(input=RemoteInput())
        self.functions = [f.for_worker() for f in functions_of(made)]

    def __call__(self) -> RowWise:
        """The node, restored in the worker."""
        for function, made in zip(functions_of(self.node), self.functions, strict=True):
            Function.__init__(function, *made)
        return self.node


def functions_of(made: Node) -> list[Function]:
    """The user's functions in one node."""
    found = []
    for value in made.arguments().values():
        if isinstance(value, Function):
            found.append(value)
        elif isinstance(value, tuple):
            found += [f for link in value if isinstance(link, tuple) for f in link if isinstance(f, Function)]
    return found


def serialize_node(made: RowWise) -> bytes:
    """The node as bytes; raises an error that names what cannot be pickled."""
    import cloudpickle

    _pickle_by_value(f.given for f in functions_of(made))
    try:
        return bytes(cloudpickle.dumps(SerializedNode(made)))
    except Exception as e:
        culprit = next(filter(None, (_unpicklable_variable(f.given) for f in functions_of(made))), "")
        names = ", ".join(repr(f) for f in functions_of(made))
        raise InvalidArgumentError(
            f"{made.op} at step {made.position}: {names} cannot be sent to another process: {culprit or e}; "
            'make it inside the function, or use workers="thread"'
        ) from e


def _unpicklable_variable(call: Callable[..., Any]) -> str:
    """Says which of a function's variables cannot be pickled; empty if none is found."""
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
