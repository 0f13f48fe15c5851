"""What a parallel map stage has made and not handed out yet."""

from __future__ import annotations

from collections import deque

from feedline.engine.batch_buffer import BatchSlot
from feedline.engine.task import Task
from feedline.structure.block import Block


class Output:
    """What has been made and is handed out next: rows, then an error, then `later`. `task` is what the rows came from,
    where it gave as many as it got; `batch_slot` where they were written.
    """

    __slots__ = ("batch_slot", "error", "later", "rows", "task")

    def __init__(self, later: tuple[Block | Exception, ...] = ()) -> None:
        self.later: deque[Block | Exception] = deque(later)
        self.error: Exception | None = None
        self.put(None)

    def put(self, rows: Block | None, task: Task | None = None, batch_slot: BatchSlot | None = None) -> None:
        """Rows to be handed out next."""
        self.rows = rows if rows is not None and rows.n else None
        self.task, self.batch_slot = task, batch_slot

    def take(self, want: int) -> Block:
        """Up to so many of the rows."""
        rows = self.rows
        assert rows is not None
        self.rows = rows.slice(want, rows.n) if rows.n > want else None
        self.batch_slot = None
        return rows if self.rows is None else rows.slice(0, want)

    def advance(self) -> None:
        """The first of what comes later comes next."""
        item = self.later.popleft()
        if isinstance(item, Exception):
            self.error = item
        else:
            self.put(item)

    def defer(self) -> None:
        """What comes next comes after everything that is there already."""
        self.later += self._next()
        self.rows = self.error = None

    def defer_first(self) -> None:
        """What comes next is the first of what comes later."""
        self.later.extendleft(reversed(self._next()))
        self.rows = self.error = None

    def _next(self) -> list[Block | Exception]:
        return [v for v in (self.rows, self.error) if v is not None]

    @property
    def waiting(self) -> tuple[Block | Exception, ...]:
        """All of it, in order."""
        return (*self._next(), *self.later)
