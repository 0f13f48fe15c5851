"""Provenance: where in a file rows were read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_describers: list[Callable[[int], str]] = []


def register_describer(tell: Callable[[int], str]) -> None:
    """Registers the function that describes a row's number: that of `io.record_locations`, a higher layer."""
    _describers.append(tell)


class Provenance:
    """The provenance of rows: row i has the number `base + offsets[i]`, which `io.record_locations` maps to a file and
    a byte. `lineage` are the nodes that have made the row from the record there, in order.
    """

    __slots__ = ("base", "lineage", "offsets")

    def __init__(self, base: int, offsets: Array, lineage: tuple[Any, ...] = ()) -> None:
        self.base, self.offsets, self.lineage = base, offsets, lineage

    def numbers(self) -> Array:
        """The record location of each row."""
        return self.offsets + self.base if self.base else self.offsets

    def place(self, row: int) -> str:
        """A description of the file and the byte where a row begins; empty for a row that is in memory."""
        number = self.base + int(self.offsets[row])
        return _describers[0](number) if _describers and number >= 0 else ""

    def slice(self, start: int, stop: int) -> Provenance:
        """The provenance of rows start to stop."""
        return Provenance(self.base, self.offsets[start:stop], self.lineage)

    def take(self, index: Array) -> Provenance:
        """The provenance of the rows with these numbers."""
        return Provenance(self.base, self.offsets.take(index), self.lineage)

    def through(self, node: object) -> Provenance:
        """The provenance of the rows that a node makes, one of each."""
        return Provenance(self.base, self.offsets, (*self.lineage, node))


    def with_lineage(self, lineage: tuple[Any, ...]) -> Provenance:
        """The same locations with another lineage."""
        return Provenance(self.base, self.offsets, lineage)


class BatchProvenance:
    """The provenance of the rows in each batch: row i of a block was stacked from the rows `starts[i]` to `starts[i +
    1]` of `provenance`.
    """

    __slots__ = ("provenance", "starts")

    def __init__(self, provenance: Provenance, starts: Array) -> None:
        self.provenance, self.starts = provenance, starts

    @staticmethod
    def in_groups(provenance: Provenance | None, rows: int, size: int) -> BatchProvenance | None:
        """The batch provenance of `rows` rows in groups of `size`; None if the rows have no provenance."""
        return None if provenance is None else BatchProvenance(provenance, np.arange(0, rows + 1, size))

    def count(self, row: int) -> int:
        """The number of rows in a batch."""
        return int(self.starts[row + 1] - self.starts[row])

    def place(self, row: int, member: int) -> str:
        """A description of where one of the rows in a batch lies."""
        return self.provenance.place(int(self.starts[row]) + member)

    def slice(self, start: int, stop: int) -> BatchProvenance:
        """The batch provenance of rows start to stop."""
        return BatchProvenance(self.provenance, self.starts[start : stop + 1])

    def take(self, index: Array) -> BatchProvenance:
        """The batch provenance of the rows with these numbers."""
        first, counts = self.starts[:-1].take(index), np.diff(self.starts).take(index)
        starts = _starts(counts)
        rows = np.repeat(first - starts[:-1], counts) + np.arange(starts[-1])
        return BatchProvenance(self.provenance.take(rows), starts)

    @staticmethod
    def joined(parts: list[BatchProvenance]) -> BatchProvenance:
        """The batch provenance of several blocks, in order."""
        numbers = [m.provenance.slice(int(m.starts[0]), int(m.starts[-1])).numbers() for m in parts]
        counts = np.concatenate([np.diff(m.starts) for m in parts])
        return BatchProvenance(Provenance(0, np.concatenate(numbers)), _starts(counts))


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
