"""`repeat`: the elements again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.ops.shuffle import other_epochs
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Epoch(NamedTuple):
    """How many epochs are over, whether this one has given a row, whether the input is to be started anew, and whether
    an epoch that gave nothing has ended it all.
    """

    done: int = 0
    gave: bool = False
    due: bool = False
    over: bool = False


@node
class Repeat(Node):
    """The input `count` times; without end where count is negative."""

    State: ClassVar[Any] = Epoch
    keeps_rows: ClassVar[bool] = True
    op: ClassVar[str] = "repeat"
    restarts: ClassVar[bool] = True
    input: Node
    count: int = -1
    frugal: bool = field(default=False, compare=False, repr=False)
    """The input is not started once more after the last epoch: so TensorFlow does where it fuses it with a shuffle."""

    def cardinality(self) -> int:
        """A multiple of the input's."""
        n = self.input.cardinality()
        if self.count == 0 or n == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return n if n < 0 else n * self.count

    def begin(self, pull: Pull) -> Epoch:
        """With no epoch to run, the input is not even started."""
        if self.count != 0:
            pull.start()
        return Epoch()

    def step(self, state: Epoch, pull: Pull, want: int) -> tuple[Block | None, Epoch]:
        """Passes rows on; at the end of an epoch the input is started anew, as TensorFlow does even after the last
        one.
        """
        done, gave, due, over = state
        if due:
            pull.start()
            return EMPTY, Epoch(done, False)
        if over or done == self.count:
            return None, state
        block = pull(want)
        if block is not None:
            return block, Epoch(done, gave or block.n > 0)
        if self.count < 0 and not gave:
            return None, Epoch(done, over=True)  # an epoch that gives nothing ends even an endless repeat
        if self.frugal and done + 1 == self.count:
            return None, Epoch(done + 1, False)
        # Nothing yet: should the next epoch begin with an error, it is known by then that this one is over.
        return EMPTY, Epoch(done + 1, False, True)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """All must be in one epoch."""
        begun = [s for s in states if s is not None]
        begun = [s for s in begun if not s.over] or begun  # one whose part is empty has ended for good
        if len({s.done for s in begun}) > 1:
            raise other_epochs(self, sorted(s.done + 1 for s in begun))
        if not begun:
            return None
        return Epoch(begun[0].done, any(s.gave for s in begun), any(s.due for s in begun), begun[0].over)

    def sampled(self) -> Node:
        """One epoch shows as much as many."""
        return self.input.sampled()

    @property
    def sampled_whole(self) -> bool:
        """A batch may go on into the next epoch."""
        return self.count == 1

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable

    def rows(self, index: Array) -> Block:
        """The input's rows, counted round."""
        return self.input.rows(index % self.input.cardinality())


def repeat(self: Dataset[T], count: Integer | None = None, name: str | None = None) -> Dataset[T]:
    """Repeats the dataset `count` times; without end for None or a negative count.

    >>> list(fl.Dataset.range(2).repeat(2))
    [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]

    Each epoch starts the pipeline below anew: a shuffle gives another order, files are read again.
    """
    n = -1 if count is None else integer(count, "count", "repeat")
    return self._derive(Repeat(self._plan, n))
