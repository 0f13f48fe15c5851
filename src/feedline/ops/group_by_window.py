"""`group_by_window`: windows of elements with the same key, each reduced by a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.batch import Grouped
from feedline.ops.shared.nested import dataset_of, first_blocks, made, must_be_endable, seeds_in, stand_ins
from feedline.plan import arguments
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.dataset_base import dataset, in_memory
from feedline.plan.function import Function
from feedline.plan.inference import infer_unseen
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pull import Child
from feedline.plan.row_calls import RowFailed
from feedline.plan.traits.effects import CallsUserCode, side_effect_free
from feedline.plan.traits.schedule import OpensChildren
from feedline.plan.traits.specs import InferredSpec, spec_stated
from feedline.sharing import cached_property
from feedline.structure.block import Block, Objects, concat, pack
from feedline.structure.nest import flat
from feedline.structure.spec import DatasetSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, R, T

FEW_KEYS = 64
AHEAD_ROWS = 256
AHEAD_BYTES = 1 << 18
INT = 1 << 63


class WindowGroups:
    """The state: rows by key that wait for their window to fill up, the window sizes by key, and the running window.

    `rest` holds rows that have been read but not assigned a key yet; `full` is the key of the window to run next.
    """

    __slots__ = (
        *("child", "counts", "ended", "free", "full", "opened"),
        *("over", "reach", "rest", "rows", "sizes", "taken"),
    )

    def __init__(self) -> None:
        self.rows: dict[int, list[Block]] = {}
        self.counts: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.child: Any = None
        self.over = False  # the window has ended, but cannot be closed ahead of the consumer yet
        self.opened: Any = None  # the window to run next, if it could not be started yet
        self.rest: Block | None = None
        self.full: int | None = None
        self.taken = 0
        self.reach = 1
        self.free = 0  # before so many more rows no window can be full; not saved
        self.ended = False

    def add(self, key: int, rows: Block) -> None:
        """Adds rows to a key's window."""
        self.rows.setdefault(key, []).append(rows)
        self.counts[key] = self.counts.get(key, 0) + rows.n

    def remove(self, key: int) -> None:
        """Removes a key and its rows."""
        del self.rows[key], self.counts[key]

    def close(self) -> None:
        """Closes the window that runs, or is about to."""
        for child in (self.child, self.opened):
            if child is not None:
                child.close()
        self.child, self.opened, self.over = None, None, False

    class Saved(TypedDict):
        """The dict that `save` returns."""

        rows: dict[int, Block]
        sizes: dict[int, int]
        child: Child | None
        rest: Block | None
        at: list[Any]

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        rows = {key: concat(parts) for key, parts in self.rows.items()}
        at = [self.taken, self.ended, self.full]
        return {"rows": rows, "sizes": self.sizes, "child": self.child or self.opened, "rest": self.rest, "at": at}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> WindowGroups:
        """Restores a state from what `save` returned."""
        self = cls()
        for key, block in saved["rows"].items():
            self.add(key, block)
        self.sizes, child, self.rest = saved["sizes"], saved["child"], saved["rest"]
        self.child, self.opened = (child, None) if child is None or child.started else (None, child)
        self.taken, self.ended, self.full = saved["at"]
        lost = [key for key in self.rows if self.sizes.get(key, 0) < 1 or not -INT <= key < INT]
        if lost or type(self.taken) is not int or type(self.ended) is not bool:
            raise ValueError(f"group_by_window: invalid position {saved['at']}, or windows without a size: {lost}")
        if self.full is not None and self.full not in self.rows:
            raise ValueError(f"group_by_window: the full window {self.full} has no rows")
        return self


