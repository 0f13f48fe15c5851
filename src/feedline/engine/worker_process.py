"""What runs in a worker process."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
import time
from typing import Any, NamedTuple

from feedline.engine.batch_buffer import BatchSlot, apply_into_slot
from feedline.engine.transport import Packed, TaskMessage, WorkerTransport
from feedline.kernels.memory import keep_freed_memory
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, applied, epochs_of
from feedline.plan.tracebacks import as_text
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
    """Runs one task, for about `seconds` at most. Returns its `Outcome`, packed."""
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
    outcome = run_rows(made, block, number, draws, seconds, batch_slot)
    return _transport.send(outcome.rows, batch_slot if outcome.in_slot else None, outcome.to_send()[1:], prefix)


class Outcome(NamedTuple):
    """What a worker has made of a task: rows; the number of input rows done; the error of the next one if it failed,
    its path and link; whether large columns are in the batch slot; whether random numbers were drawn; how long it took.
    """

    rows: Block | None
    used: int
    failure: BaseException | None
    path: str
    link: Any
    in_slot: bool
    drew: bool
    wall: float
    cpu: float

    def to_send(self) -> Outcome:
        """The outcome with an error as it is sent."""
        return self if self.failure is None else self._replace(failure=SentError(self.failure))  # type: ignore[arg-type]


def run_rows(
    made: RowWise, block: Block, number: int, draws: Draws | None, seconds: float, batch_slot: BatchSlot | None = None
) -> Outcome:
    """Applies a node to the rows of a task, for about `seconds` at most; with a batch slot, to all of them."""
    wall, cpu = time.perf_counter(), time.thread_time()
    rows: Block | None
    used, failure, path, link, in_slot, pid = block.n, None, "", None, False, os.getpid()
    try:
        try:
            if batch_slot is None:
                rows, used = applied(made, block, number, draws, wall + seconds)
            else:
                rows, in_slot = apply_into_slot(made, block, number, draws, batch_slot)
        finally:
            if os.getpid() != pid:
                _exit_forked_child(made)
    except RowFailed as failed:
        rows, used, in_slot = failed.done, failed.index, False
        failure, path, link = failed.error, failed.path, failed.link
    epochs = epochs_of(made)
    drew = epochs is not None and epochs.used
    return Outcome(
        rows, used, failure, path, link, in_slot, drew, time.perf_counter() - wall, time.thread_time() - cpu
    )


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


class SentError:
    """Pickled in place of a function's error. It becomes that error again, with the traceback of the worker as a note;
    if it cannot be pickled, or what that needs is on the worker only, a `RuntimeError` with its text.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        try:
            pickled = pickle.dumps(self.error)
        except Exception:
            pickled = b""
        return received_error, (pickled, f"{type(self.error).__name__}: {self.error}", as_text(self.error))


def received_error(pickled: bytes, text: str, traceback: str) -> BaseException:
    """The error that a worker has sent."""
    found: BaseException
    try:
        found = pickle.loads(pickled)
    except Exception:
        found = RuntimeError(text)
    if traceback:
        found.add_note(f"In the worker:\n{traceback}")
    return found
