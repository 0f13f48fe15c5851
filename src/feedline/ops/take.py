"""`take`: at most so many elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE, UNKNOWN
from feedline.plan.node import Node, Pull, node
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Taken(NamedTuple):
    """How many elements have come out."""

    taken: int = 0


@node
class Take(Node):
    """The first `count` elements; all where count is negative."""

    State: ClassVar[Any] = Taken
    keeps_rows: ClassVar[bool] = True
    op: ClassVar[str] = "take"
    input: Node
    count: int

    def cardinality(self) -> int:
        """The smaller number; TensorFlow knows it for -1 alone among the negative counts."""
        n = self.input.cardinality()
        if self.count == -1:
            return n
        if self.count < 0 or n == UNKNOWN:
            return UNKNOWN
        return self.count if n == INFINITE else min(n, self.count)

    def begin(self, pull: Pull) -> Taken:
        """With nothing to take, the input is not even started."""
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

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Only where it takes everything: how many are left for each cannot be told otherwise."""
        if self.count < 0 and any(s is not None for s in states):
            return Taken()
        return super().reshard(others, states, part, parts)

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def has_row(self, i: int) -> bool | None:
        """All that the input has, for every negative count."""
        return self.input.has_row(i) if self.count < 0 else super().has_row(i)

    def rows(self, index: Array) -> Block:
        """The input's rows."""
        return self.input.rows(index)


def take(self: Dataset[T], count: Integer, name: str | None = None) -> Dataset[T]:
    """Keeps the first `count` elements; all of them for -1 or a count larger than the dataset.

    >>> list(fl.Dataset.range(10).take(2))
    [np.int64(0), np.int64(1)]

    No more elements are read than are taken.
    """
    return self._derive(Take(self._plan, integer(count, "count", "take")))
