"""`shard`: every n-th element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.ops.shared.parts import Left, redistribute
from feedline.ops.shared.view import View
from feedline.ops.sources.from_source import Rows
from feedline.plan.arguments import integer
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import RandomAccess, indexable, read_rows
from feedline.plan.traits.reshard import Reshards, Shards
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer, T

SHARD_HINT = -1
PULL_ROWS = 8192


class Phase(NamedTuple):
    """The number of rows skipped before the next selected row, how many of those are still to come, and how many rows
    have been read. After resharding, `picks` are the numbers of single rows to give first, followed by row `resume` and
    so on.
    """

    gap: int = 0
    left: int = 0
    seen: int = 0
    picks: Array | None = None
    resume: int = 0


@node
class Shard(KeepsRows, RandomAccess, Reshards, Shards):
    """The rows whose number is `index` modulo `num_shards`."""

    State: ClassVar[Any] = Phase
    shard_args: ClassVar[frozenset[str]] = frozenset({"num_shards", "index"})
    op: ClassVar[str] = "shard"
    input: Node
    num_shards: int
    index: int

    def rows_seen(self, state: Phase) -> int:
        """How many rows have been read."""
        return state.seen

    def cardinality(self) -> int:
        """The input's, divided. For SHARD_HINT, TensorFlow's arithmetic gives a number below zero."""
        n = self.input.cardinality()
        if n < 0:
            return n
        if self.num_shards == SHARD_HINT:
            return -n + (self.index < 0)
        return n // self.num_shards + (self.index < n % self.num_shards)

    def begin(self, pull: Pull) -> Phase:
        """Starts the input; a SHARD_HINT must have been replaced before an iterator is made."""
        if self.num_shards == SHARD_HINT:
            raise FailedPreconditionError(
                "shard(SHARD_HINT, ...) is a placeholder that has not been replaced; pass the number of workers and "
                "the index of this one"
            )
        pull.start()
        return Phase(self.index, self.index)

    def step(self, state: Phase, pull: Pull, want: int) -> tuple[Block | None, Phase]:
        """Selects rows from a block just long enough for `want` of them. Pulls only once per step: an error of the
        input must find the state from before the rows that the pull would have given.
        """
        if state.picks is not None:
            return self._picked(state, state.picks, pull, want)
        k, (gap, left, seen, *_) = self.num_shards, state
        block = pull(min(left + (want - 1) * k + 1, max(want, PULL_ROWS)))
        if block is None:
            return None, state
        seen += block.n
        if block.n <= left:
            left -= block.n
            return EMPTY, Phase(gap if left else 0, left, seen)
        picked = np.arange(left, block.n, k)
        left = k - (block.n - int(picked[-1]))
        rows = block if k == 1 else block.take(picked)
        return rows, Phase(k - 1 if left else 0, left, seen)

    def _picked(self, state: Phase, picks: Array, pull: Pull, want: int) -> tuple[Block | None, Phase]:
        """The next of the rows that were left when the number of shards changed."""
        seen = state.seen
        if not len(picks):
            left = state.resume - seen
            return EMPTY, Phase(left, left, seen)
        block = pull(min(int(picks[min(want, len(picks)) - 1]) + 1 - seen, max(want, PULL_ROWS)))
        if block is None:
            return None, state
        n = int(np.searchsorted(picks, seen + block.n))
        rows = block.take(picks[:n] - seen) if n else EMPTY
        return rows, state._replace(seen=seen + block.n, picks=picks[n:])

    def after_error(self, state: Phase) -> Phase:
        """Skips the whole gap again if a row in it fails, as in TensorFlow."""
        if state.picks is not None:
            return state._replace(seen=state.seen + 1, picks=state.picks[state.picks != state.seen])
        return Phase(state.gap, state.gap, state.seen + 1)

    def shard_of(self, arguments: Sequence[int]) -> tuple[int, int]:
        """The arguments themselves: `num_shards` and `index`."""
        index, num_shards = arguments
        return num_shards, index

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the remaining rows. The input continues from the iterator that had read the least."""
        if all(s is None for s in states):
            return None
        lefts = []
        for state in states:
            if state.picks is None:
                lefts.append(Left(np.empty(0, np.int64), state.seen + state.left))
            else:
                lefts.append(Left(state.picks, state.resume))
        left = redistribute(lefts, part, parts)
        return Phase(0, 0, min(s.seen for s in states), left.picks, left.resume)

    @property
    def indexable(self) -> bool:
        """Whether rows can be read by index: if the input's can, and this is not a SHARD_HINT."""
        return indexable(self.input) and self.num_shards != SHARD_HINT

    def rows(self, index: Array) -> Block:
        """The input's rows at `index * num_shards + self.index`."""
        return read_rows(self.input, index * self.num_shards + self.index)


def under_whole_shard(plan: Node) -> Node:
    """The input of a `shard(1, 0)`, which TensorFlow removes; any other plan unchanged."""
    while isinstance(plan, Shard) and plan.num_shards == 1:
        plan = plan.input
    return plan


def shard(self: Dataset[T], num_shards: Integer, index: Integer, name: str | None = None) -> Dataset[T]:
    """Keeps every `num_shards`-th element, starting with element `index`: the share of one worker among several.

    >>> list(fl.Dataset.range(7).shard(3, index=1))
    [np.int64(1), np.int64(4)]

    Shard as early as possible: before a shuffle, or workers may see the same element; and file names rather than
    records, or every worker reads every file.
    """
    n = integer(num_shards, "num_shards", "shard")
    i = integer(index, "index", "shard")
    if n != SHARD_HINT:
        if n <= 0:
            raise InvalidArgumentError(f"shard: num_shards must be greater than zero, got {n}")
        if not 0 <= i < n:
            raise InvalidArgumentError(f"shard: index must be between 0 and {n - 1} for {n} shards, got {i}")
        if isinstance(self._plan, Rows):  # a view reads no rows of other shards
            return self._derive(View(self._plan, i, n, Shard(self._plan, n, i).cardinality(), True))
    return self._derive(Shard(self._plan, n, i))
