"""How long rows are gathered before they are passed on.

A step that is asked for many rows returns those that arrive promptly and does not wait for the rest: its consumer would
wait too, while rows are available.
"""

from __future__ import annotations

from time import perf_counter

AT_ONCE = 2e-3
"""Rows that arrive within this many seconds are gathered into one block."""

SOON = 10e-3
"""How many seconds a user's function is called row by row before the remaining rows are left for the next block.
Consumers that ask for many rows plan for less, so this is rare.
"""

EACH = 50e-6
"""The least number of seconds that a prompt value counts for in `Pace`."""


def at_once() -> float:
    """The time until which rows are gathered, on the clock of `perf_counter`."""
    return perf_counter() + AT_ONCE


def soon() -> float:
    """The time until which a function is called row by row."""
    return perf_counter() + SOON


def late(until: float) -> bool:
    """Whether that time has passed."""
    return perf_counter() > until


class Pace:
    """How many values of a slow source may be gathered into one block. A value that had to be waited for has delayed
    those gathered before it; after that, values are passed on one by one until prompt ones have taken as long in total,
    counting at least `EACH` seconds each. The first few values are passed on one by one, too.
    """

    __slots__ = ("_began", "_wary")

    def __init__(self) -> None:
        self._began, self._wary = 0.0, AT_ONCE / 4

    def begin(self, want: int) -> tuple[int, float]:
        """How many of `want` values may be gathered, and until when."""
        self._began = perf_counter()
        return 1 if self._wary > 0.0 else want, self._began + AT_ONCE

    def end(self, count: int) -> None:
        """Records that `count` values have been gathered."""
        seconds = perf_counter() - self._began
        if count > 1 and seconds > 2 * AT_ONCE:
            self._wary = seconds
        elif self._wary > 0.0 and seconds < AT_ONCE:
            self._wary -= max(seconds, EACH)
