"""Batch buffers: the memory of batches, into which workers write their results.

Putting together a batch of large rows (images, say) copies each row once. Here the workers do it: in parallel, each row
while it is in the cache, and its memory is free for the next; and rows made by another process need no other way back.

With the environment variable `FEEDLINE_BATCH_BUFFERS=off` batches are put together as elsewhere.
`bench/micro/memory.py` shows what that costs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline.kernels import stack_rows
from feedline.plan.aliasing import VALUES, is_unshared, settled
from feedline.plan.row_wise import FunctionCalls, RowWise, with_lineage
from feedline.provenance.rows import Provenance
from feedline.random.element import drawing
from feedline.structure.block import Array, Block, concat_columns
from feedline.structure.buffer_pool import address, buffers

ENABLED: bool = os.environ.get("FEEDLINE_BATCH_BUFFERS") != "off"

LARGE_ROW = 1 << 16
"""Columns with at least this many bytes per row are written to the batch directly by threads."""

SHARED_ROW = 1 << 9
"""The same for processes, whose rows would be copied twice more on another way."""

AT_ONCE = 1 << 20
"""Rows are copied once they have this many bytes together: with many threads, getting the GIL back takes longer than
copying one small image, and more bytes would not stay in the cache of their processor.
"""

MOST_TASKS = 64
"""A batch that would otherwise be so many tasks is divided, even if workers put batches together."""

Allocate = Callable[[tuple[int, ...], np.dtype[Any]], Array | None]
"""An allocator of batch memory, called like `np.empty`; returns None if there is none left."""

Layout = list[tuple[tuple[int, ...], np.dtype[Any]] | None]
"""The shape and dtype of the rows of each column; None if they are not numbers, or differ in shape."""


class BatchSlot(NamedTuple):
    """The rows of a batch from `start` on: the batch's memory for each column, None if rows are not written to it."""

    arrays: tuple[Array | None, ...]
    start: int

    def joined(self, parts: list[Block]) -> Block:
        """Joins parts that lie in this slot one after another."""
        rows = sum(part.n for part in parts)
        here = slice(self.start, self.start + rows)
        columns = [
            concat_columns([part.columns[j] for part in parts]) if array is None else array[here]
            for j, array in enumerate(self.arrays)
        ]
        return Block(columns, rows, parts[0].tree, Provenance.joined([part.provenance for part in parts]))

    def continues(self, other: BatchSlot | None, rows: int) -> bool:
        """Whether `other` begins right after the first `rows` rows of this slot."""
        return other is not None and other.arrays is self.arrays and other.start == self.start + rows


