"""The actors of a pool, and what is known of each."""

from __future__ import annotations

import contextlib
import itertools
import platform
from typing import Any, Protocol

from feedline.engine.cluster.worker import Worker, WorkerInfo, own_version
from feedline.errors import FailedPreconditionError
from feedline.plan.ray_workers import RayWorkers
from feedline.reports.measured import WorkerReport

RESOURCE_OPTIONS = {"GPU": "num_gpus", "memory": "memory"}
"""Resources for which Ray has options of their own."""


class Figures:
    """What a worker has done for one stage: see `WorkerReport`."""

    __slots__ = ("again", "busy", "rows", "tasks")

    def __init__(self) -> None:
        self.tasks = self.rows = self.again = 0
        self.busy = 0.0


class WorkerHandle:
    """One worker of a pool, as the pool sees it."""

    def __init__(self, number: int, actor: Any, false_starts: int) -> None:
        self.number, self.actor = number, actor
        self.false_starts = false_starts  # workers in a row that had died, when it was started, before they were ready
        self.about: WorkerInfo | None = None  # known when it is ready
        self.sent: list[Any] = []  # what it has to do, in this order
        self.loaded: dict[str, Any] = {}  # by the keys of stages whose functions it has been sent, what runs a task
        self.reads = True  # whether it can read the files that addresses name
        self.leaving = False  # whether it gets no more tasks
        self.gone = False  # whether it has died, or was given up

    def __str__(self) -> str:
        if self.about is None:
            return f"worker {self.number}"
        return f"worker {self.number}, process {self.about.pid} on node {self.about.host} ({self.about.node[:8]})"

    def report(self, done: Figures) -> WorkerReport:
        """What it has done for a stage."""
        where = "" if self.about is None else self.about.host
        pid = 0 if self.about is None else self.about.pid
        return WorkerReport(self.number, where, pid, done.tasks, done.rows, done.busy, done.again)


class ActorGroup(Protocol):
    """Starts and ends actors."""

    def members(self) -> list[tuple[int, Any]]:
        """The numbers and actors of all workers, the oldest first."""

    def resize(self, count: int) -> None:
        """Adds workers, or ends the last ones, so that there are `count`."""

    def replace(self, number: int) -> None:
        """Starts a worker in place of one that is dead or no longer used; once, also if several processes ask."""

    def heartbeat(self) -> None:
        """Says that this process still uses the actors."""

    def leave(self) -> None:
        """Ends the use of the actors by this process."""


def actor_options(workers: RayWorkers) -> dict[str, Any]:
    """Ray's options of the actors. They are not restarted by Ray: the pool starts others."""
    given: dict[str, Any] = {"num_cpus": workers.num_cpus, "max_restarts": 0, "max_task_retries": 0}
    custom = dict(workers.resources or {})
    for name, option in RESOURCE_OPTIONS.items():
        if name in custom:
            given[option] = custom.pop(name)
    given["resources"] = custom
    if workers.runtime_env is not None:
        given["runtime_env"] = dict(workers.runtime_env)
    return given | {"scheduling_strategy": "SPREAD"}


class OwnActors:
    """The workers of one process. They end with it, however it ends."""

    def __init__(self, ray: Any, workers: RayWorkers) -> None:
        self._ray = ray
        self._make = ray.remote(Worker).options(**actor_options(workers)).remote
        self._actors: dict[int, Any] = {}
        self._numbers = itertools.count(1)

    def members(self) -> list[tuple[int, Any]]:
        """The numbers and actors of all workers."""
        return list(self._actors.items())

    def resize(self, count: int) -> None:
        """Adds workers, or ends the last ones."""
        while len(self._actors) < count:
            self._actors[next(self._numbers)] = self._make()
        while len(self._actors) > count:
            self._kill(max(self._actors))

    def replace(self, number: int) -> None:
        """Starts a worker in place of one."""
        if number in self._actors:
            self._kill(number)
            self._actors[next(self._numbers)] = self._make()

    def _kill(self, number: int) -> None:
        actor = self._actors.pop(number)
        with contextlib.suppress(Exception):  # it is dead already, or Ray is
            self._ray.kill(actor, no_restart=True)

    def heartbeat(self) -> None:
        """Does nothing: Ray ends the workers with their owner."""

    def leave(self) -> None:
        """Ends all workers."""
        for number in list(self._actors):
            self._kill(number)


def can_start(error: Exception) -> bool:
    """Whether another actor may start although one has failed to, with this error."""
    text = str(error)
    return type(error).__name__ != "RuntimeEnvSetupError" and "creation task" not in text and "No module" not in text


def not_started(error: Exception) -> FailedPreconditionError:
    """The error for actors that do not start."""
    text = str(error).strip()
    if "No module named 'feedline" in text:
        text = "feedline, or this version of it, is not installed on its node"
    return FailedPreconditionError(
        f"a worker could not be started: {text}; all nodes need the same feedline, or RayWorkers a runtime_env with it"
    )


def check_versions(about: WorkerInfo) -> None:
    """Raises if a worker runs another version of feedline or Python than this process."""
    here = platform.python_version()
    for what, theirs, ours in (
        ("feedline", about.feedline, own_version()),
        ("Python", about.python.rpartition(".")[0], here.rpartition(".")[0]),
    ):
        if theirs != ours:
            raise FailedPreconditionError(
                f"the worker on node {about.host} ({about.node[:8]}) has {what} {theirs}, and this process has "
                f"{ours}; install the same version on all nodes, or give RayWorkers a runtime_env with it"
            )
