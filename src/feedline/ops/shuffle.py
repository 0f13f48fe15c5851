"""`shuffle`: elements in random order through a buffer, in exactly TensorFlow's order for a seed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypedDict

import numpy as np

from feedline import kernels
from feedline.early import working
from feedline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from feedline.ops.shared.row_store import RowStore, RowStoreSnapshot
from feedline.plan.arguments import boolean, finite, integer
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.pace import at_once, late
from feedline.plan.traits.checkpoint import Reloads, Snapshotable
from feedline.plan.traits.provenance import KeepsRows, maybe_recomputable
from feedline.plan.traits.random_access import RandomAccess, indexable, read_rows
from feedline.plan.traits.reshard import DefersStart, Reshards, begun_of, round_robin_share
from feedline.plan.traits.schedule import Buffers, RestartsInputs
from feedline.plan.traits.seeds import Seeded
from feedline.plan.traits.specs import Sampled, spec_known
from feedline.random.philox import words
from feedline.random.seeds import SeedGenerator, get_seed
from feedline.structure.block import Array, Block
from feedline.structure.spec import TensorSpec
from feedline.structure.types import int64

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T

EPOCHS_AHEAD = 3
PULL_ROWS = 8192
MOST_DRAWN = 1 << 27
"""Limit for a restored shuffle of everything: its largest size is at most 64 times the rows it holds, plus this."""
COPY_ROWS = 1 << 15
"""Buffers of up to this many rows are copied for every block made ahead: at most a few nanoseconds per row returned."""
_NUMBER = TensorSpec((), int64)


class Buffer:
    """The state of a shuffle: a ring of row numbers, and the rows they stand for.

    Positions only count up; position p is slot p % len(ring). The ring holds one slice of positions per epoch, oldest
    first: [start, end, complete]. Elements are drawn from the oldest slice only, so epochs do not mix. `pending` are
    rows that have been read but do not fit into the ring yet; they belong to the newest slice. `error` is an error of
    the input, raised after the rows that were drawn before it.

    A shuffle of everything has no fixed size: `limit` is the largest number of rows so far. When its ring is full,
    TensorFlow adds slots and leaves the existing ones in place, so that positions map to other slots from then on.
    """

    __slots__ = (
        *("drawn", "epoch", "error", "gave", "limit", "live", "pending", "pool", "ring", "seeds", "slices"),
        *("stopped", "taken"),
    )

    def __init__(self, seeds: tuple[int, int], expected: int = 0) -> None:
        self.seeds = seeds
        self.taken = 1
        self.drawn = 0
        self.ring: Array = np.empty(16, np.int64)
        self.slices: deque[list[Any]] = deque()
        self.pending: Array = np.empty(0, np.int64)
        self.pool = RowStore(expected)
        self.epoch = 0
        self.live = False
        self.gave = False
        self.stopped = False
        self.limit = 0
        self.error: Exception | None = None

    @property
    def count(self) -> int:
        """Elements in the ring."""
        return int(self.slices[-1][1] - self.slices[0][0]) if self.slices else 0

    def put(self, numbers: Array, limit: int | None) -> None:
        """Moves rows into the ring up to `limit`; the others stay pending."""
        room = len(numbers) if limit is None else min(len(numbers), limit - self.count)
        last = self.slices[-1]
        start, end = self.slices[0][0], last[1]
        need = end - start + room
        if need > len(self.ring):
            wider = max(need, 2 * len(self.ring))
            self._resize(wider if limit is None else min(wider, limit))
        if room:
            self.ring[np.arange(end, end + room) % len(self.ring)] = numbers[:room]
            last[1] = end + room
        self.pending = numbers[room:]
        self.limit = max(self.limit, self.count)

    def grow(self, numbers: Array) -> None:
        """Moves all rows into the ring, adding slots as needed."""
        if self.slices[0][0] == 0:  # nothing has been drawn yet
            self.put(numbers, None)
            return
        self.put(numbers, self.limit)
        self.ring = np.concatenate([self.ring, self.pending])
        self.slices[-1][1] += len(self.pending)
        self.limit, self.pending = len(self.ring), self.pending[:0]

    def rows_of(self, age: int) -> Block | None:
        """The rows of an epoch, including pending rows for age 0, the newest."""
        if age >= len(self.slices):
            return None
        start, end, _ = self.slices[-1 - age]
        numbers = self.ring[np.arange(start, end) % len(self.ring)]
        if age == 0:
            numbers = np.concatenate([numbers, self.pending])
        return self.pool.peek(numbers) if len(numbers) else None

    def fit(self, limit: int) -> None:
        """Makes the ring exactly as long as the buffer may be, as the drawing kernel expects."""
        if len(self.ring) != limit:
            self._resize(limit)

    def _resize(self, size: int) -> None:
        """Copies the elements to a ring of another size, which must be large enough."""
        start, end = self.slices[0][0], self.slices[-1][1]
        ring = np.empty(size, np.int64)
        if start == 0 and end <= len(self.ring):  # nothing has been drawn yet: positions are slots
            ring[:end] = self.ring[:end]
        else:
            held = np.arange(start, end)
            ring[held % size] = self.ring[held % len(self.ring)]
        self.ring = ring

    class Saved(TypedDict):
        """The result of `save`."""

        seeds: tuple[int, int]
        drawn: int
        epoch: int
        flags: list[bool]
        error: Exception | None
        slices: list[list[Any]]
        rows: Block | None
        place: list[int]

    def save(self) -> dict[str, Any]:
        """The buffer as plain values, with the rows in the order of their positions."""
        return ShuffleSnapshot(self, self.ring, self.pool).save()

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Buffer:
        """The buffer that `save` described."""
        self = cls((saved["seeds"][0], saved["seeds"][1]))
        self.drawn, self.epoch = saved["drawn"], saved["epoch"]
        self.live, self.gave, self.stopped = saved["flags"]
        self.error = saved["error"]
        self.slices = deque([int(s), int(e), bool(c)] for s, e, c in saved["slices"])
        rows = saved["rows"]
        ends = [0, *(int(e) for _, e, _ in self.slices)]
        held = ends[-1]
        if any(s != end for (s, _, _), end in zip(self.slices, ends, strict=False)) or ends != sorted(ends):
            raise ValueError(f"shuffle: invalid epochs {[tuple(part) for part in self.slices]}")
        if held > (0 if rows is None else rows.n):
            raise ValueError(f"shuffle: expected {held} rows in the buffer, got fewer")
        at, self.limit = map(int, saved["place"])
        if not (at >= 0 and held <= self.limit <= 64 * held + MOST_DRAWN):
            raise ValueError(f"shuffle: invalid position {at} or size {self.limit} of the buffer for {held} rows")
        for part in self.slices:
            part[0], part[1] = part[0] + at, part[1] + at
        self.ring = np.empty(self.limit if at else max(16, held), np.int64)
        if rows is not None:
            numbers = self.pool.add(rows)
            self.ring[np.arange(at, at + held) % len(self.ring)] = numbers[:held]
            self.pending = numbers[held:]
        if not self.slices and (self.live or len(self.pending)):
            raise ValueError("shuffle: rows without an epoch")
        return self


class ShuffleSnapshot:
    """A buffer at one moment."""

    __slots__ = ("_limit", "_plain", "_ring", "_rows", "_slices", "pending", "taken")

    load = Buffer.load

    def __init__(self, buffer: Buffer, ring: Array, rows: RowStore | RowStoreSnapshot) -> None:
        self._plain = {
            "seeds": buffer.seeds,
            "drawn": buffer.drawn,
            "epoch": buffer.epoch,
            "flags": [buffer.live, buffer.gave, buffer.stopped],
            "error": buffer.error,
        }
        self._limit = buffer.limit
        self._slices = [tuple(part) for part in buffer.slices]
        self._ring, self._rows, self.pending = ring, rows, buffer.pending
        self.taken = buffer.taken

    def save(self) -> dict[str, Any]:
        """The buffer as plain values, with the rows in the order of their positions."""
        start = self._slices[0][0] if self._slices else 0
        held = np.arange(start, self._slices[-1][1] if self._slices else 0)
        numbers = np.concatenate([self._ring[held % len(self._ring)], self.pending])
        slices = [[s - start, e - start, c] for s, e, c in self._slices]
        rows = self._rows.peek(numbers) if len(numbers) else None
        return self._plain | {"slices": slices, "rows": rows, "place": [start, self._limit]}


@node
class Shuffle(
    KeepsRows, RandomAccess, Reshards, Seeded, Snapshotable, Buffers, DefersStart, Reloads, RestartsInputs, Sampled
):
    """Rows drawn at random from a buffer of `buffer_size` rows; several epochs with `count`."""

    State: ClassVar[Any] = Buffer
    mutable_state: ClassVar[bool] = True
    seeds_order: ClassVar[bool] = True
    op: ClassVar[str] = "shuffle"
    input: Node
    buffer_size: int
    generator: SeedGenerator
    count: int = 1

    def loaded(self, state: Buffer) -> Buffer:
        """Refuses a state with more rows than the buffer holds, unless it has several epochs, as after resharding."""
        if state is not None and 0 < self.buffer_size < state.count and len(state.slices) < 2:
            raise DataLossError(
                f"the iterator state is corrupt: shuffle({self.buffer_size}) (step {self.position}) has {state.count} "
                "rows in its buffer"
            )
        return state

    def cardinality(self) -> int:
        """The input's, times the number of epochs."""
        n = self.input.cardinality()
        if n == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return n if n < 0 else n * self.count

    def begin(self, pull: Pull) -> Buffer:
        """Draws the epoch's seeds; the input is started at the first row, as in TensorFlow."""
        if self.buffer_size == UNKNOWN:
            finite(self.input, "shuffle with a buffer of UNKNOWN_CARDINALITY")
        size = max(0, self.buffer_size)
        return Buffer(self.generator.next(), size + min(size, PULL_ROWS))

    def again(self, before: Buffer, state: Buffer) -> Buffer:
        """Carries on the count of seeds drawn."""
        state.taken += before.taken
        return state

    @property
    def snapshotable(self) -> bool:
        """Whether the buffer is small, and holds either int64 scalars or rows with provenance."""
        if not 0 < self.buffer_size <= COPY_ROWS:
            return False
        return maybe_recomputable(self.input) or (spec_known(self.input) and self.input.element_spec == _NUMBER)

    def snapshot(self, state: Buffer) -> ShuffleSnapshot | Buffer:
        """A copy of the row numbers, with the provenance of the rows."""
        still = state.pool.snapshot()
        return state if still is None else ShuffleSnapshot(state, state.ring.copy(), still)

    def primed(self, state: Buffer, pull: Pull) -> Buffer:
        """The state in its first epoch, with nothing read."""
        if not state.epoch and self.count:
            self._begin_epoch(state, pull)
        return state

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the rows of all buffers, epoch by epoch. If they exceed the buffer size, nothing is read until
        enough have been drawn.
        """
        begun = begun_of(self, states)
        if not begun:
            return None
        begun = [s for s in begun if not s.stopped] or begun  # an iterator whose shard is empty has stopped for good
        epochs = {s.epoch for s in begun}
        if len(epochs) > 1:
            raise other_epochs(self, sorted(epochs))
        like = begun[part % len(begun)]
        made = Buffer(like.seeds)
        made.drawn, made.epoch, made.taken = like.drawn, like.epoch, like.taken
        made.live, made.gave = any(s.live for s in begun), any(s.gave for s in begun)
        made.stopped = all(s.stopped for s in begun)
        for age in reversed(range(max(1, *(len(s.slices) for s in begun)))):
            rows = round_robin_share([s.rows_of(age) for s in begun], part, parts)
            end = made.slices[-1][1] if made.slices else 0
            made.slices.append([end, end, age > 0 or not made.live])
            if rows is not None:  # rows beyond the buffer size are pending, except those of an earlier epoch
                made.put(made.pool.add(rows), None if age or self.buffer_size < 0 else max(self.buffer_size, end))
        return made

    def holds(self, state: Any) -> tuple[int, int] | None:
        """The rows in the buffer, and their bytes."""
        if state is None:
            return None
        rows = state.count + len(state.pending)
        return rows, state.pool.size_of(rows)

    def step(self, state: Buffer, pull: Pull, want: int) -> tuple[Block | None, Buffer]:
        """Up to `want` rows, as long as they come at once: the consumer would have to join smaller blocks. Stops at the
        end of an epoch, where seeds are drawn.
        """
        s = state
        if s.error is not None:
            error, s.error = s.error, None
            raise error
        drawn = self._next(s, pull, want)
        if drawn is None:
            return None, s
        parts, have = [drawn], len(drawn)
        until, outer = at_once(), working.ahead
        while have < want and self.count == 1 and not late(until):
            try:
                working.ahead = True
                more = self._next(s, pull, want - have)
            except Exception as e:
                s.error = e
                break
            except BaseException as e:
                raise Interrupted(e, s, s.pool.remove(np.concatenate(parts))) from None
            finally:
                working.ahead = outer
            if more is None:
                break
            parts.append(more)
            have += len(more)
        # In one call: rows removed from the row store in pieces would have to be joined.
        return s.pool.remove(np.concatenate(parts) if len(parts) > 1 else drawn) if have else EMPTY, s

    def _next(self, s: Buffer, pull: Pull, want: int) -> Array | None:
        """Fills the buffer as far as the first draw needs it, then draws as many rows as possible without reading more;
        returns their numbers.
        """
        while True:
            if len(s.pending):
                self._put(s, s.pending)
            if self._must_fill(s):
                self._fill(s, pull, want)
                continue
            if not s.count:
                return None
            while s.slices[0][0] == s.slices[0][1]:  # the epoch is over: drop its slice, draw new seeds
                s.seeds, s.drawn, s.taken = self.generator.next(), 0, s.taken + 1
                s.slices.popleft()
            return self._draw(s, want)

    def _size(self, s: Buffer) -> int:
        """The buffer size; for a shuffle of everything, the largest number of rows so far."""
        return s.limit if self.buffer_size == UNKNOWN else self.buffer_size

    def _grows(self, s: Buffer) -> bool:
        """Whether this is a shuffle of everything and the epoch being drawn from is not fully read yet."""
        if self.buffer_size != UNKNOWN:
            return False
        oldest = next((part for part in s.slices if part[0] != part[1]), None)
        return oldest is None or not oldest[2] or (oldest is s.slices[-1] and len(s.pending) > 0)

    def _put(self, s: Buffer, numbers: Array) -> None:
        if self._grows(s):
            s.grow(numbers)
        else:
            s.put(numbers, self._size(s))

    def _must_fill(self, s: Buffer) -> bool:
        if s.stopped or (not s.live and self.count >= 0 and s.epoch >= self.count):
            return False
        if len(s.slices) > EPOCHS_AHEAD and s.count:
            return False
        return self._grows(s) or s.count < self._size(s)

    def _fill(self, s: Buffer, pull: Pull, want: int) -> None:
        if not s.live:
            self._begin_epoch(s, pull)
        room = PULL_ROWS if self._grows(s) else min(self._size(s) - s.count + want - 1, PULL_ROWS)
        if len(s.slices) > EPOCHS_AHEAD:
            room = 1  # this many epochs ahead, TensorFlow reads only until there is a row to draw
        numbers = pull.read_into(room, s.pool)
        if numbers is not None:
            self._put(s, numbers)
            return
        block = pull(min(room, s.pool.piece()))
        if block is None:
            s.slices[-1][2] = True
            s.live = False
            s.stopped = self.count < 0 and not s.gave
        elif block.n:
            s.gave = True
            self._put(s, s.pool.add(block))

    def _begin_epoch(self, s: Buffer, pull: Pull) -> None:
        pull.start()
        end = s.slices[-1][1] if s.slices else 0
        s.slices.append([end, end, False])
        s.live = True
        s.epoch += 1

    def _draw(self, s: Buffer, want: int) -> Array:
        """Draws from the oldest epoch. TensorFlow reads one element before each draw but the first: `pending` holds
        those already read, and if more would have to be read, only one row is drawn.
        """
        first, last, size = s.slices[0], s.slices[-1], self._size(s)
        if s.count == size:
            s.fit(size)
        if self._grows(s):
            draws = 1
        elif s.count == size:
            draws = min(want, 1 + len(s.pending))
        elif self._must_fill(s):
            draws = 1
        else:
            draws = min(want, first[1] - first[0])
        numbers, first[0], stop, end, used = kernels.ring_draw(
            s.ring, first[0], first[1], last[1], first is last, s.pending, words(*s.seeds, s.drawn, draws)
        )
        if first is last:
            first[1] = end
        else:
            first[1], last[1] = stop, end
        s.pending = s.pending[used:]
        s.drawn += len(numbers)
        return numbers

    @property
    def indexable(self) -> bool:
        """Whether rows can be read by index, for `at` only: one full permutation per dataset."""
        return indexable(self.input) and self.input.cardinality() >= 0 and self.count == 1

    @property
    def in_order(self) -> bool:
        """False: random access has an order of its own."""
        return False

    @property
    def shufflable(self) -> bool:
        """False, for the same reason."""
        return False

    def rows(self, index: Array) -> Block:
        """Rows of TensorFlow's full permutation for random access, which is unrelated to the order of iteration."""
        g = self.generator
        order = kernels.fisher_yates(self.input.cardinality(), g.seed, g.seed2 if g.reshuffle else g.seed)
        return read_rows(self.input, order[index])


