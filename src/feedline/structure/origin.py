"""Where rows that were read from a file lie there."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


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

    def slice(self, start: int, stop: int) -> Origin:
        """That of the rows start to stop."""
        return Origin(self.base, self.offsets[start:stop], self.makers)

    def take(self, index: Array) -> Origin:
        """That of the rows with these numbers."""
        return Origin(self.base, self.offsets.take(index), self.makers)

    def through(self, maker: Any) -> Origin:
        """That of what a node makes of the rows, one of each."""
        return Origin(self.base, self.offsets, (*self.makers, maker))
