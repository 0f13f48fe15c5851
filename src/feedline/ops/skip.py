"""`skip`: all but the first elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.plan.arguments import integer
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.row_steps import RowStep, Waiting
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.plan.traits.reshard import Reshards
from feedline.plan.traits.schedule import RowByRow
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T

PULL_ROWS = 8192


class Skipped(NamedTuple):
    """How many elements have been skipped."""

    done: int = 0


class RowsAfter(RowStep):
    """Passes rows on once enough have been skipped."""

    __slots__ = ("_count",)

    def __init__(self, count: int) -> None:
        self._count = count

    def begin(self, state: Skipped) -> bool:
        """Continues if all rows have been skipped that are to be."""
        return state.done == self._count

    def state(self, waiting: Waiting) -> Skipped:
        """The rows have been skipped."""
        return Skipped(self._count)


@node
class Skip(KeepsRows, RandomAccess, Reshards, RowByRow):
    """The elements after the first `count`; none if `count` is negative."""

    State: ClassVar[Any] = Skipped
    op: ClassVar[str] = "skip"
    input: Node
    count: int

    def cardinality(self) -> int:
        """The number of elements left. As in TensorFlow, a negative count matters only if the input's size is known."""
        n = self.input.cardinality()
        if n < 0:
            return n
        return max(0, n - self.count) if self.count >= 0 else 0

    def begin(self, pull: Pull) -> Skipped:
        """Starts the input, unless everything is skipped."""
        if self.count >= 0:
            pull.start()
        return Skipped()

    def step(self, state: Skipped, pull: Pull, want: int) -> tuple[Block | None, Skipped]:
        """Skips rows in pieces, so that they need not all be in memory, then passes rows on."""
        left = self.count - state.done
        if left < 0:
            return None, state
        block = pull(min(left + want, max(want, PULL_ROWS)))
        if block is None or not left:
            return block, state
        if block.n <= left:
            return EMPTY, Skipped(state.done + block.n)
        return block.slice(left, block.n), Skipped(self.count)

    def one_by_one(self) -> RowsAfter:
        """Passes on rows after those skipped."""
        return RowsAfter(self.count)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """If all iterators have skipped their elements, no more are skipped."""
        if all(s is not None and s.done == self.count for s in states):
            return states[0]
        return super().reshard(others, states, part, parts)

    def after_error(self, state: Skipped) -> Skipped:
        """Starts the count again if one of the skipped elements fails, as in TensorFlow."""
        return state if state.done == self.count else Skipped()

    def rows(self, index: Array) -> Block:
        """The input's rows, `count` further on."""
        return read_rows(self.input, index + self.count)


def skip(self: Dataset[T], count: Integer, name: str | None = None) -> Dataset[T]:
    """Skips the first `count` elements; all of them if `count` is -1 or larger than the dataset.

    >>> list(fl.Dataset.range(5).skip(3))
    [np.int64(3), np.int64(4)]
    """
    return self._derive(Skip(self._plan, integer(count, "count", "skip")))
