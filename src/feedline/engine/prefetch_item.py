"""What waits in the queue of a prefetch."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from feedline.structure.block import Block


class PrefetchItem:
    """One block, or an error, or the end (neither), with the states it was made from where they are cheap to keep."""

    __slots__ = ("before", "block", "error", "made", "size", "switch")

    def __init__(self, block: Block | None, error: BaseException | None, before: list[Any] | None) -> None:
        self.block, self.error, self.before = block, error, before
        self.size = 0 if block is None else block.nbytes
        self.switch = False
        self.made = perf_counter()

    @classmethod
    def switching(cls, before: list[Any] | None) -> PrefetchItem:
        """Says that the consumer makes what follows by itself."""
        made = cls(None, None, before)
        made.switch = True
        return made
