"""How the calls of a step are shared out, and what one that fails raises."""

from __future__ import annotations

from typing import NamedTuple

from feedline.structure.block import Block


class RowFailed(Exception):
    """`apply` failed on row `index` of its block; `done` are the finished rows before it, `path` the leaf at fault, and
    `place` where the row comes from, in words, if it was read from a file.
    """

    def __init__(self, index: int, done: Block | None, error: Exception, path: str = "") -> None:
        super().__init__(index, error)
        self.index, self.done, self.error, self.path = index, done, error, path
        self.place = ""

    def locate(self, block: Block) -> None:
        """Looks up the place of the row in the block that `apply` was given."""
        if block.origin is not None:
            self.place = block.origin.place(self.index)

    def on(self, number: int | None) -> str:
        """The row, element `number` of the iteration, as errors name it."""
        element = "" if number is None else f" on element {number}"
        return f"{element} ({self.place})" if self.place else element


class Parallel(NamedTuple):
    """How a step's work may be shared out: how many calls at once (AUTOTUNE: as many as pay), whether their order is
    kept (None: as the options say), and by what they are run, "thread" or "process".
    """

    calls: int
    ordered: bool | None = None
    workers: str = "thread"
