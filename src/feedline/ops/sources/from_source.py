"""`Dataset.from_source`: custom formats as a source like the built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline import errors
from feedline.early import must_be_wanted
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.sources.indexed import Indexed
from feedline.plan.aliasing import kept
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.dataset_base import dataset
from feedline.plan.node import EMPTY, Node, node
from feedline.sharing import Guard, cached_property
from feedline.structure import ragged, sparse
from feedline.structure.block import Array, Block, Column, Objects, freeze, pack
from feedline.structure.nest import Tree, flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorSpec, TypeSpec
from feedline.structure.types import as_dtype
from feedline.structure.values import leaf_of

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset


class Source:
    """Base class for custom formats: a subclass has `element_spec` and either `read` or random access.

    `read(position, want)` returns the rows after a position, and the position after those; None at the end. The first
    position is None; the others are yours to choose from what JSON can represent: a row number, a byte offset, a file
    and an offset. A checkpoint holds only the position, so `read` must depend on nothing else.

    >>> class Squares(fl.Source):
    ...     element_spec = fl.TensorSpec([], fl.int64)
    ...     def __init__(self, count):
    ...         self.count = count
    ...     def read(self, position, want):
    ...         start = position or 0
    ...         stop = min(start + want, self.count)
    ...         return (np.arange(start, stop) ** 2, stop) if start < stop else None
    >>> list(fl.Dataset.from_source(Squares(5)).batch(3))
    [array([0, 1, 4]), array([ 9, 16])]

    A source with random access has `__len__`, and `__getitem__` or, for many rows at once, `rows`; it needs no `read`.
    Its datasets have a length, support `experimental.at` and `global_shuffle`, and are sharded without reading the rows
    of other shards.

    >>> class Cubes(fl.Source):
    ...     element_spec = {"cube": fl.TensorSpec([], fl.int64)}
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return {"cube": i ** 3}
    >>> list(fl.Dataset.from_source(Cubes()).shard(2, 1))
    [{'cube': np.int64(1)}, {'cube': np.int64(27)}]

    Rows are a list of elements or, faster if the format stores them together, columns: the structure of an element with
    arrays in place of the values, whose first dimension is the row. Arrays given as columns must not be changed later.
    """

    element_spec: Any
    """The structure of an element, with a spec in place of each value. An attribute or a property."""

    rows_at_once: int | None = None
    """The most rows to ask `read` for in one call. Set it if rows are slow to produce or arrive live."""

    def read(self, position: object, want: int) -> tuple[Any, Any] | None:
        """Rows after `position`, at least one, and the position after them; None at the end.

        `want` is the number of rows needed now. More may be returned if the format has larger pieces; they are kept. An
        exception ends the dataset, after the rows before it.
        """
        raise TypeError(f"{type(self).__name__} must define read, or __len__ and __getitem__")

    def rows(self, index: Array) -> Any:
        """The rows with these numbers, for sources with random access."""
        own: Any = self  # with `__getitem__`
        found = []
        for i in index.tolist():
            row = own[i]
            found.append(kept(row, set()))
        return found

    def close(self) -> None:
        """Releases what `read` has opened. Called when no iterator is left; a later `read` must open it again."""


class Chunk:
    """The result of one `read`. Like an open file, it is not part of a checkpoint: it can be read again."""

    __slots__ = ("after", "block")

    def __init__(self, block: Block, after: object) -> None:
        self.block, self.after = block, after

    def close(self) -> None:
        """Nothing to free."""


class Lease:
    """A reference to a source; the source is closed with the last one."""

    __slots__ = ("_source",)
    _lock: ClassVar[Guard] = Guard()
    _count: ClassVar[dict[int, int]] = {}

    def __init__(self, source: Source) -> None:
        self._source: Source | None = source
        with self._lock:
            self._count[id(source)] = self._count.get(id(source), 0) + 1

    def close(self) -> None:
        """Releases the reference."""
        with self._lock:
            source, self._source = self._source, None
            if source is None:
                return
            left = self._count.pop(id(source)) - 1
            if left:
                self._count[id(source)] = left
        if not left:
            source.close()


class SourceState(NamedTuple):
    """The position of the current chunk, how many of its rows have been returned, the chunk itself, whether the end or
    an error was reached, and the lease on the source.
    """

    position: Any = None
    taken: int = 0
    chunk: Chunk | None = None
    ended: bool = False
    lease: Lease | None = None


@node
class Reader(Node):
    """A source read sequentially, from one position to the next."""

    State: ClassVar[Any] = SourceState
    op: ClassVar[str] = "from_source"
    source: Source

    def spec(self) -> Any:
        """The source's `element_spec`."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """Unknown before the end."""
        return UNKNOWN

    def begin(self, pull: Any) -> SourceState:
        """Takes a lease on the source."""
        return SourceState(lease=Lease(self.source))

    def step(self, state: SourceState, pull: Any, want: int) -> tuple[Block | None, SourceState]:
        """Reads a chunk, and returns it in parts of up to `want` rows."""
        position, taken, chunk, ended, lease = state
        if ended:
            return None, state
        if lease is None:
            lease = Lease(self.source)
        if chunk is None:
            most = self.source.rows_at_once
            # After a restore, rows that were already returned are read again and skipped.
            requested = taken + want if most is None else max(1, min(taken + want, most))
            try:
                chunk = self._read(position, requested)
            except BaseException:
                if state.lease is None:  # taken just now, after a restore: no state will hold it
                    lease.close()
                raise
            if chunk is None:
                return None, SourceState(position, 0, None, True, lease)
        block = chunk.block
        rows = block.slice(taken, taken + want) if taken < block.n else EMPTY
        taken += rows.n
        if taken < block.n:
            return rows, SourceState(position, taken, chunk, False, lease)
        return rows, SourceState(chunk.after, taken - block.n, None, False, lease)

    def _read(self, position: object, want: int) -> Chunk | None:
        name = type(self.source).__name__
        try:
            got = self.source.read(position, want)
            if got is None:
                return None
            if not isinstance(got, tuple) or len(got) != 2:
                raise InvalidTypeError(f"read must return rows and the position after them, or None, got {_short(got)}")
            block = block_of(got[0], self.element_spec)
            if not block.n and got[1] == position:
                raise InvalidArgumentError(
                    "read returned no rows and the same position; it must return None at the end"
                )
        except Exception as e:
            if want > 1:  # the rows before the failing one are returned first, whatever the block size
                return self._read(position, 1)
            error = _located(e, f"from_source ({name}.read) failed at position {position!r}")
            must_be_wanted(error)
            raise error from e
        return Chunk(block, got[1])

    def after_error(self, state: SourceState) -> SourceState:
        """Ends the dataset: the next position is unknown."""
        return state._replace(ended=True, chunk=None)


