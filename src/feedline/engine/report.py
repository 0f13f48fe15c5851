"""Reports of an iterator: where its time goes and what AUTOTUNE chose, as text and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from time import perf_counter, process_time
from typing import Any, NamedTuple

from feedline.engine.context import live_members
from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.train.files import on_disk, write

VERSION = 1
HOLDS = "holds"
"""`Stage.how` of a step that only buffers rows, without background work."""
BUSY = 0.8
"""A thread that works for less than this share of the time is not the bottleneck."""
ALL_BUSY = 0.85
"""If more than this share of all processors is used, more threads or processes do not help."""
ONLY_WAITS = 0.9
"""A consumer that waits for more than this share of the time does no work that a thread could overlap with."""


class Stage(NamedTuple):
    """One step that may work in the background, or buffers rows."""

    key: str
    how: str
    calls: int | None
    buffer: int | None
    worked: float
    waited: float
    held: int
    why: str
    name: str = ""
    """The name of the function that it calls."""
    tuned: bool = False
    """Whether the number of calls is tuned while it runs."""
    native: bool = False
    """Whether a native program does the work of its calls."""
    waits: bool = False
    """Whether its calls wait most of the time, for a file or the network, say."""


class Step(NamedTuple):
    """One step that runs in order, in the thread that pulls from it. Most times are estimated from samples."""

    key: str
    worked: float
    name: str = ""
    """The name of the function that it calls."""


class WorkTime:
    """The time spent in one step that runs in order, over all nested runs, and what could be done if it is too long."""

    __slots__ = ("name", "remedy", "seconds")

    def __init__(self, name: str, remedy: str) -> None:
        self.name, self.remedy, self.seconds = name, remedy, 0.0


class Processors(NamedTuple):
    """How many processors the program has kept busy on average, without worker processes, and how many it has."""

    busy: float
    total: int

    def __str__(self) -> str:
        return f"the program kept {self.busy:.1f} of {self.total} processors busy"

    @property
    def used_up(self) -> bool:
        """Whether hardly any processor time is left."""
        return self.busy > ALL_BUSY * self.total


IDLE = Processors(0.0, 0)


class Report:
    """Where the time of an iterator goes and what AUTOTUNE chose, as `Iterator.report` returns it.

    >>> it = iter(fl.Dataset.range(3).map(str, num_parallel_calls=fl.AUTOTUNE).prefetch(1))
    >>> report = it.report()
    >>> [stage.key for stage in report.stages]
    ['3 prefetch', '2 map']
    """

    def __init__(
        self,
        stages: list[Stage],
        seconds: float,
        held: int,
        limit: int,
        most: int,
        advice: str,
        steps: Sequence[Step] = (),
        processors: Processors = IDLE,
    ) -> None:
        self.stages, self.steps = stages, list(steps)
        self.seconds = seconds
        self.held, self.limit, self.most = held, limit, most
        self.processors = processors
        self.advice = advice

    def freeze(self, path: str | os.PathLike[str]) -> None:
        """Writes the tuned values to a file, to be used by later runs with `options.autotune.frozen`.

        >>> import tempfile
        >>> path = f"{tempfile.mkdtemp()}/tuned.json"
        >>> ds = fl.Dataset.range(3).map(str, num_parallel_calls=fl.AUTOTUNE)
        >>> iter(ds).report().freeze(path)
        >>> options = fl.Options()
        >>> options.autotune.frozen = path
        >>> ds = ds.with_options(options)
        """
        chosen = {s.key: {"calls": s.calls, "buffer": s.buffer} for s in self.stages if s.how != HOLDS}
        text = json.dumps({"version": VERSION, "stages": chosen}, indent=1)
        write(on_disk(path, "freeze"), text, "freeze")

    def __repr__(self) -> str:
        head = ["step", "runs", "calls", "buffer", "worked", "waited for", "held", "why"]
        in_order = {step.key: step for step in self.steps}
        rows = [
            [
                s.key,
                "" if s.how == HOLDS else s.how,
                "" if s.calls is None else str(s.calls),
                "" if s.buffer is None else str(s.buffer),
                _time(in_order.pop(s.key).worked) if s.key in in_order else "" if s.how == HOLDS else _time(s.worked),
                "" if s.how == HOLDS else _time(s.waited),
                _bytes(s.held),
                s.why,
            ]
            for s in self.stages
        ]
        rows += [
            [step.key, "in order", "", "", _time(step.worked), "", "", step.name and f"calls {step.name}"]
            for step in in_order.values()
        ]
        rows.sort(key=lambda row: _order(row[0]))
        lines = [] if self.stages else ["no step runs in the background"]
        if rows:
            widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
            lines += ["  ".join(v.ljust(w) for v, w in zip(r, widths, strict=True)).rstrip() for r in [head, *rows]]
        if self.stages:
            lines.append(
                f"{_bytes(self.held)} buffered, at most {_bytes(self.most)} so far; the limit is "
                f"{_bytes(self.limit)} (options.autotune.ram_budget)"
            )
        if self.processors.total:
            lines.append(str(self.processors))
        return "\n".join([*lines, self.advice])


def made(context: Any, waited: float) -> Report:
    """The report of an iterator for which the consumer has waited `waited` seconds."""
    stages = sorted((stage.stats() for stage in live_members(context.stages)), key=_stage_order)
    seconds = perf_counter() - context.began
    processors = Processors((process_time() - context.cpu_before) / max(seconds, 1e-9), context.cores)
    work: dict[str, WorkTime] = context.work.copy()
    steps = sorted((Step(key, w.seconds, w.name) for key, w in work.items()), key=lambda step: _order(step.key))
    budget = context.budget
    advice = _advice(stages, seconds, waited, work, processors)
    return Report(stages, seconds, budget.held, budget.limit, budget.most, advice, steps, processors)


def _order(key: str) -> list[int]:
    return [-int(n) for n in key.split(" ")[0].split("/")]


def _stage_order(stage: Stage) -> Any:
    return _order(stage.key), stage.how == HOLDS  # a prefetch stage before the buffer that it reads


class StepTime(NamedTuple):
    """The time one step has worked, per parallel call, and what could be done about it."""

    seconds: float
    step: str
    remedy: str


def _advice(
    stages: list[Stage], seconds: float, waited: float, work: dict[str, WorkTime], processors: Processors = IDLE
) -> str:
    share = min(1.0, waited / seconds) if seconds > 0 else 0.0
    summary = f"the consumer waited {share:.0%} of {_time(seconds)}"
    if share < 0.05:
        return f"{summary}: the pipeline keeps up"
    found = [
        StepTime(_own(stages[i:], work), _named(s.key, s.name), _remedy(s, seconds, processors))
        for i, s in enumerate(stages)
    ]
    found += [StepTime(_alone(key, w, work), _named(key, w.name), w.remedy) for key, w in work.items()]
    busy = max(found, default=None)
    if busy is not None and busy.seconds >= 0.3 * waited:
        return f"{summary}; step {busy.step} is the busiest: {busy.remedy}"
    if share < ONLY_WAITS and not any(s.buffer is not None and "/" not in s.key for s in stages):
        return f"{summary}; mostly for steps without threads: add prefetch(fl.AUTOTUNE) at the end"
    return f"{summary}; mostly for the source, or for steps that call no function"


def _alone(key: str, step: WorkTime, work: dict[str, WorkTime]) -> float:
    """The time of a step without that of nested datasets."""
    nested = key.split(" ")[0] + "/"
    return max(0.0, step.seconds - sum(w.seconds for other, w in work.items() if other.startswith(nested)))


def _named(key: str, name: str) -> str:
    return f"{key} ({name})" if name else key


def _place(key: str) -> tuple[str, int]:
    """The (nested) dataset of a step, and the step's number in it."""
    level, _, last = key.split(" ")[0].rpartition("/")
    return level, int(last)


