"""Rows of one plan by the numbers that another gives."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node, NoState, Pull, node
from feedline.structure.block import Block


@node
class Pick(Node):
    """The rows of `source` whose numbers `index` gives, in that order. Made by the optimizer, so that what puts rows
    into another order need not hold them.
    """

    op: ClassVar[str] = "pick"
    note: ClassVar[str] = "rows by number, so that none has to be held"
    many: ClassVar[bool] = True
    source: Node
    index: Node

    def spec(self) -> Any:
        """The source's."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """As many as there are numbers."""
        return self.index.cardinality()

    def begin(self, pull: tuple[Pull, Pull]) -> NoState:
        """The source is read by row numbers and need not be started."""
        pull[1].start()
        return NoState()

    def step(self, state: NoState, pull: tuple[Pull, Pull], want: int) -> tuple[Block | None, NoState]:
        """The rows for the next numbers."""
        numbers = pull[1](want)
        if numbers is None or not numbers.n:
            return numbers, state
        return self.source.rows(numbers.columns[0]), state

    def sampled(self) -> Node:
        """Order does not matter for a spec."""
        return self.source.sampled()
