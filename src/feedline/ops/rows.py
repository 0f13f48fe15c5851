"""Rows kept for later, by number: what shuffle, and other operators that hold rows back, store them in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from feedline.structure.block import Array, Block, Bytes, Objects, Origin, object_array, rows_of, spec_of_column
from feedline.structure.memory import taken
from feedline.structure.nest import LEAF, Tree
from feedline.structure.spec import TypeSpec, general_leaf

_INT64 = np.dtype(np.int64)


class Pool:
    """Rows under numbers that are used again when a row has been removed, so that memory stays as large as it must be.

    Rows that are one int64 each need no store: the row is its own number. As long as all rows say where they come from
    that is kept beside them.
    """

    __slots__ = ("_capacity", "_free", "_makers", "_numbers_only", "_origins", "_row_bytes", "_stores", "_tree")

    def __init__(self) -> None:
        self._tree: Tree | None = None
        self._stores: list[Any] = []
        self._free: Array = np.empty(0, np.int64)
        self._capacity = 0
        self._numbers_only = False
        self._row_bytes = 0.0
        self._origins: Array | None = np.empty(0, np.int64)
        self._makers: tuple[Any, ...] = ()

    def add(self, block: Block) -> Array:
        """Stores the rows; gives their numbers."""
        if self._tree is None:
            self._tree = block.tree
            column = block.columns[0] if block.columns else None
            self._numbers_only = (
                block.tree is LEAF and isinstance(column, np.ndarray) and column.dtype == _INT64 and column.ndim == 1
            )
            self._stores = [_store_for(c) for c in block.columns]
            self._makers = () if block.origin is None else block.origin.makers
        if self._numbers_only:
            column = block.columns[0]
            if isinstance(column, np.ndarray) and column.dtype == _INT64 and column.ndim == 1:
                return column
            raise TypeError(f"rows of {block.spec()!r} among rows of int64 scalars")
        block = block.reordered(self._tree)
        if block.n:
            usual = block.nbytes / block.n
            self._row_bytes += (usual - self._row_bytes) / 8 if self._row_bytes else usual
        numbers = self._allocate(block.n)
        for i, column in enumerate(block.columns):
            self._stores[i] = _write(self._stores[i], numbers, column)
        if self._origins is not None:
            if block.origin is None or block.origin.makers != self._makers:
                self._origins = None
            else:
                self._origins[numbers] = block.origin.numbers()
        return numbers

    def size_of(self, rows: int) -> int:
        """About how many bytes so many rows take, and what says which they are."""
        return int(rows * (8 if self._numbers_only else 16 + self._row_bytes))

    def peek(self, numbers: Array) -> Block:
        """The rows with these numbers."""
        if self._numbers_only or self._tree is None:
            return Block([numbers.copy()], len(numbers), LEAF)
        origin = None if self._origins is None else Origin(0, self._origins.take(numbers), self._makers)
        return Block([_read(s, numbers) for s in self._stores], len(numbers), self._tree, origin)

    def still(self) -> Still | None:
        """What says of the rows that are in the pool now where they come from, when they are no longer there; None
        where they do not say.
        """
        if self._numbers_only or self._tree is None:
            return Still(None)
        return None if self._origins is None else Still(self._origins.copy(), self._makers)

    def remove(self, numbers: Array) -> Block:
        """The rows with these numbers, which are free from now on."""
        if self._numbers_only:
            return Block([numbers], len(numbers), LEAF)
        rows = self.peek(numbers)
        for store in self._stores:
            if isinstance(store, Objects):
                for i in numbers.tolist():
                    store.items[i] = None
            elif store.dtype.kind == "O":
                store[numbers] = None
        self._free = np.concatenate([self._free, numbers])
        return rows

    def _allocate(self, n: int) -> Array:
        if len(self._free) < n:
            have = self._capacity
            more = max(n - len(self._free), have // 2, 64)
            self._stores = [_longer(s, more) for s in self._stores]
            if self._origins is not None:
                self._origins = _longer(self._origins, more)
            self._free = np.concatenate([np.arange(have + more - 1, have - 1, -1), self._free])
            self._capacity = have + more
        numbers, self._free = self._free[len(self._free) - n :], self._free[: len(self._free) - n]
        return numbers


class Still(NamedTuple):
    """Where the rows of a pool at one moment come from; None where each row is its own number."""

    origins: Array | None
    makers: tuple[Any, ...] = ()

    def peek(self, numbers: Array) -> Block:
        """The rows with these numbers; with no columns where they can be had from where they come from."""
        if self.origins is None:
            return Block([numbers], len(numbers), LEAF)
        return Block([], len(numbers), LEAF, Origin(0, self.origins.take(numbers), self.makers))


def _store_for(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return np.empty((0, *column.shape[1:]), column.dtype)
    return np.empty(0, object) if isinstance(column, Bytes) else Objects([], spec_of_column(column))


def _longer(store: Any, more: int) -> Any:
    if isinstance(store, Objects):
        return Objects([*store.items, *([None] * more)], store.spec)
    wider = np.empty((len(store) + more, *store.shape[1:]), store.dtype)
    wider[: len(store)] = store
    return wider


def _write(store: Any, numbers: Array, column: Any) -> Any:
    if isinstance(store, np.ndarray):
        if isinstance(column, Bytes):  # each string by itself, so that it goes when its row does
            column = column.objects()
        if isinstance(column, np.ndarray) and column.shape[1:] == store.shape[1:] and column.dtype == store.dtype:
            store[numbers] = column
            return store
        store = Objects(list(store), spec_of_column(store))  # rows of another shape: from now on each row by itself
    merged = general_leaf(store.spec, spec_of_column(column))
    store.spec = merged if isinstance(merged, TypeSpec) else None
    for i, row in zip(numbers.tolist(), rows_of(column), strict=True):
        store.items[i] = row
    return store


def _read(store: Any, numbers: Array) -> Any:
    if isinstance(store, np.ndarray):
        return taken(store, numbers)
    items = [store.items[i] for i in numbers.tolist()]
    return object_array(items) if all(isinstance(i, bytes) for i in items) else Objects(items, store.spec)
