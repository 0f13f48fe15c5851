"""`cache`: elements kept from the first complete pass for all later ones."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, NotFoundError
from feedline.io.elements.draft import Draft, WrittenElsewhere
from feedline.io.elements.form import form_text, has_classes
from feedline.io.elements.reader import ElementsReader
from feedline.io.files import as_path, exists
from feedline.ops.shared.materialize import Materialize
from feedline.ops.sources.load import Load
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.dataset_base import dataset
from feedline.plan.fingerprint import fingerprint
from feedline.plan.node import Node, Pull, node
from feedline.plan.traits.checkpoint import ExecutionArgs
from feedline.plan.traits.effects import Stored, side_effect_free
from feedline.plan.traits.random_access import RandomAccess, in_order, read_rows
from feedline.plan.traits.reshard import Reshards, not_reshardable
from feedline.plan.traits.specs import Sampled
from feedline.sharing import Guard
from feedline.structure.block import Array, Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filename, T

CHUNK_ROWS = 1024
CHUNK_BYTES = 1 << 20

SUFFIX = ".elements"


class CachedRows:
    """Read-only rows in chunks. Small blocks are joined, so that reading is as fast as from an array; large blocks stay
    as they are, so that the cache is never copied as a whole.
    """

    __slots__ = ("_bytes", "_small", "_waiting", "chunks", "starts")

    def __init__(self, blocks: list[Block] | None = None) -> None:
        self.chunks: list[Block] = []
        self.starts = [0]
        self._small: list[Block] = []
        self._bytes = self._waiting = 0
        for block in blocks or ():
            self.add(block)

    def __bool__(self) -> bool:
        return bool(self.chunks or self._small)

    def add(self, block: Block) -> None:
        """Appends rows."""
        self._small.append(block.frozen())
        self._bytes += block.nbytes
        self._waiting += block.n
        if self._bytes >= CHUNK_BYTES or len(self._small) >= CHUNK_ROWS or block.n >= CHUNK_ROWS:
            self.join()

    def join(self) -> None:
        """Joins the pending small blocks into a chunk."""
        if self._small:
            chunk = concat(self._small).frozen()
            self.chunks.append(chunk)
            self.starts.append(self.starts[-1] + chunk.n)
            self._small, self._bytes, self._waiting = [], 0, 0

    @property
    def count(self) -> int:
        """The number of rows in chunks."""
        return self.starts[-1]

    @property
    def total(self) -> int:
        """The number of rows, pending ones included."""
        return self.starts[-1] + self._waiting

    def span(self, start: int, want: int) -> Block | None:
        """Up to `want` rows from number `start`; None past the end."""
        if start >= self.starts[-1]:
            return None
        i = int(np.searchsorted(self.starts, start, "right")) - 1
        at = start - self.starts[i]
        return self.chunks[i].slice(at, at + want)

    def take(self, index: Array) -> Block:
        """The rows at these indices, in fresh memory."""
        which = np.searchsorted(self.starts, index, "right") - 1
        parts = [self.chunks[i].take(index[which == i] - self.starts[i]) for i in np.unique(which).tolist()]
        back = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        return parts[0] if len(parts) == 1 else concat(parts).take(back)


class Reached:
    """Elements that random access has computed, by index: individually, or in a pass of its own."""

    __slots__ = ("_elements", "_guard", "_pass", "_process", "begun")

    def __init__(self) -> None:
        self._guard = Guard()
        self._elements: dict[int, Any] = {}
        self._pass: Any = None
        self._process = 0
        self.begun = False

    def read_up_to(self, i: int, plan: Node) -> bool:
        """Reads on up to element i; False if the input ends before it. An element that fails raises and is not counted.
        """
        with self._guard:
            if not self.begun or (self._pass is not None and self._process != os.getpid()):
                self._elements.clear()
                self._pass, self._process, self.begun = iter(dataset(plan)), os.getpid(), True
            while self._pass is not None and len(self._elements) <= i:
                try:
                    self._elements[len(self._elements)] = next(self._pass)
                except StopIteration:
                    self._pass.close()
                    self._pass = None
            return i < len(self._elements)

    def take(self, index: Array, plan: Node | None = None) -> Block:
        """The elements at these indices, in fresh memory; missing ones are computed by the plan and kept."""
        with self._guard:
            new = [i for i in dict.fromkeys(index.tolist()) if i not in self._elements]
            if new and plan is not None:
                self._elements.update(zip(new, read_rows(plan, np.array(new, np.int64)).rows(), strict=True))
            return Block.of_elements([self._elements[i] for i in index.tolist()])


class CacheMemory:
    """The rows of the first complete pass, shared by all iterators of one dataset, and the elements that random access
    has computed. A copy, pickled or not, starts empty.
    """

    __slots__ = ("reached", "rows")

    def __init__(self) -> None:
        self.rows: CachedRows | None = None
        self.reached = Reached()

    def offer(self, rows: CachedRows) -> None:
        """Stores the rows of a complete pass, unless another pass completed first."""
        if self.rows is None:
            self.rows = rows

    def __reduce__(self) -> Any:
        return CacheMemory, ()


class CacheState:
    """One pass over a cache: the rows, the index of the next row to read (None while rows are being collected), and
    whether the rows are complete.
    """

    __slots__ = ("at", "complete", "rows", "size")

    def __init__(self, rows: CachedRows, at: int | None, complete: bool) -> None:
        self.rows, self.at, self.complete = rows, at, complete
        self.size: int | None = None  # the input's cardinality, computed at the first step

    class Saved(TypedDict):
        """The dict that `save` returns."""

        rows: list[Block]
        at: int | None
        complete: bool

    def save(self) -> dict[str, Any]:
        """The state with all its rows, since running the input again might give others."""
        self.rows.join()
        return {"rows": self.rows.chunks, "at": self.at, "complete": self.complete}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> CacheState:
        """Restores a state from what `save` returned."""
        rows = CachedRows(saved["rows"])
        rows.join()
        if saved["at"] is not None and not 0 <= saved["at"] <= sum(block.n for block in saved["rows"]):
            raise ValueError(f"cache: row {saved['at']} is past the last row")
        return cls(rows, saved["at"], saved["complete"])


class CacheStates:
    """Restores states of one cache. A complete pass also fills the cache's memory, where the next pass looks for rows.
    """

    Saved = CacheState.Saved

    def __init__(self, memory: CacheMemory) -> None:
        self.memory = memory

    def load(self, saved: dict[str, Any]) -> CacheState:
        """Restores a state from what `CacheState.save` returned."""
        loaded = CacheState.load(saved)
        if loaded.complete:
            self.memory.offer(loaded.rows)
        return loaded


@node
class Cache(RandomAccess, Reshards, Sampled, Stored):
    """Keeps the input's rows in memory."""

    mutable_state: ClassVar[bool] = True
    op: ClassVar[str] = "cache"
    input: Node
    memory: CacheMemory = dataclasses.field(default_factory=CacheMemory, compare=False, repr=False)

    @property
    def State(self) -> CacheStates:
        """Restores states, which are bound to this cache's memory."""
        return CacheStates(self.memory)

    def begin(self, pull: Pull) -> CacheState:
        """Starts the input only if its rows are not in memory yet."""
        if self.memory.rows is not None:
            return CacheState(self.memory.rows, 0, True)
        pull.start()
        return CacheState(CachedRows(), None, False)

    def step(self, state: CacheState, pull: Pull, want: int) -> tuple[Block | None, CacheState]:
        """Reads cached rows, or caches rows as they are read. The first complete pass serves all later ones."""
        if state.at is not None:
            block = state.rows.span(state.at, want)
            state.at += 0 if block is None else block.n
            return block, state
        if state.complete:  # whatever follows, such as an error, is not cached
            return pull(want), state
        if state.size is None:
            state.size = self.input.cardinality()
        missing = state.size - state.rows.total
        # The last row is pulled alone, so that the pass completes at the same row whatever the block size.
        block = pull(min(want, missing - 1) if missing > 1 else want)
        if block is not None and block.n:
            block = block.frozen()
            state.rows.add(block)
        if block is None or block.n == missing:
            state.rows.join()
            state.complete = True
            self.memory.offer(state.rows)
        return block, state

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Only possible while nothing is cached: cached rows belong to one shard, and the shards change."""
        if all(s is None or (s.at is None and not s.complete and not s.rows) for s in states):
            return None if all(s is None for s in states) else CacheState(CachedRows(), None, False)
        raise not_reshardable(self, len(states), parts)

    @property
    def stored(self) -> bool:
        """Whether the rows are in memory."""
        return self.memory.rows is not None

    @property
    def store(self) -> CacheMemory:
        """The cache's memory."""
        return self.memory

    @property
    def indexable(self) -> bool:
        """Always: an input without random access is read up to the index."""
        return True

    @property
    def in_order(self) -> bool:
        """Whether rows read by index equal an iteration's: if the input's do, else they come from a separate pass."""
        return in_order(self.input)

    def has_row(self, i: int) -> bool | None:
        """Whether row i exists; an input of unknown cardinality is read up to it."""
        n = self.input.cardinality()
        if n != UNKNOWN:
            return i >= 0 and (i < n or n == INFINITE)
        if i < 0:
            return False
        return self.memory.reached.read_up_to(i, self.input) if self._whole is None else i < self._whole.count

    @property
    def _whole(self) -> CachedRows | None:
        """The rows of a complete pass, unless random access has begun a pass of its own."""
        return None if self.memory.reached.begun else self.memory.rows

    def rows(self, index: Array) -> Block:
        """Reads rows from memory. Missing rows are computed and kept, since functions must run only once."""
        if self._whole is not None:
            return self._whole.take(index)
        reached = self.memory.reached
        if not in_order(self.input):
            reached.read_up_to(int(index.max(initial=-1)), self.input)
            return reached.take(index)
        return read_rows(self.input, index) if side_effect_free(self.input) else reached.take(index, self.input)


