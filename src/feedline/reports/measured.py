"""The measurements of an iterator as values: `Report`, its steps, its lanes, and the spans of its timeline."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.train.files import on_disk, write

if TYPE_CHECKING:
    from feedline.reports.advice import Advice

VERSION = 1
LOOP = "your loop"
"""The lane of the consumer: its own work, and the steps that it runs itself."""
IN_ORDER = "in order"
"""`StepReport.how` of a step that runs in the thread that pulls from it."""
WAITS = 0.35
"""Work that uses a processor for less than this share of its time waits for something else."""
ALL_BUSY = 0.85
"""If more than this share of all processors is used, more threads or processes do not help."""

SOURCE, FILES, NESTED, CALLS, COLUMNS, NATIVE, STACKS, BUFFERS, PREFETCH, OTHER = (
    *("source", "files", "nested", "calls", "columns", "native", "stacks", "buffers", "prefetch", "other"),
)
"""What a step does (`StepReport.does`): a source, one that reads record files, opens nested datasets, calls a function
once per element, or on whole columns, or as a native program; stacks rows, buffers them, prefetches them.
"""


def last_first(key: str) -> list[tuple[int, str]]:
    """The sort key of a step by its name: the last step first, and below it those of the datasets that it opens.

    >>> from feedline.reports.measured import last_first
    >>> sorted(["1 range", "2b map", "3 zip", "2 map", "2b/1 range"], key=last_first)
    ['3 zip', '2 map', '2b map', '2b/1 range', '1 range']
    """
    return [(-int(number), letter) for number, letter in re.findall(r"(\d+)([a-z]\d*)?", key.split(" ")[0])]


class WorkerReport(NamedTuple):
    """What one worker of a pool on a cluster has done for a step so far."""

    number: int
    host: str
    pid: int
    tasks: int
    rows: int
    busy: float
    """The seconds for which it had a task."""
    again: int
    """Its tasks that were given to another worker as well, since they took long."""


@dataclass(frozen=True)
class StepReport:
    """What one step of a running plan has done so far."""

    key: str
    """Its number and operator, `2 map`; `2/3 map` is step 3 of the datasets that step 2 opens."""
    how: str = IN_ORDER
    """Where it runs: "in order", "thread", "threads", "processes", "ray", or "alone": it may have workers, and has none
    now.
    """
    does: str = OTHER
    name: str = ""
    """The name of the function that it calls."""
    lane: str = LOOP
    """Whose time its own work takes: that of the loop, of a prefetch thread, or of its own workers."""
    elements: int = 0
    """The elements it has given; of steps in order an estimate from samples."""
    worked: float = 0.0
    """The seconds of its own work, without that of its inputs; of all workers together."""
    waited: float = 0.0
    """The seconds for which the thread that pulls from it waited for its background work."""
    cpu: float | None = None
    """The share of its own time in which it used a processor; it waited for the rest."""
    gil: float | None = None
    """The share of its own time in which it held the GIL; known if the run was recorded."""
    calls: int | None = None
    """The number of parallel calls."""
    buffer: int | None = None
    """The number of elements, or blocks of them, that may wait."""
    fill: float | None = None
    """How full the buffer was on average when its consumer came."""
    held: int = 0
    """The bytes that it holds now."""
    buffers: bool = False
    """Whether it buffers elements, as a shuffle does."""
    most: int = 0
    """The most elements that it has held."""
    why: str = ""
    """Why it runs in this way."""
    tuned: bool = False
    """Whether the number of calls is tuned while it runs."""
    contended: bool = False
    """Whether AUTOTUNE has seen its threads wait for the GIL."""
    accepts_calls: bool = False
    """Whether it has an argument `num_parallel_calls` that was not given."""
    opens: int | None = None
    """The nested datasets that are open at a time (`cycle_length`)."""
    reads: int | None = None
    """How many of them are read at a time."""
    hint: str = ""
    """What keeps its function from running natively, if known."""
    workers: tuple[WorkerReport, ...] = ()
    """Figures of each worker, if they are on a cluster."""

    @property
    def waits(self) -> bool:
        """Whether it waits most of the time, for a file or the network, say."""
        return self.cpu is not None and self.cpu < WAITS

    @property
    def each(self) -> float:
        """The seconds of its own work per element."""
        return self.worked / self.elements if self.elements else 0.0

    @property
    def title(self) -> str:
        """The step with its function's name."""
        return f"{self.key} ({self.name})" if self.name else self.key


