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

    def through(self, maker: object) -> Origin:
        """That of what a node makes of the rows, one of each."""
        return Origin(self.base, self.offsets, (*self.makers, maker))


    def with_makers(self, makers: tuple[Any, ...]) -> Origin:
        """The same places, of which others have made the rows."""
        return Origin(self.base, self.offsets, makers)


class Members:
    """Where the rows come from that a block's rows were stacked of: for its row i those of `origin` from `starts[i]` to
    `starts[i + 1]`.
    """

    __slots__ = ("origin", "starts")

    def __init__(self, origin: Origin, starts: Array) -> None:
        self.origin, self.starts = origin, starts

    @staticmethod
    def in_groups(origin: Origin | None, rows: int, size: int) -> Members | None:
        """Those of so many rows in groups of `size`; None where they do not say where they come from."""
        return None if origin is None else Members(origin, np.arange(0, rows + 1, size))

    def count(self, row: int) -> int:
        """How many rows a row was stacked of."""
        return int(self.starts[row + 1] - self.starts[row])

    def place(self, row: int, member: int) -> str:
        """Where one of the rows lies that a row was stacked of, in words."""
        return self.origin.place(int(self.starts[row]) + member)

    def slice(self, start: int, stop: int) -> Members:
        """Those of the rows start to stop."""
        return Members(self.origin, self.starts[start : stop + 1])

    def take(self, index: Array) -> Members:
        """Those of the rows with these numbers."""
        first, counts = self.starts[:-1].take(index), np.diff(self.starts).take(index)
        starts = _starts(counts)
        rows = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        return Members(self.origin.take(rows), starts)

    @staticmethod
    def joined(parts: list[Members]) -> Members:
        """Those of the rows of several blocks, one after another."""
        numbers = [m.origin.slice(int(m.starts[0]), int(m.starts[-1])).numbers() for m in parts]
        counts = np.concatenate([np.diff(m.starts) for m in parts])
        return Members(Origin(0, np.concatenate(numbers)), _starts(counts))


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