@node
class FileCache(ExecutionArgs, RandomAccess, Stored, Materialize):
    """Keeps the input's rows in a file, with a fingerprint of the plan that wrote it."""

    op: ClassVar[str] = "cache"
    execution_args: ClassVar[frozenset[str]] = frozenset({"filename", "maker"})
    filename: str
    maker: str = dataclasses.field(default="", compare=False, repr=False)

    @property
    def path(self) -> str:
        """Path of the complete file."""
        return self.filename + SUFFIX

    def found(self) -> Node | None:
        """A plan that reads the file; None if there is none. Raises if another dataset wrote it."""
        try:
            reader = ElementsReader(os.fsencode(self.path))
        except NotFoundError:
            return None
        if reader.fingerprint != self.maker:
            raise InvalidArgumentError(
                f"cache: {self.path} was written by a different dataset or different code; remove it, or choose "
                "another name"
            )
        spec = reader.tree.unflatten(reader.specs)
        like = self.input.element_spec if has_classes(reader.tree) else None
        return Load(self.path, ((self.path, reader.rows),), form_text(spec), 1, like)

    def sink(self, before: Any = None) -> Draft | None:
        """A writer for the file; None if another process is writing it. Only one pass at a time may write."""
        try:
            return Draft(os.fsencode(self.path), self.maker, before)
        except WrittenElsewhere:
            return None

    @property
    def stored(self) -> bool:
        """Whether the file exists."""
        return exists(os.fsencode(self.path))

    def rows(self, index: Array) -> Block:
        """Reads rows from the file if it exists, otherwise from the input."""
        return read_rows(self.found() or self.input, index)


