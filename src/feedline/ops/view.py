"""Part of a source that knows where each row is: every so many rows, from one on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from feedline.ops.sources.indexed import At, Indexed
from feedline.plan.node import Node, node
from feedline.structure.block import Array, Block


@node
class View(Indexed):
    """`count` rows of `source`: row `start`, and each time the row `by` further on. Made by the optimizer."""

    op: ClassVar[str] = "view"
    source: Indexed
    start: int
    by: int
    count: int

    def spec(self) -> Any:
        """The source's."""
        return self.source.element_spec

    def cardinality(self) -> int:
        """As many rows as it was made for."""
        return self.count

    def begin(self, pull: Any) -> At:
        """The source is read by row numbers and need not be started."""
        return At()

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
