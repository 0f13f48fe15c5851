"""The workers of a parallel map stage: threads, or processes."""

from __future__ import annotations

from typing import Any

from feedline.engine.batch_buffer import SHARED_ROW, BatchAllocator
from feedline.engine.context import forced, may_start_processes
from feedline.engine.task import MAX_TASK_SECONDS, Task, ThreadWorkers
from feedline.errors import DeadlineExceededError, InvalidArgumentError
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, output_spec_known, parallel_of


class WorkerTeam:
    """Starts and stops the workers that make a node's calls. `allocator` provides the memory for their results, if the
    consumer's batch size is known.
    """

    __slots__ = ("_context", "_node", "_pool_key", "allocator", "calls", "moved", "unaware_of_spec", "workers")

    def __init__(self, context: Any, node: RowWise, pool_key: tuple[Any, ...]) -> None:
        self._context, self._node, self._pool_key = context, node, pool_key
        self.workers: Any = None
        self.calls = 0
        self.moved = False  # from threads to processes, since the function holds the GIL
        self.unaware_of_spec = False  # whether workers have copies of the node that do not know the output spec
        self.allocator: BatchAllocator | None = None
        if self.in_processes or context.settings.processes:
            # Imported now, in the thread that makes iterators: a child forked during another thread's import could not.
            import feedline.engine.processes  # noqa: F401

    @property
    def in_processes(self) -> bool:
        """Whether the workers are processes."""
        parallel = parallel_of(self._node)
        wanted = self.moved or forced.mode == "process" or (parallel is not None and parallel.workers == "process")
        return wanted and may_start_processes()

    def start(self, calls: int | None = None) -> None:
        """Replaces the workers by new ones for `calls` calls at a time, by default as many as before."""
        before, self.calls = self.calls, calls or self.calls
        self.stop()
        self.unaware_of_spec = self.in_processes and not output_spec_known(self._node)
        if self.in_processes:
            from feedline.engine.processes import ProcessWorkers

            self.workers = ProcessWorkers(self._context, self._node, self.calls)
            if self.allocator is not None:
                self.allocator.use(self.workers.memory, SHARED_ROW)
        else:
            pool = self._context.pool(self._pool_key, self.calls, self._node.op, fewer=self.calls < before)
            self.workers = ThreadWorkers(pool, self._node)

    def stop(self) -> None:
        """Stops the workers."""
        workers, self.workers = self.workers, None
        if workers is not None:
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
            self.workers.submit(task, max(MAX_TASK_SECONDS, seconds))
        except BaseException:  # an interrupt: the task may or may not have been submitted
            task.submitted = False
            raise

    def move_to_processes(self) -> str:
        """Makes the next workers processes, if the function can be sent to them; otherwise returns why it cannot."""
        from feedline.engine.serialization import serialize_node

        try:
            serialize_node(self._node)
        except InvalidArgumentError as e:
            return str(e)
        self.moved = True
        return ""

    def overdue(self, task: Task) -> Task | None:
        """A failed task in place of one that takes longer than `call_timeout`, whose worker is abandoned."""
        limit = self._context.settings.timeout
        if limit is None or self.workers.age(task) <= limit:
            return None
        message = (
            f"the call took longer than {limit:g} seconds (options.threading.call_timeout) and was abandoned; "
            f"{self.workers.after_timeout}"
        )
        self.workers.abandoned()
        return task.abandoned(DeadlineExceededError(message))

    def after_death(self, task: Task, failed: BaseException) -> list[Task] | RowFailed | None:
        """Handles the death of a worker process: returns tasks in place of this one, to be run one at a time, or the
        failure of the one that killed its worker. Rows that cannot be read any more are found in the same way, and
        raise their error. None for any other error.
        """
        if not self.in_processes:
            return None
        from feedline.engine.processes import WorkerDied
        from feedline.engine.transport import RowsLost

        if isinstance(failed, RowsLost):
            if task.block.n == 1:
                raise failed.error
            return task.split_rows()
        if not isinstance(failed, WorkerDied):
            return None
        self.workers.restart(failed)
        if task.block.n == 1 and task.again:
            return RowFailed(0, None, self.workers.death(failed))
        return task.split_rows()
