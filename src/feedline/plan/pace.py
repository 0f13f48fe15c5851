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
