"""How long rows are gathered before they are handed on.

A step that is asked for many rows gives those that come at once, and does not wait for the others: whoever asked for
them would have to wait as well, with rows at hand.
"""

from __future__ import annotations

from time import perf_counter

AT_ONCE = 2e-3
"""Rows that come within so many seconds are gathered into one block."""

SOON = 10e-3
"""So many seconds a function of the user's is called for one row after the other; the rows that are left by then are
kept for the next block. It is longer than whoever asks for many rows plans for, so that this is rare.
"""


def at_once() -> float:
    """Until when rows are gathered, as `perf_counter` counts."""
    return perf_counter() + AT_ONCE


def soon() -> float:
    """Until when a function is called for one row after the other."""
    return perf_counter() + SOON


def late(until: float) -> bool:
    """True when that time is over."""
    return perf_counter() > until


EACH = 50e-6


class Pace:
    """How many values of a source in a row come at once. One that had to be waited for has kept back those gathered
    before it; after that values are handed on one by one, until those that came at once have taken as long together, at
    `EACH` seconds or more for each. So are the first few of all.
    """

    __slots__ = ("_began", "_wary")

    def __init__(self) -> None:
        self._began, self._wary = 0.0, AT_ONCE / 4

    def begin(self, want: int) -> tuple[int, float]:
        """How many of so many values may be gathered, and until when."""
        self._began = perf_counter()
        return 1 if self._wary > 0.0 else want, self._began + AT_ONCE

    def end(self, count: int) -> None:
        """So many values have been gathered."""
        seconds = perf_counter() - self._began
        if count > 1 and seconds > 2 * AT_ONCE:
            self._wary = seconds
        elif self._wary > 0.0 and seconds < AT_ONCE:
            self._wary -= max(seconds, EACH)
