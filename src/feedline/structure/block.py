"""Blocks: many elements at once, one column per leaf.

A column is an `ndarray[n, …]` where all rows have one shape and dtype, `Bytes` for strings kept in one buffer, `Unread`
for strings that are still in their files, or `Objects` for everything else: rows of differing shape, ragged, sparse,
optional, nested datasets, None.

Ownership: an array in a block is writeable only if its memory belongs to the block alone. Memory with other users (a
source, a cache, a window) is marked read-only, and so are the rows taken from it.

Rows read from a file may carry their location there: the block's `provenance`, which a checkpoint holds instead of the
rows. Operators that only select or reorder rows keep it; deterministic row-wise operators append themselves to its
lineage. Operators that stack rows keep the location of each one, for messages: the block's `batch_provenance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, OpError
from feedline.provenance.rows import BatchProvenance, Provenance
from feedline.structure import ragged, sparse, strings, types
from feedline.structure.buffer_pool import concatenate, copy_array, take_array
from feedline.structure.datasets import Datasets, Nested
from feedline.structure.nest import LEAF, Tree, flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import (
    Dims,
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorSpec,
    TypeSpec,
    general_leaf,
    general_leaves,
    type_spec_from_value,
)
from feedline.structure.strings import Bytes as Bytes
from feedline.structure.strings import Unread as Unread
from feedline.structure.values import leaf_of

Array = np.ndarray[Any, Any]
Column = Any  # ndarray | Bytes | Objects

_STRING = TensorSpec((), types.string)
SOME = 32  # strings sampled to estimate the size of all
_SCALARS: dict[type, np.dtype[Any]] = {
    t: np.dtype(t)
    for t in (
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_),
    )
} | {bool: np.dtype(bool), float: np.dtype(np.float32)}


class Objects:
    """Rows that do not fit an array, as a plain list. `spec` describes them if it is known, so that a column without
    rows keeps it.
    """

    __slots__ = ("_items", "spec")

    def __init__(self, items: list[Any], spec: Any = None) -> None:
        self._items, self.spec = items, spec

    @property
    def items(self) -> list[Any]:
        """The rows."""
        return self._items

    def __len__(self) -> int:
        return len(self._items)


class Block:
    """`n` elements: one column per leaf of `tree`."""

    __slots__ = ("batch_provenance", "columns", "n", "provenance", "tree")

    def __init__(
        self, columns: list[Column], n: int, tree: Tree, provenance: Provenance | None = None,
        batches: BatchProvenance | None = None,
    ) -> None:
        self.columns, self.n, self.tree, self.provenance, self.batch_provenance = columns, n, tree, provenance, batches

    @staticmethod
    def of_elements(elements: Sequence[Any]) -> Block:
        """Packs elements that share a structure. Raises TypeError, naming the path, if one differs from the first."""
        first, tree = flatten(elements[0])
        if tree.is_leaf:
            lists: list[Sequence[Any]] = [list(elements)]
        else:
            rows = [first, *(tree.flatten(e) for e in elements[1:])]
            lists = list(zip(*rows, strict=True)) if tree.size else []
        return Block([pack(values) for values in lists], len(elements), tree)

    def slice(self, start: int, stop: int) -> Block:
        """Rows start to stop, without a copy."""
        if start == 0 and stop >= self.n:
            return self
        stop = min(stop, self.n)
        provenance = None if self.provenance is None else self.provenance.slice(start, stop)
        batches = None if self.batch_provenance is None else self.batch_provenance.slice(start, stop)
        return Block([slice_column(c, start, stop) for c in self.columns], stop - start, self.tree, provenance, batches)

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        provenance = None if self.provenance is None else self.provenance.take(index)
        batches = None if self.batch_provenance is None else self.batch_provenance.take(index)
        return Block([take_rows(c, index) for c in self.columns], len(index), self.tree, provenance, batches)

    def rows(self) -> list[Any]:
        """The elements, as users see them."""
        if self.tree is LEAF:
            return rows_of(self.columns[0])
        if not self.columns:
            return [self.tree.unflatten(()) for _ in range(self.n)]
        lists = [rows_of(c) for c in self.columns]
        if self.tree.kind is tuple and all(c.kind is None for c in self.tree.children):
            return list(zip(*lists, strict=True))
        build = self.tree.unflatten
        return [build(leaves) for leaves in zip(*lists, strict=True)]

    def element(self, i: int) -> Any:
        """Element i."""
        return self.slice(i, i + 1).rows()[0]

    def leaf_specs(self) -> list[Any]:
        """The spec of each column's rows."""
        return [spec_of_column(c) for c in self.columns]

    def spec(self) -> Any:
        """The spec of the elements, as far as this block shows it."""
        return self.tree.unflatten(self.leaf_specs())

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take."""
        return sum(bytes_of(c) for c in self.columns)

    @property
    def weight(self) -> int:
        """About how many bytes are copied when rows are concatenated with others: for objects, only the references."""
        return sum(8 * len(c) if is_objects(c) else bytes_of(c) for c in self.columns)

    def frozen(self) -> Block:
        """The same rows, marked read-only: for memory that is handed out more than once."""
        return Block([freeze(c) for c in self.columns], self.n, self.tree)

    def reordered(self, tree: Tree) -> Block:
        """The same rows with mappings in the key order of `tree`, which must have the same structure otherwise."""
        if self.tree == tree:
            return self
        order = tree.order_of(self.tree)
        if order is None:
            raise TypeError(f"elements of structure {self.tree!r} where {tree!r} was expected")
        return Block([self.columns[i] for i in order], self.n, tree, self.provenance, self.batch_provenance)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Block(n={self.n}, {self.spec()!r})"


def concat(blocks: Sequence[Block]) -> Block:
    """One block with the rows of all, in order. Their structures must agree."""
    if len(blocks) == 1:
        return blocks[0]
    tree = blocks[0].tree
    blocks = [b.reordered(tree) for b in blocks]
    columns = [concat_columns(list(parts)) for parts in zip(*(b.columns for b in blocks), strict=True)]
    filled = [b for b in blocks if b.n]
    batches = [b.batch_provenance for b in filled if b.batch_provenance is not None]
    joined = BatchProvenance.joined(batches) if batches and len(batches) == len(filled) else None
    return Block(columns, sum(b.n for b in blocks), tree, Provenance.joined([b.provenance for b in filled]), joined)


def pack(values: Sequence[Any], ours: bool = False, kinds: set[type] | None = None) -> Column:
    """A column from leaf values as users give them. The memory is fresh: no reference to the user's is kept. Arrays
    that are `ours`, used nowhere else, need no copy. `kinds` are the types of the values, if they are known.
    """
    if kinds is None:
        kinds = set(map(type, values))
    if len(kinds) == 1:
        kind = next(iter(kinds))
        dtype = _SCALARS.get(kind)
        if dtype is not None:
            return np.array(values, dtype)
        if kind is np.ndarray:
            return _pack_arrays(values, ours)
        if kind is bytes:
            return object_array(values)
        if kind is int and (column := _pack_ints(values)) is not None:
            return column
    leaves = [leaf_of(v) for v in values]
    converted = set(map(type, leaves))
    if len(converted) == 1 and converted != kinds:
        return pack(leaves)
    return Objects(leaves, merged_spec(leaves))


def _pack_ints(values: Sequence[int]) -> Array | None:
    """A column of Python ints: int32, or int64 if all need it; None if their types differ or one is out of range."""
    try:
        wide = np.array(values, np.int64)
    except OverflowError:
        return None
    narrow = wide.astype(np.int32)
    fits = narrow == wide
    return narrow if fits.all() else wide if not fits.any() else None


def _pack_arrays(values: Sequence[Array], ours: bool) -> Column:
    first = values[0]
    if first.ndim == 0 or first.dtype.kind not in "biufc" or not first.dtype.isnative:
        leaves = [leaf_of(v) for v in values]
        if not all(isinstance(v, np.ndarray) for v in leaves):
            return pack(leaves)
        values, first, ours = leaves, leaves[0], False
    shape, dtype = first.shape, first.dtype
    for v in values:
        if v.shape != shape or (v.dtype is not dtype and v.dtype != dtype):
            return Objects([v if ours and is_whole(v) else _owned(v) for v in values], merged_spec(values))
    if ours and len(values) == 1 and is_whole(first):
        return first.reshape(1, *shape)
    return concatenate(values).reshape(len(values), *shape)


def is_whole(value: Array) -> bool:
    """Whether an array of numbers is in memory of its own, in the order of its elements."""
    flags = value.flags
    plain = value.ndim > 0 and value.dtype.kind in "biufc" and value.dtype.isnative
    return plain and flags.owndata and flags.writeable and flags.c_contiguous


def _owned(value: Array) -> Array:
    return np.array(leaf_of(value))


def object_array(items: Sequence[Any]) -> Array:
    """A one-dimensional object array that holds exactly `items`."""
    out = np.empty(len(items), object)
    out[:] = items
    return out


def merged_spec(leaves: Sequence[Any]) -> Any:
    """The narrowest spec that fits all leaves; None if there is none."""
    if len(leaves) > 1 and set(map(type, leaves)) == {np.ndarray}:
        dtype, rank = leaves[0].dtype, leaves[0].ndim
        if all(v.dtype == dtype and v.ndim == rank for v in leaves):
            sizes = zip(*{v.shape for v in leaves}, strict=True)
            return _tensor_spec(tuple([n[0] if n.count(n[0]) == len(n) else None for n in sizes]), dtype)
    spec = type_spec_from_value(leaves[0]) if len(leaves) else None
    for leaf in leaves[1:]:
        spec = general_leaf(spec, type_spec_from_value(leaf)) if spec is not None else None
    return spec if isinstance(spec, TypeSpec) else None


@lru_cache(256)
def _tensor_spec(dims: Dims, dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec(dims, dtype)


def rows_of(column: Column) -> list[Any]:
    """The rows of a column as users see them: NumPy scalars, views, `bytes` or objects."""
    if isinstance(column, np.ndarray):
        return column.tolist() if column.dtype.kind == "O" and column.ndim == 1 else list(column)
    return column.rows() if isinstance(column, Bytes) else column.items


def slice_column(column: Column, start: int, stop: int) -> Column:
    """Rows start to stop of a column, without a copy."""
    if isinstance(column, np.ndarray):
        return column[start:stop]
    if isinstance(column, Bytes):
        return column.slice(start, stop)
    return Objects(column.items[start:stop], column.spec)


def take_rows(column: Column, index: Array) -> Column:
    """The rows of a column with these numbers, in fresh memory."""
    if isinstance(column, np.ndarray):
        return take_array(column, index)
    if isinstance(column, Bytes):
        return column.take(index)
    return Objects([column.items[i] for i in index.tolist()], column.spec)


def concat_columns(columns: list[Column]) -> Column:
    """The rows of all columns, in order."""
    first = columns[0]
    if isinstance(first, np.ndarray):
        shape, dtype = first.shape[1:], first.dtype
        for c in columns:
            if not isinstance(c, np.ndarray) or c.shape[1:] != shape or c.dtype != dtype:
                break
        else:
            return concatenate(columns)
    filled = [c for c in columns if len(c)]
    if not filled:
        return first
    if len(filled) == 1:
        return filled[0]
    joined = _joined_strings(filled)
    if joined is not None:
        return joined
    if len(filled) < len(columns):
        return concat_columns(filled)
    items = [row for c in filled for row in rows_of(c)]
    spec = general_leaves([spec_of_column(c) for c in filled])
    return Objects(items, spec if isinstance(spec, TypeSpec) else None)


def _joined_strings(columns: list[Column]) -> Column | None:
    """Columns of strings as one; None if they are not strings, or their specs differ. Short strings are copied from
    buffer to buffer. Long ones are made objects once, and from then on only references move.
    """
    if all(isinstance(c, Bytes) for c in columns):
        joined = strings.joined(columns)
        if joined is not None:
            return joined
    of_strings = all(isinstance(c, Bytes) or is_objects(c) for c in columns)
    if not of_strings or any(spec_of_column(c) != spec_of_column(columns[0]) for c in columns):
        return None
    return np.concatenate([c.objects() if isinstance(c, Bytes) else c for c in columns])


def spec_of_column(column: Column) -> Any:
    """The leaf spec of a column's rows."""
    if isinstance(column, np.ndarray):
        return TensorSpec(column.shape[1:], column.dtype)
    if isinstance(column, Bytes):
        return _STRING if column.size is None else TensorSpec((column.size,), types.string)
    return column.spec


