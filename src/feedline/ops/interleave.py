"""`interleave`: the elements of several nested datasets at a time, round robin."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, overload

from feedline.early import working
from feedline.errors import InvalidArgumentError
from feedline.ops.shared.nested import Flattened, NestedRun, enough, key_or_opened
from feedline.plan import arguments
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE
from feedline.plan.function import Function
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import Child, Node, Pull, node
from feedline.plan.pace import at_once, late
from feedline.plan.traits.checkpoint import Reloads
from feedline.plan.traits.reshard import Reshards, begun_of, not_reshardable
from feedline.plan.traits.schedule import Buffers, ParallelArgs
from feedline.structure.block import Block, concat
from feedline.structure.round_robin import round_robin

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, R, T

TURN_BYTES = 1 << 16
ALL_AHEAD_BYTES = 1 << 24
"""Bytes that the nested datasets of one interleave may read ahead, approximately and all together."""


class Cycle:
    """The state of an interleave: the slots, the current slot (`at`) and how many rows of its turn it has given.

    An empty slot is None until the next element of the input fills it. Once the input has ended, empty slots are
    removed. `filled` says whether the initial filling is done, for subclasses that fill all slots at the start.
    """

    __slots__ = (
        "at", "calls", "ended", "error", "filled", "given", "key", "mixed", "news", "opened", "sloppy", "slots",
        "taken",
    )

    def __init__(self, slots: list[NestedRun | None]) -> None:
        self.slots = slots
        self.at = 0
        self.given = 0
        self.taken = 0
        self.ended = self.filled = False
        self.error: Exception | None = None
        self.key: Block | None = None  # the element to make the next dataset from, if it has been read
        self.opened: Child | None = None  # that dataset, if it could not be started yet
        self.calls = 0  # how many slots the background may read at the same time
        self.sloppy = False  # whether a slot that is not ready may be skipped
        self.news: SimpleQueue[None] = SimpleQueue()  # signals that a background read has finished
        self.mixed: bool | None = None  # whether nested datasets share seeds; None while at most one has any

    def advance(self) -> None:
        """Moves on to the next slot."""
        self.at, self.given = (self.at + 1) % max(1, len(self.slots)), 0

    def gave(self, n: int, block_length: int) -> None:
        """Counts n rows of the current slot, and moves on when its turn is over."""
        self.given += n
        if self.given == block_length:
            self.advance()

    def end(self) -> None:
        """Notes that the input has ended, and removes empty slots."""
        self.ended = True
        before = sum(slot is not None for slot in self.slots[: self.at])
        self.slots = [slot for slot in self.slots if slot is not None]
        self.at = before % max(1, len(self.slots))

    def leave(self) -> None:
        """Empties the current slot, whose dataset has ended; removes it once the input has ended."""
        if self.ended:
            del self.slots[self.at]
            self.at, self.given = self.at % max(1, len(self.slots)), 0
        else:
            self.slots[self.at] = None
            self.advance()

    def enter(self, slot: NestedRun) -> None:
        """Puts a nested dataset into the current slot."""
        for other in self.slots:
            if other is not None and not other.over and other.seeds and slot.seeds:
                self.mixed = bool(self.mixed) or bool(other.seeds & slot.seeds)
        self.slots[self.at] = slot

    def ahead(self, slot: NestedRun) -> bool:
        """Whether the slot may read more rows than it gives now."""
        return slot.side_effect_free and (not slot.seeds or self.mixed is False)

    def close(self) -> None:
        """Closes all nested runs."""
        for slot in (*self.slots, self.opened):
            if slot is not None:
                slot.close()

    def notify_error(self) -> None:
        """Tells the nested runs that an error has reached the consumer."""
        for slot in self.slots:
            if slot is not None:
                slot.notify_error()

    class Saved(TypedDict):
        """The dict that `save` returns."""

        slots: list[list[Any] | None]
        numbers: list[int]
        flags: list[bool]
        error: Exception | None
        key: Block | Child | None

    def save(self) -> dict[str, Any]:
        """The state as plain values."""
        return self._plain([slot and slot.save() for slot in self.slots], self.opened or self.key)

    def snapshot(self) -> dict[str, Any] | None:
        """What `save` would return now; None if that means waiting, or if the rows may come in another order next time.
        """
        if self.sloppy or self.opened is not None:
            return None
        slots: list[Any] = []
        for slot in self.slots:
            slots.append(None if slot is None else slot.snapshot())
            if slots[-1] is None and slot is not None:
                return None
        return self._plain(slots, self.key)

    def _plain(self, slots: list[Any], key: Any) -> dict[str, Any]:
        numbers, flags = [self.at, self.given, self.taken], [self.ended, self.filled]
        return {"slots": slots, "numbers": numbers, "flags": flags, "error": self.error, "key": key}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Cycle:
        """Restores a state from what `save` returned."""
        self = cls([None if slot is None else NestedRun.load(slot) for slot in saved["slots"]])
        self.at, self.given, self.taken = saved["numbers"]
        if not 0 <= self.at < max(1, len(self.slots)) or self.given < 0 or self.taken < 0:
            raise ValueError(f"interleave: invalid position {saved['numbers']} for {len(self.slots)} datasets")
        self.ended, self.filled = saved["flags"]
        self.error = saved["error"]
        self.key, self.opened = key_or_opened(saved["key"])
        return self


@node
class Interleave(Buffers, Reloads, Reshards, ParallelArgs, Flattened):
    """Reads up to `cycle_length` nested datasets round robin, `block_length` rows of each at a time."""

    State: ClassVar[Any] = Cycle
    op: ClassVar[str] = "interleave"
    cycle_length: int
    block_length: int
    num_parallel_calls: int | None = None
    deterministic: bool | None = None

    @property
    def most_calls(self) -> int:
        """One for each dataset that is open."""
        return self.cycle_length

    def cardinality(self) -> int:
        """Unknown, except that an infinite input with parallel calls counts as infinite, as in TensorFlow."""
        endless = self.num_parallel_calls is not None and self.input.cardinality() == INFINITE
        return INFINITE if endless else super().cardinality()

    @property
    def _errors_count(self) -> bool:
        """Whether an error takes the place of a row, as in TensorFlow with parallel calls."""
        return self.num_parallel_calls is not None

    def holds(self, state: Any) -> tuple[int, int] | None:
        """Rows of the nested datasets that have been read but not given yet, and their bytes."""
        if state is None:
            return None
        held = [(slot.rest.n, slot.row_bytes) for slot in state.slots if slot is not None and slot.rest is not None]
        return sum(n for n, _ in held), int(sum(n * size for n, size in held))

    def loaded(self, state: Cycle) -> Cycle:
        """Moves on if the current turn is over: `block_length` may be smaller than when the state was saved."""
        if state.given >= self.block_length:
            state.advance()
        return state

    def begin(self, pull: Pull) -> Cycle:
        """Starts the input; all slots are empty."""
        pull.start()
        return Cycle([None] * self.cycle_length)

    def step(self, state: Cycle, pull: Pull, want: int) -> tuple[Block | None, Cycle]:
        """Reads slots round robin until there are enough rows or one fails."""
        s = state
        parts: list[Block] = []
        have = size = 0
        until, outer = at_once(), working.ahead
        try:
            while s.error is None and s.slots:
                if enough(have, size, want, until) and (late(until) or not self._few(s, have, want)):
                    break
                rows = self._turn(s, pull, want - have)
                if rows is not None:
                    parts.append(rows)
                    working.ahead = True
                    have += rows.n
                    size += rows.weight
        except BaseException as e:  # an interrupt: errors of the input and of nested datasets are in the state
            raise Interrupted(e, s, concat(parts) if parts else None) from None
        finally:
            working.ahead = outer
        if parts:
            return concat(parts), s
        if s.error is not None:
            error, s.error = s.error, None
            raise error
        return None, s

    def _few(self, s: Cycle, have: int, want: int) -> bool:
        """Whether too few rows are missing for `_rounds`: they are read now rather than as a tiny extra block."""
        rounds = 2 * self.block_length * len(s.slots)
        return 0 < want - have < rounds <= have

    def _turn(self, s: Cycle, pull: Pull, want: int) -> Block | None:
        """Rows of the current slot, or of whole rounds; None if it has none now."""
        slot = s.slots[s.at]
        if slot is None:
            self._fill(s, pull)
            return None
        if s.given == 0:
            rows = self._rounds(s, want)
            if rows is not None:
                return rows
        left = min(self.block_length - s.given, want)
        ahead = self._reads_ahead(s, slot)
        share, news = self._share(s, want) if ahead else left, s.news if s.sloppy else None
        if s.sloppy:
            slot.begin(share, s.calls, s.news)
            if not slot.soon_ready() or (slot.unread and any(other is not None and other.busy for other in s.slots)):
                self._next_slot(s, slot)
                return None
        slot.fetch(share, ahead, s.calls, ALL_AHEAD_BYTES // len(s.slots), news)
        if slot.rest is not None:
            rows = slot.give(left)
            s.gave(rows.n, self.block_length)
            return rows
        if slot.error is not None:
            s.error, slot.error = slot.error, None
            if self._errors_count:
                s.gave(1, self.block_length)
        elif slot.over:
            self._leave(s, pull)
        return None

    def _next_slot(self, s: Cycle, slot: NestedRun) -> None:
        """Moves on to the next slot; first waits, if need be, until one is ready or can be filled."""
        pending = next((other.pending for other in s.slots if other is not None and other.pending is not None), None)
        if pending is not None and not any(self._has_something(s, other) for other in s.slots):
            pending.wait_for_any([other.pending for other in s.slots if other is not None], s.news)
        s.advance()

    @staticmethod
    def _has_something(s: Cycle, slot: NestedRun | None) -> bool:
        return not s.ended if slot is None else slot.ready and not slot.unread

    def _reads_ahead(self, s: Cycle, slot: NestedRun) -> bool:
        """Whether a slot may read more rows than it gives now. With parallel calls, user code may run ahead too."""
        return s.ahead(slot) or (s.calls > 0 and not slot.seeds)

    def _share(self, s: Cycle, want: int) -> int:
        """How many of the next `want` rows come from one slot."""
        turn = self.block_length
        return min(want, turn * -(-want // (turn * len(s.slots))))

    def _rounds(self, s: Cycle, want: int) -> Block | None:
        """Several whole rounds as one block, if all slots may read ahead and rows are small; else None."""
        turn, k = self.block_length, len(s.slots)
        if want < 2 * turn * k:
            return None
        turns = s.slots[s.at :] + s.slots[: s.at]
        order = [slot for slot in turns if slot is not None and self._reads_ahead(s, slot)]
        if len(order) < k or (s.sloppy and any(slot.rest is None for slot in order)):
            return None
        until = at_once()
        for slot in order:
            if slot.rest is None and late(until):
                return None
            if not slot.fetch_early(self._share(s, want), s.calls, ALL_AHEAD_BYTES // k):
                return None
        held = [slot.rest for slot in order if slot.rest is not None]
        if len(held) < k or held[0].weight * turn > TURN_BYTES * held[0].n:
            return None
        n = min(want // (turn * k), min(rows.n // turn for rows in held))
        if n < 2:
            return None
        return round_robin([slot.give(n * turn) for slot in order], turn)

    def _fill(self, s: Cycle, pull: Pull) -> None:
        """Puts the next nested dataset into the current slot."""
        try:
            if not self.open_next(s, pull):
                s.end()
            elif s.opened is not None:
                child = s.opened
                child.start()
                s.opened, s.taken = None, s.taken + 1
                s.calls = child.calls(self.num_parallel_calls, self.cycle_length)
                s.sloppy = s.calls > 0 and not child.ordered(self.deterministic)
                s.enter(NestedRun(child, child.plan))
        except Exception as e:
            self.skip_current(s)
            if self._errors_count:
                s.enter(NestedRun(None, None, e))
            else:
                s.error = e

    def _leave(self, s: Cycle, pull: Pull) -> None:
        s.leave()

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the running datasets, with extra slots if there are more of them than `cycle_length`."""
        begun = begun_of(self, states)
        if not begun:
            return None
        if any(s.key is not None for s in begun):
            raise not_reshardable(self, len(begun), parts)
        running = self.left([*(s.slots for s in begun), self.unstarted(begun)], part, parts)
        made = Cycle([*running, *[None] * (self.cycle_length - len(running))])
        made.taken, made.filled = max(s.taken for s in begun), any(s.filled for s in begun)
        return made

    def after_error(self, state: Cycle) -> Cycle:
        """The state as it is: `step` has updated it before raising."""
        return state


