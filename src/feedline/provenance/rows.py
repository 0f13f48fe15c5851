"""The provenance of rows: where in files they were read, and what has made them from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline.provenance.files import Held, file_at

Array = np.ndarray[Any, Any]


class Provenance:
    """The provenance of rows: row i was read at the location `base + offsets[i]` (see `provenance.files`), and `files`
    holds the numbers of the files. `lineage` are the nodes that have made the row from the record there, in order.
    Negative locations stand for rows in memory.
    """

    __slots__ = ("base", "files", "lineage", "offsets")

    def __init__(self, base: int, offsets: Array, files: Held = (), lineage: tuple[Any, ...] = ()) -> None:
        self.base, self.offsets, self.files, self.lineage = base, offsets, files, lineage

    def numbers(self) -> Array:
        """The record location of each row."""
        return self.offsets + self.base if self.base else self.offsets

    def place(self, row: int) -> str:
        """A description of the file and the byte where a row begins; empty for a row that is in memory, and in a
        process that has not read the file.
        """
        number = self.base + int(self.offsets[row])
        if number < 0 or not self.files:
            return ""
        file, offset = file_at(number)
        return file.describe(offset)

    def slice(self, start: int, stop: int) -> Provenance:
        """The provenance of rows start to stop."""
        return Provenance(self.base, self.offsets[start:stop], self.files, self.lineage)

    def take(self, index: Array) -> Provenance:
        """The provenance of the rows with these numbers."""
        return Provenance(self.base, self.offsets.take(index), self.files, self.lineage)

    def through(self, node: object) -> Provenance:
        """The provenance of the rows that a node makes, one of each."""
        return Provenance(self.base, self.offsets, self.files, (*self.lineage, node))

    def with_lineage(self, lineage: tuple[Any, ...]) -> Provenance:
        """The same locations with another lineage."""
        return Provenance(self.base, self.offsets, self.files, lineage)

    @staticmethod
    def joined(parts: Sequence[Provenance | None]) -> Provenance | None:
        """The provenance of several blocks, in order; None if one has none, or their lineages differ."""
        known = [p for p in parts if p is not None]
        if not known or len(known) < len(parts) or any(p.lineage != known[0].lineage for p in known):
            return None
        return Provenance(0, np.concatenate([p.numbers() for p in known]), held(known), known[0].lineage)

    def __reduce__(self) -> Any:
        return Provenance, (self.base, self.offsets, (), self.lineage)  # other processes have other numbers


def held(parts: Sequence[Provenance]) -> Held:
    """The numbers that any of these holds."""
    first = parts[0].files
    if all(p.files is first for p in parts):
        return first
    return tuple(dict.fromkeys(file for p in parts for file in p.files))


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
        rows = [m.provenance.slice(int(m.starts[0]), int(m.starts[-1])) for m in parts]
        counts = np.concatenate([np.diff(m.starts) for m in parts])
        return BatchProvenance(Provenance(0, np.concatenate([r.numbers() for r in rows]), held(rows)), _starts(counts))


def _starts(counts: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
