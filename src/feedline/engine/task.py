"""A chunk of rows that a worker makes, and the workers that are threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, thread_time
from typing import Any

from feedline.engine.batch_buffer import BatchSlot, apply_into_slot
from feedline.engine.context import Reservation, ThreadPool
from feedline.plan.node import RowFailed, RowWise
from feedline.structure.block import Block

MAX_TASK_SECONDS = 40e-3
"""A worker that has been at a chunk for so many seconds hands over what it has made: rows take longer than was planned
for, and those that are left may be shared out anew.
"""


class Task:
    """One chunk of rows on its way through a worker. `before` are the states its rows were pulled from, `offset` says
    which row of that pull is its first, `batch_slot` where the results are to be written, if that is not left open.
    """

    __slots__ = (
        "again",
        "batch_slot",
        "before",
        "block",
        "cpu",
        "done",
        "draws",
        "failed",
        "finished",
        "number",
        "offset",
        "on_done",
        "reservation",
        "rows",
        "shared",
        "slot",
        "started",
        "submitted",
        "used",
        "wall",
    )

    def __init__(self, block: Block, number: int, draws: Any, before: list[Any] | None, offset: int) -> None:
        self.block, self.number, self.draws, self.before, self.offset = block, number, draws, before, offset
        self.rows: Block | None = None
        self.used = block.n  # how many of the rows it was made for, where it was cut short
        self.failed: BaseException | None = None
        self.started = self.wall = self.cpu = 0.0
        self.reservation: Reservation | None = None  # of the budget
        self.batch_slot: BatchSlot | None = None
        self.shared: Any = None  # memory that another process reads
        self.slot = 0  # where another process writes that it has begun
        self.submitted = False  # to the workers
        self.again = False  # made a second time, after its worker died
        self.finished = False  # whether the outcome is there
        self.done = threading.Lock()  # held until then; an interrupt may leave it held by one who waited
        self.done.acquire()
        self.on_done: Callable[[], None] | None = None

    def run(self, node: RowWise) -> None:
        """Makes the call, in the thread that it is run in."""
        self.started = perf_counter()
        cpu = thread_time()
        try:
            if self.batch_slot is None:
                until = self.started + MAX_TASK_SECONDS
                self.rows, self.used = node.applied(self.block, self.number, self.draws, until)
            else:
                self.rows, in_slot = apply_into_slot(node, self.block, self.number, self.draws, self.batch_slot)
                self.batch_slot = self.batch_slot if in_slot else None
        except BaseException as e:  # it belongs to the consumer, whatever it is
            self.failed = e
        self.finish(perf_counter() - self.started, thread_time() - cpu)

    def finish(self, wall: float, cpu: float) -> None:
        """The outcome is there."""
        self.wall, self.cpu = wall, cpu
        if self.reservation is not None and self.rows is not None:
            self.reservation.resize(self.block.nbytes + self.rows.nbytes)
        self.release()
        if self.on_done is not None:
            self.on_done()

    def release(self) -> None:
        """Lets go whoever waits."""
        self.finished = True
        with suppress(RuntimeError):  # somebody else has done so, to end the waiting
            self.done.release()

    def abandoned(self, error: Exception) -> Task:
        """A call in the place of this one that has failed; this one's outcome will be of no interest."""
        late = Task(self.block, self.number, self.draws, self.before, self.offset)
        late.reservation, self.reservation = self.reservation, None
        late.failed = RowFailed(0, None, error)
        late.submitted = True
        late.release()
        self.on_done = None
        return late

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        return 0 if self.reservation is None else self.reservation.size

    def release_budget(self) -> None:
        """It does not wait any more."""
        if self.reservation is not None:
            self.reservation.free()

    def split_rows(self) -> list[Task]:
        """Calls for its rows one by one, each to be handed over when it is the first."""
        rows = []
        for i in range(self.block.n):
            single = Task(self.block.slice(i, i + 1), self.number + i, self.draws, self.before, self.offset + i)
            single.again = True
            rows.append(single)
        return rows


class ThreadWorkers:
    """Workers that are threads of this process."""

    after_timeout = "its thread goes on in the background until it returns"

    def __init__(self, pool: ThreadPool, node: RowWise) -> None:
        self.pool, self.node = pool, node
        self.stopped = False

    def submit(self, task: Task) -> None:
        """Has the call made."""
        self.pool.submit(lambda: self._run(task))

    def _run(self, task: Task) -> None:
        if not self.stopped and not task.started:  # else it was handed over twice, after an interrupt
            task.run(self.node)

    def age(self, task: Task) -> float:
        """How many seconds ago a call was begun; 0 for one that waits."""
        return perf_counter() - task.started if task.started else 0.0

    def abandoned(self) -> None:
        """A call will not return: its thread does not count any more."""
        self.pool.replace_one()

    def forget(self) -> None:
        """Calls that have not begun are not made."""
        self.stopped = True

    def close(self) -> None:
        """The threads belong to the execution context."""
