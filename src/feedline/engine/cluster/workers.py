"""The workers of one parallel map stage on a Ray cluster."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Sequence
from typing import Any

from feedline.engine.cluster.actors import Figures, WorkerHandle
from feedline.engine.cluster.objects import wrap
from feedline.engine.cluster.pool import PendingTask, WorkerPool
from feedline.engine.cluster.session import session
from feedline.engine.serialization import serialize_nodes
from feedline.engine.task import Task
from feedline.engine.transport import RowsLost, without_lineage
from feedline.engine.worker_process import Outcome
from feedline.engine.workers import WorkerDied
from feedline.errors import AbortedError, InvalidArgumentError, OpError
from feedline.io.addresses import Addresses
from feedline.plan.interrupted import WorkersLost
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.row_calls import RowFailed, called_by
from feedline.plan.row_wise import RowWise, can_recompute, epochs_of
from feedline.provenance.rows import Provenance
from feedline.random.element import Draws
from feedline.reports.measured import WorkerReport
from feedline.structure.block import Block, Unread

UNKNOWN_BYTES = 1 << 20
"""The bytes assumed for a result before the first one has come."""


class Carried:
    """A step below a stage whose rows its workers make too: the slot of its state, how many rows more than the stage it
    has seen, and the source of its random numbers.
    """

    def __init__(self, node: RowWise, slot: int, ahead: int, draws: Draws | None) -> None:
        self.node, self.slot, self.ahead, self.draws = node, slot, ahead, draws


class ClusterWorkers:
    """A stage's view of a pool. The steps `carried`, from below, and then the stage's own are applied by a worker."""

    after_timeout = "its worker was killed"

    def __init__(
        self, context: Any, node: RowWise, workers: RayWorkers, calls: int | None, carried: Sequence[Carried]
    ) -> None:
        self.node, self.context, self.carried = node, context, list(carried)
        self.steps = [*(c.node for c in carried), node]
        payload = serialize_nodes(self.steps)
        self.key = uuid.uuid4().hex
        called = " and ".join(c.name for step in self.steps for c in called_by(step))
        ops = ", ".join(f"{step.op} at step {step.position}" for step in self.steps)
        self.name = f"{ops} ({called})" if called else ops
        self.timed = context.settings.timeout is not None
        self.stopped = False
        self.figures: dict[int, Figures] = {}  # by the numbers of workers
        self.took: deque[float] = deque(maxlen=64)  # seconds of the last tasks
        self._bytes = 0.0  # of the result for a row, about
        context.end_at_exit()
        try:
            self.pool = pools.take(workers, calls)
        except OpError as e:
            raise WorkersLost(e) from e
        try:
            self.payload = self.pool.ray.put(payload)
        except BaseException:
            self.pool.leave(self)
            raise

    @property
    def breadth(self) -> int:
        """How many tasks the pool does at a time."""
        return self.pool.breadth

    def expected_bytes(self, task: Task) -> int:
        """The bytes of a task's result, about."""
        return int(task.block.n * self._bytes) if self._bytes else UNKNOWN_BYTES

    def submit(self, task: Task, seconds: float) -> None:
        """Submits a task to the pool."""
        if self.stopped:
            return
        places = (
            *((task.number + c.ahead, c.draws) for c in self.carried),
            (task.number, task.draws),
        )
        try:
            packed_rows = wrap((without_lineage(_addressed(task.block)),))
        except Exception as e:
            error = InvalidArgumentError(f'the element cannot be sent to another process ({e}); use workers="thread"')
            task.failed = RowFailed(0, None, error)
            task.finish(0.0, 0.0)
            return
        task.started = time.perf_counter()
        job = task.sent = PendingTask(self, task, packed_rows, places, math.inf if task.whole else seconds)
        self.pool.submit(job)

    def read_here(self, job: PendingTask) -> Any:
        """The rows of a job, read in this process, as a parcel in place of that with their addresses."""
        block: Block = job.task.block
        try:
            columns = [c.objects() if isinstance(c, Unread) else c for c in block.columns]
        except OpError as e:
            raise RowsLost(e) from e
        return wrap((without_lineage(Block(columns, block.n, block.tree, block.provenance)),))

    @staticmethod
    def is_loss(error: Exception) -> bool:
        """Whether rows can no longer be read."""
        return isinstance(error, RowsLost)

    # Called by the pool.

    def figures_of(self, member: WorkerHandle) -> Figures:
        """What a worker has done for this stage."""
        return self.figures.setdefault(member.number, Figures())

    def made(self, job: PendingTask, values: tuple[Any, ...], member: WorkerHandle) -> None:
        """Takes the rows that a worker has made, or the failure of one."""
        rows, step, *rest = values
        outcome, task = Outcome(rows, *rest), job.task
        task.sent = None
        if self.stopped:
            return
        task.drawn_for = job.places[-1][0] if outcome.drew else None
        for node in self.steps if outcome.drew else ():
            epochs = epochs_of(node)
            if epochs is not None:
                epochs.used = True
        if rows is not None:
            rows = self._restored(rows, task.block)
            self._bytes = rows.nbytes / max(1, task.block.n)
            self.figures_of(member).rows += rows.n
        if outcome.failure is None:
            task.used, task.rows = outcome.used, rows
        else:
            task.failed = failed = RowFailed(outcome.used, rows, outcome.failure, outcome.path)
            failed.link, failed.worker = outcome.link, str(member)
            if step < len(self.carried):
                failed.carried = step
        task.finish(outcome.wall, outcome.cpu)

    def _restored(self, rows: Block, block: Block) -> Block:
        """Rows that a worker made of `block`, with their lineage: that of `block`, and the steps that add to it."""
        if rows.provenance is None or block.provenance is None:
            return rows
        lineage = (*block.provenance.lineage, *(step for step in self.steps if can_recompute(step)))
        found = Provenance(rows.provenance.base, rows.provenance.offsets, block.provenance.files, lineage)
        return Block(rows.columns, rows.n, rows.tree, found)

    def failed(self, job: PendingTask, error: Exception) -> None:
        """Takes an error that belongs to no row, or that the rows can no longer be read."""
        self._ended(job, error if self.is_loss(error) else WorkersLost(error))

    def died(self, job: PendingTask, why: str) -> None:
        """Takes the news that a task kills its workers."""
        self._ended(job, WorkerDied(why))

    def _ended(self, job: PendingTask, failed: BaseException) -> None:
        task = job.task
        task.sent = None
        if not self.stopped:
            task.failed = failed
            task.finish(0.0, 0.0)

    # Called by the stage.

    def restart(self, died: WorkerDied) -> None:
        """Does nothing: the pool has started another worker."""

    def death(self, died: WorkerDied) -> AbortedError:
        """The error for a call in which workers died."""
        return AbortedError(
            f"every worker that made this call died in it; the other calls continue. They may have run out of memory, "
            f"or crashed in native code: {died}"
        )

    def age(self, task: Task) -> float:
        """Seconds since a worker began a task."""
        return 0.0 if task.sent is None else self.pool.age(task.sent)

    def abandoned(self, task: Task) -> None:
        """Replaces the worker of a call that will not return."""
        if task.sent is not None:
            self.pool.abandon(task.sent)

    def waited(self, seconds: float) -> None:
        """Records the consumer's wait, from which the number of workers follows."""
        self.pool.scaling.waited(seconds)

    def reports(self) -> tuple[WorkerReport, ...]:
        """What each worker of the pool has done for this stage."""
        return tuple(self.pool.reports(self))

    @property
    def why(self) -> str:
        """Why there are as many workers as there are."""
        return self.pool.scaling.why

    def forget(self) -> None:
        """Ignores all results from now on."""
        self.stopped = True

    def close(self) -> None:
        """Leaves the pool."""
        self.forget()
        if self.context.lost:
            return
        pool, self.payload = self.pool, None
        pool.leave(self)


