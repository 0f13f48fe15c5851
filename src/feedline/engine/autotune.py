"""Tuning of the number of parallel calls, while they run.

The baseline is `alone`: the time one call takes per row when nothing else runs. If the calls of n workers take w
seconds per row each, the speedup is n * alone / w: n for functions that wait, up to the number of processors for
functions that release the GIL, and none for functions that hold it.

    the function        is recognized by                      calls
    waits               little processor time per call        16 at once, then twice as many while that pays
    releases the GIL    a speedup of two calls                as many as processors, then fewer unless that is worse
    holds the GIL       no speedup of two calls               none: the consumer makes them; or processes, if allowed
    lacks processors    no speedup, and little processor time none, until the next trial
    costs nothing       a call alone                          none
"""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import Any

from feedline.engine.context import forced
from feedline.plan.arguments import AUTOTUNE

CHUNK_SECONDS = 16e-3
"""The time one task of a worker should take: long compared with its overhead, short compared with a training step."""
ALONE_SECONDS = 2e-3
"""The same for the consumer, which makes the first calls itself and should not be delayed for long."""
PROCESS_SECONDS = 20e-3
"""The same for a worker process, which has more overhead, at first."""
PER_PROCESS_SECONDS = 8e-3
"""The same for each of the worker processes, later: a task takes half a millisecond of the process that submits it, so
the tasks of n workers must be n times as long to leave it idle most of the time.
"""
PER_WORKER_SECONDS = 16e-3
"""The same for each worker of a Ray cluster, where a task takes about a millisecond."""
EARLIER = 16
"""No task of a process may take more than one part in this many of the time since the first one, so that the first
batches come early, and the last tasks of a short epoch end at about the same time.
"""
WAITING_SECONDS = 500e-6
"""The same for functions that wait, per parallel call: overhead delays them less than a chunk that ends late."""
LONG_CALL = 1e-3
"""One call that waits longer than this says enough; shorter ones, and the first ones that compute, may be untypical."""
FIRST_CALLS = 4
"""Calls of one row each that measure how long a call takes, if workers make the first ones."""
CHUNK_ROWS = 4096
CHUNK_BYTES = 1 << 20
RESULT_BYTES = 1 << 23
MIN_CHUNK_SECONDS = 100e-6
"""A chunk that takes less than this is not worth a worker."""
TRIAL_SECONDS = 0.05
TRIAL_CALLS = 16
GAIN = 1.15
AS_GOOD = 0.97
"""Fewer calls are preferred if their speedup is at least this share of that of more calls."""
EFFICIENT = 0.75
"""A speedup above this share of the number of calls says that the calls do not hinder each other."""
UNTYPICAL = 1.5
MOST_REMEASURED = 2
MIN_EFFICIENCY = 0.5
"""Threads whose speedup is below this share of the number of processors are contending with each other."""
FREE = 0.7
"""Calls that take turns at the GIL keep one processor busy; if they use less than this share of one, other programs use
the processors.
"""
GIL_HINT = ': threads probably wait for the GIL; workers="process" may be faster'
BAD_TRIALS = 4
"""Consecutive trials without a gain before giving up a number of calls that was asked for or has paid: a single trial
may be disturbed by other programs.
"""
LONGEST_REST = 30.0
WAITING_FIRST = 16
"""The initial number of calls of functions that wait: more calls cost little, and each helps as much as the first."""
MOST_WAITING = 64