class Lane(NamedTuple):
    """What runs one after the other: the loop with the steps that it runs itself, a prefetch thread, or workers."""

    name: str
    width: int
    """The number of workers."""
    own: float
    """The loop's own seconds."""
    steps: tuple[StepReport, ...]

    @property
    def busy(self) -> float:
        """The seconds of work, per worker."""
        return (self.own + sum(step.worked for step in self.steps)) / self.width


class Processors(NamedTuple):
    """How many processors the program has kept busy on average, with its worker processes, how many it has, and the
    load of the system: the number of threads of all programs that use, or wait for, a processor.
    """

    busy: float
    total: int
    load: float = 0.0

    def __str__(self) -> str:
        beside = f" (other programs used them, too: the load is {self.load:.0f})" if self.crowded else ""
        return f"the program kept {self.busy:.1f} of {self.total} processors busy{beside}"

    @property
    def crowded(self) -> bool:
        """Whether other programs compete for the processors, so that all work takes longer."""
        return self.load - self.busy > self.total and not self.used_up

    @property
    def used_up(self) -> bool:
        """Whether hardly any processor time is left."""
        return self.busy > ALL_BUSY * self.total


class Buffered(NamedTuple):
    """The bytes in all buffers: now, at most so far, and the limit (`options.autotune.ram_budget`); and how often a
    step could have used more.
    """

    held: int
    most: int
    limit: int
    refused: int = 0


NOTHING_BUFFERED, NO_PROCESSORS = Buffered(0, 0, 0), Processors(0.0, 0)
WORK, WAIT = "work", "wait"


class TraceSpan(NamedTuple):
    """A piece of the timeline: a thread has worked at a step, or waited for it, from one time to another."""

    thread: str
    key: str
    kind: str
    began: float
    ended: float
    rows: int = 0


