"""The pool of workers of one `RayWorkers`: gives them tasks, takes their answers, and gives tasks again after faults.

    pending ──a worker is free, and the store has room──▶ sent ──answer──▶ done
       ▲                                                   │
       └──the worker died, or its answer was lost──────────┘

A task is a function of its rows or their addresses, so it may be run again, anywhere, and at two places at a time: the
first answer counts. A thread takes the answers; tasks are sent by it and by the threads that submit them. It also ends
the pool, when no stage has used it for a moment.
"""

from __future__ import annotations

import logging
import math
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from feedline.engine.cluster.actors import ActorGroup, OwnActors, WorkerHandle, can_start, check_versions, not_started
from feedline.engine.cluster.objects import StoreMemory, parcel_bytes
from feedline.engine.cluster.scaling import Scaling
from feedline.engine.cluster.session import HEAD_SECONDS, IDLE_SECONDS, session
from feedline.engine.cluster.worker import MADE, NOT_LOADED, UNLOADABLE, UNREADABLE
from feedline.engine.context import WorkerThread
from feedline.errors import FailedPreconditionError, OpError, UnavailableError
from feedline.plan.ray_workers import RayWorkers
from feedline.reports.measured import WorkerReport

_log = logging.getLogger("feedline")

DEPTH = 2
"""Tasks that a worker has at a time: the next one is there when it is done with the first."""
TICK = 0.1
"""Seconds between two looks at tasks that take long."""
BEAT = 2.0
DEATHS = (
    "RayActorError", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "LocalRayletDiedError",
    "ActorPlacementGroupRemoved", "ActorUnschedulableError", "RuntimeEnvSetupError",
)
"""Ray's errors for a worker that is gone. Its memory monitor, for one, has an error of its own."""
MOST_DEATHS = 3
"""The number of workers that may die in a row before it fails; a task of several rows is divided after one fewer."""
MOST_LOST = 16
"""The number of lost answers, for any reason, after which a task fails."""
MOST_FALSE_STARTS = 4
"""The number of workers in a row that may die before they are ready, each started after the one before had died: all
those that a node was starting when it died count as one.
"""
SLOWER = 4.0
"""A task is slow if it takes this many times as long as usual."""
WARN_SECONDS = 15.0


class PendingTask:
    """A task on its way. `deaths` counts the workers that died in it, `lost` all answers that did not come."""

    __slots__ = ("attempts", "deaths", "done", "lost", "packed_rows", "places", "seconds", "size", "stage", "task")

    def __init__(self, stage: Any, task: Any, packed_rows: Any, places: Any, seconds: float) -> None:
        self.stage, self.task, self.packed_rows, self.places, self.seconds = stage, task, packed_rows, places, seconds
        self.size = stage.expected_bytes(task) + parcel_bytes(packed_rows)
        self.attempts: list[Attempt] = []
        self.deaths = self.lost = 0
        self.done = False


class Attempt:
    """A task that was sent to a worker. `head` is when the worker had nothing else to do before it. While the worker
    is `waiting` for tasks of other processes to end, or `loading` the functions, that is not time of the task.
    """

    __slots__ = ("head", "job", "loading", "member", "waiting")

    def __init__(self, job: PendingTask, member: WorkerHandle) -> None:
        self.job, self.member, self.loading, self.waiting = job, member, False, False
        self.head = 0.0 if member.sent else time.monotonic()


