"""What runs in a worker process."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
import time
from typing import Any

from feedline.engine.batch_buffer import apply_into_slot
from feedline.engine.transport import Packed, TaskMessage, WorkerTransport
from feedline.kernels.memory import keep_freed_memory
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, applied, epochs_of
from feedline.random.element import Draws
from feedline.structure.block import Block

KEPT_NODES = 4
"""Nodes that a worker process keeps loaded; they may hold a lot of memory."""
NUMBER = struct.Struct("d")

_nodes: dict[str, RowWise] = {}
_transport = WorkerTransport()


def run_task(
    path: str,
    prefix: str,
    message: TaskMessage,
    number: int,
    draws: Draws | None,
    seconds: float,
    clock: tuple[str, int] | None,
) -> Packed:
    """Runs one task, for about `seconds` at most. Returns, packed: (rows, number of input rows done, error of the next
    one if it failed, its path and link, whether large columns are in the batch slot, whether random numbers were drawn,
    wall, cpu).
    """
    made = _nodes.get(path)
    if made is None:
        while len(_nodes) >= KEPT_NODES:
            del _nodes[next(iter(_nodes))]
        with open(path, "rb") as file:
            made = _nodes[path] = pickle.load(file)()
    _transport.serve(path)
    block, batch_slot = _transport.receive(message)
    if clock is not None:  # the time to load the function and its imports does not count
        _write_time(*clock)
    wall, cpu = time.perf_counter(), time.thread_time()
    used, in_slot, pid = block.n, False, os.getpid()
    try:
        try:
            if batch_slot is None:
                rows, used = applied(made, block, number, draws, wall + seconds)
            else:
                rows, in_slot = apply_into_slot(made, block, number, draws, batch_slot)
        finally:
            if os.getpid() != pid:
                _exit_forked_child(made)
        done: Block | None = rows
        outcome: tuple[Any, ...] = (used, None, "", None, in_slot)
    except RowFailed as failed:
        done, in_slot = failed.done, False
        outcome = failed.index, picklable_error(failed.error), failed.path, failed.link, False
    spent = time.perf_counter() - wall, time.thread_time() - cpu
    epochs = epochs_of(made)
    values = (*outcome, epochs is not None and epochs.used, *spent)
    return _transport.send(done, batch_slot if in_slot else None, values, prefix)


def _exit_forked_child(made: RowWise) -> None:
    """Ends a child that the function forked and that returned from it: the parent gives the results."""
    step = f"{made.op} at step {made.position}"
    text = f"feedline: {step}: the function called os.fork(), and the child returned from the function, or raised; it "
    os.write(2, f"{text}is ended here. A child forked in a worker process must end with os._exit()\n".encode())
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

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="feedline-watch", daemon=True).start()


def picklable_error(error: BaseException) -> BaseException:
    """The error itself if it can be pickled and unpickled, else a `RuntimeError` with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
