"""`experimental.assert_cardinality`: a cardinality that the user states, checked while iterating."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from feedline.errors import FailedPreconditionError
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, has_row, read_rows, unnumbered
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T


class CountState(NamedTuple):
    """The state: the number of elements so far, and an error to raise next."""

    seen: int = 0
    error: Exception | None = None


@node
class AssertCardinality(KeepsRows, RandomAccess):
    """Passes rows on and checks that there are exactly `expected`."""

    State: ClassVar[Any] = CountState
    op: ClassVar[str] = "assert_cardinality"
    input: Node
    expected: int

    def cardinality(self) -> int:
        """The cardinality that the user states."""
        return self.expected

    def step(self, state: CountState, pull: Pull, want: int) -> tuple[Block | None, CountState]:
        """Counts rows; raises for each row beyond `expected`, and at an end that comes too early or late."""
        count, error = state
        if error is not None:
            raise error
        endless = self.expected == INFINITE
        left = want if endless else self.expected - count
        block = pull(min(want, left) if left > 0 else 1)
        if block is None:
            if count == self.expected:
                return None, state
            raise self._wrong(f"it has {'only ' if endless or count < self.expected else ''}{count}")
        count += block.n
        if block.n and not endless and count > self.expected:
            return EMPTY, CountState(count, self._wrong(f"it has at least {count}"))
        return block, CountState(count)

    def _wrong(self, what: str) -> FailedPreconditionError:
        expected = "be infinite" if self.expected == INFINITE else f"have {self.expected} elements"
        return FailedPreconditionError(
            f"assert_cardinality at step {self.position}: the dataset was asserted to {expected}, but {what}"
        )

    def after_error(self, state: CountState) -> CountState:
        """Clears the error; the next element may be read."""
        return CountState(state.seen)

    def has_row(self, i: int) -> bool:
        """Whether row i exists, according to the stated cardinality."""
        return i >= 0 and (self.expected == INFINITE or i < self.expected)

    def rows(self, index: Array) -> Block:
        """The input's rows. Raises if a row that should exist does not."""
        last = int(index.max(initial=-1))
        there = last < 0 or has_row(self.input, last)
        if there is None:
            raise unnumbered(self.input, self.op)
        if not there:
            n = self.input.cardinality()
            raise self._wrong(f"it has only {n}" if n >= 0 else f"it has no element {last}")
        return read_rows(self.input, index)


def assert_cardinality(expected_cardinality: Integer) -> Callable[[Dataset[T]], Dataset[T]]:
    """States the cardinality of a dataset, if it is not known otherwise; for `apply`.

    >>> odd = fl.Dataset.range(6).filter(lambda x: x % 2 == 1)
    >>> odd.cardinality() == fl.UNKNOWN_CARDINALITY
    np.True_
    >>> len(odd.apply(fl.experimental.assert_cardinality(3)))
    3

    If it turns out to be wrong, iterating raises `FailedPreconditionError`. `INFINITE_CARDINALITY` states that the
    dataset has no end.
    """
    expected = integer(expected_cardinality, "expected_cardinality", "assert_cardinality")

    def asserted(dataset: Dataset[T]) -> Dataset[T]:
        return dataset._derive(AssertCardinality(dataset._plan, expected))

    return asserted
