"""How much a prefetch makes at a time, and how much of it may wait."""

from __future__ import annotations

from typing import Any

from feedline.engine.input import Input
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.structure.block import Block

QUICK = 500e-6
SLOW = 5e-3
LARGEST_ROWS = 8192
LARGEST_BYTES = 1 << 21


class PrefetchSizing(Input):
    """A node whose rows are made ready in blocks."""

    __slots__ = ("__weakref__", "context", "depth", "largest", "may_read_ahead", "rows", "unit")

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.context = run.context
        self.may_read_ahead = run.may_read_ahead(inputs)
        self.depth = self._chosen_depth()
        self.largest = min(LARGEST_BYTES, self.context.budget.piece)
        self.rows = self.unit = 1

    def _chosen_depth(self) -> int:
        wanted = self.node.ahead
        assert wanted is not None
        if wanted != AUTOTUNE:
            return wanted
        chosen = (self.context.settings.chosen or {}).get(self.key)
        return int(chosen["buffer"]) if chosen else 2

    @property
    def key(self) -> str:
        """The name of this stage in reports."""
        return f"{self.run.path}{self.node.position} {self.node.op}"

    def set_batch_hint(self, rows: int) -> None:
        """The consumer makes batches of so many rows: blocks that hold whole batches need not be put together."""
        self.unit = rows

    def _max_blocks(self) -> int:
        """How many blocks may wait. `depth` counts rows where the user gave it, unless nobody can tell."""
        if self.node.ahead == AUTOTUNE:
            return self.depth
        return max(2, self.depth // self.rows) if self.may_read_ahead else self.depth // self.rows

    def _change_rows(self, block: Block, seconds: float) -> None:
        """More rows at a time where they are small and quickly made, as far as the user's number of rows allows it.
        Where nobody can tell, more is tried for longer: steps that work on whole blocks take little more for it.
        """
        rows = self.rows
        if seconds > (4 * SLOW if self.may_read_ahead else SLOW):
            self.rows = max(1, rows // 2)
        elif seconds < self._long_enough() and 8 * block.n >= rows:  # no step gives less than that for long
            limit = LARGEST_ROWS if self.may_read_ahead or self.node.ahead == AUTOTUNE else max(1, self.depth // 2)
            self.rows = min(2 * rows, limit, max(1, self.largest * block.n // max(1, block.nbytes)))
        if self.rows > self.unit:
            self.rows -= self.rows % self.unit

    def _long_enough(self) -> float:
        """Blocks that take less are made larger."""
        if self.may_read_ahead:
            return SLOW
        return SLOW / 2 if self.node.ahead == AUTOTUNE else QUICK
