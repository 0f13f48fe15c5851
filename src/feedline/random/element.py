"""Random numbers for user functions that do not depend on the thread or process, or on timing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from feedline.early import must_be_wanted
from feedline.errors import FailedPreconditionError
from feedline.random import seeds

Draws = tuple[int, int]
"""The origin of an iteration's generators: a seed, and the number of the iteration."""


class Epochs:
    """Counts the iterations of one step of a dataset; all iterators share it. `count` is all a checkpoint needs."""

    __slots__ = ("_own", "count", "used")

    def __init__(self) -> None:
        self.count = 0
        self.used = False
        self._own: int | None = None

    @property
    def moves(self) -> bool:
        """Whether the number of an iteration affects results: if a function has drawn random numbers."""
        return self.used

    def next(self) -> Draws:
        """The `Draws` of the iteration that begins now."""
        if self.moves:
            must_be_wanted()
        base = seeds.global_seed()
        with seeds.counting:
            if base is None:
                base = self._own = int.from_bytes(os.urandom(8), "big") >> 1 if self._own is None else self._own
            number = self.count
            if not uncounted.on:
                self.count += 1
        return base, number


class Uncounted(threading.local):
    """Context manager: iterations are not counted, for looking at a few elements of a dataset."""

    on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(self, *_: object) -> None:
        self.on = False


uncounted = Uncounted()


class DrawPosition(threading.local):
    """The position of the functions that run now in this thread."""

    now: seeds.DrawsFrom | None = None


position = DrawPosition()


@contextmanager
def drawing(number: int, draws: Draws | None, epochs: Epochs | None) -> Iterator[None]:
    """Context manager: functions draw the random numbers of the iteration's rows from `number` on."""
    outer = position.now  # of an outer function, if it iterates over this dataset
    position.now = None if draws is None else seeds.DrawsFrom(draws, number, epochs)
    try:
        yield
    finally:
        position.now = outer


def element_rng(seed: int | None = None) -> np.random.Generator:
    """The random generator of the element that a `map` or `filter` function is called for.

    >>> def noisy(x):
    ...     return x + fl.random.element_rng(seed=1).integers(100)
    >>> [int(x) for x in fl.Dataset.range(4).map(noisy)]
    [47, 98, 54, 99]
    >>> [int(x) for x in fl.Dataset.range(4).map(noisy, num_parallel_calls=4)]
    [47, 98, 54, 99]

    It is seeded by the seed, the number of the iteration and the number of the element, so a function that takes all
    its random numbers from it gives the same results with any number of threads or processes, and after a checkpoint.
    The next iteration over the same dataset gets other numbers. Without `seed` the seed is that of
    `fl.random.set_seed`, or a number from the operating system if none is set. All calls for one element return the
    same generator.
    """
    scope = seeds.current_scope()
    now = position.now if scope is None or scope.draws_from is None else scope.draws_from
    if now is None or scope is None or scope.finished is None:
        raise FailedPreconditionError(
            "element_rng: there is no current element; call it inside a function passed to map or filter"
        )
    if now.epochs is not None:
        now.epochs.used = True
    base, epoch = now.draws
    row = now.first + len(scope.finished)
    if scope.made is None or scope.made[0] != row:
        scope.made = row, {}
    given = scope.made[1]
    if seed not in given:
        given[seed] = np.random.default_rng([v % 2**64 for v in (base if seed is None else seed, epoch, row)])
    return given[seed]
