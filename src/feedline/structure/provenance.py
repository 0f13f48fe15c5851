"""Where rows that were read from a file lie there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_describers: list[Callable[[int], str]] = []


def register_describer(tell: Callable[[int], str]) -> None:
    """Says what puts the number of a row into words: `io.record_locations`, which stands above."""
    _describers.append(tell)


class Provenance:
    """Where rows come from: row i has the number `base + offsets[i]`, to which `io.record_locations` gives a meaning.
    `lineage` are the nodes that have made it of the row that is there, one after the other.
    """

    __slots__ = ("base", "lineage", "offsets")

    def __init__(self, base: int, offsets: Array, lineage: tuple[Any, ...] = ()) -> None:
        self.base, self.offsets, self.lineage = base, offsets, lineage

    def numbers(self) -> Array:
        """A number per row."""
        return self.offsets + self.base if self.base else self.offsets

    def place(self, row: int) -> str:
        """The file and the byte where a row begins, in words; empty for one that is in memory."""
        number = self.base + int(self.offsets[row])
        return _describers[0](number) if _describers and number >= 0 else ""

    def slice(self, start: int, stop: int) -> Provenance:
        """That of the rows start to stop."""
        return Provenance(self.base, self.offsets[start:stop], self.lineage)

    def take(self, index: Array) -> Provenance:
        """That of the rows with these numbers."""
        return Provenance(self.base, self.offsets.take(index), self.lineage)

    def through(self, node: object) -> Provenance:
        """That of what a node makes of the rows, one of each."""
        return Provenance(self.base, self.offsets, (*self.lineage, node))


    def with_lineage(self, lineage: tuple[Any, ...]) -> Provenance:
        """The same places, of which others have made the rows."""
        return Provenance(self.base, self.offsets, lineage)


class BatchProvenance:
    """Where the rows come from that a block's rows were stacked of: for its row i those of `provenance` from
    `starts[i]` to `starts[i + 1]`.
    """

    __slots__ = ("provenance", "starts")

    def __init__(self, provenance: Provenance, starts: Array) -> None:
        self.provenance, self.starts = provenance, starts

    @staticmethod
    def in_groups(provenance: Provenance | None, rows: int, size: int) -> BatchProvenance | None:
        """Those of so many rows in groups of `size`; None where they do not say where they come from."""
        return None if provenance is None else BatchProvenance(provenance, np.arange(0, rows + 1, size))

    def count(self, row: int) -> int:
        """How many rows a row was stacked of."""
        return int(self.starts[row + 1] - self.starts[row])

    def place(self, row: int, member: int) -> str:
        """Where one of the rows lies that a row was stacked of, in words."""
        return self.provenance.place(int(self.starts[row]) + member)

    def slice(self, start: int, stop: int) -> BatchProvenance:
        """Those of the rows start to stop."""
        return BatchProvenance(self.provenance, self.starts[start : stop + 1])

    def take(self, index: Array) -> BatchProvenance:
        """Those of the rows with these numbers."""
        first, counts = self.starts[:-1].take(index), np.diff(self.starts).take(index)
        starts = _starts(counts)
        rows = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        return BatchProvenance(self.provenance.take(rows), starts)

    @staticmethod
    def joined(parts: list[BatchProvenance]) -> BatchProvenance:
        """Those of the rows of several blocks, one after another."""
        numbers = [m.provenance.slice(int(m.starts[0]), int(m.starts[-1])).numbers() for m in parts]
        counts = np.concatenate([np.diff(m.starts) for m in parts])
        return BatchProvenance(Provenance(0, np.concatenate(numbers)), _starts(counts))


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