def _addressed(block: Block) -> Block:
    """The block with the addresses of rows that are still in their files."""
    columns = [Addresses.of(c) if isinstance(c, Unread) else c for c in block.columns]
    return Block(columns, block.n, block.tree, block.provenance)


class Pools:
    """The pools of this process: one for each `RayWorkers`. A pool waits a moment for the next iterator."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by_key: dict[Any, WorkerPool] = {}

    def take(self, workers: RayWorkers, calls: int | None) -> WorkerPool:
        """The pool for these workers, started if there is none, with one stage more."""
        key = workers, calls if workers.count is None else None
        with self.lock:
            pool = self.by_key.get(key)
            if pool is None or not pool.enter():
                self.by_key = {k: p for k, p in self.by_key.items() if not p.broken}
                pool = self.by_key[key] = WorkerPool(workers, calls)
                end_before_ray()
        return pool

    def end_all(self) -> None:
        """Ends all pools, at exit."""
        with self.lock:
            ended, self.by_key = list(self.by_key.values()), {}
        for pool in ended:
            pool.close(at_once=True)
        session.end()

    def forget(self) -> None:
        """Drops the parent's pools in a forked child."""
        self.__init__()  # type: ignore[misc]
        session.forget()


pools = Pools()
_registered: set[int] = set()


def end_before_ray() -> None:
    """Has pools end at exit before Ray does: exit hooks are called last registered first."""
    if os.getpid() not in _registered:
        _registered.add(os.getpid())
        atexit.register(pools.end_all)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pools.forget)
