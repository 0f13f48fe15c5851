"""`repeat`: the elements several times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.ops.shuffle import other_epochs
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.row_steps import RowStep, Waiting
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.plan.traits.reshard import Reshards
from feedline.plan.traits.schedule import RestartsInputs, RowByRow
from feedline.plan.traits.specs import Sampled
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class Epoch(NamedTuple):
    """How many epochs are complete, whether the current one has given a row, whether the input must be started again,
    and whether an empty epoch has ended the iteration.
    """

    done: int = 0
    gave: bool = False
    due: bool = False
    over: bool = False


class EpochRows(RowStep):
    """The rows of one epoch; its end is for `Repeat.step`."""

    __slots__ = ("_count", "_epoch", "_gave")

    def __init__(self, count: int) -> None:
        self._count, self._epoch, self._gave = count, Epoch(), False

    def begin(self, state: Epoch) -> bool:
        """Continues in the middle of an epoch."""
        self._epoch, self._gave = state, state.gave
        return not (state.due or state.over or state.done == self._count)

    def state(self, waiting: Waiting) -> Epoch:
        """The epoch, and whether it has given a row."""
        return self._epoch._replace(gave=self._gave)

    def __call__(self, row: Any) -> Any:
        self._gave = True
        return row


@node
class Repeat(KeepsRows, RandomAccess, Reshards, RestartsInputs, RowByRow, Sampled):
    """The input `count` times; endlessly if `count` is negative."""

    State: ClassVar[Any] = Epoch
    op: ClassVar[str] = "repeat"
    input: Node
    count: int = -1
    frugal: bool = field(default=False, compare=False, repr=False)
    """The input is not started again after the last epoch, as in TensorFlow's fused shuffle and repeat."""

    def cardinality(self) -> int:
        """The input's, times `count`."""
        n = self.input.cardinality()
        if self.count == 0 or n == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return n if n < 0 else n * self.count

    def begin(self, pull: Pull) -> Epoch:
        """Starts the input, unless there is no epoch to run."""
        if self.count != 0:
            pull.start()
        return Epoch()

    def step(self, state: Epoch, pull: Pull, want: int) -> tuple[Block | None, Epoch]:
        """Passes rows on. After every epoch, even the last one, the input is started again, as in TensorFlow."""
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
            return None, Epoch(done, over=True)  # an empty epoch ends even an endless repeat
        if self.frugal and done + 1 == self.count:
            return None, Epoch(done + 1, False)
        # The state records the end of this epoch before the next one is started, which may fail.
        return EMPTY, Epoch(done + 1, False, True)

    def one_by_one(self) -> EpochRows:
        """Passes on the rows of one epoch."""
        return EpochRows(self.count)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """The epoch that all states are in; refused if they differ."""
        begun = [s for s in states if s is not None]
        begun = [s for s in begun if not s.over] or begun  # an iterator whose shard is empty has ended for good
        if len({s.done for s in begun}) > 1:
            raise other_epochs(self, sorted(s.done + 1 for s in begun))
        if not begun:
            return None
        return Epoch(begun[0].done, any(s.gave for s in begun), any(s.due for s in begun), begun[0].over)

    @property
    def sampled_whole(self) -> bool:
        """A batch may go on into the next epoch."""
        return self.count == 1

    def rows(self, index: Array) -> Block:
        """The input's rows, with indices modulo its cardinality."""
        return read_rows(self.input, index % self.input.cardinality())


def repeat(self: Dataset[T], count: Integer | None = None, name: str | None = None) -> Dataset[T]:
    """Repeats the dataset `count` times; endlessly if `count` is None or negative.

    >>> list(fl.Dataset.range(2).repeat(2))
    [np.int64(0), np.int64(1), np.int64(0), np.int64(1)]

    Each epoch starts the pipeline before it again: a shuffle gives a new order, files are read again.
    """
    n = -1 if count is None else integer(count, "count", "repeat")
    return self._derive(Repeat(self._plan, n))