@node
class GroupByWindow(CallsUserCode, InferredSpec, OpensChildren):
    """The rows of the datasets that `reduce_func` makes from windows of rows with equal keys."""

    State: ClassVar[Any] = WindowGroups
    mutable_state: ClassVar[bool] = True
    op: ClassVar[str] = "group_by_window"
    input: Node
    key_func: Function
    reduce_func: Function
    window_size: int | None = None
    window_size_func: Function | None = None
    smallest: int = 1
    """Lower bound of the window sizes: this many rows may be read before any window can be full."""

    @property
    def traced_spec(self) -> Any:
        """That of the datasets that `reduce_func` makes."""
        made = self.reduce_func.traced_spec
        return None if made is None else made.element_spec

    def spec(self) -> Any:
        """The spec of the dataset that `reduce_func` returns for the first few elements, which is not run."""
        if self.traced_spec is not None:
            return self.traced_spec
        given = self.input.element_spec
        blocks, failed = first_blocks(self.input)
        if not blocks:
            made_up = (Block.of_elements([element]) for element in stand_ins(given))
            return infer_unseen(DatasetSpec(given), made_up, self._spec_of, failed, strings_decide=False)
        return self._spec_of(concat(blocks))

    def _spec_of(self, rows: Block) -> Any:
        """The spec of the dataset that `reduce_func` returns for a window of these rows."""
        key = np.int64(int64_of(self.key_func.on_row(rows.rows()[0]), "key_func"))
        return made(self.reduce_func, (key, dataset_of(rows, self.input.element_spec))).element_spec

    def cardinality(self) -> int:
        """Infinite if the input is, otherwise unknown."""
        return INFINITE if self.input.cardinality() == INFINITE else UNKNOWN

    def child(self, key: Block) -> Node:
        """The plan of the reduced window. The window takes the input's spec, which may be wider than its rows'."""
        number, window = key.rows()[0]
        if spec_stated(self.input):
            window._plan.__dict__["element_spec"] = self.input.element_spec
        return made(self.reduce_func, (number, window))

    def step(self, state: WindowGroups, pull: Pull, want: int) -> tuple[Block | None, WindowGroups]:
        """Returns rows of the running window; without one, reads until a window is full. At the end, the remaining
        windows run in ascending order of their keys.
        """
        s = state
        while True:
            if s.child is not None:
                if not s.over:
                    block = s.child(want)
                    if block is not None:
                        return block, s
                    s.over = True
                must_be_endable(s.child)
                s.close()
            elif s.full is not None:
                batch = self._start_full(s, s.full, pull)
                if batch is not None:
                    return batch, s
            elif not s.ended:
                if s.rest is None:
                    s.free = self._missing(s)
                    s.rest = pull(max(s.free, s.reach))
                    s.ended = s.rest is None
                if s.rest is not None and s.rest.n:
                    self._sort_in(s, s.rest)
                elif s.rest is not None:
                    s.rest = None
                    return EMPTY, s
            elif s.rows:
                key = min(s.rows)
                rows = concat(s.rows[key])
                s.remove(key)
                try:
                    batch = self._start(s, key, rows, pull)
                except Exception:
                    raise
                except BaseException:  # an interrupt: the window runs later
                    s.add(key, rows)
                    raise
                if batch is not None:
                    return batch, s
            else:
                return None, s

    @cached_property
    def _reads_ahead(self) -> bool:
        """Whether the input may be read ahead: it has no side effects and consumes no seeds."""
        return side_effect_free(self.input) and not seeds_in(self.input)

    def _missing(self, s: WindowGroups) -> int:
        """The least number of rows before a window can be full; 1 if there are many keys, as one is soon full."""
        if self.smallest == 1 or len(s.counts) > FEW_KEYS:
            return 1
        return min([self.smallest, *(s.sizes[key] - n for key, n in s.counts.items() if s.sizes[key] > n)])

    def _start_full(self, s: WindowGroups, key: int, pull: Pull) -> Block | None:
        try:
            batch = self._start(s, key, concat(s.rows[key]), pull)
        except Exception:
            s.full = None
            raise
        s.full = None
        s.remove(key)
        return batch

    def _sort_in(self, s: WindowGroups, rows: Block) -> None:
        """Assigns rows to their keys, up to one that fails or fills a window; the rows after it wait in `rest`."""
        if self._reads_ahead and s.reach < AHEAD_ROWS and rows.nbytes < AHEAD_BYTES // 4:
            s.reach *= 4
        rows = _read_only(rows)
        keys, error = self._keys(s, rows)
        counts, sizes = s.counts, s.sizes
        places: dict[int, list[int]] = {}
        full: int | None = None
        used = len(keys)
        for i, key in enumerate(keys):
            index = places.get(key)
            if index is None:
                if key not in sizes:
                    try:
                        sizes[key] = self._size(key)
                    except Exception as e:
                        used, error = i, self._blamed(self.window_size_func or self.key_func, s.taken + i, e)
                        break
                places[key] = index = []
            index.append(i)
            if counts.get(key, 0) + len(index) == sizes[key]:
                used, full, error = i + 1, key, None
                break
        else:
            if error is not None:
                error = self._blamed(self.key_func, s.taken + used, error)
        for key, index in places.items():
            first, n = index[0], len(index)
            together = index[-1] - first + 1 == n
            s.add(key, rows.slice(first, first + n) if together else rows.take(np.array(index)))
        used += error is not None
        s.taken += used
        s.free -= used
        s.rest = rows.slice(used, rows.n) if used < rows.n else None
        if error is not None:
            raise error
        s.full = full

    def _keys(self, s: WindowGroups, rows: Block) -> tuple[list[int], Exception | None]:
        """The keys of all rows if `key_func` is vectorized, otherwise of the rows before a window can be full."""
        columns = self.key_func.on_columns(rows)
        if isinstance(columns, np.ndarray) and columns.shape == (rows.n,) and columns.dtype == np.int64:
            return columns.tolist(), None
        if rows.n > s.free:
            s.free = self._missing(s)
        results, error = self.key_func.on_rows(rows.slice(0, s.free))
        if error is not None and not isinstance(error, Exception):
            raise error
        keys: list[int] = []
        for result in results:
            try:
                keys.append(result if type(result) is int else int64_of(result, "key_func"))
            except InvalidTypeError as e:
                return keys, e
        return keys, error

    def _size(self, key: int) -> int:
        size = self.window_size
        if self.window_size_func is not None:
            size = int64_of(self.window_size_func.on_row(np.int64(key)), "window_size_func")
        if size is None or size <= 0:
            raise InvalidArgumentError(f"the window size must be greater than zero, got {size} for key {key}")
        return size

    def _start(self, s: WindowGroups, key: int, rows: Block, pull: Pull) -> Block | None:
        """Starts a window; returns its only element instead if it is one batch of its rows. If `reduce_func` fails
        before the end of the input, the rows stay, as in TensorFlow, and the window never fills again.
        """
        if s.opened is None:
            window = Objects([dataset(in_memory(rows))], DatasetSpec(None))
            row = Block([pack([np.int64(key)]), window], 1, flat(2))
            try:
                plan = self.child(row)
            except Exception as e:
                raise self._blamed(self.reduce_func, None, e) from e
            batch = plan.only_batch() if isinstance(plan, Grouped) else None
            if batch is not None:
                return batch
            s.opened = pull.open(plan, row)
        try:
            s.opened.start()
        except Exception:
            s.close()
            raise
        s.child, s.opened = s.opened, None
        return None

    def _blamed(self, function: Function, number: int | None, error: Exception) -> Exception:
        return function.attribute_error(self.op, self.position, number, RowFailed(0, None, error))


