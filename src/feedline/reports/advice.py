"""Advice: the step that limits an iterator, what would help, and the gain to expect.

Work that is done one after the other is a lane: the loop with the steps that it runs itself, a prefetch thread, the
workers of a parallel map. An element takes as long as the busiest lane works for it, and no less than its processor
time on all processors. What a change would gain follows from the same times with the work of a step in another lane.

A rule looks at the busiest lane and the step that works most there, and returns a change with its gain, or None. Of all
changes the best one is recommended, if it gains anything; otherwise the step is named, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from feedline.reports import measured as m
from feedline.reports.measured import LOOP, Report, StepReport
from feedline.reports.text import duration, size, time_text

KEEPS_UP = 0.05
"""A loop that waits for less than this share of the time is not limited by its input."""
BUSY = 0.7
"""If no lane works for more than this share of the time, it waits at the start or in bursts only."""
WORTH = 1.1
"""The least gain that is worth a recommendation."""
CHEAP_CALL = 30e-6
"""Calls that take fewer seconds than this and hold the GIL are better made for many elements at once."""
WAITING_CALLS = 16
"""The number of parallel calls that AUTOTUNE at least makes of functions that wait."""
MOST_WAITING = 64
_READS = f"cycle_length={WAITING_CALLS} and num_parallel_calls={WAITING_CALLS}"
SEEN_CALL = 3e-3
"""Calls that take fewer seconds may hold the GIL between two probes, and let go of it before it is missed."""
HOLDS_GIL = 0.5
LEAVES_GIL = 0.2
"""Functions that hold the GIL for more than the first share of their time need processes; below the second one, threads
will do.
"""
ONE_PROCESSOR = (0.7, 1.25)
ALL_CPU = 0.8
"""Threads whose calls use a processor for more than this share of their time, and together keep about one busy, take
turns.
"""
LONG = 1.0
"""After this many seconds, threads and processes have been started."""
ELSEWHERE = ("processes", "ray")
AS_BUSY = 0.9
"""A lane is as busy as another if it works for more than this share of its time."""


@dataclass(frozen=True)
class Advice:
    """What limits an iterator. `gain` is the expected factor on the rate; None if it is unknown."""

    rule: str
    summary: str
    step: str = ""
    """The key of the step that limits it; empty if none does."""
    problem: str = ""
    change: str = ""
    """What to write; empty if nothing is known to help."""
    gain: float | None = None

    def __str__(self) -> str:
        parts = [f"{self.summary}{'; ' if self.step else ': '}{self.problem}" if self.problem else self.summary]
        if self.change:
            parts.append(self.change + (f" (expect about {_factor(self.gain)})" if self.gain else ""))
        return ": ".join(parts)


def _factor(gain: float) -> str:
    return f"{gain:.1f}x" if gain < 10 else f"{gain:.0f}x"


class Model:
    """How long the work of a report takes, as it is, and if some of it were in another lane."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.limiting = max(report.lanes, key=lambda lane: lane.busy)
        self.cores = max(1, report.processors.total)
        self.computing = report.processors.busy * report.seconds / self.cores
        """The processor time of everything, on all processors."""

    @property
    def now(self) -> float:
        """The seconds that the busiest lane works."""
        return self.limiting.busy

    def gain(self, *lanes: float, without_gil: StepReport | None = None) -> float:
        """The factor on the rate if the limiting lane were replaced by lanes that work for so many seconds; and if a
        step needed this process's GIL no more.
        """
        others = [lane.busy for lane in self.report.lanes if lane is not self.limiting]
        here = (s for s in self.report.steps if s.how not in ELSEWHERE and s is not without_gil)
        gil = sum((s.gil or 0.0) * s.worked / max(1, s.calls or 1) for s in here)
        return self.now / max(*lanes, *others, self.computing, gil, 1e-9)

    def call(self, step: StepReport) -> float:
        """The seconds of one call of a step's function: of those steps that give fewer elements than they get, too."""
        below = _below(self.report, step)
        got = 0 if below is None else below.elements
        ahead = step.how != m.IN_ORDER or (below is not None and below.does == m.PREFETCH)  # what it got may still wait
        drops = not step.key.endswith(" map") or (got > 2 * step.elements and not ahead)  # else both are estimates
        return step.worked / max(1, step.elements, got if drops else 0)

    def with_workers(self, step: StepReport, calls: int, processes: bool = False) -> float:
        """The gain of `calls` workers for a step."""
        rest = self.now - step.worked / self.limiting.width
        return self.gain(rest, step.worked / calls, without_gil=step if processes else None)