@node
class Rows(Indexed):
    """A source with random access."""

    op: ClassVar[str] = "from_source"
    source: Source

    def spec(self) -> Any:
        """The source's `element_spec`."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """The source's length, which is asked for once."""
        return self._length

    @cached_property
    def _length(self) -> int:
        source: Any = self.source  # with `__len__`
        return len(source)

    def span(self, start: int, stop: int) -> Block:
        """The rows with these numbers."""
        return self.rows(np.arange(start, stop, dtype=np.int64))

    def rows(self, index: Array) -> Block:
        """The rows with these numbers."""
        try:
            block = block_of(self.source.rows(index), self.element_spec)
            if block.n != len(index):
                raise InvalidArgumentError(f"rows returned {block.n} rows for {len(index)} numbers")
        except Exception as e:
            numbers = f"row {index[0]}" if len(index) == 1 else f"{len(index)} rows, the first {index[0]}"
            raise _located(e, f"from_source ({type(self.source).__name__}) failed on {numbers}") from e
        return block


def _located(error: Exception, place: str) -> Exception:
    kind = "" if isinstance(error, errors.OpError) else f"{type(error).__name__}: "
    return errors.in_function(error, f"{place}: {kind}{error}")


def block_of(rows: object, spec: object) -> Block:
    """A block from a source's rows: a list of elements, or a structure of columns."""
    leaves, tree = flatten(spec)
    paths = tree.paths()
    if isinstance(rows, list):
        if not rows:
            return EMPTY
        values = zip(*(_leaves_of(tree, row) for row in rows), strict=True)
        made = [_packed(list(v), leaf, path) for v, leaf, path in zip(values, leaves, paths, strict=True)]
        return Block(made, len(rows), tree)
    columns = [
        freeze(_fitted(_column(value, path), leaf, path))
        for value, leaf, path in zip(_leaves_of(tree, rows), leaves, paths, strict=True)
    ]
    lengths = {len(c) for c in columns}
    if len(lengths) != 1:
        raise InvalidArgumentError(f"the columns have different numbers of rows: {[len(c) for c in columns]}")
    return Block(columns, lengths.pop(), tree)