class WorkerPool:
    """The workers of one `RayWorkers` in this process; `users` stages have tasks for them, at first one."""

    def __init__(self, workers: RayWorkers, calls: int | None) -> None:
        self.workers, self.users, self.closed = workers, 1, False
        self._idle_since = math.inf
        most = (workers.bounds or (0, calls or 0))[1]
        ray = self.ray = session.join(workers, most or None)
        self._job = session.job
        self.lock = threading.RLock()
        self._inbox: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._pending: deque[PendingTask] = deque()
        self.members: dict[int, WorkerHandle] = {}
        self._past: list[WorkerHandle] = []
        self._broken: tuple[type[OpError], str] | None = None  # the error itself would hold frames
        self._false_starts, self._since, self._warned = 0, time.monotonic(), False
        try:
            self.store = StoreMemory(_store_size(ray), lambda: self._inbox.put(("room",)))
            self.scaling = Scaling(workers.bounds or (calls or _room_for(ray, workers),) * 2)
            self.actors: ActorGroup = self._actor_group(ray)
            self.actors.resize(self.scaling.count)
            self._update_members()
        except BaseException:
            session.leave()
            raise
        self._thread = WorkerThread(self._work, "feedline-ray")
        self._thread.start()

    def _actor_group(self, ray: Any) -> ActorGroup:
        if self.workers.name is None:
            return OwnActors(ray, self.workers)
        from feedline.engine.cluster.shared_actors import SharedActors

        return SharedActors(ray, self.workers, self.scaling)

    def enter(self) -> bool:
        """Adds a stage, unless the pool has ended."""
        with self.lock:
            if self.broken:
                return False
            self.users += 1
            self._idle_since = math.inf
            return True

    def leave(self, stage: Any) -> None:
        """Removes a stage. The garbage collector may call this in any thread, also in one that holds locks, so the
        pool's own thread does the work.
        """
        self._inbox.put(("leave", stage))

    @property
    def breadth(self) -> int:
        """How many tasks the workers do at a time."""
        return max(1, len(self.members) or self.scaling.count)

    # Tasks on their way to workers.

    def submit(self, job: PendingTask) -> None:
        """Sends a job as soon as a worker is free."""
        with self.lock:
            broken = self._broken
            if broken is None:
                self._pending.append(job)
                self._dispatch()
        if broken is not None:
            job.done = True
            job.stage.failed(job, broken[0](broken[1]))

    def _dispatch(self) -> None:
        """Sends the jobs that can be sent now."""
        while self._pending and not self.closed:
            job = self._pending[0]
            if job.done or job.stage.stopped:
                self._pending.popleft()
                continue
            if not session.lasts(self._job):
                return
            member = self._free(job)
            if member is None or not self.store.has_room(job.size):
                return
            self._pending.popleft()
            self._send(job, member)

    def _free(self, job: PendingTask) -> WorkerHandle | None:
        depth = 1 if job.stage.timed else DEPTH
        free = [m for m in self.members.values() if m.about and not m.leaving and len(m.sent) < depth]
        return min(free, key=lambda m: len(m.sent), default=None)

    def _send(self, job: PendingTask, member: WorkerHandle) -> None:
        stage = job.stage
        attempt = Attempt(job, member)
        job.attempts.append(attempt)
        member.sent.append(attempt)
        self.store.expect(job.size)
        try:
            if self.workers.name is not None:
                attempt.waiting = True
                reached = member.actor.reached.remote().future()
                reached.add_done_callback(lambda future: self._inbox.put(("reached", attempt, future)))
            run = member.loaded.get(stage.key)
            if run is None:
                load = member.actor.load.options(name=f"load {stage.name}")
                loaded = load.remote(stage.key, stage.payload, [folder for folder in sys.path if folder])
                attempt.loading = True
                loaded.future().add_done_callback(lambda _: self._inbox.put(("loaded", attempt)))
                run = member.loaded[stage.key] = member.actor.run.options(name=stage.name).remote
            packed_rows = job.packed_rows if member.reads else stage.read_here(job)
            ref = run(stage.key, packed_rows, job.places, job.seconds)
            ref.future().add_done_callback(lambda future: self._inbox.put(("answer", attempt, future)))
        except Exception as e:  # a row cannot be read here either, or the connection is gone
            self._unsend(attempt)
            job.done = True
            known = isinstance(e, OpError) or stage.is_loss(e)
            stage.failed(job, e if known else UnavailableError(f"the Ray cluster does not answer: {e}"))

    def _unsend(self, attempt: Attempt) -> None:
        """Removes what has been answered, or will not be."""
        member = attempt.member
        if attempt in member.sent:
            member.sent.remove(attempt)
            self.store.expect(-attempt.job.size)
            if member.sent and not member.sent[0].head:
                member.sent[0].head = time.monotonic()
        if attempt in attempt.job.attempts:
            attempt.job.attempts.remove(attempt)

    # Answers, in the pool's own thread.

    def _work(self) -> None:
        ticked = beaten = time.monotonic()
        handlers: dict[str, Callable[..., None]] = {
            "answer": self._answered, "loaded": self._loaded, "reached": self._reached,
            "ready": self._registered, "leave": self._removed,
        }  # fmt: skip
        while True:
            item: tuple[Any, ...] | None = ("nothing",)
            with suppress(Empty):
                item = self._inbox.get(timeout=TICK)
            if item is None:
                return
            if not session.lasts(self._job):
                self._break(UnavailableError("the connection to the Ray cluster was ended, by ray.shutdown() perhaps"))
                continue
            try:
                handler = handlers.get(item[0])
                if handler is not None:
                    handler(*item[1:])
                now = time.monotonic()
                if self._retired(now):
                    return
                if now - ticked >= TICK:
                    ticked = now
                    self._tick(now)
                if now - beaten >= BEAT:
                    beaten = now
                    if self._head_answers():
                        self.actors.heartbeat()
                        self._update_members()
                with self.lock:
                    self._dispatch()
            except Exception as e:
                self._break(e if isinstance(e, OpError) else UnavailableError(f"the Ray cluster does not answer: {e}"))
            item = None  # frees the answer while the thread waits

    def _reached(self, attempt: Attempt, future: Any) -> None:
        with self.lock:
            if future.exception() is None:
                attempt.waiting = False
                if attempt.head:
                    attempt.head = time.monotonic()

    def _loaded(self, attempt: Attempt) -> None:
        with self.lock:
            attempt.loading = False
            if attempt.head:
                attempt.head = time.monotonic()

    def _answered(self, attempt: Attempt, future: Any) -> None:
        job, member = attempt.job, attempt.member
        try:
            error, (kind, value) = None, future.result()
        except BaseException as e:
            error, kind, value = e, "", None
        with self.lock:
            began, first = attempt.head, member.sent[0] if member.sent else attempt
            self._unsend(attempt)
            if error is not None:
                self._lost(job, member, error, first)
                return
            figures = job.stage.figures_of(member)
            figures.tasks += 1
            if began:
                figures.busy += time.monotonic() - began
            if job.done or self.closed:
                return
            if kind == MADE:
                job.done = True
                if began:
                    job.stage.took.append(time.monotonic() - began)
            elif kind == NOT_LOADED:
                member.loaded.pop(job.stage.key, None)
                self._send(job, member)
            elif kind == UNREADABLE:
                self._cannot_read(member, value)
                self._send(job, member)
            elif kind == UNLOADABLE:
                job.done = True
        self._pass_on(job, member, kind, value)

    def _pass_on(self, job: PendingTask, member: WorkerHandle, kind: str, value: Any) -> None:
        """Gives the stage of a job the rows that a worker has made, or the reason why it could not make them."""
        if kind == MADE:
            try:
                found = self.store.open(value)
            except Exception as e:
                job.stage.failed(job, FailedPreconditionError(
                    f"{job.stage.name}: the result of {member} cannot be loaded by this process: {e}; install what is "
                    "missing here, too"
                ))
                return
            job.stage.made(job, found, member)
        elif kind == UNLOADABLE:
            job.stage.failed(job, FailedPreconditionError(
                f"{job.stage.name}: its function cannot be loaded by {member}: {value}; install what is missing on "
                "all nodes, or give RayWorkers a runtime_env with it"
            ))

    def _lost(self, job: PendingTask, member: WorkerHandle, error: BaseException, first: Attempt) -> None:
        """Handles an answer that does not come: the job is done again, unless it is to blame. If the worker has died,
        that was in the `first` of what it was sent, or in a task of another process.
        """
        exceptions = self.ray.exceptions
        died = isinstance(error, tuple(getattr(exceptions, name) for name in DEATHS))
        if died:
            first.job.deaths += not member.gone and not first.waiting
            self._replace(member, str(error))
        if job.done or self.closed:
            return
        if isinstance(error, exceptions.RayTaskError) and not died:  # nothing that a user's function raises
            job.done = True
            job.stage.failed(job, error)
            return
        job.lost += 1
        if job.attempts:
            return  # another worker does it as well
        if job.deaths >= MOST_DEATHS - (not job.task.again) or job.lost >= MOST_LOST:
            job.done = True
            job.stage.died(job, f"{member}: {_first_line(error)}")
            return
        job.task.started = 0.0
        self._pending.appendleft(job)

    def _replace(self, member: WorkerHandle, why: str) -> None:
        """Starts another worker in place of one."""
        member.gone = True
        if self.members.get(member.number) is not member:
            return
        del self.members[member.number]
        self._past.append(member)
        if not self.closed:
            session.head.look()  # workers may have gone with it
            _log.warning("%s is replaced: %s", member, _first_line(why))
            self.actors.replace(member.number)
            self._update_members()

    def _cannot_read(self, member: WorkerHandle, why: str) -> None:
        about = member.about
        assert about is not None
        if member.reads:
            _log.warning("node %s (%s) gets rows, not their addresses: %s", about.host, about.node[:8], why)
        for other in self.members.values():
            if other.about is not None and other.about.node == about.node:
                other.reads = False

    # The actors.

    def _update_members(self) -> None:
        """Asks new workers for what is known of them, and forgets those that are gone."""
        with self.lock:
            there = dict(self.actors.members())
            for number, actor in there.items():
                if number not in self.members:
                    for other in self.members.values():
                        other.leaving = False  # the last one leaves, and that is another one now
                    member = self.members[number] = WorkerHandle(number, actor, self._false_starts)
                    future = actor.info.remote().future()
                    future.add_done_callback(lambda f, m=member: self._inbox.put(("ready", m, f)))
            for number in [n for n in self.members if n not in there]:
                self._past.append(self.members.pop(number))

    def _registered(self, member: WorkerHandle, future: Any) -> None:
        try:
            about = future.result()
            check_versions(about)
        except OpError as e:
            self._break(e)
            return
        except Exception as e:
            self._false_start(member, e)
            return
        with self.lock:
            member.about = about
            others = [m for m in self.members.values() if m.about is not None and m.about.node == about.node]
            member.reads = all(m.reads for m in others)
            self._false_starts = 0
            for other in self.members.values():
                other.false_starts = 0

    def _false_start(self, member: WorkerHandle, error: Exception) -> None:
        """Handles a worker that has died before it was ready."""
        self._false_starts = max(self._false_starts, member.false_starts + 1)
        if can_start(error) and self._false_starts < MOST_FALSE_STARTS:
            with self.lock:
                self._replace(member, str(error))
            return
        self._break(not_started(error))

    def _break(self, error: OpError) -> None:
        """Fails all jobs, and ends the pool, which cannot go on."""
        kind, text = type(error), str(error)
        with self.lock:
            self._broken = kind, text
            jobs = [*self._pending, *(s.job for m in self.members.values() for s in m.sent)]
            self._pending.clear()
        self.close()
        for job in jobs:
            if not job.done:
                job.done = True
                job.stage.failed(job, kind(text))

    # What is done from time to time.

    def _tick(self, now: float) -> None:
        with self.lock:
            ready = [m for m in self.members.values() if m.about is not None]
            busy = sum(bool(m.sent) for m in ready)
            wants = self.scaling.wants(now, busy, len(ready), len(self._pending))
            ended = any(m.leaving and not m.sent for m in ready)
            if ended and wants is None and self.scaling.count == len(self.members):
                wants = self.scaling.count - 1  # decided before
            ready = [m for m in ready if not m.leaving]
            if ready:
                self._since, self._warned = now, False
        if not ready and self._pending:
            self._no_worker(now - self._since)
        if wants is not None:
            self._scale(wants)
        self._speed_up(now, ready)

    def _head_answers(self) -> bool:
        """Whether the head node can be reached. Ends the pool if it has been gone for too long."""
        missing = session.head.missing()
        if missing > HEAD_SECONDS:
            session.head.lost = True
            raise UnavailableError(
                f"the head node of the Ray cluster, {session.head.address}, has not answered for {missing:.0f} s; when "
                "there is a cluster again, another iterator can go on from a checkpoint"
            )
        return not missing

    def _no_worker(self, seconds: float) -> None:
        if session.head.failed:
            if seconds > HEAD_SECONDS and self._head_answers():
                session.head.lost = True
                raise UnavailableError(
                    f"the head node of the Ray cluster, {session.head.address}, was restarted, and no worker could be "
                    f"placed for {seconds:.0f} s; another iterator can go on from a checkpoint, after ray.shutdown() "
                    "if the program has made the connection"
                )
            return
        if seconds <= self.workers.start_timeout and (seconds <= WARN_SECONDS or self._warned):
            return
        if session.head.look():
            return
        workers = self.workers
        asks = {"CPU": workers.num_cpus, **(workers.resources or {})}
        free = {name: amount for name, amount in self.ray.available_resources().items() if name in asks}
        if all(free.get(name, 0.0) >= amount for name, amount in asks.items()):
            text = (
                f"no worker has been ready for {seconds:.0f} s: each needs {asks}, and the cluster has {free} free; "
                "they are still starting, or no node has as much by itself"
            )
            remedy = "look at Ray's logs, or give RayWorkers a larger start_timeout"
        else:
            text = f"no worker could be placed for {seconds:.0f} s: each needs {asks}, and the cluster has {free} free"
            remedy = "give RayWorkers a smaller num_cpus, or the cluster more nodes"
        if seconds > workers.start_timeout:
            self._break(UnavailableError(f"{text}; {remedy}"))
            return
        self._warned = True
        _log.warning("%s", text)

    def _scale(self, count: int) -> None:
        """Changes the number of workers; those that leave end what they do."""
        with self.lock:
            if count < len(self.members):
                last = self.members[max(self.members)]
                last.leaving = True
                if last.sent:
                    return
            else:
                for member in self.members.values():
                    member.leaving = False
            self.scaling.count = count
        self.actors.resize(count)
        self._update_members()

    def _speed_up(self, now: float, ready: list[WorkerHandle]) -> None:
        """Gives tasks that take long to another worker as well, and replaces a worker that does not come back from one
        that has been done elsewhere.
        """
        if self.workers.slow_after is None:
            return
        with self.lock:
            for member in ready:
                head = member.sent[0] if member.sent else None
                if head is None or not head.head:
                    continue
                limit = self._slow_limit(head.job.stage, len(ready))
                if now - head.head < limit:
                    continue
                if head.job.done:
                    may_take = self.workers.start_timeout if head.loading or head.waiting else 2 * limit
                    if now - head.head > may_take:
                        self._replace(member, f"a call has not returned for {now - head.head:.0f} s")
                    continue
                for attempt in member.sent:  # those behind it wait for it
                    if len(attempt.job.attempts) == 1 and not attempt.job.done:
                        self._send_twice(attempt.job, member, ready)

    def _slow_limit(self, stage: Any, ready: int) -> float:
        """The seconds from which a stage's task is slow; without any that has been done, one is compared with others.
        """
        assert self.workers.slow_after is not None
        usual = SLOWER * statistics.median(stage.took) if stage.took else math.inf if ready < 2 else 0.0
        return max(self.workers.slow_after, usual)

    def _send_twice(self, job: PendingTask, slow: WorkerHandle, ready: list[WorkerHandle]) -> None:
        others = [m for m in ready if m is not slow and m.number in self.members and len(m.sent) < DEPTH]
        quickest = min(others, key=lambda m: len(m.sent), default=None)
        if quickest is not None:
            job.stage.figures_of(slow).again += 1
            self._send(job, quickest)

    # Stages that leave, and the end.

    def _removed(self, stage: Any) -> None:
        """Forgets a stage: its jobs, and in the workers its functions."""
        with self.lock:
            self.users -= 1
            if not self.users:
                self._idle_since = time.monotonic()
            jobs = [*self._pending, *(s.job for m in self.members.values() for s in m.sent)]
            for job in jobs:
                if job.stage is stage:
                    job.done = True
            self._pending = deque(job for job in self._pending if not job.done)
            for member in self.members.values():
                if member.loaded.pop(stage.key, None) is not None:
                    with suppress(Exception):  # the cluster is gone
                        member.actor.drop.remote(stage.key)

    def _retired(self, now: float) -> bool:
        """Ends the pool if no stage has used it for a moment."""
        with self.lock:
            if self.closed or self.users or now - self._idle_since < IDLE_SECONDS:
                return False
            self.closed = True
        self._end()
        return True

    # The stages' side.

    def age(self, job: PendingTask) -> float:
        """Seconds for which a worker has been busy with a job; 0 if it still waits, or loads the functions."""
        with self.lock:
            heads = [s.head for s in job.attempts if s.head and not s.loading and not s.waiting]
            return time.monotonic() - min(heads) if heads else 0.0

    def abandon(self, job: PendingTask) -> None:
        """Replaces the worker that is busy with a job."""
        with self.lock:
            job.done = True
            for attempt in list(job.attempts):
                self._replace(attempt.member, "a call took too long")

    def reports(self, stage: Any) -> list[WorkerReport]:
        """What all workers have done for a stage, past ones included if they did anything."""
        past, now = list(self._past), list(self.members.values())
        found = [*(p for p in past if p.number in stage.figures), *now]
        return [m.report(stage.figures_of(m)) for m in found]

    @property
    def broken(self) -> bool:
        """Whether the pool can take no more tasks."""
        return self._broken is not None or self.closed

    def close(self, at_once: bool = False) -> None:
        """Ends the workers, or leaves them to the other processes that use them."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
        self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)
        self._end(at_once)

    def _end(self, at_once: bool = False) -> None:
        self._pending.clear()
        # Without their head node the workers end by themselves, and a request to it would wait, or crash this process.
        lost = session.head.lost or session.head.look()
        with suppress(Exception):  # the cluster is gone
            if session.lasts(self._job) and not lost:
                self.actors.leave()
        self.members.clear()
        session.leave(at_once or lost)


def _first_line(error: object) -> str:
    return next(iter(str(error).strip().splitlines()), "no reason given")


def _store_size(ray: Any) -> float:
    """The bytes of the object store on this machine."""
    here = ray.get_runtime_context().get_node_id()
    sizes = {n["NodeID"]: n["Resources"].get("object_store_memory", 0.0) for n in ray.nodes() if n["Alive"]}
    return float(sizes.get(here) or min(sizes.values(), default=0.0) or (1 << 28))


def _room_for(ray: Any, workers: RayWorkers) -> int:
    """How many workers the cluster has CPUs for now."""
    cpus = ray.available_resources().get("CPU", 1.0)
    return max(1, int(cpus / workers.num_cpus)) if workers.num_cpus else max(1, int(cpus))
