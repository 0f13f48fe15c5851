"""`window`: groups of consecutive elements as datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, overload

import numpy as np

from feedline.plan import arguments
from feedline.plan.cardinality import divided
from feedline.plan.dataset_base import dataset, in_memory
from feedline.plan.interrupted import Exited, Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.reshard import Reshards, begun_of, error_waits, not_reshardable, round_robin_share
from feedline.structure.block import Array, Block, Column, Objects, concat, slice_column, spec_of_column, take_rows
from feedline.structure.nest import LEAF, map_structure
from feedline.structure.spec import DatasetSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, K, Leaf, V

Bad = tuple[tuple[int, Exception], ...]
Places = Array | list[Array]
"""The rows of each window: a row of a matrix if all windows are full, otherwise an array of any length."""


class WindowState(NamedTuple):
    """What has been read for the next windows: the rows, the positions at which the input failed, with the errors,
    whether the input has ended, an error to raise next, and how many rows between windows have been skipped already.
    """

    rows: Block | None = None
    bad: Bad = ()
    ended: bool = False
    error: Exception | None = None
    passed: int = 0


@node
class Window(Reshards):
    """Datasets of `size` rows, `stride` apart, each starting `shift` rows after the previous one."""

    State: ClassVar[Any] = WindowState
    op: ClassVar[str] = "window"
    input: Node
    size: int
    shift: int
    stride: int
    drop_remainder: bool

    def spec(self) -> Any:
        """Each component becomes a dataset of its own."""
        return map_structure(DatasetSpec, self.input.element_spec)

    def cardinality(self) -> int:
        """One window per `shift` elements; with `drop_remainder`, the number of full windows."""
        n = self.input.cardinality()
        if n < 0 or not self.drop_remainder:
            return divided(n, self.shift, False)
        return max(0, (n - self._reach) // self.shift + 1)

    @property
    def _reach(self) -> int:
        """How many elements a window spans."""
        return (self.size - 1) * self.stride + 1

    def step(self, state: WindowState, pull: Pull, want: int) -> tuple[Block | None, WindowState]:
        """Reads until a window is full, then returns all full windows. An error has a position among the elements and
        is raised by every window that would contain it.
        """
        if state.error is not None:
            raise state.error
        rows, bad, ended = self._filled(state, pull, want)
        state = WindowState(rows, bad, ended, passed=state.passed)
        have = (rows.n if rows is not None else 0) + len(bad)
        reach = self._reach
        if have >= reach:
            count = min(want, (have - reach) // self.shift + 1)
        elif have and not self.drop_remainder:
            count = min(want, -(-have // self.shift))
        else:
            return None, WindowState(ended=True)
        starts = range(0, count * self.shift, self.shift)
        if have >= reach:
            places: Places = np.array(starts)[:, None] + np.arange(0, reach, self.stride)
        else:
            places = [np.arange(start, have, self.stride) for start in starts]
        if not bad:
            return self._windows(rows, places), self._moved(state, have, count, pull)
        good = next((i for i, window in enumerate(places) if _failure(bad, window) is not None), count)
        if good:
            index = np.zeros(have, np.int64)
            index[np.setdiff1d(np.arange(have), [at for at, _ in bad])] = np.arange(have - len(bad))
            windows = self._windows(rows, [index[window] for window in places[:good]])
            return windows, self._moved(state, have, good, pull)
        after = self._moved(state, have, 1, pull)
        return EMPTY, after._replace(error=_failure(bad, places[0]))

    def _filled(self, state: WindowState, pull: Pull, want: int) -> tuple[Block | None, Bad, bool]:
        rows, bad, ended, *_ = state
        parts = [] if rows is None else [rows]
        have = (rows.n if rows is not None else 0) + len(bad)
        goal = self._reach + (want - 1) * self.shift
        while have < self._reach and not ended:
            try:
                block = pull(goal - have)
            except BaseException as e:
                if isinstance(e, Exception) and not isinstance(e, Exited):
                    bad = (*bad, (have, e))
                    have += 1
                    continue
                raise Interrupted(e, WindowState(concat(parts) if parts else None, bad)) from None
            if block is None:
                ended = True
            elif block.n:
                parts.append(block)
                have += block.n
        return concat(parts) if parts else None, bad, ended

    def _moved(self, state: WindowState, have: int, count: int, pull: Pull) -> WindowState:
        """The state `count` windows later. As in TensorFlow, elements between windows are read and dropped, even
        errors.
        """
        rows, bad, ended, _, passed = state
        start = count * self.shift
        while have + passed < start and not ended:
            try:
                block = pull(start - have - passed)
            except Exited as e:
                raise Interrupted(e, state._replace(passed=passed + 1)) from None
            except Exception:
                passed += 1
            except BaseException as e:
                raise Interrupted(e, state._replace(passed=passed)) from None
            else:
                ended = block is None
                passed += 0 if block is None else block.n
        left = passed if have > start else 0
        kept = tuple((at - start, e) for at, e in bad if at >= start)
        gone = start - (len(bad) - len(kept))
        rest = rows.slice(gone, rows.n) if rows is not None and gone < rows.n else None
        return WindowState(rest, kept, ended, passed=left)

    def _windows(self, rows: Block | None, places: Places) -> Block:
        if rows is None:
            return EMPTY
        rows = rows.frozen()
        return Block([Windows(c, places) for c in rows.columns], len(places), rows.tree)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the rows of incomplete windows; refused if windows overlap or have gaps."""
        begun = begun_of(self, states)
        if not begun:
            return None
        if any(s.bad for s in begun):
            raise error_waits(self)
        if any(s.rows is not None for s in begun) and not (self.stride == 1 and self.shift == self.size):
            raise not_reshardable(self, len(states), parts)
        return WindowState(round_robin_share([s.rows for s in begun], part, parts))

    def after_error(self, state: WindowState) -> WindowState:
        """Drops the error with its window."""
        return state._replace(error=None)