def _read_only(rows: Block) -> Block:
    """The rows, marked read-only, with their provenance: key functions and windows share them."""
    made = rows.frozen()
    made.provenance, made.batch_provenance = rows.provenance, rows.batch_provenance
    return made


def int64_of(value: Any, name: str, exact: bool = False) -> int:
    """The result of a key or size function as an int: an int64, or unless `exact` a Python int, which is an int32 in
    TensorFlow. TensorFlow rejects other integer types.
    """
    if type(value) in (int, bool) and not exact:
        return int(value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.int64 and value.shape == ():
        return int(value)
    got = f"{value.dtype} of shape {list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__
    raise InvalidTypeError(f"{name} must return an int64 scalar, got {got}; cast it with np.int64")


def group_by_window(
    self: Dataset[T],
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Dataset[T]], Dataset[R]],
    window_size: Integer | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Dataset[R]:
    """Groups elements with the same key into windows of `window_size`, and reduces each window to a dataset.

    >>> ds = fl.Dataset.range(7).group_by_window(lambda x: x % 2, lambda key, window: window.batch(4), window_size=3)
    >>> list(ds)
    [array([0, 2, 4]), array([1, 3, 5]), array([6])]

    `key_func` maps an element to an int64; `reduce_func` maps a key and the dataset of a window to a dataset, whose
    elements are the result. `window_size_func`, in place of `window_size`, maps a key to the size of its windows.
    Windows that are incomplete at the end follow in ascending order of their keys.
    """
    op = "group_by_window"
    key = Function(arguments.function(key_func, "key_func", op))
    reduce = Function(arguments.function(reduce_func, "reduce_func", op))
    if (window_size is None) == (window_size_func is None):
        raise InvalidArgumentError(f"{op}: pass either window_size or window_size_func")
    if window_size is not None:
        size = arguments.integer(window_size, "window_size", op)
        return self._derive(GroupByWindow(self._plan, key, reduce, size, None, max(1, size)))
    sizes = Function(arguments.function(window_size_func, "window_size_func", op))
    return self._derive(GroupByWindow(self._plan, key, reduce, None, sizes))