def bytes_of(column: Column) -> int:
    """About how much memory a column's rows take."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "O":
            return column.nbytes
        return _strings_size(column.ravel()) + 8 * column.size
    if isinstance(column, Bytes):
        return column.nbytes
    return sum(_size_of(item) for item in column.items)


def _strings_size(strings: Array) -> int:
    """About how many bytes strings have, estimated from a sample if there are many."""
    if len(strings) <= 2 * SOME:
        return sum(map(len, strings.tolist()))
    some = strings[:: len(strings) // SOME].tolist()
    return sum(map(len, some)) * len(strings) // len(some)


def _size_of(item: object) -> int:
    if isinstance(item, (np.ndarray, np.generic)):
        return item.nbytes
    if isinstance(item, bytes):
        return len(item)
    if isinstance(item, RaggedTensor):
        return _size_of(item.flat_values) + sum(s.nbytes for s in item.nested_row_splits)
    if isinstance(item, SparseTensor):
        return item.indices.nbytes + _size_of(item.values)
    return 64


def is_objects(column: Column) -> bool:
    """Whether the rows are Python objects."""
    return isinstance(column, np.ndarray) and column.dtype.kind == "O"


def freeze(column: Column) -> Column:
    """The column with its memory marked read-only."""
    if isinstance(column, np.ndarray):
        return read_only(column)
    if isinstance(column, Objects):
        return Objects([read_only(i) if isinstance(i, np.ndarray) else i for i in column.items], column.spec)
    return column


def read_only(array: Array) -> Array:
    """A view of `array` that cannot be written through."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def own(column: Column) -> Column:
    """The column in memory of its own: itself if it is writeable, else a copy."""
    if isinstance(column, np.ndarray) and not column.flags.writeable:
        return copy_array(column)
    return column