def _leaves_of(tree: Tree, value: object) -> list[Any]:
    try:
        return tree.flatten(value)
    except TypeError as e:
        raise InvalidTypeError(f"the rows do not have the structure of element_spec: {e}") from None


def _packed(values: list[Any], spec: object, path: str) -> Column:
    """A column of single values; Python numbers get the spec's dtype."""
    kinds = set(map(type, values))
    if isinstance(spec, TensorSpec) and spec.dtype.dtype != object and kinds <= {int, float, bool}:
        if (float in kinds and spec.dtype.kind in "iub") or (int in kinds and spec.dtype.kind == "b"):
            raise InvalidTypeError(f"{_short(values[0])} at {path}, but element_spec says {spec.dtype.name}")
        try:
            return _fitted(np.array(values, spec.dtype.dtype), spec, path)
        except OverflowError:
            raise InvalidArgumentError(f"a number at {path} does not fit {spec.dtype.name}") from None
    return _fitted(pack(values), spec, path)


def _column(value: object, path: str) -> Column:
    """A column from a source's value."""
    leaf = leaf_of(value)
    if isinstance(leaf, RaggedTensor):
        return Objects(ragged.rows(leaf))
    if isinstance(leaf, SparseTensor):
        return Objects(sparse.rows(leaf))
    if not isinstance(leaf, np.ndarray) or not leaf.ndim:
        raise InvalidTypeError(f"{_short(value)} at {path} is not a column; return an array with one row per element")
    return leaf


def _fitted(column: Column, spec: Any, path: str) -> Column:
    """The column, if its rows match the spec."""
    items = [column] if isinstance(column, np.ndarray) else column.items
    for item in items:
        if spec is None and item is None:
            continue
        shape = item.shape[1:] if item is column else getattr(item, "shape", ())
        dtype = getattr(item, "dtype", object)
        if spec is None or item is None or dtype != spec.dtype.dtype or not spec.shape.is_compatible_with(shape):
            got = "None" if item is None else f"{as_dtype(dtype).name} of shape {list(shape)}"
            raise InvalidTypeError(f"{got} at {path}, but element_spec says {spec!r}")
    return column if isinstance(column, np.ndarray) else Objects(items, spec)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def from_source(source: Source, name: str | None = None) -> Dataset[Any]:
    """A dataset of the rows of `source`, an instance of a subclass of `Source` that reads a custom format.

    >>> class Countdown(fl.Source):
    ...     element_spec = fl.TensorSpec([], fl.int32)
    ...     def read(self, position, want):
    ...         left = 3 if position is None else position
    ...         return ([left], left - 1) if left else None
    >>> list(fl.Dataset.from_source(Countdown()))
    [np.int32(3), np.int32(2), np.int32(1)]

    See `Source` for what the class needs. The dataset behaves like those of the built-in sources: it moves many rows at
    a time, and can be sharded, and saved and restored at any element.
    """
    if not isinstance(source, Source):
        got = f"the class {source.__name__} itself" if isinstance(source, type) else _short(source)
        raise InvalidTypeError(f"from_source: source must be an instance of a subclass of fl.Source, got {got}")
    kind = type(source)
    try:
        leaves, _ = flatten(source.element_spec)
    except AttributeError:
        raise InvalidTypeError(f"from_source: {kind.__name__} must define element_spec, the spec of a row") from None
    if not leaves or not any(isinstance(leaf, TypeSpec) for leaf in leaves):
        got = _short(source.element_spec)
        raise InvalidTypeError(f"from_source: {kind.__name__}.element_spec must consist of specs, got {got}")
    if hasattr(kind, "__len__") and (hasattr(kind, "__getitem__") or kind.rows is not Source.rows):
        return dataset(Rows(source))
    if kind.read is Source.read:
        raise InvalidTypeError(f"from_source: {kind.__name__} must define read, or __len__ with __getitem__ or rows")
    return dataset(Reader(source))