@overload
def interleave(
    self: Dataset[T],
    map_func: Callable[[T], Dataset[R]],
    cycle_length: Integer | None = None,
    block_length: Integer | None = None,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[R]: ...
@overload
def interleave(
    self: Dataset[Any],
    map_func: Callable[..., Dataset[R]],
    cycle_length: Integer | None = None,
    block_length: Integer | None = None,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[R]: ...
def interleave(
    self: Dataset[Any],
    map_func: Callable[..., Dataset[Any]],
    cycle_length: Integer | None = None,
    block_length: Integer | None = None,
    num_parallel_calls: Integer | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset[Any]:
    """Maps each element to a dataset and interleaves the elements of `cycle_length` of these datasets.

    >>> ds = fl.Dataset.range(3)
    >>> ds = ds.interleave(lambda x: fl.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2)
    >>> [int(x) for x in ds]
    [0, 0, 1, 1, 0, 1, 2, 2, 2]

    Datasets take turns of `block_length` elements (1 by default). When the turn of an exhausted dataset comes, the
    dataset of the next input element replaces it. `cycle_length` defaults to the number of processors. The order is the
    same with `num_parallel_calls`, which must not be larger than `cycle_length`.
    """
    call = arguments.element_function(map_func, "map_func", "interleave", self._plan)
    cycle = AUTOTUNE if cycle_length is None else arguments.integer(cycle_length, "cycle_length", "interleave")
    block = 1 if block_length is None else arguments.positive(block_length, "block_length", "interleave")
    parallel = arguments.parallel_calls(num_parallel_calls, "interleave")
    if cycle == AUTOTUNE:
        cycle = _chosen_cycle(parallel)
    elif arguments.open_at_once(cycle, "cycle_length", "interleave") < (parallel or 0):
        raise InvalidArgumentError(
            f"interleave: num_parallel_calls must not be larger than cycle_length, got {parallel} and {cycle}; pass a "
            "larger cycle_length, or AUTOTUNE for num_parallel_calls"
        )
    return self._derive(Interleave(self._plan, Function(call), cycle, block, parallel, deterministic))


def _chosen_cycle(parallel: int | None) -> int:
    """TensorFlow's default: the number of processors, at most `parallel`. If that is AUTOTUNE, a third of the
    processors, since TensorFlow keeps two more datasets ready for each running one.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if parallel is None:
        return processors
    return -(-processors // 3) if parallel == AUTOTUNE else min(parallel, processors)