def other_epochs(node: Node, epochs: Sequence[int]) -> FailedPreconditionError:
    """The error for states to be resharded that are in different epochs."""
    return FailedPreconditionError(
        f"{node.op} (step {node.position}): the states are in different epochs ({', '.join(map(str, epochs))}), so the "
        "remaining elements are not known; save all iterators at the same step, not at the end of an epoch"
    )


def buffer_rows(value: object, op: str) -> int:
    """`buffer_size` as an int: above zero, or UNKNOWN_CARDINALITY for the whole dataset."""
    size = integer(value, "buffer_size", op)
    if size < 1 and size != UNKNOWN:
        raise InvalidArgumentError(
            f"{op}: buffer_size must be greater than zero, or UNKNOWN_CARDINALITY for the whole dataset, got {size}"
        )
    return size


def shuffle(
    self: Dataset[T],
    buffer_size: Integer,
    seed: SupportsIndex | None = None,
    reshuffle_each_iteration: bool | None = True,
    name: str | None = None,
) -> Dataset[T]:
    """Shuffles elements: each is drawn at random from a buffer of `buffer_size`, which is refilled from the input.

    >>> [int(x) for x in fl.Dataset.range(6).shuffle(3, seed=42)]
    [0, 3, 4, 2, 5, 1]

    A perfect shuffle needs a buffer as large as the dataset; over arrays in memory it holds row numbers, not rows. The
    same is true directly over TFRecord files that have an index (see `fl.io.tfrecord_index`), for buffers of more than
    16 MiB: a checkpoint then holds at most eight bytes per record, and each record is read when it is drawn. Each
    iteration, and each epoch of a `repeat` after it, has another order unless `reshuffle_each_iteration` is False. For
    a given seed the order is TensorFlow's.
    """
    size = buffer_rows(buffer_size, "shuffle")
    reshuffle = reshuffle_each_iteration is None or boolean(
        reshuffle_each_iteration, "reshuffle_each_iteration", "shuffle"
    )
    return self._derive(Shuffle(self._plan, size, SeedGenerator(*get_seed(seed), reshuffle)))
