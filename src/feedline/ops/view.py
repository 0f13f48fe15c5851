"""Part of a source that knows where each row is: every so many rows, from one on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.ops.parts import Left, redistribute
from feedline.ops.sources.indexed import Indexed, IndexedState
from feedline.plan.node import Node, node
from feedline.structure.block import Array, Block


class ViewState(NamedTuple):
    """How many rows have been read. After another number of shards, `picks` are the numbers of single rows of the
    source, and after those it goes on with row `resume`, up to the row `stop`.
    """

    at: int = 0
    picks: Array | None = None
    resume: int = 0
    stop: int = 0


@node
class View(Indexed):
    """`count` rows of `source`: row `start`, and each time the row `by` further on. Made by the optimizer."""

    State: ClassVar[Any] = ViewState
    keeps_rows: ClassVar[bool] = True
    shard_args: ClassVar[frozenset[str]] = frozenset({"start", "by", "count"})
    op: ClassVar[str] = "view"
    source: Indexed
    start: int
    by: int
    count: int
    divided: bool = field(default=False, compare=False, repr=False)
    """Made of a shard, if perhaps among others."""

    def spec(self) -> Any:
        """The source's."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """As many rows as it was made for."""
        return self.count

    def begin(self, pull: Any) -> ViewState:
        """The source is read by row numbers and need not be started."""
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
            return self.source.rows(numbers), state._replace(at=last)
        except Exception:
            if last == first + 1:
                raise
            return self.source.rows(numbers[:1]), state._replace(at=first + 1)

    def after_error(self, state: Any) -> Any:
        """Goes on after the row that could not be read."""
        return state._replace(at=state.at + 1)

    def shard_of(self, arguments: Sequence[int]) -> tuple[int, int]:
        """That of the shard it was made of; rows that are left out before it shift the parts."""
        by, _, start = arguments
        return by, start % by

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """The rows that are left are redistributed."""
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
        """Without a copy, where the rows are neighbours in the source."""
        if self.by == 1:
            return self.source.span(self.start + start, self.start + stop)
        return self.rows(np.arange(start, stop, dtype=np.int64))

    def rows(self, index: Array) -> Block:
        """The source's rows."""
        return self.source.rows(self.start + index * self.by)

    def sampled(self) -> Node:
        """The same: it costs nothing to start."""
        return self
