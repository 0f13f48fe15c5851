"""Sampling: which pieces of work are measured, so that measuring takes a small share of the time only.

A piece that is measured stands for those before it that were not. The next one is measured after a pause: so long that
the cost of measuring, which is itself measured once per process, stays below `SHARE` of the time that passes. Pieces
that take longer than `ALL` are all measured, and of those that take a microsecond one in several thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter, perf_counter_ns, thread_time
from typing import NamedTuple

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not Linux

    def pauses() -> int:
        """How often this thread has paused by itself, to wait for something; grows on systems that do not tell."""
        return perf_counter_ns()
else:

    def pauses() -> int:
        """How often this thread has paused by itself, to wait for something; not counted if another one took its
        processor away.
        """
        return getrusage(RUSAGE_THREAD).ru_nvcsw


SHARE = 0.001
RECORDED_SHARE = 0.003
"""The share of the time that one place in the code may spend on measuring; the second while a timeline is recorded."""
LONGEST_PAUSE = 8190
CLOSELY_EVERY = 8
ALL = 2e-3
"""The seconds of pieces that are all measured, since what that costs is little beside them."""
LONG = 1e-3
"""Of the pieces that are measured, one in `CLOSELY_EVERY` is measured closely, with its processor time; and each one
after a piece that took longer than `LONG` seconds.
"""


class MeasuringCosts(NamedTuple):
    """About how many seconds it takes to measure one piece of work: with the clock, and closely."""

    clock: float
    closely: float


@cache
def costs() -> MeasuringCosts:
    """What measuring costs in this process: code that runs seldom is slow, so much more than reading the clocks."""
    clock = 3.5e-6 + 10 * _least(perf_counter)
    return MeasuringCosts(clock, clock + 4 * _least(thread_time) + 2 * _least(pauses))


def _least(call: Callable[[], float]) -> float:
    found = []
    for _ in range(5):
        began = perf_counter()
        call()
        found.append(perf_counter() - began)
    return min(found)


class Sampling:
    """Decides which pieces of work of one kind are measured. `closely` says how the next one is to be measured."""

    __slots__ = ("_each", "_last", "_measured", "_passed", "_pieces", "closely")

    def __init__(self) -> None:
        self._passed = self._pieces = self._measured = 0
        self._last = self._each = 0.0
        self.closely = True

    def stands_for(self, began: float, ended: float) -> tuple[int, float]:
        """Notes that a piece was measured. Returns for how many pieces it stands, and for how many times its seconds:
        together they took no more than has passed since the last one.
        """
        times, seconds = self._passed + 1, max(ended - began, 1e-9)
        since = ended - (self._last or began)
        self._pieces += times
        self._measured += 1
        self._last, self._each = ended, since / times if self._measured > 1 else seconds
        self.closely = seconds > LONG or not self._measured % CLOSELY_EVERY
        return times, min(times, max(since / seconds, 1.0))

    def pause(self, cost: float, recorded: bool) -> int:
        """The number of next pieces that are not measured, if measuring one costs `cost` seconds. It is even, so that
        all positions of a pattern whose length is a power of two are measured; and at most a quarter of the pieces so
        far, so that few pieces follow the last one measured.
        """
        share = RECORDED_SHARE if recorded else SHARE
        pause = 0 if self._each > ALL else int(cost / (share * max(self._each, 1e-9)))
        self._passed = min(LONGEST_PAUSE, self._pieces // 4, pause) & ~1
        return self._passed
