"""Block growth: how many rows to ask a side-effect free plan for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedline.engine.context import block_bytes
from feedline.engine.input import Input, blocks
from feedline.plan.pace import SOON
from feedline.structure.block import Block, is_objects

if TYPE_CHECKING:
    from feedline.engine.run import Run

BLOCK_ROWS = 8192
BLOCK_BYTES = 1 << 20
LARGE_STRING = 1 << 15
"""Blocks of strings larger than this may have four times as many bytes: several threads may be reading them."""


class BlockGrowth:
    """The number of rows to pull from an input at a time, `want`: more and more, up to a limit in rows and bytes, which
    may be given (`most`). Only one if pulling rows ahead has visible effects.
    """

    __slots__ = ("_budget", "_most", "largest", "want")

    def __init__(self, run: Run, pull: Input, most: int | None = None) -> None:
        self._most = most
        self.want = blocks.cap or 1
        self.largest = blocks.cap or (BLOCK_ROWS if run.may_read_ahead(pull) else 1)
        self._budget = None if run.context is None else run.context.budget

    def adapt(self, block: Block, seconds: float) -> None:
        """Asks for more rows at a time while blocks come quickly, for fewer if they are slow."""
        if seconds > 2 * SOON:
            self.want = max(blocks.cap or 1, self.want // 4)
        elif self.want < self.largest and seconds < SOON / 2:
            self._grow(block)

    def _grow(self, block: Block) -> None:
        per_row = max(1, block.nbytes // block.n)
        large = per_row >= LARGE_STRING and all(map(is_objects, block.columns))
        most = block_bytes(4 * BLOCK_BYTES if large else BLOCK_BYTES)
        most = most if self._budget is None else min(most, self._budget.piece)
        most = most if self._most is None else min(most, self._most)
        limit = max(1, min(self.largest, most // per_row))
        self.want = min(limit, self.want * 4)
        if self.want >= limit:
            self.largest = self.want