def _failure(bad: Bad, window: Array) -> Exception | None:
    places = set(window.tolist())
    return next((e for at, e in bad if at in places), None)


class Windows(Objects):
    """A column of datasets, made when they are asked for: each has the rows of a column at certain places."""

    __slots__ = ("places", "rows")

    def __init__(self, rows: Column, places: Places) -> None:
        super().__init__([], DatasetSpec(spec_of_column(rows)))
        self.rows, self.places = rows, places

    @property
    def items(self) -> list[Any]:
        """The datasets."""
        if len(self._items) < len(self):
            parts = (Block([_part(self.rows, p)], len(p), LEAF) for p in self.places)
            self._items = [dataset(in_memory(part)) for part in parts]
        return self._items

    def __len__(self) -> int:
        return len(self.places)


def _part(column: Column, places: Array) -> Column:
    first, last = int(places[0]), int(places[-1])
    if last - first == len(places) - 1:
        return slice_column(column, first, last + 1)
    return take_rows(column, places)


@overload
def window(
    self: Dataset[Never],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]: ...
@overload
def window(
    self: Dataset[tuple[Any, ...]],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[tuple[Dataset[Any], ...]]: ...
@overload
def window(
    self: Dataset[dict[K, V]],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[dict[K, Dataset[V]]]: ...
@overload
def window(
    self: Dataset[Leaf],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Dataset[Leaf]]: ...
@overload
def window(
    self: Dataset[Any],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]: ...
def window(
    self: Dataset[Any],
    size: Integer,
    shift: Integer | None = None,
    stride: Integer = 1,
    drop_remainder: bool = False,
    name: str | None = None,
) -> Dataset[Any]:
    """Groups elements into windows: datasets of up to `size` elements each.

    >>> for window in fl.Dataset.range(5).window(3):
    ...     print(list(window))
    [np.int64(0), np.int64(1), np.int64(2)]
    [np.int64(3), np.int64(4)]

    Windows start `shift` elements apart (by default `size`) and take every `stride`-th element. Without
    `drop_remainder` the last ones may be shorter. A window can be iterated any number of times; `flat_map` with `batch`
    turns windows into arrays.

    >>> sliding = fl.Dataset.range(5).window(3, shift=1, drop_remainder=True)
    >>> list(sliding.flat_map(lambda window: window.batch(3)))
    [array([0, 1, 2]), array([1, 2, 3]), array([2, 3, 4])]

    A window of tuples or dicts is a tuple or dict of datasets, one for each component.
    """
    n = arguments.positive(size, "size", "window")
    step = n if shift is None else arguments.positive(shift, "shift", "window")
    by = arguments.positive(stride, "stride", "window")
    drop = arguments.boolean(drop_remainder, "drop_remainder", "window")
    return self._derive(Window(self._plan, n, step, by, drop))