def group(column: Column, size: int, path: str = "$", lends: bool = False) -> Column:
    """A column whose rows are `size` rows of `column` each, stacked: what batching does to one component. With `lends`,
    a read-only column is not copied.

    The column's length must be a multiple of `size`. Raises `Ungroupable` if rows cannot be stacked.
    """
    if isinstance(column, Bytes):
        if column.size is None:
            return Bytes(column.data, column.offsets, column.gap, size)
        column = column.objects()
    n = len(column)
    if isinstance(column, np.ndarray):
        return (column if lends else own(column)).reshape(n // size, size, *column.shape[1:])
    out = []
    for i in range(0, n, size):
        try:
            out.append(stack(column.items[i : i + size], column.spec, path))
        except InvalidArgumentError as e:
            raise Ungroupable(i // size, e) from None
    return pack(out) if out and isinstance(out[0], np.ndarray) else Objects(out, merged_spec(out) if out else None)


class Ungroupable(Exception):
    """Group `at` cannot be stacked from its rows, or split into them; `error` is what the user should see."""

    def __init__(self, at: int, error: OpError) -> None:
        super().__init__(at, error)
        self.at, self.error = at, error


def stack(items: list[Any], spec: object, path: str = "$") -> Any:
    """One value from the rows of a batch: arrays are stacked, ragged and sparse rows become ragged and sparse
    batches.
    """
    first = items[0]
    if first is None:
        return None
    if isinstance(first, RaggedTensor):
        return ragged.stack_rows(items, first.ragged_rank + 1, first.row_splits.dtype)
    if isinstance(spec, RaggedTensorSpec) and isinstance(first, np.ndarray):
        return ragged.stack_rows(items, 1, spec.row_splits_dtype.dtype)
    if isinstance(first, SparseTensor):
        return sparse.stack_rows(items)
    if isinstance(first, bytes) and all(isinstance(v, bytes) for v in items):
        return object_array(items)
    if isinstance(first, (Nested, Datasets)):
        return Datasets(items)
    if not isinstance(first, (np.ndarray, np.generic)):
        raise InvalidArgumentError(
            f"batch cannot stack component {path}, whose elements are {type(first).__name__} objects; "
            "map them to arrays first"
        )
    for i, item in enumerate(items):
        if not isinstance(item, (np.ndarray, np.generic)) or item.dtype != first.dtype:
            got = getattr(item, "dtype", type(item).__name__)
            raise InvalidArgumentError(
                f"cannot batch values of different types in component {path}: the first has {first.dtype}, "
                f"element {i} of the batch has {got}; cast them to one type in a map"
            )
        if item.shape != first.shape:
            raise InvalidArgumentError(
                f"cannot batch arrays of different shapes in component {path}: the first has shape "
                f"{list(first.shape)}, element {i} of the batch has {list(item.shape)}; "
                "use padded_batch or ragged_batch, or make the shapes equal in a map"
            )
    return np.stack(items)


def ungroup(column: Column) -> tuple[Column, Array]:
    """The inverse of `group`: a column of the rows inside each row, and how many each row had (-1 for None).

    Raises `Ungroupable` for the first row that is not a batch.
    """
    if isinstance(column, np.ndarray) and column.ndim > 1:
        n, size = column.shape[:2]
        return column.reshape(n * size, *column.shape[2:]), np.full(n, size, np.int64)
    if isinstance(column, Bytes) and column.size is not None:
        return Bytes(column.data, column.offsets, column.gap), np.full(len(column), column.size, np.int64)
    items = rows_of(column)
    for i, item in enumerate(items):
        has_rows = item.ndim > 0 if isinstance(item, np.ndarray) else isinstance(item, _OF_ROWS)
        if not has_rows and item is not None:
            scalar = isinstance(item, (np.ndarray, np.generic, bytes))
            what = "a scalar" if scalar else f"a {type(item).__name__}"
            raise Ungroupable(i, InvalidArgumentError(f"{what} has no rows to unbatch; the elements must be batches"))
    counts = np.array([-1 if item is None else _length(item) for item in items], np.int64)
    kinds = {type(item) for item in items}
    first: Any = items[0] if items else None
    if kinds == {np.ndarray}:
        if all(item.dtype == first.dtype and item.shape[1:] == first.shape[1:] for item in items):
            return np.concatenate(items), counts
        return pack([row for item in items for row in rows_of(item)]), counts
    if kinds == {RaggedTensor}:
        spec: Any = RaggedTensorSpec(first.shape[1:], first.dtype, first.ragged_rank - 1, first.row_splits.dtype)
        return Objects([row for item in items for row in ragged.rows(item)], spec), counts
    if kinds in ({SparseTensor}, {Datasets}):
        rows = [row for i, item in enumerate(items) for row in _rows_in(item, i)]
        empty = SparseTensorSpec(first.shape[1:], first.dtype) if kinds == {SparseTensor} else None
        return Objects(rows, merged_spec(rows) or empty), counts
    return Objects([None] * int(counts.clip(0).sum())), counts


def _rows_in(item: SparseTensor | Datasets, i: int) -> Sequence[Any]:
    try:
        return item if isinstance(item, Datasets) else sparse.rows(item)
    except InvalidArgumentError as e:
        raise Ungroupable(i, e) from None


_OF_ROWS = (RaggedTensor, SparseTensor, Datasets)


def _length(item: Any) -> int:
    return int(item.dense_shape[0]) if isinstance(item, SparseTensor) else len(item)
