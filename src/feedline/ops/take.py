"""`take`: the first elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.node import Node, Pull, node
from feedline.plan.row_steps import RowStep, Waiting
from feedline.plan.traits.provenance import PassThrough
from feedline.plan.traits.random_access import has_row
from feedline.plan.traits.reshard import Reshards
from feedline.plan.traits.schedule import RowByRow
from feedline.structure.block import Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Taken(NamedTuple):
    """How many elements have been returned."""

    taken: int = 0


class TakenRows(RowStep):
    """Counts rows."""

    __slots__ = ("_count", "_taken")

    def __init__(self, count: int) -> None:
        self._count, self._taken = count, 0

    @property
    def room(self) -> int | None:
        """How many rows are left to be taken."""
        return self._count - self._taken if self._count >= 0 else None

    def begin(self, state: Taken) -> bool:
        """Continues unless enough rows have been taken."""
        self._taken = state.taken
        return self.room is None or self.room > 0

    def state(self, waiting: Waiting) -> Taken:
        """How many rows have been taken."""
        return Taken(self._taken)

    def __call__(self, row: Any) -> Any:
        self._taken += 1
        return row


@node
class Take(PassThrough, Reshards, RowByRow):
    """The first `count` elements; all if `count` is negative."""

    State: ClassVar[Any] = Taken
    op: ClassVar[str] = "take"
    input: Node
    count: int

    def cardinality(self) -> int:
        """The smaller of `count` and the input's. Of the negative counts TensorFlow knows the result only for -1."""
        n = self.input.cardinality()
        if self.count == -1:
            return n
        if self.count < 0 or n == UNKNOWN:
            return UNKNOWN
        return self.count if n == INFINITE else min(n, self.count)

    def begin(self, pull: Pull) -> Taken:
        """Starts the input, unless there is nothing to take."""
        if self.count != 0:
            pull.start()
        return Taken()

    def step(self, state: Taken, pull: Pull, want: int) -> tuple[Block | None, Taken]:
        """Passes rows on until there are enough."""
        if self.count >= 0:
            left = self.count - state.taken
            if left <= 0:
                return None, state
            want = min(want, left)
        block = pull(want)
        return block, state if block is None else Taken(state.taken + block.n)

    def one_by_one(self) -> TakenRows:
        """Counts rows one by one."""
        return TakenRows(self.count)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Only if everything is taken: the states do not determine how many elements are left for each shard."""
        if self.count < 0 and any(s is not None for s in states):
            return Taken()
        return super().reshard(others, states, part, parts)

    def has_row(self, i: int) -> bool | None:
        """For a negative count, whether the input has row `i`."""
        return has_row(self.input, i) if self.count < 0 else super().has_row(i)


def take(self: Dataset[T], count: Integer, name: str | None = None) -> Dataset[T]:
    """Keeps the first `count` elements; all of them if `count` is -1 or larger than the dataset.

    >>> list(fl.Dataset.range(10).take(2))
    [np.int64(0), np.int64(1)]

    No more elements are read than taken.
    """
    return self._derive(Take(self._plan, integer(count, "count", "take")))
