"""A chunk of rows that a worker makes, and the workers that are threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, thread_time
from typing import Any

from feedline.engine.crew import Pool, Share
from feedline.engine.landing import Place, made_in_place
from feedline.plan.node import RowFailed, RowWise
from feedline.structure.block import Block

LONGEST = 40e-3
"""A worker that has been at a chunk for so many seconds hands over what it has made: rows take longer than was planned
for, and those that are left may be shared out anew.
"""


class Call:
    """One chunk of rows on its way through a worker. `before` are the states its rows were pulled from, `offset` says
    which row of that pull is its first, `place` where the results are to be written, if that is not left open.
    """

    __slots__ = (
        "again",
        "before",
        "block",
        "cpu",
        "done",
        "draws",
        "failed",
        "finished",
        "handed",
        "lent",
        "number",
        "offset",
        "on_done",
        "place",
        "rows",
        "share",
        "slot",
        "started",
        "used",
        "wall",
    )

    def __init__(self, block: Block, number: int, draws: Any, before: list[Any] | None, offset: int) -> None:
        self.block, self.number, self.draws, self.before, self.offset = block, number, draws, before, offset
        self.rows: Block | None = None
        self.used = block.n  # how many of the rows it was made for, where it was cut short
        self.failed: BaseException | None = None
        self.started = self.wall = self.cpu = 0.0
        self.share: Share | None = None  # of the budget
        self.place: Place | None = None
        self.lent: Any = None  # memory that another process reads
        self.slot = 0  # where another process writes that it has begun
        self.handed = False  # to the workers
        self.again = False  # made a second time, after its worker died
        self.finished = False  # whether the outcome is there
        self.done = threading.Lock()  # held until then; an interrupt may leave it held by one who waited
        self.done.acquire()
        self.on_done: Callable[[], None] | None = None

    def run(self, node: RowWise) -> None:
        """Makes the call, in the thread that it is run in."""
        self.started = perf_counter()
        cpu = thread_time()
        try:
            if self.place is None:
                until = self.started + LONGEST
                self.rows, self.used = node.applied(self.block, self.number, self.draws, until)
            else:
                self.rows, landed = made_in_place(node, self.block, self.number, self.draws, self.place)
                self.place = self.place if landed else None
        except BaseException as e:  # it belongs to the consumer, whatever it is
            self.failed = e
        self.finish(perf_counter() - self.started, thread_time() - cpu)

    def finish(self, wall: float, cpu: float) -> None:
        """The outcome is there."""
        self.wall, self.cpu = wall, cpu
        if self.share is not None and self.rows is not None:
            self.share.weighed(self.block.nbytes + self.rows.nbytes)
        self.release()
        if self.on_done is not None:
            self.on_done()

    def release(self) -> None:
        """Lets go whoever waits."""
        self.finished = True
        with suppress(RuntimeError):  # somebody else has done so, to end the waiting
            self.done.release()

    def given_up(self, error: Exception) -> Call:
        """A call in the place of this one that has failed; this one's outcome will be of no interest."""
        late = Call(self.block, self.number, self.draws, self.before, self.offset)
        late.share, self.share = self.share, None
        late.failed = RowFailed(0, None, error)
        late.handed = True
        late.release()
        self.on_done = None
        return late

    @property
    def size(self) -> int:
        """How many bytes it takes, about."""
        return 0 if self.share is None else self.share.size

    def settled(self) -> None:
        """It does not wait any more."""
        if self.share is not None:
            self.share.free()

    def row_by_row(self) -> list[Call]:
        """Calls for its rows one by one, each to be handed over when it is the first."""
        rows = []
        for i in range(self.block.n):
            single = Call(self.block.slice(i, i + 1), self.number + i, self.draws, self.before, self.offset + i)
            single.again = True
            rows.append(single)
        return rows


class Threads:
    """Workers that are threads of this process."""

    afterlife = "its thread goes on in the background until it returns"

    def __init__(self, pool: Pool, node: RowWise) -> None:
        self.pool, self.node = pool, node
        self.stopped = False

    def submit(self, call: Call) -> None:
        """Has the call made."""
        self.pool.submit(lambda: self._run(call))

    def _run(self, call: Call) -> None:
        if not self.stopped and not call.started:  # else it was handed over twice, after an interrupt
            call.run(self.node)

    def age(self, call: Call) -> float:
        """How many seconds ago a call was begun; 0 for one that waits."""
        return perf_counter() - call.started if call.started else 0.0

    def given_up(self) -> None:
        """A call will not return: its thread does not count any more."""
        self.pool.replace_one()

    def forget(self) -> None:
        """Calls that have not begun are not made."""
        self.stopped = True

    def close(self) -> None:
        """The threads belong to the crew."""
