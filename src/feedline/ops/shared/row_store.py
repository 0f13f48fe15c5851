"""Row store: rows kept for later under numbers, for shuffle and other operators that hold rows back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.kernels.threads import team
from feedline.provenance.files import FileNumbers, Held
from feedline.provenance.rows import Provenance
from feedline.structure.block import Array, Block, Bytes, Objects, Unread, object_array, rows_of, spec_of_column
from feedline.structure.buffer_pool import take_array
from feedline.structure.nest import LEAF, Tree
from feedline.structure.spec import TypeSpec, general_leaf
from feedline.structure.strings import SHORT, ReadRecords

_INT64 = np.dtype(np.int64)
EXPECTED_BYTES = 1 << 26
"""Room for the expected rows is reserved in advance up to this size; beyond it, the store grows as rows come."""
RESERVED_BYTES = 1 << 30
"""The same for numeric arrays: untouched memory costs nothing, and a growing store is held twice while it is copied."""
PIECE_BYTES = 1 << 22
"""The largest useful block to add: its rows are held twice while they are stored."""
FIRST_ROWS = 16
"""Rows to ask for first, while their size is unknown."""
LARGEST = 1 << 28
"""The most bytes of strings kept in one matrix; beyond it, each string is an object."""
MOST_UNEVEN = 4
"""Strings longer than the mean by more than this factor are kept as objects: all rows of a matrix are equally wide."""


class RowStore:
    """Rows under numbers. The number of a removed row is used again, so that memory does not grow without need.

    Rows of one int64 each need no store: the row is its own number. Provenance is kept beside the rows as long as all
    of them have it. `expected` is the most rows there will be, if that is known.
    """

    __slots__ = (
        *(
            "_capacity",
            "_expected",
            "_files",
            "_free",
            "_lineage",
            "_numbers_only",
            "_numbers_of",
            "_row_bytes",
            "_stores",
            "_tree",
        ),
    )

    def __init__(self, expected: int = 0) -> None:
        self._tree: Tree | None = None
        self._expected = expected
        self._stores: list[Any] = []
        self._free: Array = np.empty(0, np.int64)
        self._capacity = 0
        self._numbers_only = False
        self._row_bytes = 0.0
        self._numbers_of: Array | None = np.empty(0, np.int64)
        self._lineage: tuple[Any, ...] = ()
        self._files = FileNumbers()

    def add(self, block: Block) -> Array:
        """Stores the rows and returns their numbers."""
        if self._tree is None:
            self._tree = block.tree
            column = block.columns[0] if block.columns else None
            self._numbers_only = (
                block.tree is LEAF and isinstance(column, np.ndarray) and column.dtype == _INT64 and column.ndim == 1
            )
            self._stores = [_store_for(c) for c in block.columns]
            self._lineage = () if block.provenance is None else block.provenance.lineage
        if self._numbers_only:
            column = block.columns[0]
            if isinstance(column, np.ndarray) and column.dtype == _INT64 and column.ndim == 1:
                return column
            raise TypeError(f"expected rows of int64 scalars, got {block.spec()!r}")
        block = block.reordered(self._tree)
        if block.n:
            self._weigh(block.nbytes, block.n)
        numbers = self._free_numbers(block.n)
        for i, column in enumerate(block.columns):
            if isinstance(column, Unread) != isinstance(self._stores[i], UnreadRows):
                self._stores[i] = self._matched(self._stores[i], column)
            self._stores[i] = _write(self._stores[i], numbers, column)
        self._free = self._free[: len(self._free) - block.n]
        self._add_provenance(numbers, block.provenance)
        return numbers

    def _matched(self, store: Any, column: Any) -> Any:
        """The store in a form for this column, where one of them has addresses and the other strings, as after a
        restore.
        """
        used = np.delete(np.arange(self._capacity), self._free)
        if not isinstance(column, Unread):
            return store.objects(used)
        if self._numbers_of is None or self._lineage or self._tree is not LEAF:
            return store
        strings = _read(store, used)
        if not isinstance(strings, Bytes) and not (isinstance(strings, np.ndarray) and strings.dtype.kind == "O"):
            return store
        sizes, sums = np.zeros(len(store), np.int64), np.zeros(len(store), np.uint32)
        for i, string in zip(used.tolist(), rows_of(strings), strict=True):
            sizes[i], sums[i] = len(string), kernels.crc32c(string)
        return UnreadRows(self._numbers_of.copy(), sizes, sums, self._files, column.read_records)

    def reserve(self, n: int) -> tuple[Array, Array, Array] | None:
        """Implements `RecordBuffer`; None unless the rows are strings kept in a matrix."""
        if self._tree is not LEAF or not isinstance(self._stores[0], StringRows):
            return None
        numbers = self._free_numbers(n)
        store = self._stores[0]  # growing may have replaced it
        return (store.rows, store.lengths, numbers) if isinstance(store, StringRows) else None

    def commit(self, numbers: Array, provenance: Provenance | None, size: int) -> None:
        """Implements `RecordBuffer`."""
        self._weigh(size, len(numbers))
        self._free = self._free[: len(self._free) - len(numbers)]
        self._add_provenance(numbers, provenance)

    def _weigh(self, size: int, n: int) -> None:
        usual = size / n
        self._row_bytes += (usual - self._row_bytes) / 8 if self._row_bytes else usual

    def _add_provenance(self, numbers: Array, provenance: Provenance | None) -> None:
        """Keeps the provenance of these rows, as long as all rows have one of the same lineage."""
        if self._numbers_of is None:
            return
        if provenance is None or provenance.lineage != self._lineage:
            self._numbers_of = None
        else:
            self._numbers_of[numbers] = provenance.numbers()
            self._files.hold(provenance.files)

    def piece(self) -> int:
        """How many rows are best added at a time."""
        if self._tree is None:
            return FIRST_ROWS
        return max(1, int(PIECE_BYTES / max(1.0, self._row_bytes)))

    def size_of(self, rows: int) -> int:
        """About how many bytes `rows` rows take, including their numbers."""
        return int(rows * (8 if self._numbers_only else 16 + self._row_bytes))

    def peek(self, numbers: Array) -> Block:
        """The rows with these numbers."""
        if self._numbers_only or self._tree is None:
            return Block([numbers.copy()], len(numbers), LEAF)
        provenance = None
        if self._numbers_of is not None:
            provenance = Provenance(0, self._numbers_of.take(numbers), (self._files,), self._lineage)
        return Block([_read(s, numbers) for s in self._stores], len(numbers), self._tree, provenance)

    def snapshot(self) -> RowStoreSnapshot | None:
        """The provenance of the current rows, valid after they have left the store; None if they have none."""
        if self._numbers_only or self._tree is None:
            return RowStoreSnapshot(None)
        if self._numbers_of is None:
            return None
        return RowStoreSnapshot(self._numbers_of.copy(), (self._files,), self._lineage)

    def remove(self, numbers: Array) -> Block:
        """The rows with these numbers, which become free."""
        if self._numbers_only:
            return Block([numbers], len(numbers), LEAF)
        rows = self.peek(numbers)
        for store in self._stores:
            if isinstance(store, Objects):
                for i in numbers.tolist():
                    store.items[i] = None
            elif isinstance(store, StringRows):
                store.lengths[numbers] = 0
            elif isinstance(store, np.ndarray) and store.dtype.kind == "O":
                store[numbers] = None
        self._free = np.concatenate([self._free, numbers])
        return rows

    def _free_numbers(self, n: int) -> Array:
        """The next `n` free numbers."""
        if len(self._free) < n:
            have = self._capacity
            numbers = all(isinstance(s, np.ndarray) and s.dtype.kind != "O" for s in self._stores)
            room = RESERVED_BYTES if numbers else EXPECTED_BYTES
            expected = min(self._expected, int(room / max(1.0, self._row_bytes)))
            more = max(n - len(self._free), have // 2, 64, expected - have)
            self._stores = [_longer(s, more) for s in self._stores]
            if self._numbers_of is not None:
                self._numbers_of = _longer(self._numbers_of, more)
            self._free = np.concatenate([np.arange(have + more - 1, have - 1, -1), self._free])
            self._capacity = have + more
        return self._free[len(self._free) - n :][::-1].copy()


class RowStoreSnapshot(NamedTuple):
    """The provenance of a store's rows at one moment; None if each row is its own number."""

    origins: Array | None
    files: Held = ()
    lineage: tuple[Any, ...] = ()

    def peek(self, numbers: Array) -> Block:
        """The rows with these numbers; provenance without columns if they can be read again."""
        if self.origins is None:
            return Block([numbers], len(numbers), LEAF)
        return Block([], len(numbers), LEAF, Provenance(0, self.origins.take(numbers), self.files, self.lineage))