def cache(self: Dataset[T], filename: Filename = "", name: str | None = None) -> Dataset[T]:
    """Keeps the elements of the first complete pass, in memory or in a file; later passes read them from there.

    >>> calls = []
    >>> def slow(x):
    ...     calls.append(int(x))
    ...     return x * x
    >>> ds = fl.Dataset.range(3).map(slow).cache()
    >>> list(ds) == list(ds), calls
    (True, [0, 1, 2])

    Steps before the cache run once; steps after it run in every pass, so random ones belong there. A pass that stops
    early caches nothing; in memory, a pass is complete with the last element if the cardinality is known, otherwise at
    the end. Elements that fail are not cached. Cached elements are read-only, since all passes share them.

    With a `filename` the elements are kept in the file `<filename>.elements`, for this program and others.

    >>> import tempfile
    >>> name = tempfile.mkdtemp() + "/numbers"
    >>> list(fl.Dataset.random(seed=7, rerandomize_each_iteration=True).take(2).cache(name))
    [np.int64(3796837372), np.int64(101266603)]
    >>> list(fl.Dataset.random(seed=7, rerandomize_each_iteration=True).take(2).cache(name).repeat(2))
    [np.int64(3796837372), np.int64(101266603), np.int64(3796837372), np.int64(101266603)]

    The file holds a fingerprint of the steps before the cache: using it with other steps, arguments, data or functions
    raises `InvalidArgumentError`. A function counts as changed if its code or a captured value differs when the dataset
    is made. While one pass writes the file, a second writing pass in the same process raises `AlreadyExistsError`; one
    in another process yields its elements without writing them. A checkpointed pass leaves its partial output in
    `<filename>.elements.partial`, and a restored pass appends to it; if that file is gone, the pass continues without
    writing and the next one writes. The file appears only when it is complete: a process killed while writing leaves no
    lock and nothing that is ever read, and the next pass overwrites its partial output.
    """
    plan = self._plan
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise InvalidTypeError(f"cache: filename must be a str or path, got {filename!r}")
    path = os.fsdecode(as_path(filename))
    made: Node = Cache(plan)
    if path:
        made = FileCache(plan, path, f"{int(fingerprint(plan, drawn_seeds=False)):016x}")
    return self._derive(made)
