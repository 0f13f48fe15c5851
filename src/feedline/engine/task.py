"""Tasks: chunks of rows for a worker, and the worker threads that run them."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter, thread_time
from typing import Any, NamedTuple

from feedline.engine.batch_buffer import BatchSlot, apply_into_slot
from feedline.engine.context import Reservation, ThreadPool
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, applied
from feedline.reports.measured import WorkerReport
from feedline.structure.block import Block

MAX_TASK_SECONDS = 40e-3
"""After this time, or longer for tasks that are planned to take longer, a worker returns what it has made of a chunk:
rows take longer than planned, and the rest may be split among workers again.
"""


class TaskTimes(NamedTuple):
    """The seconds that a task took, those of a processor among them, and when it was finished."""

    wall: float = 0.0
    cpu: float = 0.0
    ended: float = 0.0


class Task:
    """One chunk of rows for a worker. `before` are the states from which its rows were pulled, `offset` is the index of
    its first row in that pull, `batch_slot` the slot to write results to, if there is one.
    """

    __slots__ = (
        "again",
        "batch_slot",
        "before",
        "block",
        "done",
        "drawn_for",
        "draws",
        "failed",
        "finished",
        "notified",
        "number",
        "offset",
        "reservation",
        "rows",
        "sent",
        "started",
        "submitted",
        "took",
        "used",
        "whole",
    )

    def __init__(self, block: Block, number: int, draws: Any, before: list[Any] | None, offset: int) -> None:
        self.block, self.number, self.draws, self.before, self.offset = block, number, draws, before, offset
        self.rows: Block | None = None
        self.used = block.n  # number of input rows done, if the task was cut short
        self.failed: BaseException | None = None
        self.started = 0.0
        self.took = TaskTimes()
        self.reservation: Reservation | None = None  # of the memory budget
        self.batch_slot: BatchSlot | None = None
        self.drawn_for: int | None = None  # the first row's number when functions drew random numbers, if they did
        self.sent: Any = None  # what its workers keep of it until it is done
        self.submitted = False  # to the workers
        self.again = False  # run a second time, after its worker died
        self.whole = False  # whether its rows must come together, however long they take
        self.finished = False  # whether the outcome is ready
        self.done = threading.Lock()  # held until then; an interrupted waiter may leave it held
        self.done.acquire()
        self.notified: SimpleQueue[None] | None = None  # where the consumer waits for any of several tasks

    def run(self, node: RowWise, seconds: float) -> None:
        """Runs the task in the current thread, for about `seconds` at most."""
        self.started = perf_counter()
        cpu = thread_time()
        try:
            if self.batch_slot is None:
                until = self.started + seconds
                self.rows, self.used = applied(node, self.block, self.number, self.draws, until)
            else:
                self.rows, in_slot = apply_into_slot(node, self.block, self.number, self.draws, self.batch_slot)
                self.batch_slot = self.batch_slot if in_slot else None
        except BaseException as e:  # raised in the consumer, whatever it is
            self.failed = e
        self.finish(perf_counter() - self.started, thread_time() - cpu)

    def finish(self, wall: float, cpu: float) -> None:
        """Records the times of a task whose outcome is ready, and notifies the consumer."""
        self.took = TaskTimes(wall, cpu, perf_counter())
        if self.reservation is not None and self.rows is not None:
            self.reservation.resize(self.block.nbytes + self.rows.nbytes)
        self.release()
        notified = self.notified
        if notified is not None and notified.empty():  # one notification is enough for all finished tasks
            notified.put(None)

    def release(self) -> None:
        """Wakes the waiter."""
        self.finished = True
        with suppress(RuntimeError):  # already released, to end the wait
            self.done.release()

    def abandoned(self, error: Exception) -> Task:
        """A failed task in place of this one, whose outcome will be ignored."""
        late = Task(self.block, self.number, self.draws, self.before, self.offset)
        late.reservation, self.reservation = self.reservation, None
        late.failed = RowFailed(0, None, error)
        late.submitted = True
        late.release()
        self.notified = None
        return late

    @property
    def size(self) -> int:
        """The bytes that the task takes, about."""
        return 0 if self.reservation is None else self.reservation.size

    def release_budget(self) -> None:
        """Returns its bytes to the budget."""
        if self.reservation is not None:
            self.reservation.free()

    def split_rows(self) -> list[Task]:
        """One task per row, each to be submitted when it is the first in line."""
        rows = []
        for i in range(self.block.n):
            single = Task(self.block.slice(i, i + 1), self.number + i, self.draws, self.before, self.offset + i)
            single.again = True
            rows.append(single)
        return rows


class ThreadWorkers:
    """The worker threads of one parallel map stage."""

    after_timeout = "its thread keeps running in the background until the call returns"

    def __init__(self, pool: ThreadPool, node: RowWise) -> None:
        self.pool, self.node = pool, node
        self.stopped = False

    def submit(self, task: Task, seconds: float) -> None:
        """Submits a task, which may take `seconds`, to the thread pool."""
        self.pool.submit(lambda: self._run(task, seconds))

    def _run(self, task: Task, seconds: float) -> None:
        if not self.stopped and not task.started:  # else it was submitted twice, after an interrupt
            task.run(self.node, seconds)

    def age(self, task: Task) -> float:
        """Seconds since a task was begun; 0 if it still waits."""
        return perf_counter() - task.started if task.started else 0.0

    def abandoned(self, task: Task) -> None:
        """Replaces the thread of a call that will not return."""
        self.pool.replace_one()

    @property
    def breadth(self) -> int | None:
        """As many calls as they were started for."""
        return None

    def waited(self, seconds: float) -> None:
        """Does nothing: the tuner sees it."""

    def reports(self) -> tuple[WorkerReport, ...]:
        """None: threads are alike."""
        return ()

    def forget(self) -> None:
        """Drops tasks that have not begun."""
        self.stopped = True

    def close(self) -> None:
        """Does nothing: the threads belong to the execution context."""
