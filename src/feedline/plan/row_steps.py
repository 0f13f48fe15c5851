"""Steps for single rows: what a node does with one row at a time, with its state at hand.

`step` of a node makes blocks, which costs as much for one row as for many. Where rows must be made one by one, because
a user's function makes them, the engine passes each row through the row steps of several nodes instead
(`engine/called_rows.py`). Anything out of the ordinary is left to `step`: the end of an epoch, a nested run.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from feedline.plan.pull import Pull
from feedline.plan.row_calls import RowFailed
from feedline.structure.block import Block

SMALL_REST = 1 << 9
"""Rows read ahead are saved in a checkpoint if they take at most this many bytes."""

DROPPED = object()
"""Stands in for a row that a step has dropped."""


class Waiting(NamedTuple):
    """What waits at a step besides its state: rows still to be processed, how many rows of the input to skip before
    them, an error to raise next, and rows that the step has made and not passed on.
    """

    rest: Block | None = None
    skip: int = 0
    error: Exception | None = None
    made: Block | None = None


class RowStep:
    """A node's work for single rows. From `begin` on it holds the node's state, which `state` gives back."""

    __slots__ = ()

    calls: ClassVar[bool] = False
    """Whether it calls a user's function."""
    ahead: ClassVar[int | None] = SMALL_REST
    """How many bytes of rows may be read ahead of it, which its state then holds; None if it need not hold them, since
    it can skip rows of its input.
    """

    @property
    def replaces(self) -> bool:
        """Whether the rows it passes on are others than those it gets."""
        return False

    @property
    def dense(self) -> bool:
        """Whether all leaves of the rows it passes on, if it `replaces` them, are known to be arrays."""
        return False

    @property
    def room(self) -> int | None:
        """How many rows it passes on before its output ends; None: no limit."""
        return None

    @property
    def halted(self) -> bool:
        """After a row that was dropped: whether the next one is for `step`."""
        return False

    @property
    def called(self) -> int:
        """How many calls of a user's function have been made in this iteration."""
        return 0

    def begin(self, state: Any) -> bool:
        """Continues from a state; False if what comes next is for `step`."""
        raise TypeError(f"{type(self).__name__} must define begin")

    def state(self, waiting: Waiting) -> Any:
        """The node's state, with what waits for it."""
        raise TypeError(f"{type(self).__name__} must define state")

    def expect(self, rows: Block | None) -> None:
        """Prepares for the rows of a block; None stands for rows in memory of their own."""

    def __call__(self, row: Any) -> Any:
        """The row to pass on, or `DROPPED`. Raises `RowFailed`, or what a user's function raises."""
        return row

    def made(self) -> Block | None:
        """After a row that was dropped: the rows to pass on in place of it."""
        return None

    def hand_over(self, pull: Pull, row: Block | None) -> None:
        """After a row with which the step has `halted`: prepares the state for `step`. `row` is that row if it comes
        from a block.
        """

    def failed(self, failed: RowFailed) -> Exception:
        """The error for a row that has failed, which counts as processed."""
        assert isinstance(failed.error, Exception)
        return failed.error


class Unchanged(RowStep):
    """Passes rows on; the state is always the same."""

    __slots__ = ("_state",)

    def begin(self, state: Any) -> bool:
        """Always continues."""
        self._state = state
        return True

    def state(self, waiting: Waiting) -> Any:
        """The same as before."""
        return self._state