@dataclass(frozen=True)
class Report:
    """What an iterator has done so far: where its time goes, what AUTOTUNE chose, and what would help.

    >>> it = iter(fl.Dataset.range(3).map(str, num_parallel_calls=fl.AUTOTUNE).prefetch(1))
    >>> report = it.report()
    >>> [step.key for step in report.steps]
    ['3 prefetch', '2 map', '1 range']

    It prints as a table, is drawn in notebooks, and `html(path)` writes it as a page. `steps` has all figures of the
    table, and `scalars()` those for TensorBoard or wandb. `advice` names the step that limits the rate, and what
    would help.
    """

    seconds: float = 0.0
    """Since the iterator was made."""
    waited: float = 0.0
    """The seconds that the loop has waited for elements."""
    first: float = 0.0
    """The seconds that it waited for the first one."""
    elements: int = 0
    """The elements that it has got."""
    steps: tuple[StepReport, ...] = ()
    """The steps that run, the last one first."""
    buffered: Buffered = NOTHING_BUFFERED
    processors: Processors = NO_PROCESSORS
    gil: float | None = None
    """The share of the time in which some thread held the GIL; known if the run was recorded."""
    memory: int = 0
    """The most bytes of memory that the program has used."""
    spans: tuple[TraceSpan, ...] = field(default=(), repr=False)
    """The timeline, if the run was recorded (`Dataset.profile`, `fl.trace`), in seconds since the iterator was made."""

    @property
    def stages(self) -> list[StepReport]:
        """The steps that work in the background, or may, and those that hold elements."""
        return [s for s in self.steps if s.how != IN_ORDER or s.buffers]

    @property
    def held(self) -> int:
        """The bytes in all buffers."""
        return self.buffered.held

    @property
    def most(self) -> int:
        """The most bytes that have been in all buffers."""
        return self.buffered.most

    @property
    def limit(self) -> int:
        """The limit of the bytes in all buffers."""
        return self.buffered.limit

    @property
    def rate(self) -> float:
        """Elements per second."""
        return self.elements / self.seconds if self.seconds > 0 else 0.0

    @property
    def share_waited(self) -> float:
        """The share of the time that the loop has waited for elements."""
        return min(1.0, self.waited / self.seconds) if self.seconds > 0 else 0.0

    @cached_property
    def lanes(self) -> list[Lane]:
        """The threads and workers, the loop first, with the steps that each runs."""
        found: dict[str, list[StepReport]] = {LOOP: []}
        for step in self.steps:
            found.setdefault(step.lane, []).append(step)
        widths = {s.key: s.calls or 1 for s in self.steps}
        own = max(0.0, self.seconds - self.waited)
        return [Lane(n, widths.get(n, 1), own if n == LOOP else 0.0, tuple(steps)) for n, steps in found.items()]

    @cached_property
    def bottleneck(self) -> Advice:
        """The step that limits the rate, what would help, and the gain to expect."""
        from feedline.reports.advice import found

        return found(self)

    @property
    def advice(self) -> str:
        """The bottleneck in a sentence."""
        return str(self.bottleneck)

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
        chosen = {s.key: {"calls": s.calls, "buffer": s.buffer} for s in self.steps if s.how != IN_ORDER}
        text = json.dumps({"version": VERSION, "stages": chosen}, indent=1)
        write(on_disk(path, "freeze"), text, "freeze")

    def scalars(self, prefix: str = "feedline") -> dict[str, float]:
        """The figures to plot, by name.

        >>> with iter(fl.Dataset.range(10).batch(5)) as it:
        ...     _ = list(it)
        ...     sorted(it.report().scalars())[:2]
        ['feedline/1 range/elements_per_second', 'feedline/1 range/seconds_per_element']

        """
        from feedline.reports.scalars import scalars

        return scalars(self, prefix)

    def log(self, writer: object, step: int | None = None, prefix: str = "feedline") -> None:
        """Writes `scalars()` to a `SummaryWriter` (torch's, or `fl.SummaryWriter`), or to a run of
        wandb: anything with `add_scalar(tag, value, step)` or `log(values, step=step)`.

        >>> import tempfile
        >>> it = iter(fl.Dataset.range(10).batch(5))
        >>> with fl.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step, batch in enumerate(it):
        ...         it.report().log(writer, step)
        """
        from feedline.reports.scalars import log

        log(self.scalars(prefix), writer, step)

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as a page that needs no other file, with its timeline if the run was recorded. Writes it to
        `path`, if that is given.

        >>> page = fl.Dataset.range(10).batch(5).profile().html()
        >>> page.startswith("<!doctype html>")
        True
        """
        from feedline.reports.page import page

        text = page(self)
        if path is not None:
            write(on_disk(path, "html"), text, "html")
        return text

    def _repr_html_(self) -> str:
        from feedline.reports.page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        from feedline.reports.text import text

        return text(self)


def read_choices(path: str) -> dict[str, Mapping[str, int | None]]:
    """Reads the values that `Report.freeze` wrote: for each step the numbers of its "calls" and of its "buffer"."""
    try:
        with open(path) as file:
            saved = json.load(file)
        if saved["version"] != VERSION or not isinstance(saved["stages"], dict):
            raise KeyError("version")
        for key, chosen in saved["stages"].items():
            if not isinstance(chosen, dict):
                raise TypeError(f"{key!r} is {chosen!r}, and must be an object")
            for name in ("calls", "buffer"):
                n = chosen.get(name)
                if n is not None and (type(n) is not int or n < 0):
                    raise ValueError(f"{name!r} of {key!r} is {n!r}, and must be null, or an integer from 0 on")
    except FileNotFoundError as e:
        raise NotFoundError(f"options.autotune.frozen: {e}") from None
    except (ValueError, TypeError, KeyError) as e:
        raise InvalidArgumentError(f"options.autotune.frozen: {path} was not written by Report.freeze: {e!r}") from None
    return dict(saved["stages"])