Rule = Callable[[Model, StepReport], "tuple[str, str, float | None] | None"]
"""Returns what is wrong, what to change, and the gain."""

AUTOTUNE = "give it num_parallel_calls=fl.AUTOTUNE"
PROCESSES = 'give it num_parallel_calls=fl.AUTOTUNE and workers="process"'


def cheap_calls(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A function whose calls are too short for workers: they cost more than what they do."""
    if step.does != m.CALLS or step.waits or model.call(step) >= CHEAP_CALL or (step.gil or 1.0) < HOLDS_GIL:
        return None
    hint = f" ({step.hint})" if step.hint else ""
    problem = f"its function is called once per element{hint}"
    if not step.key.endswith(" map"):
        change = "let it only compute, so that it works on whole columns"
        return problem, change, model.gain(model.now - 0.9 * step.worked)
    stacks = sum(s.worked for s in model.limiting.steps if s.does == m.STACKS)  # one row after the other, until then
    return problem, "have it work on whole arrays, after batch", model.gain(model.now - 0.9 * (step.worked + stacks))


def more_calls(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A function that runs in order, and could run in workers."""
    if step.does != m.CALLS or step.how != m.IN_ORDER or not step.accepts_calls or model.call(step) < CHEAP_CALL:
        return None
    if step.waits:
        return "its function waits", AUTOTUNE, model.with_workers(step, WAITING_CALLS)
    if step.gil is not None and step.gil >= HOLDS_GIL:
        return "its function holds the GIL", PROCESSES, model.with_workers(step, model.cores, processes=True)
    sure = step.gil is not None and step.gil <= LEAVES_GIL and model.call(step) >= SEEN_CALL
    change = AUTOTUNE if sure else f'{AUTOTUNE}, and workers="process" if it is plain Python'
    return "its function runs in order", change, model.with_workers(step, model.cores)


def parallel_calls(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A function with workers: threads that wait for the GIL, or too few."""
    if step.does != m.CALLS or step.how not in ("threads", "alone") or model.call(step) < CHEAP_CALL:
        return None
    calls = max(1, step.calls or 1)
    held = step.gil is not None and step.gil >= HOLDS_GIL and not step.waits
    if held or (step.contended and not model.report.processors.crowded):  # else they may wait for other programs
        own = step.worked / calls if step.how == "threads" else step.worked  # of threads that take turns
        gain = model.gain(model.now - step.worked / model.limiting.width, own / model.cores, without_gil=step)
        return "its function holds the GIL", 'give it workers="process"', gain
    if step.how == "alone" or step.tuned:
        return None
    most = MOST_WAITING if step.waits else model.cores
    if calls >= most:
        return None
    more = min(most, max(2 * calls, WAITING_CALLS)) if step.waits else most
    return f"its {calls} parallel calls are all busy", AUTOTUNE, model.with_workers(step, more)


def nested_reads(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A step that reads nested datasets one after the other."""
    if step.does != m.NESTED or not step.accepts_calls or not step.opens:
        return None
    seconds, waits = _nested_work(model, step)
    calls = min(step.opens, MOST_WAITING if waits else model.cores)
    change = f"give it cycle_length={step.opens} and num_parallel_calls={calls if waits else 'fl.AUTOTUNE'}"
    return "it reads one nested dataset at a time", change, model.gain(model.now - seconds, seconds / calls)


def more_nested_reads(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A step that reads too few nested datasets at a time, and waits for them."""
    if step.does != m.NESTED or not step.reads or step.reads >= WAITING_CALLS:
        return None
    seconds, waits = _nested_work(model, step)
    if not waits or (step.accepts_calls and (step.opens or 1) > 1):
        return None
    gain = model.gain(model.now - seconds, seconds * step.reads / WAITING_CALLS)
    reads = "1 nested dataset" if step.reads == 1 else f"{step.reads} nested datasets at a time"
    return f"it waits for {reads}", f"give it {_READS}, which changes the order", gain


def interleaved_reads(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A flat_map whose function, or whose nested datasets, wait."""
    if step.does != m.NESTED or not step.key.endswith(" flat_map"):
        return None
    seconds, waits = _nested_work(model, step)
    if not waits:
        return None
    gain = model.gain(model.now - seconds, seconds / WAITING_CALLS)
    return "it waits for 1 nested dataset", f"make it an interleave with {_READS}, which changes the order", gain


def _nested_work(model: Model, step: StepReport) -> tuple[float, bool]:
    """The seconds of a step and of the nested datasets that it reads itself, and whether they wait."""
    inside = [s for s in model.limiting.steps if s.key.startswith(f"{step.key.split(' ')[0]}/")]
    seconds = step.worked + sum(s.worked for s in inside)
    return seconds, all(s.waits for s in [*inside, step] if s.worked > 0.2 * seconds)


def prefetch_at_the_end(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A loop that makes its elements itself, and has work of its own that a thread could overlap with."""
    lane = model.limiting
    top = model.report.steps[0] if model.report.steps else None
    if lane.name != LOOP or top is None or top.does == m.PREFETCH:
        return None
    below = lane.busy - lane.own
    return "it runs in your loop's thread", "add prefetch(fl.AUTOTUNE) at the end", model.gain(lane.own, below)


def prefetch_after(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A step that waits, in a lane with others that compute meanwhile."""
    alone = "/" in step.key or step is model.report.steps[0]
    if not step.waits or step.how != m.IN_ORDER or alone or not step.worked:
        return None
    above = _above(model.report, step)
    if above is not None and above.does == m.PREFETCH:
        return None
    return "it waits", "add prefetch(fl.AUTOTUNE) after it", model.gain(model.now - step.worked, step.worked)


def _above(report: Report, step: StepReport) -> StepReport | None:
    """The step that pulls from this one, or the prefetch that reads for it; None for the last step."""
    return _nearest(step, report.steps[: report.steps.index(step)][::-1])


def _below(report: Report, step: StepReport) -> StepReport | None:
    """The step that this one pulls from; None for a source."""
    return _nearest(step, report.steps[report.steps.index(step) + 1 :])


def _nearest(step: StepReport, others: Sequence[StepReport]) -> StepReport | None:
    """The first one that is not in another input of the plan; with the step's letter, if there are several such."""
    found = [s for s in others if not _beside(s, step)]
    near = [s for s in found if s is found[0] or _beside(s, found[0])]
    return next((s for s in near if _letter(s) == _letter(step)), near[0] if near else None)


def _beside(one: StepReport, other: StepReport) -> bool:
    """Whether two steps have the same number in different inputs of a plan."""
    return _letter(one) != _letter(other) and _numbers(one) == _numbers(other)


def _numbers(step: StepReport) -> list[int]:
    return [number for number, _ in m.last_first(step.key)]


def _letter(step: StepReport) -> str:
    return "".join(letter for _, letter in m.last_first(step.key))


def several_files(model: Model, step: StepReport) -> tuple[str, str, float | None] | None:
    """A source that reads record files one after the other, and waits for them."""
    if step.does != m.FILES or not step.waits:
        return None
    change = f"read several files at a time: interleave over their names, with {_READS}"
    return "it waits for its files", change, model.with_workers(step, WAITING_CALLS)


RULES: tuple[Rule, ...] = (
    cheap_calls, more_calls, parallel_calls, nested_reads, more_nested_reads, interleaved_reads, several_files,
    prefetch_after, prefetch_at_the_end,
)  # fmt: skip


def found(report: Report) -> Advice:
    """What limits the iterator of a report."""
    summary = f"the loop waited {report.share_waited:.0%} of {time_text(report.seconds)}"
    if report.processors.crowded:
        summary += ", beside other programs that used the processors"
    if report.share_waited < KEEPS_UP:
        return Advice("keeps_up", summary, problem="the pipeline keeps up")
    model = Model(report)
    for whole in (_budget, _start):
        advice = whole(model, summary)
        if advice is not None:
            return advice
    lane = model.limiting
    own_work = lane.name == LOOP and lane.busy - lane.own < 0.3 * report.waited
    if own_work or model.now < BUSY * report.seconds:
        return _gil(model, summary) or _bursts(model, summary)
    steps = sorted(model.limiting.steps, key=lambda s: s.worked, reverse=True)
    if not steps or steps[0].worked <= 0:
        return Advice("unknown", summary, problem="no step has worked long enough to be measured")
    changes = []
    for step in [s for s in steps if s.worked >= 0.5 * steps[0].worked]:
        for rule in RULES:
            got = rule(model, step)
            if got is not None and got[2] is not None and got[2] >= WORTH:
                changes.append((got[2], rule.__name__, step, got))
    if not changes:
        return _nothing(model, steps[0], summary)
    gain, name, step, (problem, change, _) = max(changes, key=lambda c: c[0])
    return Advice(name, summary, step.key, _limits(model, step, problem), change, gain)


def _limits(model: Model, step: StepReport, problem: str) -> str:
    call = model.call(step)
    drops = step.does == m.CALLS and step.elements and call < 0.9 * step.each
    each = f", {duration(call)} per call" if drops else f", {duration(step.each)} per element" if step.elements else ""
    return f"step {step.title} limits it{each}: {problem}"


def _budget(model: Model, summary: str) -> Advice | None:
    """Workers that stand still since the budget of bytes is used up."""
    report = model.report
    if not report.buffered.refused:
        return None
    idle = [s for s in report.steps if s.calls and s.worked < BUSY * s.calls * report.seconds and s.how != m.IN_ORDER]
    slow = max(idle, key=lambda s: s.waited, default=None)
    if slow is None or slow.waited < 0.3 * report.waited:
        return None
    used = max(slow.worked / report.seconds, 1e-3)
    gain = min((slow.calls or 1) / used, slow.calls or 1)
    problem = f"its {slow.calls} workers stand still, since {size(report.limit)} of buffers are full"
    change = "raise options.autotune.ram_budget, or make elements smaller"
    return Advice("budget", summary, slow.key, _limits(model, slow, problem), change, gain) if gain >= WORTH else None


def _start(model: Model, summary: str) -> Advice | None:
    """Most of the wait was for the first element."""
    report = model.report
    starting = any(s.how in ELSEWHERE and s.worked < 0.3 * report.first for s in report.steps)
    if report.first < 0.5 * report.waited or report.elements < (1 if starting else 2):
        return None
    holder = max((s for s in report.steps if s.does == m.BUFFERS), key=lambda s: s.most, default=None)
    before = f"most of the wait, {time_text(report.first)}, was for the first element"
    if holder is None or holder.most < 2:
        started = next((f": the workers of step {s.key} started" for s in report.steps if s.how in ELSEWHERE), "")
        return Advice("start", summary, problem=before + started)
    problem = f"{before}: step {holder.key} fills its buffer of {holder.most:,} elements"
    change = "a smaller buffer starts sooner; shuffle file names or indices instead of elements"
    return Advice("start", summary, holder.key, problem, change)


def _gil(model: Model, summary: str) -> Advice | None:
    """Threads that take turns, since a function holds the GIL: together they are busy all the time, and none is alone.
    """
    report = model.report
    if report.gil is None:
        return _one_processor(model, summary)
    if report.gil < BUSY:
        return None
    holders = [s for s in report.steps if s.how == "threads" and (s.gil or 0.0) >= HOLDS_GIL and not s.waits]
    step = max(holders, key=lambda s: s.worked * (s.gil or 0.0), default=None)
    if step is None:
        return None
    total = report.gil * report.seconds
    own = min(total, step.worked * (step.gil or 0.0))
    gain = total / max(total - own, own / model.cores, model.computing, 1e-9)
    problem = f"its {step.calls} threads take turns, since its function holds the GIL"
    worth = gain if gain >= WORTH else None
    change = 'give it workers="process"' if worth else ""
    return Advice("gil", summary, step.key, _limits(model, step, problem), change, worth)


def _one_processor(model: Model, summary: str) -> Advice | None:
    """The same in a run that was not recorded: threads whose functions compute keep one processor busy, and no more."""
    report = model.report
    busy = report.processors.busy
    if report.processors.crowded or model.cores < 2 or not ONE_PROCESSOR[0] <= busy <= ONE_PROCESSOR[1]:
        return None
    computing = [s for s in report.steps if s.how == "threads" and s.does == m.CALLS and (s.cpu or 0.0) >= ALL_CPU]
    step = max(computing, key=lambda s: s.worked, default=None)
    if step is None or (step.calls or 1) < 2 or step.worked < BUSY * busy * report.seconds:
        return None
    problem = f"its {step.calls} threads keep one processor busy, as functions do that hold the GIL"
    gain = min(model.cores, step.calls or 1) / max(busy, 1.0)
    return Advice("gil", summary, step.key, _limits(model, step, problem), 'give it workers="process"', gain)


def _bursts(model: Model, summary: str) -> Advice:
    """No lane is busy all the time."""
    report = model.report
    step = max(report.steps, key=lambda s: s.waited, default=None)
    if step is None or not step.waited:
        return Advice("bursts", summary, problem="no step is busy all the time")
    if report.share_waited > BUSY:
        lacking = report.processors.crowded and report.seconds > LONG
        why = "there were not enough processors left" if lacking else "a longer run shows more"
        return Advice("bursts", summary, problem=f"no step was busy all the time; {why}")
    problem = f"step {step.key} keeps up on average, but not at the start or in bursts"
    small = step.does == m.PREFETCH and step.buffer is not None and step.fill is not None and step.fill > 0.5
    return Advice("bursts", summary, step.key, problem, "a larger buffer may help" if small else "")


def _nothing(model: Model, step: StepReport, summary: str) -> Advice:
    """The step that limits the rate, and why no change is recommended."""
    report, lane = model.report, model.limiting
    if step.how == "processes":
        why = f"all its {step.calls} processes are busy"
    elif step.how == "ray":
        why = f"all its {step.calls} workers are busy; give it more, or bounds: fl.RayWorkers(count=(fewest, most))"
    elif step.does == m.NATIVE:
        why = "it runs natively, in as many threads as there are processors"
    elif report.processors.used_up and not step.waits:
        why = "all processors are busy; only less work would help"
    elif step.how in ("threads", "alone") and step.does == m.CALLS:
        why = f"it runs {'without workers' if step.how == 'alone' else f'in {step.calls} threads'} ({step.why})"
    elif step.does == m.NESTED and not step.waits:
        why = "its function and its nested datasets run in order, in one thread"
    else:
        why = _REASONS.get(step.does, "it runs in order, in one thread")
    others = [o for o in report.lanes if o is not lane and o.busy > AS_BUSY * lane.busy]
    if others and step.does != m.NATIVE:
        why += f"; {max(others, key=lambda o: o.busy).name} is as busy"
    return Advice("nothing", summary, step.key, _limits(model, step, why))


_REASONS = {
    m.SOURCE: "it is the source",
    m.FILES: "it is the source",
    m.NESTED: "it waits for its nested datasets",
    m.STACKS: "it copies elements into batches, in one thread",
    m.BUFFERS: "it moves elements through its buffer, in one thread",
    m.COLUMNS: "its function works on whole columns, in one thread",
}
