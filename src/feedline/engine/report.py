"""Reports of an iterator: where its time goes and what AUTOTUNE chose, as text and as a file."""

from __future__ import annotations

import json
import os
from time import perf_counter
from typing import Any, NamedTuple

from feedline.engine.context import live_members
from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.train.files import on_disk, write

VERSION = 1
HOLDS = "holds"
"""`Stage.how` of a step that only buffers rows, without background work."""
BUSY = 0.8
"""A thread that works for less than this share of the time is not the bottleneck."""
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


class Report:
    """Where the time of an iterator goes and what AUTOTUNE chose, as `Iterator.report` returns it.

    >>> it = iter(fl.Dataset.range(3).map(str, num_parallel_calls=fl.AUTOTUNE).prefetch(1))
    >>> report = it.report()
    >>> [stage.key for stage in report.stages]
    ['3 prefetch', '2 map']
    """

    def __init__(self, stages: list[Stage], seconds: float, held: int, limit: int, most: int, advice: str) -> None:
        self.stages = stages
        self.seconds = seconds
        self.held, self.limit, self.most = held, limit, most
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
        rows = [
            [
                s.key,
                "" if s.how == HOLDS else s.how,
                "" if s.calls is None else str(s.calls),
                "" if s.buffer is None else str(s.buffer),
                "" if s.how == HOLDS else _time(s.worked),
                "" if s.how == HOLDS else _time(s.waited),
                _bytes(s.held),
                s.why,
            ]
            for s in self.stages
        ]
        if not rows:
            return "no step runs in the background\n" + self.advice
        widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
        lines = ["  ".join(v.ljust(w) for v, w in zip(r, widths, strict=True)).rstrip() for r in [head, *rows]]
        lines.append(
            f"{_bytes(self.held)} buffered, at most {_bytes(self.most)} so far; the limit is "
            f"{_bytes(self.limit)} (options.autotune.ram_budget)"
        )
        return "\n".join([*lines, self.advice])


def made(context: Any, waited: float) -> Report:
    """The report of an iterator for which the consumer has waited `waited` seconds."""
    stages = sorted((stage.stats() for stage in live_members(context.stages)), key=_order)
    seconds = perf_counter() - context.began
    budget = context.budget
    return Report(
        stages, seconds, budget.held, budget.limit, budget.most, _advice(stages, seconds, waited, context.work)
    )


def _order(stage: Stage) -> Any:
    *outer, last = stage.key.split(" ")[0].split("/")
    return [-int(n) for n in (*outer, last)], stage.how == HOLDS  # a prefetch stage before the buffer that it reads


class StepTime(NamedTuple):
    """The time one step has worked, per parallel call, and what could be done about it."""

    seconds: float
    step: str
    remedy: str


def _advice(stages: list[Stage], seconds: float, waited: float, work: dict[str, Any]) -> str:
    share = min(1.0, waited / seconds) if seconds > 0 else 0.0
    summary = f"the consumer waited {share:.0%} of {_time(seconds)}"
    if share < 0.05:
        return f"{summary}: the pipeline keeps up"
    found = [StepTime(_own(stages[i:], work), _named(s.key, s.name), _remedy(s, seconds)) for i, s in enumerate(stages)]
    found += [StepTime(w.seconds, _named(key, w.name), IN_ORDER) for key, w in work.copy().items()]
    busy = max(found, default=None)
    if busy is not None and busy.seconds >= 0.3 * waited:
        return f"{summary}; step {busy.step} is the busiest: {busy.remedy}"
    if share < ONLY_WAITS and not any(s.buffer is not None and "/" not in s.key for s in stages):
        return f"{summary}; mostly for steps without threads: add prefetch(fl.AUTOTUNE) at the end"
    return f"{summary}; mostly for the source, or for steps that call no function"


def _named(key: str, name: str) -> str:
    return f"{key} ({name})" if name else key


def _place(key: str) -> tuple[str, int]:
    """The (nested) dataset of a step, and the step's number in it."""
    level, _, last = key.split(" ")[0].rpartition("/")
    return level, int(last)


def _own(stages: list[Stage], work: dict[str, Any]) -> float:
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
            if below.how != "alone":
                own -= below.waited
                start = _place(below.key)[1]
                break
            own -= below.worked if below.buffer is None else 0.0
    for key, functions in work.copy().items():
        at, number = _place(key)
        own -= functions.seconds if at == level and start < number < end else 0.0
    return max(0.0, own)


IN_ORDER = "give it num_parallel_calls=fl.AUTOTUNE"


def _remedy(busy: Stage, seconds: float) -> str:
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
    if busy.how == "processes":
        return "all its processes are busy" if busy.tuned else "more parallel calls may help (num_parallel_calls)"
    if busy.native:
        return "it runs natively, in as many threads as there are processors"
    other = 'processes may help (workers="process") if the function holds the GIL'
    return other if busy.tuned else f"more parallel calls may help (num_parallel_calls=fl.AUTOTUNE), or {other}"


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
