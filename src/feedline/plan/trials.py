"""Trials of users' functions with larger elements: how often they may go round in loops over values.

A function that pairs each value with every other takes ten thousand times as long for an element that is a hundred
times as large. So the tensors of `feedline.tf`, which know of such loops, count their turns in a trial, and end it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_TURNS = 2000


class TooManyTurns(RuntimeError):
    """A function goes round too often for a trial."""


class _Trial(threading.local):
    turns: int | None = None


_trial = _Trial()


@contextmanager
def limited() -> Iterator[None]:
    """Limits the turns of all loops of the functions that are called inside."""
    before, _trial.turns = _trial.turns, MOST_TURNS
    try:
        yield
    finally:
        _trial.turns = before


def count_turns(number: int = 1) -> None:
    """Counts turns of a loop, before they are made."""
    left = _trial.turns
    if left is not None:
        if left < number:
            raise TooManyTurns(f"more than {MOST_TURNS} turns in a trial")
        _trial.turns = left - number
