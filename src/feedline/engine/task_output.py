"""The output of a parallel map stage: results that have not been handed out."""

from __future__ import annotations

from collections import deque

from feedline.engine.batch_buffer import BatchSlot
from feedline.engine.task import Task
from feedline.structure.block import Block


class Output:
    """The results to be handed out next: rows, then an error, then `later`. `task` is the task of the rows, if it has a
    result for each of its rows; `batch_slot` is the slot they were written to.
    """

    __slots__ = ("batch_slot", "error", "later", "rows", "task")

    def __init__(self, later: tuple[Block | Exception, ...] = ()) -> None:
        self.later: deque[Block | Exception] = deque(later)
        self.error: Exception | None = None
        self.put(None)

    def put(self, rows: Block | None, task: Task | None = None, batch_slot: BatchSlot | None = None) -> None:
        """Sets the rows to be handed out next."""
        self.rows = rows if rows is not None and rows.n else None
        self.task, self.batch_slot = task, batch_slot

    def take(self, want: int) -> Block:
        """Takes up to `want` of the rows."""
        rows = self.rows
        assert rows is not None
        self.rows = rows.slice(want, rows.n) if rows.n > want else None
        self.batch_slot = None
        return rows if self.rows is None else rows.slice(0, want)

    def advance(self) -> None:
        """Moves the first of `later` to the front."""
        item = self.later.popleft()
        if isinstance(item, Exception):
            self.error = item
        else:
            self.put(item)

    def defer(self) -> None:
        """Moves the rows and error behind `later`."""
        self.later += self._next()
        self.rows = self.error = None

    def defer_first(self) -> None:
        """Moves the rows and error to the beginning of `later`."""
        self.later.extendleft(reversed(self._next()))
        self.rows = self.error = None

    def _next(self) -> list[Block | Exception]:
        return [v for v in (self.rows, self.error) if v is not None]

    @property
    def waiting(self) -> tuple[Block | Exception, ...]:
        """All results, in order."""
        return (*self._next(), *self.later)
