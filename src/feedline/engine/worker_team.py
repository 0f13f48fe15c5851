"""The workers of a parallel map stage: threads, processes, or actors on a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from feedline.engine.batch_buffer import SHARED_ROW, BatchAllocator
from feedline.engine.context import forced, may_start_processes
from feedline.engine.task import MAX_TASK_SECONDS, Task, ThreadWorkers
from feedline.engine.workers import RemoteWorkers, WorkerDied, Workers
from feedline.errors import DeadlineExceededError, InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, output_spec_known, parallel_of
from feedline.reports.measured import WorkerReport

THREADS, PROCESSES, RAY = "threads", "processes", "ray"
"""The kinds of workers."""


class WorkerTeam:
    """Starts and stops the workers that make a node's calls. `allocator` provides the memory for their results, if the
    consumer's batch size is known; `carried` are steps below the node whose rows they make too.
    """

    __slots__ = (
        "_context", "_last", "_node", "_pool_key", "allocator", "calls", "carried", "cluster", "movable", "moved",
        "unaware_of_spec", "workers",
    )

    def __init__(self, context: Any, node: RowWise, pool_key: tuple[Any, ...]) -> None:
        self._context, self._node, self._pool_key = context, node, pool_key
        self.workers: Workers | None = None
        self.calls = 0
        self.moved = False  # from threads to processes, since the function holds the GIL
        self.movable = True  # whether that has not been tried
        self.unaware_of_spec = False  # whether workers have copies of the node that do not know the output spec
        self.allocator: BatchAllocator | None = None
        self.carried: Sequence[Any] = ()
        self._last: tuple[WorkerReport, ...] = ()  # figures of workers that were stopped
        parallel = parallel_of(node)
        given = None if parallel is None or forced.mode is not None else parallel.workers
        self.cluster = given if isinstance(given, RayWorkers) else None
        if self.kind == PROCESSES or context.settings.processes:
            # Imported now, in the thread that makes iterators: a child forked during another thread's import could not.
            import feedline.engine.processes  # noqa: F401
        elif self.cluster is not None:
            from feedline.engine.cluster.session import import_ray

            import_ray()

    @property
    def kind(self) -> str:
        """What the workers are, or would be."""
        if self.cluster is not None:
            return RAY
        parallel = parallel_of(self._node)
        wanted = self.moved or forced.mode == "process" or (parallel is not None and parallel.workers == "process")
        return PROCESSES if wanted and may_start_processes() else THREADS

    @property
    def _running(self) -> Workers:
        assert self.workers is not None
        return self.workers

    @property
    def elsewhere(self) -> bool:
        """Whether the workers are not in this process."""
        return self.kind != THREADS

    def breadth(self, calls: int) -> int:
        """How many calls the workers make at a time; `calls`, unless they are those of a pool with a size of its own.
        """
        return calls if self.workers is None else self.workers.breadth or calls

    @property
    def outdated(self) -> bool:
        """Whether the workers are threads, though the calls have been moved to processes."""
        return self.moved and isinstance(self.workers, ThreadWorkers)

    def start(self, calls: int | None = None) -> None:
        """Replaces the workers by new ones for `calls` calls at a time, by default as many as before."""
        before, self.calls = self.calls, calls or self.calls
        self.stop()
        kind = self.kind
        self.unaware_of_spec = kind != THREADS and not output_spec_known(self._node)
        if kind == RAY:
            self._start_on_cluster()
        elif kind == PROCESSES:
            from feedline.engine.processes import ProcessWorkers

            self.workers = ProcessWorkers(self._context, self._node, self.calls)
            if self.allocator is not None:
                self.allocator.use(self.workers.memory, SHARED_ROW)
        else:
            pool = self._context.pool(self._pool_key, self.calls, self._node.op, fewer=self.calls < before)
            self.workers = ThreadWorkers(pool, self._node)

    def _start_on_cluster(self) -> None:
        from feedline.engine.cluster.workers import ClusterWorkers

        assert self.cluster is not None
        parallel = parallel_of(self._node)
        calls = None if parallel is None or parallel.calls == AUTOTUNE else parallel.calls
        self.workers = ClusterWorkers(self._context, self._node, self.cluster, calls, self.carried)
        if self.allocator is not None:
            self.allocator.use(None, whole=True)

    def stop(self) -> None:
        """Stops the workers."""
        workers, self.workers = self.workers, None
        if workers is not None:
            self._last = workers.reports()
            workers.close()
            if self.allocator is not None and not isinstance(workers, ThreadWorkers):
                self.allocator.use()

    def forget(self) -> None:
        """Drops tasks that no worker has begun."""
        if self.workers is not None:
            self.workers.forget()

    def submit(self, task: Task, seconds: float) -> None:
        """Submits a task, planned to take half as many seconds, to the workers."""
        if self.workers is None:  # an interrupt came while they were being replaced
            self.start()
        task.submitted = True
        try:
            self._running.submit(task, max(MAX_TASK_SECONDS, seconds))
        except BaseException:  # an interrupt: the task may or may not have been submitted
            task.submitted = False
            raise

    def reports(self) -> tuple[WorkerReport, ...]:
        """Figures of each worker, also after the end."""
        return self._last if self.workers is None else tuple(self.workers.reports())

    def waited(self, seconds: float) -> None:
        """Records that the consumer has waited for results."""
        if self.workers is not None:
            self.workers.waited(seconds)

    def move_to_processes(self) -> str:
        """Makes the next workers processes, if the function can be sent to them; otherwise returns why it cannot."""
        from feedline.engine.serialization import serialize_node

        self.movable = False
        try:
            serialize_node(self._node)
        except InvalidArgumentError as e:
            return str(e)
        self.moved = True
        return ""

    def overdue(self, task: Task) -> Task | None:
        """A failed task in place of one that takes longer than `call_timeout`, whose worker is abandoned."""
        limit = self._context.settings.timeout
        if limit is None or self._running.age(task) <= limit:
            return None
        message = (
            f"the call took longer than {limit:g} seconds (options.threading.call_timeout) and was abandoned; "
            f"{self._running.after_timeout}"
        )
        self._running.abandoned(task)
        return task.abandoned(DeadlineExceededError(message))

    def after_death(self, task: Task, failed: BaseException) -> list[Task] | RowFailed | None:
        """Handles the death of a worker: returns tasks in place of this one, to be run one at a time, or the failure of
        the one that killed its worker. Rows that cannot be read any more are found in the same way, and raise their
        error. None for any other error.
        """
        if not self.elsewhere:
            return None
        from feedline.engine.transport import RowsLost

        if isinstance(failed, RowsLost):
            if task.block.n == 1:
                raise failed.error
            return task.split_rows()
        if not isinstance(failed, WorkerDied):
            return None
        workers = cast("RemoteWorkers", self._running)
        workers.restart(failed)
        if task.block.n == 1 and task.again:
            return RowFailed(0, None, workers.death(failed))
        return task.split_rows()
