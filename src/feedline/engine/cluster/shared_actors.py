"""Actors that several processes share by the name of their pool.

A manager, a detached actor, owns the workers. A process joins it, says from time to time that it is still there, and
leaves it. The manager ends, and the workers with it, when the last process has left, or has not been heard of for a
while. If it dies, the first process that notices starts another one.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from typing import Any

from feedline.engine.cluster.actors import OwnActors, can_start, not_started
from feedline.engine.cluster.scaling import Scaling
from feedline.errors import FailedPreconditionError, UnavailableError
from feedline.plan.ray_workers import RayWorkers

NAMESPACE = "feedline"
LEASE = 15.0
"""Seconds after which a process that has not been heard of is taken for dead."""
ANSWER_SECONDS = 60.0
ENDING = "ending"

Members = list[tuple[int, Any]]


class PoolManager:
    """The actor that owns the workers of a named pool."""

    def __init__(self, workers: RayWorkers) -> None:
        import ray

        self._workers, self._actor_group = workers, OwnActors(ray, workers)
        self._wanted: dict[str, int] = {}  # how many workers each process would like to have
        self._last_seen: dict[str, float] = {}
        self._ended = False
        self._lock = threading.RLock()
        threading.Thread(target=self._watch, daemon=True).start()

    def join(self, who: str, workers: RayWorkers, count: int) -> Members | RayWorkers | str:
        """Adds a process, and gives the workers; the pool's own `RayWorkers` if those are others."""
        with self._lock:
            if self._ended:
                return ENDING
            if _kind(workers) != _kind(self._workers):
                return self._workers
            return self.heartbeat(who, count)

    def heartbeat(self, who: str, count: int) -> Members | str:
        """Notes that a process is there, and gives the workers."""
        with self._lock:
            if self._ended:
                return ENDING
            self._last_seen[who] = time.monotonic()
            self._wanted[who] = count
            self._actor_group.resize(max(self._wanted.values()))
            return self._actor_group.members()

    def replace(self, number: int) -> None:
        """Starts a worker in place of one that is dead."""
        with self._lock:
            self._actor_group.replace(number)

    def leave(self, who: str) -> bool:
        """Removes a process; gives whether it was the last one."""
        with self._lock:
            self._last_seen.pop(who, None)
            self._wanted.pop(who, None)
            return self._end() if not self._last_seen else False

    def _end(self) -> bool:
        self._ended = True
        self._actor_group.leave()
        return True

    def _watch(self) -> None:
        import ray

        while True:
            time.sleep(LEASE / 6)
            with self._lock:
                for who, heard in list(self._last_seen.items()):
                    if time.monotonic() - heard > LEASE:
                        self.leave(who)
                ended = self._ended
            if ended:
                with contextlib.suppress(Exception):
                    ray.kill(ray.get_runtime_context().current_actor, no_restart=True)
                return


def _kind(workers: RayWorkers) -> tuple[Any, ...]:
    """What all processes of a pool must agree on."""
    return workers.num_cpus, dict(workers.resources or {}), dict(workers.runtime_env or {})


class SharedActors:
    """The workers of a named pool, as one of its processes sees them."""

    def __init__(self, ray: Any, workers: RayWorkers, scaling: Scaling) -> None:
        self._ray, self._workers, self._scaling = ray, workers, scaling
        self._who = uuid.uuid4().hex
        self._members: Members = []
        self._manager: Any = None
        self._before = 0  # the highest number of a worker of earlier managers; each manager begins with 1

    def _join(self) -> None:
        """Joins the manager, which is started if there is none."""
        ray, until = self._ray, time.monotonic() + ANSWER_SECONDS
        options: dict[str, Any] = {"name": f"feedline pool {self._workers.name}", "namespace": NAMESPACE}
        options |= {"get_if_exists": True, "lifetime": "detached", "num_cpus": 0, "max_restarts": 0}
        if self._workers.runtime_env is not None:  # feedline itself may come with it
            options["runtime_env"] = dict(self._workers.runtime_env)
        make = ray.remote(PoolManager).options(**options)
        while True:
            self._manager = make.remote(self._workers)
            try:
                found = self._ask(self._manager.join.remote(self._who, self._workers, self._scaling.count))
            except (ray.exceptions.RayActorError, ray.exceptions.RuntimeEnvSetupError) as e:
                if not can_start(e):
                    raise not_started(e) from e
                found = ENDING
            if isinstance(found, RayWorkers):
                raise FailedPreconditionError(
                    f"RayWorkers: the pool {self._workers.name!r} is in use as {found}, and cannot be {self._workers} "
                    "too; give both the same num_cpus, resources and runtime_env, or another name"
                )
            if not isinstance(found, str):
                self._before = max((number for number, _ in self._members), default=self._before)
                self._set_members(found)
                return
            if time.monotonic() > until:
                raise UnavailableError(f"RayWorkers: the pool {self._workers.name!r} does not answer")
            time.sleep(0.1)

    def _set_members(self, found: Members) -> None:
        self._members = [(self._before + number, actor) for number, actor in found]

    def _ask(self, ref: Any) -> Any:
        return self._ray.get(ref, timeout=ANSWER_SECONDS)

    def members(self) -> Members:
        """The workers, as of the last time the manager was asked."""
        return self._members

    def resize(self, count: int) -> None:
        """Asks for `count` workers; there are as many as the process that asks for most."""
        self._scaling.count = count
        self.heartbeat()

    def replace(self, number: int) -> None:
        """Has the manager start a worker in place of one."""
        if number > self._before:  # the workers of earlier managers have ended with them
            with contextlib.suppress(self._ray.exceptions.RayActorError):
                self._ask(self._manager.replace.remote(number - self._before))
        self.heartbeat()

    def heartbeat(self) -> None:
        """Says that this process is there, and asks who the workers are."""
        found: Any = ENDING
        if self._manager is not None:
            with contextlib.suppress(self._ray.exceptions.RayActorError):
                found = self._ask(self._manager.heartbeat.remote(self._who, self._scaling.count))
        if isinstance(found, str):
            self._join()
        else:
            self._set_members(found)

    def leave(self) -> None:
        """Leaves the pool, which ends if this was the last process."""
        if self._ask(self._manager.leave.remote(self._who)):
            self._ray.kill(self._manager, no_restart=True)
