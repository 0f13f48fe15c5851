"""The window of submitted tasks of a parallel map stage, and its consumer's wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.task import Task
from feedline.kernels.interrupts import paused


class TaskWindow:
    """Tasks, the oldest first. Results are taken in this order, or, unless `ordered`, as they are finished.

    After a worker process has died, the tasks in flight come first again, row by row (`Task.again`), and are run one at
    a time, so that the one that kills its worker is found.
    """

    __slots__ = ("_changed", "_tasks", "ordered")

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self._tasks: deque[Task] = deque()
        self._changed: SimpleQueue[None] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        """Iterates over a copy: another thread may look at the tasks while they change."""
        return iter(self._tasks.copy())

    @property
    def head(self) -> Task | None:
        """The oldest task."""
        return self._tasks[0] if self._tasks else None

    @property
    def one_at_a_time(self) -> bool:
        """Whether the first task must be run alone."""
        return bool(self._tasks) and self._tasks[0].again

    @property
    def size(self) -> int:
        """The bytes that the tasks take, about."""
        return sum(task.size for task in self)

    def append(self, tasks: Iterable[Task]) -> None:
        """Adds tasks behind all others."""
        self._tasks.extend(tasks)

    def push_front(self, tasks: Iterable[Task]) -> None:
        """Adds tasks before all others, but behind those that are run one at a time."""
        at = next((i for i, task in enumerate(self._tasks) if not task.again), len(self._tasks))
        for i, task in enumerate(tasks, at):
            self._tasks.insert(i, task)

    def put_back(self, task: Task) -> None:
        """Puts back the oldest task, which was just removed."""
        self._tasks.appendleft(task)

    def remove(self, task: Task) -> None:
        """Removes a task."""
        self._tasks.remove(task)

    def any_finished(self) -> bool:
        """Whether there is a result to take."""
        return self._tasks[0].finished if self.ordered else any(task.finished for task in self._tasks)

    def all_finished(self) -> bool:
        """Whether the workers have nothing to do."""
        return all(task.finished for task in reversed(self._tasks))

    def next_finished(self, overdue: Callable[[Task], Task | None]) -> Task | None:
        """The task whose result is taken next, if it is finished or overdue: `overdue` returns a failed task in place
        of one that takes too long.
        """
        for i, task in enumerate(self._tasks):
            if task.finished:
                return task
            failed = overdue(task)
            if failed is not None:
                self._tasks[i] = failed
                return failed
            if self.ordered:
                return None
        return None

    def wait(self, seconds: float | None, feeding: PrefetchStage | None) -> None:
        """Waits until a result can be taken, `feeding` has rows for more tasks, or `seconds` have passed."""
        head = self._tasks[0]
        if feeding is not None:
            feeding.watch(self._changed)
        elif self.ordered:
            with paused():
                if head.done.acquire(timeout=-1 if seconds is None else seconds):
                    head.release()
            return
        if self.ordered:
            self.notify_of(head)
            if head.finished:
                return
        with paused(), suppress(Empty):
            self._changed.get(timeout=seconds)

    def notify_of(self, task: Task) -> None:
        """Has a task wake the consumer when it is finished. The task does not refer to the window: what both hold would
        stay in memory after the iterator is closed.
        """
        task.notified = self._changed

    def release_all(self) -> None:
        """Wakes a consumer that waits for any task, to end it."""
        self._changed.put(None)
        for task in self:
            task.release()
