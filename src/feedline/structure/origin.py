"""Where rows that were read from a file lie there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_tellers: list[Callable[[int], str]] = []


def register_teller(tell: Callable[[int], str]) -> None:
    """Says what puts the number of a row into words: `io.places`, which stands above."""
    _tellers.append(tell)


class Origin:
    """Where rows come from: row i has the number `base + offsets[i]`, to which `io.places` gives a meaning. `makers`
    are the nodes that have made it of the row that is there, one after the other.
    """

    __slots__ = ("base", "makers", "offsets")

    def __init__(self, base: int, offsets: Array, makers: tuple[Any, ...] = ()) -> None:
        self.base, self.offsets, self.makers = base, offsets, makers

    def numbers(self) -> Array:
        """A number per row."""
        return self.offsets + self.base if self.base else self.offsets

    def place(self, row: int) -> str:
        """The file and the byte where a row begins, in words; empty for one that is in memory."""
        number = self.base + int(self.offsets[row])
        return _tellers[0](number) if _tellers and number >= 0 else ""

    def slice(self, start: int, stop: int) -> Origin:
        """That of the rows start to stop."""
        return Origin(self.base, self.offsets[start:stop], self.makers)

    def take(self, index: Array) -> Origin:
        """That of the rows with these numbers."""
        return Origin(self.base, self.offsets.take(index), self.makers)

    def through(self, maker: Any) -> Origin:
        """That of what a node makes of the rows, one of each."""
        return Origin(self.base, self.offsets, (*self.makers, maker))
