"""Memory of batches that the results of calls are written into by the workers that made them.

A batch of large rows (images, say) is put together by copying each row once. Where workers make the rows, they copy
them as well: several at a time, each row while it is still in the cache, and its own memory is free for the next one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from feedline.plan.node import RowWise
from feedline.structure.block import Array, Block, concat_columns
from feedline.structure.memory import keeper

LARGE_ROW = 1 << 16
"""Columns with so many bytes a row are worth it."""

QUICK_ROW = 1 << 18
"""Rows of so many bytes are copied in about the time that a thread takes to wake up."""

Layout = list[tuple[tuple[int, ...], np.dtype[Any]] | None]


class Place(NamedTuple):
    """Rows of a batch, from `start` on: for each column the batch's memory, None where rows are not written there."""

    arrays: tuple[Array | None, ...]
    start: int

    def joined(self, parts: list[Block]) -> Block:
        """One block of parts that lie here one after another."""
        rows = sum(part.n for part in parts)
        here = slice(self.start, self.start + rows)
        columns = [
            concat_columns([part.columns[j] for part in parts]) if array is None else array[here]
            for j, array in enumerate(self.arrays)
        ]
        return Block(columns, rows, parts[0].tree)

    def goes_on(self, other: Place | None, rows: int) -> bool:
        """True when `other` is where the row after the first `rows` of this place belongs."""
        return other is not None and other.arrays is self.arrays and other.start == self.start + rows


def _copy(row: Array, place: Array) -> None:
    """Copies a row. NumPy hands the interpreter over for every copy of more than a few numbers, and where many threads
    want it, getting it back takes longer than copying a small picture; of a single thing it copies it does not.
    """
    if row.nbytes <= QUICK_ROW and row.flags.c_contiguous and place.flags.c_contiguous:
        one = np.dtype((np.void, row.nbytes))
        place.reshape(-1).view(one)[:] = row.reshape(-1).view(one)
    else:
        place[...] = row


class Landing:
    """The batch whose rows are being handed out to workers. Rows are numbered from the first one of an iteration, and
    every `rows` of them are a batch.
    """

    __slots__ = ("_arrays", "_batch", "_layout", "rows")

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._layout: Layout | None = None
        self.forget()

    def forget(self) -> None:
        """No batch has been begun."""
        self._batch: int | None = None
        self._arrays: tuple[Array | None, ...] = ()

    def learn(self, made: Block) -> None:
        """Looks at the first results."""
        if self._layout is None and made.n:
            self._layout = [
                (c.shape[1:], c.dtype)
                if isinstance(c, np.ndarray) and c.dtype.kind in "biufc" and c.nbytes >= LARGE_ROW * made.n
                else None
                for c in made.columns
            ]

    def room(self, number: int) -> int:
        """How many rows from `number` on belong to one batch."""
        return self.rows - number % self.rows

    @property
    def worth_it(self) -> bool:
        """True when results have large columns."""
        return self._layout is not None and any(self._layout)

    def place(self, number: int) -> Place:
        """Where row `number` belongs. Numbers must come in order."""
        batch, start = divmod(number, self.rows)
        if batch != self._batch:
            self._batch = batch
            self._arrays = tuple(
                None if like is None else keeper.empty((self.rows, *like[0]), like[1]) for like in self._layout or ()
            )
        return Place(self._arrays, start)


class Writer:
    """Writes the large leaves of results to a place: see `plan.function.Destination`."""

    __slots__ = ("_fits", "_place")

    def __init__(self, place: Place) -> None:
        self._place = place
        self._fits = [array is not None for array in place.arrays]

    def take(self, i: int, leaves: list[Any]) -> None:
        """Copies a result's arrays, those that belong to the batch to their row of it."""
        arrays, at = self._place.arrays, self._place.start + i
        for j, leaf in enumerate(leaves):
            if type(leaf) is not np.ndarray:
                if arrays[j] is not None:
                    self._fits[j] = False
                continue
            array = arrays[j]
            if array is None or leaf.shape != array.shape[1:] or leaf.dtype != array.dtype:
                self._fits[j] = False
                leaves[j] = leaf.copy()
            else:
                leaves[j] = row = array[at]
                _copy(leaf, row)

    def column(self, j: int, rows: int) -> Array | None:
        """The rows of a batch, if all of them have been written to it."""
        array, start = self._place.arrays[j], self._place.start
        return array[start : start + rows] if array is not None and self._fits[j] else None

    @property
    def fits(self) -> bool:
        """True when everything that belongs to the batch is there."""
        return all(fits for fits, array in zip(self._fits, self._place.arrays, strict=True) if array is not None)


def made_in_place(node: RowWise, block: Block, number: int, draws: Any, place: Place) -> tuple[Block, bool]:
    """As `node.applied`, with the rows in their place if they fit in there, and whether they do."""
    writer = Writer(place)
    with node.drawing(number, draws):
        made, lands = node.apply_into(block, writer)
    return made, lands and writer.fits