class BatchAllocator:
    """Allocates the batch whose rows are being assigned to workers. Rows are numbered from the first one of an
    iteration; every `rows` of them are a batch.
    """

    __slots__ = ("_arrays", "_batch", "_layout", "_least", "_memory", "_whole", "rows")

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._memory: Allocate | None = buffers.empty
        self._least = LARGE_ROW
        self._layout: Layout | None = None
        self._whole = False
        self.forget()

    def forget(self) -> None:
        """Drops the current batch."""
        self._batch: int | None = None
        self._arrays: tuple[Array | None, ...] = ()

    def use(self, memory: Allocate | None = buffers.empty, least: int = LARGE_ROW, whole: bool = False) -> None:
        """Sets the allocator for batches from now on, and the least bytes of a row that is written to them; with None
        they are put together as usual, or, if tasks are `whole` batches, by the workers, in memory of their own.
        """
        self.forget()
        self._memory, self._least, self._whole = memory, least, whole

    def learn(self, made: Block) -> None:
        """Takes the layout of rows from the first results."""
        if self._layout is None and made.n:
            self._layout = [
                (c.shape[1:], c.dtype)
                if isinstance(c, np.ndarray) and c.dtype.kind in "biufc"
                else None
                for c in made.columns
            ]

    def room(self, number: int) -> int:
        """The number of rows from `number` to the end of its batch."""
        return self.rows - number % self.rows

    @property
    def worth_it(self) -> bool:
        """Whether results have large columns and there is memory for them, or workers put batches together."""
        return self._whole or (self._memory is not None and any(map(self._is_large, self._layout or ())))

    def _is_large(self, like: tuple[tuple[int, ...], np.dtype[Any]] | None) -> bool:
        """Whether rows are written to the batch."""
        return like is not None and math.prod(like[0]) * like[1].itemsize >= self._least

    def task_rows(self, number: int, most: int) -> int:
        """The rows of a task that begins with row `number`: at most about `most`, so that the tasks of a batch are
        about equal. Workers that put batches together get whole ones, unless one takes very long.
        """
        if self._whole and self.rows <= MOST_TASKS * most:
            return max(1, most // self.rows) * self.rows - number % self.rows
        size = -(-self.rows // max(1, -(-self.rows // most)))
        return min(size - number % self.rows % size, self.room(number))

    @property
    def whole(self) -> bool:
        """Whether tasks are whole batches, put together by workers."""
        return self._whole

    def batch_slot(self, number: int) -> BatchSlot | None:
        """The batch slot of row `number`; None if workers have memory of their own. Numbers must be requested in order.
        """
        if self._whole:
            return None
        batch, start = divmod(number, self.rows)
        if batch != self._batch:
            memory = self._memory
            assert memory is not None
            self._batch = batch
            self._arrays = tuple(
                memory((self.rows, *like[0]), like[1]) if like is not None and self._is_large(like) else None
                for like in self._layout or ()
            )
        return BatchSlot(self._arrays, start)


class SlotWriter:
    """Writes the large leaves of results to a batch slot: see `plan.function.Destination`. Arrays that nothing else
    refers to are kept, and copied several at a time (`AT_ONCE`) without the GIL.
    """

    __slots__ = ("_fits", "_kept", "_next", "_slot")

    def __init__(self, batch_slot: BatchSlot) -> None:
        self._slot = batch_slot
        self._fits = [array is not None for array in batch_slot.arrays]
        self._kept: list[list[Array]] = [[] for _ in batch_slot.arrays]  # rows of each column that are not copied yet
        self._next = [batch_slot.start for _ in batch_slot.arrays]  # where in the batch the first of them belongs

    def take(self, i: int, leaves: list[Any]) -> None:
        """Puts a result's arrays of the batch into their row, and makes the others safe to keep."""
        arrays, at = self._slot.arrays, self._slot.start + i
        for j, leaf in enumerate(leaves):
            array, is_array = arrays[j], type(leaf) is np.ndarray
            if not is_array and type(leaf) not in VALUES:
                leaf = leaves[j] = settled(leaf)
                is_array = type(leaf) is np.ndarray
            if array is None or not is_array or leaf.shape != array.shape[1:] or leaf.dtype != array.dtype:
                if array is not None:
                    self._fits[j] = False
                    self._pass_by(j, array, at)
                if is_array and not is_unshared(leaf):
                    leaves[j] = leaf.copy()
                continue
            keeps = is_unshared(leaf)
            row = leaves[j] = array[at]
            if keeps and leaf.flags.c_contiguous:
                kept = self._kept[j]
                kept.append(leaf)
                if len(kept) * leaf.nbytes >= AT_ONCE:
                    self._copy(j, array)
            else:
                self._pass_by(j, array, at)
                row[...] = leaf

    def _pass_by(self, j: int, array: Array, at: int) -> None:
        """Copies the rows of column j before row `at` of the batch; the next ones to be kept come after it."""
        self._copy(j, array)
        self._next[j] = at + 1

    def _copy(self, j: int, array: Array) -> None:
        """Copies the rows of column j that have been kept."""
        kept, start = self._kept[j], self._next[j]
        if kept:
            self._next[j], self._kept[j] = start + len(kept), []
            stack_rows(kept, array[start : start + len(kept)])

    def flush(self) -> None:
        """Copies all that has been kept."""
        for j, array in enumerate(self._slot.arrays):
            if array is not None:
                self._copy(j, array)

    def memory(self, j: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """The slot's rows of column j, if they have this shape and dtype."""
        array, start = self._slot.arrays[j], self._slot.start
        if array is None or array.shape[1:] != shape[1:] or array.dtype != dtype or start + shape[0] > len(array):
            return None
        return array[start : start + shape[0]]

    def holds(self, columns: Sequence[Any]) -> bool:
        """Whether all columns that the slot has memory for lie there."""
        arrays, start = self._slot.arrays, self._slot.start
        return any(a is not None for a in arrays) and all(
            array is None or (isinstance(column, np.ndarray) and address(column) == address(array[start:]))
            for array, column in zip(arrays, columns, strict=True)
        )

    def column(self, j: int, rows: int) -> Array | None:
        """Column j of the slot's rows, if all of them were written to the batch."""
        array, start = self._slot.arrays[j], self._slot.start
        return array[start : start + rows] if array is not None and self._fits[j] else None

    @property
    def fits(self) -> bool:
        """Whether all rows of the batch's columns were written to it."""
        return all(fits for fits, array in zip(self._fits, self._slot.arrays, strict=True) if array is not None)


def apply_into_slot(node: RowWise, block: Block, number: int, draws: Any, batch_slot: BatchSlot) -> tuple[Block, bool]:
    """As `applied`, with the rows written to their slot if they fit; also returns whether they do."""
    if not isinstance(node, FunctionCalls):
        return node.apply(block), False
    writer = SlotWriter(batch_slot)
    with drawing(number, draws, node.epochs):
        made, in_slot = node.apply_into(block, writer)
    return with_lineage(node, block, made), in_slot and writer.fits
