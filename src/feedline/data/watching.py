"""`Dataset.monitor` and `fl.progress`: reports and progress bars of a running iteration."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TextIO, TypeVar

from feedline.errors import InvalidArgumentError
from feedline.reports.measured import Report
from feedline.reports.text import count

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T

E = TypeVar("E")

EVERY = 0.1
BAR = 24


class LiveText:
    """Lines on a terminal that are rewritten in place. Elsewhere only the last ones are written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.live = stream.isatty()
        self._lines = 0

    def show(self, text: str, last: bool = False) -> None:
        """Replaces what is shown."""
        if not (self.live or last):
            return
        lines = text.splitlines()
        if self.live:
            size = shutil.get_terminal_size()
            if not last:  # what has scrolled out of the screen cannot be rewritten
                lines = [part for line in lines for part in fitted(line, size.columns - 1)][: size.lines - 1]
            up = f"\x1b[{self._lines}F" if self._lines else ""
            text = up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J"
        else:
            text = "".join(f"{line}\n" for line in lines)
        self._lines = len(lines)
        print(text, end="", file=self.stream, flush=True)


def standard_error() -> TextIO:
    """Where progress is shown; nowhere if the program has no standard error, as under `pythonw`."""
    return sys.stderr if sys.stderr is not None else io.StringIO()


def fitted(line: str, width: int) -> list[str]:
    """A line in a narrow terminal: a row of a table is cut off, a sentence is continued on the next line.

    >>> from feedline.data.watching import fitted
    >>> fitted("2 map  threads  655", 10), fitted("step 2 map limits it", 10)
    (['2 map  th…'], ['step 2 map', 'limits it'])
    """
    if len(line) <= width:
        return [line]
    return [line[: width - 1] + "…"] if "  " in line else textwrap.wrap(line, width)


class NotebookText:
    """The output of a notebook's cell, in which a report is drawn again and again."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None

    def show(self, report: Report) -> None:
        """Replaces what is shown."""
        if self._handle is None:
            self._handle = self._display(report, display_id=True)
        else:
            self._handle.update(report)


class Monitored(Generic[E]):
    """What `Dataset.monitor` returns: each loop over it shows its report while it runs."""

    def __init__(self, dataset: Dataset[E], every: float, stream: TextIO | None) -> None:
        self._dataset, self._every, self._stream = dataset, every, stream

    def __len__(self) -> int:
        return len(self._dataset)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[E]:
        show = shown_in(self._stream if self._stream is not None else standard_error(), self._stream is None)
        done = threading.Event()
        with iter(self._dataset) as it:

            def watch() -> None:
                while not done.wait(self._every):
                    show(it.report(), False)

            worker = it._context.worker(watch, "monitor")
            it._context.start(worker)
            try:
                yield from it
            finally:
                done.set()
                worker.join()
                show(it.report(), True)


def shown_in(stream: TextIO, notebook: bool) -> Callable[[Report, bool], None]:
    """A function that shows a report, and then the next one in its place: in a notebook's cell, or on a terminal."""
    display = sys.modules.get("IPython.display")
    kernel = sys.modules.get("ipykernel.zmqshell")
    if notebook and display is not None and kernel is not None:
        cell = NotebookText(display.display)
        return lambda report, last: cell.show(report)
    text = LiveText(stream)
    return lambda report, last: text.show(repr(report), last)


def monitor(self: Dataset[T], every: float = 0.5, file: TextIO | None = None) -> Monitored[T]:
    """The dataset for a loop that is watched: the iterator's report is shown in the terminal, or under the notebook's
    cell, and renewed while the loop runs.

    >>> import io
    >>> shown = io.StringIO()
    >>> for batch in fl.Dataset.range(1000).batch(100).monitor(file=shown):
    ...     pass
    >>> "2 batch" in shown.getvalue()
    True

    `every` is the number of seconds between two reports. If `file`, by default `sys.stderr`, is not a terminal, the
    report is written once, at the end.
    """
    if not every > 0:
        raise InvalidArgumentError(f"monitor: every must be greater than zero, got {every}")
    return Monitored(self, every, file)


class progress(Generic[E]):
    """Shows how far a loop has come: elements, rate, and the time that is left if the length is known.

    >>> import io
    >>> shown = io.StringIO()
    >>> for batch in fl.progress(fl.Dataset.range(1000).batch(100), file=shown):
    ...     pass
    >>> "10/10" in shown.getvalue()
    True

    `of` is a dataset, an iterator, or anything else to loop over; `total` is its length, if it does not know it itself.
    If `file`, by default `sys.stderr`, is not a terminal, one line is written at the end. tqdm knows the length of
    datasets and their iterators, too.
    """

    def __init__(
        self, of: Iterable[E], total: int | None = None, desc: str = "", file: TextIO | None = None
    ) -> None:
        self._of, self._desc, self._file = of, desc, file
        self._total = total

    def __len__(self) -> int:
        if self._total is not None:
            return self._total
        n = length_hint(self._of, -1)
        if n < 0:
            raise TypeError("progress: the length is not known; give it as total")
        return n

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[E]:
        text = LiveText(self._file if self._file is not None else standard_error())
        total = self._total if self._total is not None else length_hint(self._of, -1)
        began, done, again = perf_counter(), 0, 0.0
        try:
            for element in self._of:
                yield element
                done += 1
                now = perf_counter()
                if text.live and now >= again:
                    again = now + EVERY
                    text.show(progress_text(self._desc, done, total, now - began))
        finally:
            text.show(progress_text(self._desc, done, total, perf_counter() - began), last=True)


def progress_text(desc: str, done: int, total: int, seconds: float) -> str:
    """A line that says how far a loop has come."""
    rate = done / seconds if seconds > 0 else 0.0
    head = f"{desc}: " if desc else ""
    if total < 0:
        return f"{head}{done:,} [{clock(seconds)}, {count(rate)}/s]"
    full = min(BAR, BAR * done // max(1, total))
    left = clock(max(0, total - done) / rate) if rate else "?"
    share = f"{min(1.0, done / max(1, total)):4.0%}"
    bar = "━" * full + "─" * (BAR - full)
    return f"{head}{share} {bar} {done:,}/{total:,} [{clock(seconds)} < {left}, {count(rate)}/s]"


def clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
