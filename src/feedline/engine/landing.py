"""Memory of batches that the results of calls are written into by the workers that made them.

A batch of large rows (images, say) is put together by copying each row once. Where workers make the rows, they copy
them as well: several at a time, each row while it is still in the cache, and its own memory is free for the next one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from feedline.plan.node import RowFailed, RowWise
from feedline.structure.block import Array, Block, concat, concat_columns
from feedline.structure.memory import keeper

LARGE_ROW = 1 << 16
"""Columns with so many bytes a row are worth it."""

Layout = list[tuple[tuple[int, ...], np.dtype[Any]] | None]


class Place(NamedTuple):
    """Rows of a batch, from `start` on: for each column the batch's memory, None where rows are not written there."""

    arrays: tuple[Array | None, ...]
    start: int

    def put(self, row: Block, i: int) -> Block | None:
        """A block of one row, with the large columns written to the place's row i; None where they are not like the
        rows before.
        """
        at = self.start + i
        columns = list(row.columns)
        if row.n != 1 or len(columns) != len(self.arrays):
            return None
        for j, (column, array) in enumerate(zip(columns, self.arrays, strict=True)):
            if array is None:
                continue
            if not isinstance(column, np.ndarray) or column.shape[1:] != array.shape[1:] or column.dtype != array.dtype:
                return None
            columns[j] = array[at : at + 1]
            columns[j][...] = column
        return Block(columns, 1, row.tree)

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


def made_in_place(node: RowWise, block: Block, number: int, draws: Any, place: Place) -> tuple[Block, bool]:
    """As `node.applied`, row by row, with the rows in their place if they fit in there, and whether they do."""
    done: list[Block] = []
    lands = True
    for i in range(block.n):
        try:
            row = node.applied(block.slice(i, i + 1), number + i, draws)
        except RowFailed as failed:
            raise RowFailed(i, concat(done) if done else None, failed.error, failed.path) from None
        landed = place.put(row, i) if lands else None
        lands = landed is not None
        done.append(landed or row)
    return (place.joined(done), True) if lands else (concat(done), False)
