"""`shard`: every so-manieth element."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.ops.sources.from_source import Rows
from feedline.ops.view import View
from feedline.plan.arguments import integer
from feedline.plan.face import F
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.structure.block import Array, Block

SHARD_HINT = -1
PULL_ROWS = 8192


class Phase(NamedTuple):
    """How many rows are left out before the next one that counts, and how many of them are still to come."""

    gap: int
    left: int


@node
class Shard(Node):
    """The rows whose number leaves the rest `index` when divided by `num_shards`."""

    State: ClassVar[Any] = Phase
    keeps_rows: ClassVar[bool] = True
    op: ClassVar[str] = "shard"
    input: Node
    num_shards: int
    index: int

    def cardinality(self) -> int:
        """The input's part. For SHARD_HINT, TensorFlow's arithmetic gives a number below zero."""
        n = self.input.cardinality()
        if n < 0:
            return n
        if self.num_shards == SHARD_HINT:
            return -n + (self.index < 0)
        return n // self.num_shards + (self.index < n % self.num_shards)

    def begin(self, pull: Pull) -> Phase:
        """A hint has to have been replaced by numbers before there is an iterator."""
        if self.num_shards == SHARD_HINT:
            raise FailedPreconditionError(
                "shard(SHARD_HINT, ...) stands for numbers that something else fills in, and nothing has; "
                "give shard the number of workers and the index of this one"
            )
        pull.start()
        return Phase(self.index, self.index)

    def step(self, state: Phase, pull: Pull, want: int) -> tuple[Block | None, Phase]:
        """Picks rows out of a block that is just long enough for `want` of them. One pull per step: an error of the
        input's must find the state as it was before the rows that the pull would have given.
        """
        k, (gap, left) = self.num_shards, state
        block = pull(min(left + (want - 1) * k + 1, max(want, PULL_ROWS)))
        if block is None:
            return None, state
        if block.n <= left:
            left -= block.n
            return EMPTY, Phase(gap if left else 0, left)
        picked = np.arange(left, block.n, k)
        left = k - (block.n - int(picked[-1]))
        rows = block if k == 1 else block.take(picked)
        return rows, Phase(k - 1 if left else 0, left)

    def after_error(self, state: Phase) -> Phase:
        """TensorFlow leaves out the whole gap again when a row in it fails."""
        return Phase(state.gap, state.gap)

    @property
    def indexable(self) -> bool:
        """Where the input is."""
        return self.input.indexable and self.num_shards != SHARD_HINT

    def rows(self, index: Array) -> Block:
        """The input's rows, in larger steps."""
        return self.input.rows(index * self.num_shards + self.index)


def shard(self: F, num_shards: int, index: int, name: str | None = None) -> F:
    """Keeps one element out of `num_shards`, beginning with number `index`: the part of one worker among several.

    >>> list(fl.Dataset.range(7).shard(3, index=1))
    [np.int64(1), np.int64(4)]

    Shard as early as can be: before a shuffle, else workers may see the same element, and on file names rather than on
    records, else every worker reads every file.
    """
    n = integer(num_shards, "num_shards", "shard")
    i = integer(index, "index", "shard")
    if n != SHARD_HINT:
        if n <= 0:
            raise InvalidArgumentError(f"shard: num_shards must be greater than zero, got {n}")
        if not 0 <= i < n:
            raise InvalidArgumentError(f"shard: index must be between 0 and {n - 1} for {n} shards, got {i}")
        if isinstance(self._plan, Rows):  # it can leave the rows of other shards unread
            return self._derive(View(self._plan, i, n, Shard(self._plan, n, i).cardinality()))  # type: ignore[no-any-return]
    return self._derive(Shard(self._plan, n, i))  # type: ignore[no-any-return]
