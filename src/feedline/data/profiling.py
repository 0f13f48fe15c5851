"""`Dataset.profile` and `fl.trace`: runs that are recorded."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

from feedline.engine.context import contexts, live_members
from feedline.engine.recorder import Recorder, recording
from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.plan.arguments import positive
from feedline.reports.measured import Report
from feedline.reports.trace_file import trace_events
from feedline.train.files import on_disk, write

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer


def profile(self: Dataset[Any], steps: Integer | None = None, seconds: float = 5.0) -> Report:
    """Runs the dataset in a loop that does nothing, and returns a report with a timeline: how fast it is, which step
    limits it, and what would help.

    >>> report = fl.Dataset.range(1000).map(lambda x: x + 1).batch(100).profile(steps=5)
    >>> report.elements
    5

    It stops after `steps` elements, after about `seconds`, or at the end. Functions are called as in any iteration. The
    report prints as a table, notebooks draw it, and `report.html("report.html")` writes it as a page.
    """
    most = None if steps is None else positive(steps, "steps", "profile")
    if not seconds > 0:
        raise InvalidArgumentError(f"profile: seconds must be greater than zero, got {seconds}")
    with iter(self) as it:
        recorder = it._context.recorder
        own = None
        if recorder is None:
            own = it._context.recorder = Recorder()
            own.start()
        try:
            until = perf_counter() + seconds
            for got, _ in enumerate(it, 1):
                if got == most or perf_counter() >= until:
                    break
            return it.report()
        finally:
            if own is not None:
                own.stop()


class trace:
    """Context manager: records what all iterators do meanwhile, and writes it as a file of trace events, which Perfetto
    (ui.perfetto.dev) and chrome://tracing show: which thread worked at which step, and who waited for whom.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/run.json"
    >>> with fl.trace(path):
    ...     for batch in fl.Dataset.range(1000).batch(100):
    ...         pass

    Reports of these iterators have a timeline, too. It records at most 400,000 pieces of work; those that take less
    than 50 µs are left out.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = on_disk(path, "trace")
        self._recorder = Recorder()
        self._began = 0.0

    def __enter__(self) -> trace:
        if recording.recorder is not None:
            raise FailedPreconditionError("trace: another trace is being recorded; end it first")
        recording.recorder, self._began = self._recorder, perf_counter()
        for context in live_members(contexts):
            context.recorder = self._recorder
        self._recorder.start()
        return self

    def __exit__(self, *_: object) -> None:
        recording.recorder = None
        self._recorder.stop()
        for context in live_members(contexts):
            if context.recorder is self._recorder:
                context.recorder = None
        write(self._path, trace_events(self._recorder.timeline(self._began), self._recorder.lost), "trace")
