"""`flat_map`: the elements of nested datasets, one dataset after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, overload

from feedline.early import working
from feedline.ops.shared.nested import Flattened, NestedRun, enough, key_or_opened, small_rows
from feedline.plan import arguments
from feedline.plan.function import Function
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Child, Node, Pull, node
from feedline.plan.pace import at_once, late
from feedline.plan.row_caller import FunctionStep
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_steps import DROPPED, Waiting
from feedline.plan.traits.reshard import Reshards, begun_of, round_robin_share
from feedline.plan.traits.schedule import HasRowsReady, RowByRow
from feedline.structure.block import Block, concat

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import R, T


class Flattening:
    """The state: the running dataset, datasets begun in other shards that follow it, the number of elements taken, the
    elements to make the next datasets from (`key`), a dataset if it could not be started yet (`opened`), and an error
    to raise next. While there is a dataset that could not be started, no other elements wait.
    """

    __slots__ = ("begun", "ended", "error", "key", "nested", "opened", "small", "taken", "together")

    def __init__(self) -> None:
        self.nested: NestedRun | None = None
        self.begun: list[NestedRun] = []
        self.taken = 0
        self.ended = False  # whether the input has; not saved, since the input says so again
        self.key: Block | None = None
        self.opened: Child | None = None
        self.error: Exception | None = None
        self.together = True  # whether datasets may be read without running them; not saved
        self.small = False  # whether the last dataset was one of a few rows in memory; not saved

    @property
    def idle(self) -> bool:
        """Whether no dataset runs or waits."""
        runs = self.nested is not None and not self.nested.over
        waits = runs or self.key is not None or self.opened is not None or self.error is not None
        return not (waits or self.begun or self.ended)

    def close(self) -> None:
        """Closes the nested runs."""
        for nested in (self.nested, self.opened, *self.begun):
            if nested is not None:
                nested.close()

    def notify_error(self) -> None:
        """Tells the nested runs that an error has reached the consumer."""
        for nested in (self.nested, *self.begun):
            if nested is not None:
                nested.notify_error()

    class Saved(TypedDict):
        """The dict that `save` returns."""

        nested: list[Any] | None
        begun: list[list[Any]]
        taken: int
        error: Exception | None
        key: Block | Child | None

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        begun = [nested.save() for nested in self.begun]
        return self._plain(self.nested and self.nested.save(), begun, self.opened or self.key)

    def snapshot(self) -> dict[str, Any] | None:
        """What `save` would return now; None if that means waiting."""
        nested = self.nested and self.nested.snapshot()
        lost = (nested is None and self.nested is not None) or self.begun or self.opened is not None
        return None if lost else self._plain(nested, [], self.key)

    def _plain(self, nested: object, begun: list[Any], key: object) -> dict[str, Any]:
        return {"nested": nested, "begun": begun, "taken": self.taken, "error": self.error, "key": key}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Flattening:
        """Restores a state from what `save` returned."""
        self = cls()
        self.nested = NestedRun.load(saved["nested"]) if saved["nested"] is not None else None
        self.begun = [NestedRun.load(nested) for nested in saved["begun"]]
        self.taken, self.error = saved["taken"], saved["error"]
        self.key, self.opened = key_or_opened(saved["key"])
        return self


class FlattenedRows(FunctionStep):
    """Makes datasets from single rows, and passes on the rows of small ones; others are run by `FlatMap.step`."""

    __slots__ = ("_error", "_made", "_nested", "_node", "_plan", "_row", "_runs")

    def __init__(self, node: FlatMap) -> None:
        super().__init__(node.function)
        self._node = node
        self._made: Block | None = None
        self._plan: Node | None = None
        self._row: Any = None
        self._nested: NestedRun | None = None
        self._error: Exception | None = None
        self._runs = False  # whether a dataset had to be run: others are likely to be alike

    @property
    def replaces(self) -> bool:
        """The rows are those of other datasets."""
        return True

    @property
    def dense(self) -> bool:
        """Not known."""
        return False

    @property
    def halted(self) -> bool:
        """Whether the last dataset must be run."""
        return self._plan is not None

    def begin(self, state: Flattening) -> bool:
        """Continues between two datasets, once one of them was small. `FlatMap.step` makes the first: it gets elements
        of which a checkpoint holds only how to make them again, if they are large and their datasets must be run.
        """
        self.seen, self._plan, self._nested, self._error = state.taken, None, None, None
        return state.idle and state.small and not self._runs

    def state(self, waiting: Waiting) -> Flattening:
        """The number of datasets, the rows that are left of one, and what waits."""
        made = Flattening()
        made.taken, made.key, made.error = self.seen, waiting.rest, waiting.error or self._error
        made.small = True
        made.nested = self._nested if waiting.made is None else NestedRun(None, None, None, waiting.made)
        return made

    def __call__(self, row: Any) -> Any:
        plan = self._node.made(row)
        self._made = small_rows(plan)
        if self._made is None:
            self._plan, self._row = plan, row
        self.seen += 1
        return DROPPED

    def made(self) -> Block | None:
        """The rows of the last dataset."""
        made, self._made = self._made, None
        return made

    def hand_over(self, pull: Pull, row: Block | None) -> None:
        """Opens the dataset that must be run; its first read starts it."""
        plan, key = self._plan, row if row is not None else Block.of_elements([self._row])
        self._plan, self._row, self._runs = None, None, True
        assert plan is not None
        try:
            child = pull.open(plan, key)
            self._nested = NestedRun(child, child.plan)
        except Exception as e:
            self._error = e

    def failed(self, failed: RowFailed) -> Exception:
        """The error, which names the function and the row."""
        self.seen += 1
        return self._node.attribute_error(failed, self.seen - 1)


@node
class FlatMap(Reshards, HasRowsReady, RowByRow, Flattened):
    """Reads one nested dataset after another."""

    State: ClassVar[Any] = Flattening
    op: ClassVar[str] = "flat_map"

    def step(self, state: Flattening, pull: Pull, want: int) -> tuple[Block | None, Flattening]:
        """Passes on the rows of the nested datasets. An error is raised after the rows before it."""
        s = state
        parts: list[Block] = []
        outer = working.ahead
        try:
            self._gather(s, pull, want, parts)
        except BaseException as e:  # an interrupt: errors of the input and of nested datasets are in the state
            raise Interrupted(e, s, concat(parts) if parts else None) from None
        finally:
            working.ahead = outer
        if parts:
            return concat(parts), s
        if s.error is not None:
            error, s.error = s.error, None
            raise error
        return (None if s.ended and s.nested is None else EMPTY), s

    def _gather(self, s: Flattening, pull: Pull, want: int, parts: list[Block]) -> None:
        have = size = 0
        until = at_once()
        while s.error is None and not enough(have, size, want, until):
            nested = s.nested
            if nested is None:
                if not self._open_next(s, pull) or (not have and late(until)):
                    break  # the end, or nothing yet, after many datasets without rows
                continue
            nested.fetch(want - have, nested.side_effect_free and not nested.seeds)
            if nested.rest is not None:
                parts.append(nested.give(want - have))
                working.ahead = True
                have += parts[-1].n
                size += parts[-1].nbytes
            elif nested.error is not None:
                s.error, nested.error = nested.error, None
            elif nested.over:
                s.nested = None

    def _open_next(self, s: Flattening, pull: Pull) -> bool:
        """Makes a dataset from the next element; False if the input has ended."""
        if s.begun:
            s.nested = s.begun.pop(0)
            return True
        if s.ended:
            return False
        try:
            if s.opened is None:
                keys = s.key if s.key is not None else pull.one()
                if keys is None or not keys.n:
                    s.ended = keys is None
                    return not s.ended
                s.key = keys
                self._open(s, keys, pull)
            if s.opened is not None:
                s.opened.start()
                s.nested, s.opened, s.taken = NestedRun(s.opened, s.opened.plan), None, s.taken + 1
        except Exception as e:
            rest = None if s.key is None or s.key.n == 1 else s.key.slice(1, s.key.n)
            self.skip_current(s)
            s.key, s.error = rest, e
        return True

    def _open(self, s: Flattening, keys: Block, pull: Pull) -> None:
        """Opens the dataset made from the first of the elements. A few rows in memory need no run."""
        key, rest = (keys, None) if keys.n == 1 else (keys.slice(0, 1), keys.slice(1, keys.n))
        plan = self.opened(key, s.taken)
        rows = small_rows(plan)
        if rows is not None:
            s.nested, s.key, s.taken = NestedRun(None, None, None, rows if rows.n else None), rest, s.taken + 1
            s.small = True
            return
        child = pull.open(plan, key)
        s.key = rest
        if rest is None:
            s.opened = child
        else:  # it is started by its first read
            s.nested, s.taken = NestedRun(child, child.plan), s.taken + 1

    def one_by_one(self) -> FlattenedRows | None:
        """Makes datasets from single rows; None for subclasses, which make them in other ways."""
        return FlattenedRows(self) if type(self) is FlatMap else None

    def ready_rows(self, state: Flattening) -> int:
        """Those that have been read from the nested dataset that runs."""
        nested = state.nested
        return 0 if nested is None or nested.rest is None else nested.rest.n

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the running datasets, and the elements that were read ahead."""
        started = begun_of(self, states)
        if not started:
            return None
        held: list[list[NestedRun | None]] = [[s.nested, *s.begun] for s in started]
        held[0] += self.unstarted(started)
        made = Flattening()
        made.taken, made.begun = max(s.taken for s in started), self.left(held, part, parts)
        made.key = round_robin_share([s.key for s in started], part, parts)
        for s, (first, *more) in zip(started, held, strict=True):
            s.nested, s.begun = first, [nested for nested in more if nested is not None]
        return made


@overload
def flat_map(self: Dataset[T], map_func: Callable[[T], Dataset[R]], name: str | None = None) -> Dataset[R]: ...
@overload
def flat_map(self: Dataset[Any], map_func: Callable[..., Dataset[R]], name: str | None = None) -> Dataset[R]: ...
def flat_map(self: Dataset[Any], map_func: Callable[..., Dataset[Any]], name: str | None = None) -> Dataset[Any]:
    """Maps each element to a dataset and concatenates the elements of these datasets.

    >>> list(fl.Dataset.from_tensor_slices([[1, 2], [3, 4]]).flat_map(fl.Dataset.from_tensor_slices))
    [np.int32(1), np.int32(2), np.int32(3), np.int32(4)]

    `map_func` must return a dataset. A plain tuple is unpacked into several arguments.

    >>> windows = fl.Dataset.range(7).window(3, shift=2, drop_remainder=True)
    >>> list(windows.flat_map(lambda window: window.batch(3)))
    [array([0, 1, 2]), array([2, 3, 4]), array([4, 5, 6])]
    """
    call = arguments.element_function(map_func, "map_func", "flat_map", self._plan)
    return self._derive(FlatMap(self._plan, Function(call)))
