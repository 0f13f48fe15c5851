"""A progress bar with rate and time left, on stderr, in terminals, for work that takes longer than a second."""

from __future__ import annotations

import os
import sys
import threading
import time

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from feedline.data.watching import clock
from feedline.tools.shared.output import console
from feedline.tools.shared.text import shortened, size_of

PATIENCE_S = 1.0
EVERY_S = 0.1
BAR, LEAST = 24, 4
"""The characters of a bar, and the fewest in a narrow window; if these do not fit, there is only the text."""
WORDS, AMOUNT = 30, 46
"""The most characters before the bar, and the number that is reserved for the text behind it."""


class StoppedError(Exception):
    """Raised in work that was stopped because its results are no longer needed."""


class Meter:
    """Shows how much of `total` bytes (or `unit`s; None: unknown) is done. Threads may share one, and it can stop them.

    >>> from feedline.tools.shared.meter import Meter
    >>> with Meter("reading", 100) as meter:
    ...     meter.add(50)
    >>> meter.done
    50
    """

    def __init__(self, what: str, total: int | None, unit: str = "") -> None:
        self.done = 0
        self._stopped = False
        self._what, self._total, self._unit = what, total, unit
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("FEEDLINE_PROGRESS") != "0"
        self._began = time.monotonic()
        self._next = self._began + PATIENCE_S if shown else float("inf")

    def add(self, done: int) -> None:
        """Adds to what is done; raises `StoppedError` if the work is no longer needed."""
        if self._stopped:
            raise StoppedError
        with self._lock:
            self.done += done
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + EVERY_S
                self._show()

    def stop(self) -> None:
        """Makes the threads that report to it end."""
        self._stopped = True

    def _show(self) -> None:
        if self._bar is None:
            what, screen, amount = shortened(self._what, WORDS), console(sys.stderr), _Amount(self._unit, self._began)
            behind = max(AMOUNT, len(amount.text(self.done, self._total)))
            room = min(BAR, screen.width - len(what) - behind - 2)
            bar = [BarColumn(room)] if room >= LEAST else []
            self._bar = Progress(
                TextColumn("{task.description}", markup=False), *bar, amount,
                console=screen, auto_refresh=False, transient=True,
            )  # fmt: skip
            self._bar.start()
            self._bar.add_task(what, total=self._total)
        self._bar.update(self._bar.task_ids[0], completed=self.done, refresh=True)

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


class _Amount(ProgressColumn):
    """What is done of the total, the rate, and the time that is left."""

    def __init__(self, unit: str, began: float) -> None:
        super().__init__(Column(no_wrap=True))
        self._unit, self._began = unit, began

    def render(self, task: Task) -> Text:
        """The text behind the bar."""
        return Text(self.text(task.completed, task.total))

    def text(self, done: float, total: float | None) -> str:
        """How much is done of how much, how fast, and the time that is left."""
        rate = done / max(1e-9, time.monotonic() - self._began)
        whole = "" if total is None else f" of {self._size(total)}"
        left = "" if total is None or not rate else f"  {clock(max(0.0, total - done) / rate)} left"
        return f"{self._size(done)}{whole}  {self._size(rate)}/s{left}"

    def _size(self, n: float) -> str:
        return f"{n:,.0f} {self._unit}" if self._unit else size_of(n)
