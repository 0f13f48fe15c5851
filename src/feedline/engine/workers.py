"""What a parallel map stage needs of its workers: threads, processes, or actors on a cluster."""

from __future__ import annotations

from typing import Any, Protocol

from feedline.engine.task import Task
from feedline.errors import AbortedError
from feedline.reports.measured import WorkerReport


class WorkerDied(Exception):
    """The worker that ran a task has died; `workers` identifies the pool that it belonged to."""

    def __init__(self, why: str, workers: Any = None) -> None:
        super().__init__(why)
        self.workers = workers


class Workers(Protocol):
    """The workers of one stage. Each submitted task is finished once (`Task.finish`), with rows or with a failure."""

    after_timeout: str
    """What has become of a call that took too long."""

    @property
    def breadth(self) -> int | None:
        """How many calls they make at a time; None: as many as they were started for."""

    def submit(self, task: Task, seconds: float) -> None:
        """Submits a task, which may take `seconds`."""

    def age(self, task: Task) -> float:
        """Seconds since a task was begun; 0 if it still waits."""

    def abandoned(self, task: Task) -> None:
        """Replaces the worker of a call that will not return."""

    def waited(self, seconds: float) -> None:
        """Records that the consumer has waited for results."""

    def reports(self) -> tuple[WorkerReport, ...]:
        """Figures of each worker, as far as they are known."""

    def forget(self) -> None:
        """Drops tasks that have not begun."""

    def close(self) -> None:
        """Ends the workers, or passes them on."""


class RemoteWorkers(Workers, Protocol):
    """Workers that are not in this process, and may die."""

    def restart(self, died: WorkerDied) -> None:
        """Replaces workers after one of them has died."""

    def death(self, died: WorkerDied) -> AbortedError:
        """The error for a call in which the worker died."""
