"""Reports of an iterator: its meters and stages, collected into a `Report`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

from feedline.engine.context import ExecutionContext, live_members
from feedline.engine.input import Input, MeasuredInput
from feedline.engine.meter import StepMeter
from feedline.engine.parallel import ParallelMapStage
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.recorder import Recorder
from feedline.engine.run import Run, reads_at_once
from feedline.reports import measured
from feedline.reports.measured import IN_ORDER, LOOP, NESTED, PREFETCH, Buffered, Processors, Report, StepReport


def made(run: Run, context: ExecutionContext, waited: float, first: float, elements: int) -> Report:
    """The report of an iterator for which the loop has waited `waited` seconds, `first` of them for its first element.
    """
    recorder = context.recorder
    seconds = perf_counter() - context.began
    times = {LOOP: waited}
    lanes = _lanes(run.root, LOOP, {}, times)
    stages = _stages(context)
    gil = {} if recorder is None else recorder.gil_of()
    steps = []
    found = context.meters.found.copy()
    for key in {**dict.fromkeys(lanes), **dict.fromkeys(stages), **found}:
        step = stages.get(key, StepReport(key))
        if key in found:
            step = _measured(step, found[key], _own(key, found), context.cores)
        lane = _lane_of(key, step, lanes, found)
        if "/" in key and step.how not in (IN_ORDER, "alone"):
            times.pop(_opener_lane(key, lanes, found), None)  # it also waits for others
        held = gil.get(key)
        held = held if held is None or step.cpu is None else min(held, step.cpu)  # else another thread held it
        steps.append(replace(step, lane=lane, gil=held))
    steps = _scaled(steps, times)
    elsewhere = sum(s.worked * (s.cpu or 0.0) for s in steps if s.how == "processes")
    busy = (process_time() - context.cpu_before + elsewhere) / max(seconds, 1e-9)
    budget = context.budget
    return Report(
        seconds,
        min(waited, seconds),
        first,
        elements,
        tuple(sorted(steps, key=_order)),
        Buffered(budget.held, budget.most, budget.limit, budget.refused),
        Processors(busy, context.cores, system_load()),
        None if recorder is None else recorder.gil,
        peak_memory(),
        () if recorder is None else _timeline(recorder, context),
    )


def system_load() -> float:
    """The system's load average of the last minute; 0 where there is none."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _timeline(recorder: Recorder, context: ExecutionContext) -> tuple[Any, ...]:
    return recorder.timeline(context.began)


def _measured(step: StepReport, meter: StepMeter, own: float, cores: int) -> StepReport:
    nested = meter.does == NESTED and meter.most_calls is not None
    return replace(
        step,
        does=meter.does,
        name=meter.name,
        elements=meter.rows,
        worked=own,
        waited=meter.waited,
        cpu=meter.cpu if step.cpu is None else step.cpu,
        fill=meter.ready / meter.asked if meter.asked and step.buffer is not None else None,
        accepts_calls=meter.parallel and meter.given is None,
        opens=meter.most_calls if nested else None,
        reads=reads_at_once(meter.given or 1, meter.most_calls or 1, cores) if nested else None,
        hint="" if meter.function is None else meter.function.why_not_native,
    )


def _own(key: str, found: dict[str, StepMeter]) -> float:
    """The seconds of a step's own work: without that of the datasets it opens."""
    meter, nested = found[key], key.split(" ")[0] + "/"
    if meter.does != NESTED:
        return meter.seconds
    return max(0.0, meter.seconds - sum(m.seconds for other, m in found.items() if _is_child(other, nested)))


def _is_child(key: str, prefix: str) -> bool:
    return key.startswith(prefix)


def _lanes(pull: Input, lane: str, found: dict[str, str], times: dict[str, float]) -> dict[str, str]:
    """The lanes of all steps of a run: whose thread runs them. `times` get the seconds that each thread has worked, if
    it only runs steps in order.
    """
    for key in [key for _, key in pull.keys] if isinstance(pull, MeasuredInput) else [pull.run.key_of(pull.node)]:
        found[key] = key if isinstance(pull, ParallelMapStage) and pull.stats().calls else lane
    if found[key] != lane or (isinstance(pull, PrefetchStage) and pull.counts.threaded):
        times.pop(lane, None)  # it also waits for others
    if isinstance(pull, PrefetchStage) and pull.counts.threaded:
        lane, times[pull.key] = pull.key, pull.counts.worked
    for below in pull.below():
        _lanes(below, lane, found, times)
    return found


def _scaled(steps: list[StepReport], times: dict[str, float]) -> list[StepReport]:
    """Shares the time that a thread has worked, and that is in no sample, among the steps that it runs."""
    sampled = {lane: sum(s.worked for s in steps if s.lane == lane) for lane in times}
    scale = {n: max(1.0, times[n] / total) for n, total in sampled.items() if total > 0}
    return [replace(s, worked=s.worked * scale.get(s.lane, 1.0)) for s in steps]


def _lane_of(key: str, step: StepReport, lanes: dict[str, str], found: dict[str, StepMeter]) -> str:
    """A step of a nested dataset is in the lane of the step that opened it; or one of its own, if several are read at a
    time.
    """
    if key in lanes:
        return lanes[key]
    return key if step.how in ("threads", "processes", "ray") else _opener_lane(key, lanes, found)


def _opener_lane(key: str, lanes: dict[str, str], found: dict[str, StepMeter]) -> str:
    """The lane of the step that opened a nested dataset."""
    opener = key.split(" ")[0].rpartition("/")[0]
    parent = next((k for k in [*lanes, *found] if k.split(" ")[0] == opener and not k.endswith(" prefetch")), None)
    return LOOP if parent is None else lanes.get(parent) or _lane_of(parent, StepReport(parent), lanes, found)


def _stages(context: ExecutionContext) -> dict[str, StepReport]:
    """What the stages say of themselves; of those of several nested runs, what the one with the most workers says."""
    found: dict[str, StepReport] = {}
    for stage in live_members(context.stages):
        said = stage.stats()
        other = found.get(said.key)
        if other is not None:
            said = replace(max(said, other, key=_workers), held=said.held + other.held)
        found[said.key] = said
    return found


def _workers(step: StepReport) -> int:
    return step.calls or 0


def _order(step: StepReport) -> tuple[list[tuple[int, str]], bool]:
    # A prefetch that reads for a step comes before it.
    return measured.last_first(step.key), step.does != PREFETCH and step.how == IN_ORDER


def peak_memory() -> int:
    """The most bytes of memory that this process has used; 0 if that is not known."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
