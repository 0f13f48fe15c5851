"""A strided part of a source with random access: every n-th row from a first one on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.ops.shared.parts import Left, redistribute
from feedline.ops.sources.indexed import Indexed, IndexedState
from feedline.plan.node import Node, node
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.random_access import read_rows
from feedline.plan.traits.reshard import Reshards, Shards
from feedline.plan.traits.specs import Sampled
from feedline.structure.block import Array, Block


class ViewState(NamedTuple):
    """How many rows have been read. After resharding, `picks` are the numbers of single rows of the source; after those
    come every `by`-th row from `resume` to `stop`.
    """

    at: int = 0
    picks: Array | None = None
    resume: int = 0
    stop: int = 0


@node
class View(KeepsRows, Reshards, Sampled, Shards, Indexed):
    """`count` rows of `source`: row `start`, then every `by`-th row. Inserted by the optimizer."""

    State: ClassVar[Any] = ViewState
    shard_args: ClassVar[frozenset[str]] = frozenset({"start", "by", "count"})
    op: ClassVar[str] = "view"
    source: Indexed
    start: int
    by: int
    count: int
    divided: bool = field(default=False, compare=False, repr=False)
    """Made from a shard, possibly among other steps."""

    def spec(self) -> Any:
        """The source's spec."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """The number of rows in the view."""
        return self.count

    def begin(self, pull: Any) -> ViewState:
        """Nothing read; the source is read by row number and need not be started."""
        return ViewState()

    def step(self, state: Any, pull: Any, want: int) -> tuple[Block | None, Any]:
        """The next rows in order."""
        if state.picks is None:
            block, after = super().step(IndexedState(state.at), pull, want)
            return block, ViewState(after.at)
        first, few = state.at, len(state.picks)
        more = max(0, -(-(state.stop - state.resume) // self.by))
        last = min(first + want, few + more)
        if first >= last:
            return None, state
        if first < few:
            last = min(last, few)
            numbers = state.picks[first:last]
        else:
            numbers = state.resume + self.by * np.arange(first - few, last - few)
        try:
            return read_rows(self.source, numbers), state._replace(at=last)
        except Exception:
            if last == first + 1:
                raise
            return read_rows(self.source, numbers[:1]), state._replace(at=first + 1)

    def after_error(self, state: Any) -> Any:
        """Skips the row that could not be read."""
        return state._replace(at=state.at + 1)

    def shard_of(self, arguments: Sequence[int]) -> tuple[int, int]:
        """The shard it was made from; rows skipped before the shard shift the index."""
        by, _, start = arguments
        return by, start % by

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the remaining rows."""
        if all(s is None for s in states):
            return None
        lefts, stop = [], 0
        for other, state in zip(others, states, strict=True):
            assert isinstance(other, View)
            end = other.start + other.by * (other.count - 1) + 1 if other.count else 0
            stop = max(stop, end if state is None or state.picks is None else state.stop)
            if state is None or state.picks is None:
                at = 0 if state is None else state.at
                lefts.append(Left(np.empty(0, np.int64), other.start + other.by * at))
            else:
                more = max(0, state.at - len(state.picks))
                lefts.append(Left(state.picks[state.at :], state.resume + other.by * more))
        left = redistribute(lefts, part, parts)
        return ViewState(0, left.picks[left.picks < stop], left.resume, stop)

    def span(self, start: int, stop: int) -> Block:
        """Without a copy if the rows are adjacent in the source."""
        if self.by == 1:
            return self.source.span(self.start + start, self.start + stop)
        return self.rows(np.arange(start, stop, dtype=np.int64))

    def rows(self, index: Array) -> Block:
        """The source's rows for these indices of the view."""
        return read_rows(self.source, self.start + index * self.by)

    def sampled(self) -> Node:
        """The node itself: it costs nothing to start."""
        return self