class Mean:
    """A moving average: recent measurements count more."""

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """Adds a measurement."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, 16)


class Costs:
    """The cost of rows: seconds per row of the consumer's calls (`alone`) and of the workers' (`shared`; `computed`: of
    a processor), the share of processor time in calls that nothing hindered, and bytes.
    """

    __slots__ = ("alone", "computed", "quickest", "result_bytes", "row_bytes", "share", "shared")

    def __init__(self) -> None:
        self.alone, self.shared, self.computed, self.share = Mean(), Mean(), Mean(), Mean()
        self.row_bytes, self.result_bytes = Mean(), Mean()
        self.quickest = inf  # least seconds per row of a worker's call, if the consumer has made none

    @property
    def by_itself(self) -> float:
        """Seconds per row when nothing else runs."""
        return self.alone.value if self.alone.count or self.quickest == inf else self.quickest

    @property
    def waits(self) -> bool:
        """Whether the function waits most of the time."""
        return self.share.count > 0 and self.share.value < 0.5


class Rest:
    """The pause before something that did not pay is tried again, with exponential back-off."""

    __slots__ = ("_seconds", "_until")

    def __init__(self) -> None:
        self._seconds, self._until = 1.0, 0.0

    @property
    def over(self) -> bool:
        """Whether it is time to try again."""
        return perf_counter() >= self._until

    def pause(self, seconds: float) -> None:
        """Begins a rest of `seconds`."""
        self._until = perf_counter() + seconds

    def begin(self) -> None:
        """Begins a rest that is twice as long as the one before."""
        self.pause(self._seconds)
        self._seconds = min(2 * self._seconds, LONGEST_REST)


class Trials:
    """The numbers of calls that have been tried, and their speedups; `settled` once one of them has been chosen."""

    __slots__ = ("_found", "bad", "settled")

    def __init__(self) -> None:
        self._found: list[tuple[float, int]] = []
        self.settled = False
        self.bad = 0  # consecutive trials without a gain

    def add(self, speedup: float, calls: int) -> None:
        """Records a trial."""
        self._found.append((speedup, calls))

    def after(self, waits: bool, limit: int) -> int:
        """The number of calls to try next, 0 for none. Waiting calls are doubled while that pays. Computing ones get
        all processors, and if they hinder each other, half as many as long as that is not worse.
        """
        *before, (speedup, calls) = self._found
        if waits:
            pays = all(speedup > GAIN * other for other, _ in before)
            return 2 * calls if pays and 2 * calls <= limit else 0
        if not before:
            return limit if calls < limit else 0
        if speedup > EFFICIENT * calls or any(speedup < AS_GOOD * other for other, _ in before[1:]):
            return 0
        return calls // 2 if calls // 2 > before[0][1] else 0

    def best(self, waits: bool) -> tuple[int, float]:
        """The fewest calls that are about as good as the best, and their speedup."""
        enough = self.most * (1 / GAIN if waits else AS_GOOD)
        return min((calls, speedup) for speedup, calls in self._found if speedup >= enough)

    @property
    def most(self) -> float:
        """The highest speedup."""
        return max(self._found, default=(1.0, 0))[0]


class Tuner:
    """Chooses the number of parallel calls of one step: 0 means that the consumer makes them itself."""

    def __init__(self, calls: int, settings: Any, cores: int, key: str, piece: int = RESULT_BYTES) -> None:
        self.requested = calls
        self.calls = 0
        self.tried = False
        self.remeasures = False  # whether it makes a few calls alone, to compare them with those of workers
        self.costs = Costs()
        self.why = "not measured yet"
        self.holds_gil = False
        self.history: list[str] = []
        self._cores, self._piece = cores, piece
        self._rest = Rest()
        self._began = 0.0
        self._trials = Trials()
        self._moved = False
        self._per_call = 0.0  # seconds by which a task may be longer for each process; 0 for threads
        self._remeasured = 0
        chosen = (settings.chosen or {}).get(key, {})
        self.fixed: int | None = chosen.get("calls") if calls == AUTOTUNE else None
        self.frozen = self.fixed is not None
        if forced.mode is not None:
            self.fixed = self.requested = 3 if calls in (AUTOTUNE, 1) else calls
        self._rows = {None: 0, "thread": 1}.get(forced.mode, 3)  # as many as each call gets; 0: tuned
        self._settings = settings

    def moved(self, calls: int) -> None:
        """Moves the calls to processes, since threads did not help."""
        self.in_processes(calls)
        self._moved = True
        self.why = "moved to processes: threads wait for the GIL (options.autotune.allow_processes)"

    def in_processes(self, calls: int, per_call: float = PER_PROCESS_SECONDS) -> None:
        """Has worker processes make `calls` calls at once, without tuning. For each, a task may take `per_call` seconds
        longer.
        """
        self._per_call = per_call
        if self.fixed is None:
            self.fixed = calls

    def fix(self, calls: int, rows: int) -> None:
        """Has `calls` calls made at once, of up to `rows` rows each, without tuning."""
        if forced.mode is None:
            self.fixed, self._rows = calls, rows

    @property
    def limit(self) -> int:
        """The most parallel calls that can pay."""
        if self.requested != AUTOTUNE:
            return self.requested
        return MOST_WAITING if self.costs.waits else max(1, self._cores)

    @property
    def task_seconds(self) -> float:
        """How long one task should take."""
        if self.calls and self._per_call:
            since = perf_counter() - self._began
            return max(PROCESS_SECONDS, min(self.calls * self._per_call, since / EARLIER))
        aim = CHUNK_SECONDS if self.calls else ALONE_SECONDS
        return min(aim, max(1, self.calls) * WAITING_SECONDS) if self.costs.waits else aim

    def chunk(self) -> int:
        """The number of rows one task should have."""
        costs = self.costs
        if self._rows:
            row = max(1.0, costs.row_bytes.value, costs.result_bytes.value)
            return max(1, min(self._rows, int(min(self._piece, RESULT_BYTES) / row)))
        if self.calls and not costs.alone.count and (costs.quickest == inf or costs.shared.count < FIRST_CALLS):
            return 1  # the time of a call is not known yet
        per_row = costs.shared.value if self.calls and costs.shared.count else costs.by_itself
        rows = CHUNK_ROWS if per_row <= 0 else int(self.task_seconds / per_row)
        if costs.row_bytes.value > 0:
            rows = min(rows, int(min(self._piece, CHUNK_BYTES) / costs.row_bytes.value))
        if costs.result_bytes.value > 0:
            rows = min(rows, int(min(self._piece, RESULT_BYTES) / costs.result_bytes.value))
        return max(1, min(rows, CHUNK_ROWS))

    @property
    def call_bytes(self) -> float:
        """The bytes of a task's input and results, about."""
        return max(1.0, self.chunk() * (self.costs.row_bytes.value + self.costs.result_bytes.value))

    def made_alone(self, rows: int, wall: float, cpu: float | None) -> bool:
        """Records a call that the consumer made itself. Returns whether it is time for workers."""
        self.costs.alone.add(wall / rows)
        if cpu is not None and wall > 0:
            self.costs.share.add(min(1.0, cpu / wall))
        if self.fixed is not None:
            return self.fixed > 0
        if not self.rested:
            return False
        alone, certain = self.costs.alone, 1 if self.costs.waits else 2
        if alone.count < (certain if alone.value * rows >= LONG_CALL else 4):
            return False
        if self.costs.alone.value * min(CHUNK_ROWS, self.chunk()) < MIN_CHUNK_SECONDS:
            self.why = f"a row takes {seconds_of(self.costs.alone.value)}, less than the overhead of a worker"
            self._rest.pause(0.25)
            return False
        return self.limit > 1 or self.requested == 1

    @property
    def rested(self) -> bool:
        """Whether it is time to try workers again after they did not pay."""
        return self._rest.over

    def start(self) -> int:
        """Starts with workers; returns their number."""
        self.remeasures = False
        if self.fixed is not None:
            self.calls = self.fixed
            if not self._moved:
                native = forced.mode is None and self._rows > 0
                self.why = "from options.autotune.frozen" if self.frozen else "as given"
                self.why = "native programs have their own threads" if native else self.why
        elif self.requested != AUTOTUNE:
            self.calls, self.why = self.requested, "as given"
        else:
            first = max(self._settings.initial_calls or 2, self._settings.fewest_calls or 2)
            self.calls = min(max(first, WAITING_FIRST) if self.costs.waits else first, self.limit)
            self.why = "trying"
        self._restart()
        self._trials, self.tried = Trials(), True
        return self.calls

    def made_by_worker(self, rows: int, wall: float, cpu: float, began: float) -> None:
        """Records a call that a worker made, and began at this time: among as many others as now, or fewer."""
        costs = self.costs
        if not costs.alone.count and wall / rows < costs.quickest:  # it stands for `alone`: the consumer has made none
            costs.quickest, costs.share = wall / rows, Mean()
            costs.share.add(min(1.0, cpu / wall) if wall > 0 else 1.0)
        if began >= self._began:
            costs.shared.add(wall / rows)
            costs.computed.add(cpu / rows)

    @property
    def speedup(self) -> float:
        """The throughput of the workers relative to the consumer alone."""
        shared = self.costs.shared.value
        return self.calls * self.costs.by_itself / shared if shared > 0 and self.calls else 1.0

    def decide(self) -> int:
        """The number of parallel calls from now on; reconsidered after each trial."""
        if not self.calls or self.fixed is not None or not self._settings.tuned or self.requested == 1:
            return self.calls
        if self.requested == AUTOTUNE and self.costs.waits and not self._trials.settled and self.calls < WAITING_FIRST:
            self.calls = WAITING_FIRST
            self._restart()
        if self.costs.shared.count < TRIAL_CALLS or perf_counter() - self._began < TRIAL_SECONDS:
            return self.calls
        if self._untypical:
            self._remeasured += 1
            self.costs.alone, self.calls, self.remeasures = Mean(), 0, True
            return 0
        gain, calls, trials = self.speedup, self.calls, self._trials
        certain = self.requested == AUTOTUNE and not trials.settled
        trials.bad = 0 if gain >= GAIN else trials.bad + 1
        if trials.bad and (certain or trials.bad >= BAD_TRIALS):
            self._give_up(gain)
        elif trials.bad:
            self._restart()
        elif self.requested != AUTOTUNE:
            self.why = f"as given; {gain:.1f}x the throughput of one call"
            self._restart()
        elif not trials.settled:
            self._climb(gain, calls)
        else:
            self.why = f"{calls} calls have {gain:.1f}x the throughput of one" + GIL_HINT * self.contended
            self._restart()
        return self.calls

    @property
    def _untypical(self) -> bool:
        """Whether the consumer's first calls took longer than usual, so that it should measure again: a worker among
        others would not be quicker.
        """
        return self.costs.alone.value > UNTYPICAL * self.costs.shared.value and self._remeasured < MOST_REMEASURED

    def _climb(self, gain: float, calls: int) -> None:
        """Tries another number of calls, or settles on the best of those tried."""
        self.history.append(f"{calls} calls: {gain:.1f}x one call")
        trials, waits = self._trials, self.costs.waits
        trials.add(gain, calls)
        self.calls = trials.after(waits, self.limit)
        if not self.calls:
            trials.settled = True
            self.calls, best = trials.best(waits)
            self.why = f"{self.calls} calls have {best:.1f}x the throughput of one"
            if calls != self.calls:
                self.why += f", {calls} only {gain:.1f}x"
            elif calls >= self.limit:
                self.why += f"; the limit is {self.limit}"
            if self.contended:
                self.why += GIL_HINT
                if self._settings.processes:
                    self.holds_gil, self.calls = True, 0
        self._restart()

    @property
    def contended(self) -> bool:
        """Whether threads have been seen to hinder each other."""
        most = min(self.limit, self._cores)
        return most >= 4 and not self.costs.waits and self._trials.most < MIN_EFFICIENCY * most

    def _give_up(self, gain: float) -> None:
        """Goes back to the consumer alone, since workers do not help. They are tried again after ever longer rests."""
        costs = self.costs
        computes = not costs.share.count or costs.share.value > 0.7
        lacking = self.calls * costs.computed.value < FREE * costs.shared.value
        self.holds_gil = computes and not lacking
        self.history.append(f"{self.calls} calls: {gain:.1f}x one call")
        self.why = f"{self.calls} calls had only {gain:.1f}x the throughput of one"
        if self.holds_gil:
            self.why += ': the function holds the GIL; workers="process" would help'
        elif computes:
            self.why += ": other programs used the processors"
        self.calls = self._trials.bad = 0
        self._rest.begin()
        self._restart()

    def _restart(self) -> None:
        self.costs.shared, self.costs.computed = Mean(), Mean()
        self._began = perf_counter()


def seconds_of(value: float) -> str:
    """A duration as text."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