class StringRows:
    """Short strings of similar length, each at the start of a row of a matrix: they move from buffer to buffer without
    being made into objects.
    """

    __slots__ = ("lengths", "rows")

    def __init__(self) -> None:
        self.rows: Array = np.empty((0, 0), np.uint8)
        self.lengths: Array = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.lengths)

    def write(self, numbers: Array, strings: Bytes) -> bool:
        """Copies strings into rows; False if they are too long or too uneven to be kept here."""
        offsets, numbers = np.ascontiguousarray(strings.offsets), np.ascontiguousarray(numbers)
        longest = kernels.strings_to_rows(strings.data, offsets, strings.gap, self.rows, self.lengths, numbers, team())
        if longest <= self.rows.shape[1]:
            return True
        usual = (offsets[-1] - offsets[0]) / len(strings) - strings.gap
        width = -(-(longest + longest // 8) // 64) * 64
        if longest > min(SHORT, 64 + MOST_UNEVEN * usual) or not self._resize(len(self), width):
            return False
        kernels.strings_to_rows(strings.data, offsets, strings.gap, self.rows, self.lengths, numbers, team())
        return True

    def read(self, numbers: Array) -> Bytes:
        """The strings in these rows, in new memory."""
        return Bytes(*kernels.strings_from_rows(self.rows, self.lengths, np.ascontiguousarray(numbers), team()))

    def longer(self, more: int) -> Any:
        """The store with `more` more rows, or its replacement if the matrix would be too large."""
        return self if self._resize(len(self) + more, self.rows.shape[1]) else _longer(self.objects(), more)

    def objects(self) -> Array:
        """The strings as an array of objects."""
        return self.read(np.arange(len(self))).objects()

    def _resize(self, count: int, width: int) -> bool:
        if count * width > LARGEST:
            return False
        have, old = self.rows.shape
        rows, lengths = np.empty((count, width), np.uint8), np.zeros(count, np.int64)
        rows[:have, :old], lengths[:have] = self.rows, self.lengths
        self.rows, self.lengths = rows, lengths
        return True


class UnreadRows:
    """The addresses of strings that are still in their files."""

    __slots__ = ("_files", "_locations", "_read_records", "_sizes", "_sums")

    def __init__(self, locations: Array, sizes: Array, sums: Array, files: FileNumbers, read: ReadRecords) -> None:
        self._locations, self._sizes, self._sums, self._files, self._read_records = locations, sizes, sums, files, read

    def __len__(self) -> int:
        return len(self._sizes)

    def write(self, numbers: Array, strings: Unread) -> None:
        """Keeps the addresses of these strings."""
        self._locations[numbers] = strings.addresses.numbers()
        self._sizes[numbers], self._sums[numbers] = strings.sizes, strings.sums
        self._files.hold(strings.addresses.files)

    def read(self, numbers: Array) -> Unread:
        """The strings under these numbers, not read either."""
        addresses = Provenance(0, self._locations.take(numbers), (self._files,))
        return Unread(addresses, self._sizes.take(numbers), self._sums.take(numbers), self._read_records)

    def longer(self, more: int) -> UnreadRows:
        """The store with `more` more rows."""
        locations, sizes, sums = (_longer(part, more) for part in (self._locations, self._sizes, self._sums))
        return UnreadRows(locations, sizes, sums, self._files, self._read_records)

    def objects(self, used: Array) -> Array:
        """An array of objects with the strings under the numbers in use, read."""
        out = np.empty(len(self), object)
        out[used] = self.read(used).objects()
        return out


def _store_for(column: object) -> Any:
    if isinstance(column, Unread):
        none = np.empty(0, np.int64)
        return UnreadRows(none, none, np.empty(0, np.uint32), FileNumbers(), column.read_records)
    if isinstance(column, Bytes):
        return StringRows() if column.size is None else np.empty((0, column.size), object)
    if isinstance(column, np.ndarray):
        return np.empty((0, *column.shape[1:]), column.dtype)
    return Objects([], spec_of_column(column))


def _longer(store: Any, more: int) -> Any:
    if isinstance(store, (StringRows, UnreadRows)):
        return store.longer(more)
    if isinstance(store, Objects):
        return Objects([*store.items, *([None] * more)], store.spec)
    wider = np.empty((len(store) + more, *store.shape[1:]), store.dtype)
    wider[: len(store)] = store
    return wider


def _write(store: Any, numbers: Array, column: Any) -> Any:
    if isinstance(store, UnreadRows):
        store.write(numbers, column)
        return store
    if isinstance(store, StringRows):
        if isinstance(column, Bytes) and column.size is None and store.write(numbers, column):
            return store
        store = store.objects()
    if isinstance(store, np.ndarray):
        if isinstance(column, Bytes):  # one object per string, freed with its row
            column = column.objects()
        if isinstance(column, np.ndarray) and column.shape[1:] == store.shape[1:] and column.dtype == store.dtype:
            store[numbers] = column
            return store
        store = Objects(list(store), spec_of_column(store))  # rows of another shape: from now on one object per row
    merged = general_leaf(store.spec, spec_of_column(column))
    store.spec = merged if isinstance(merged, TypeSpec) else None
    for i, row in zip(numbers.tolist(), rows_of(column), strict=True):
        store.items[i] = row
    return store


def _read(store: Any, numbers: Array) -> Any:
    if isinstance(store, (StringRows, UnreadRows)):
        return store.read(numbers)
    if isinstance(store, np.ndarray):
        return take_array(store, numbers)
    items = [store.items[i] for i in numbers.tolist()]
    return object_array(items) if all(isinstance(i, bytes) for i in items) else Objects(items, store.spec)