def _own(stages: list[Stage], work: dict[str, WorkTime]) -> float:
    """The time the first of these steps worked, per parallel call, less the time in which it waited for steps below it
    in the same dataset or did their work.
    """
    first = stages[0]
    own: float = first.worked / max(1, first.calls or 1)
    level, end = _place(first.key)
    if first.buffer is None:
        return own
    start = 0
    for below in stages[1:]:
        if below.how != HOLDS and _place(below.key)[0] == level:
            own -= below.waited
            if below.buffer is None:  # calls, whose input is pulled in the same thread
                own -= below.worked if below.how == "alone" else 0.0
            elif below.how != "alone":
                start = _place(below.key)[1]
                break
    for key, step in work.items():
        at, number = _place(key)
        own -= step.seconds if at == level and start < number <= end else 0.0
    return max(0.0, own)


MORE_CALLS = "give it num_parallel_calls=fl.AUTOTUNE"
IN_ORDER = "it runs in order, in one thread"
SOURCE = "it is the source"
NESTED = "it waits for its nested datasets"
PROCESSES = 'processes may help (workers="process") if the function holds the GIL'


def _remedy(busy: Stage, seconds: float, processors: Processors) -> str:
    if busy.how == HOLDS:
        return "it buffers elements"
    if busy.buffer is not None:
        if busy.how == "alone":
            return "its blocks take less time than the overhead of a thread"
        if busy.worked < BUSY * seconds:
            return "it keeps up on average, but not at the start or in bursts, where a larger buffer may help"
        return "the steps before it are slower than the consumer; make them parallel"
    if busy.how == "alone":
        return f"it runs without workers ({busy.why})"
    enough = busy.tuned or (busy.calls or 1) >= processors.total > 0
    if busy.how == "processes":
        return "all its processes are busy" if enough else "more parallel calls may help (num_parallel_calls)"
    if busy.native:
        return "it runs natively, in as many threads as there are processors"
    if busy.waits:
        what = "num_parallel_calls" if busy.tuned else "num_parallel_calls=fl.AUTOTUNE"
        return f"its calls wait most of the time; more than {busy.calls} at once may help ({what})"
    if processors.used_up and processors.total:
        return "all processors are busy"
    return PROCESSES if enough else f"more parallel calls may help (num_parallel_calls=fl.AUTOTUNE), or {PROCESSES}"


def read_choices(path: str) -> dict[str, Any]:
    """Reads the values that `Report.freeze` wrote."""
    try:
        with open(path) as file:
            saved = json.load(file)
        if saved["version"] != VERSION or not isinstance(saved["stages"], dict):
            raise KeyError("version")
    except FileNotFoundError as e:
        raise NotFoundError(f"options.autotune.frozen: {e}") from None
    except (ValueError, TypeError, KeyError) as e:
        raise InvalidArgumentError(f"options.autotune.frozen: {path} was not written by Report.freeze: {e!r}") from None
    return dict(saved["stages"])


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.1f} ms"


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def why_alone(seconds: float, blocks: int) -> str:
    """The reason why a prefetch has no thread, given the seconds that its blocks took in total."""
    from feedline.engine.autotune import seconds_of

    if not blocks:
        return "not used yet"
    return f"a block takes {seconds_of(seconds / blocks)}, less than the overhead of a thread"
