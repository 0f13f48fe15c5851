"""Rows of one plan, selected by the numbers that another gives."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node, NoState, Pull, node
from feedline.plan.traits.random_access import read_rows
from feedline.plan.traits.schedule import PicksRows
from feedline.plan.traits.specs import Sampled, sampled
from feedline.structure.block import Block


@node
class Pick(PicksRows, Sampled):
    """The rows of `source` with the numbers that `index` gives, in that order. Inserted by the optimizer so that
    operators that reorder rows need not hold them.
    """

    op: ClassVar[str] = "pick"
    note: ClassVar[str] = "reads rows by number instead of buffering them"
    source: Node
    index: Node

    def spec(self) -> Any:
        """The source's spec."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """The number of indices."""
        return self.index.cardinality()

    def begin(self, pull: tuple[Pull, Pull]) -> NoState:
        """Starts the index only: the source is read by row number."""
        pull[1].start()
        return NoState()

    def step(self, state: NoState, pull: tuple[Pull, Pull], want: int) -> tuple[Block | None, NoState]:
        """The rows for the next numbers."""
        numbers = pull[1](want)
        if numbers is None or not numbers.n:
            return numbers, state
        return read_rows(self.source, numbers.columns[0]), state

    def sampled(self) -> Node:
        """The source: order does not matter for a spec."""
        return sampled(self.source)
