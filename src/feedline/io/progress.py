"""Progress of long work: a line on stderr, for work that turns out to be long."""

from __future__ import annotations

import os
import sys
import threading
import time

PATIENCE_S = 2.0
"""Seconds within which work shows nothing."""

EVERY_S = 0.2
_LARGE = ("B", "kB", "MB", "GB", "TB")


class Progress:
    """Shows on one line of a terminal how many of `total` bytes are done. Thread-safe.

    `shown` True or False decides; None leaves it to the environment variable FEEDLINE_PROGRESS (1 or 0), and if that is
    not set, to whether stderr is a terminal.

    >>> from feedline.io.progress import Progress
    >>> with Progress("reading", 1000, shown=False) as progress:
    ...     progress.add(500)
    >>> progress.text()
    'reading: 500 B of 1.0 kB'
    """

    def __init__(self, what: str, total: int, shown: bool | None = None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._shown = _wanted() if shown is None else shown
        self._lock = threading.Lock()
        self._next = time.monotonic() + PATIENCE_S
        self._wrote = 0

    def add(self, done: int) -> None:
        """Adds `done` bytes."""
        with self._lock:
            self._done += done
            if self._shown and time.monotonic() >= self._next:
                self._next = time.monotonic() + EVERY_S
                self._write(self.text())

    def text(self) -> str:
        """The line to show."""
        return f"{self._what}: {_amount(self._done)} of {_amount(self._total)}"

    def _write(self, text: str) -> None:
        print(f"\r{text:<{self._wrote}}", end="", file=sys.stderr, flush=True)
        self._wrote = len(text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._wrote:
            self._write(self.text())
            print(file=sys.stderr, flush=True)


def _wanted() -> bool:
    setting = os.environ.get("FEEDLINE_PROGRESS", "")
    return setting != "0" if setting else sys.stderr is not None and sys.stderr.isatty()


def _amount(n: int) -> str:
    amount, unit = float(n), 0
    while amount >= 1000 and unit < len(_LARGE) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_LARGE[unit]}" if unit else f"{n} B"
