"""Rows pulled from an input and handed to workers in chunks: the giving half of `Calls` (engine/parallel.py)."""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from feedline.early import Early, working
from feedline.engine.autotune import Tuner
from feedline.engine.call import Call, Threads
from feedline.engine.crew import Closing, Share, forced, may_start_processes, watched
from feedline.engine.input import Input, Timed
from feedline.engine.landing import Landing, Place
from feedline.engine.prefetch import Ahead
from feedline.errors import InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node, RowWise, RowWiseState
from feedline.plan.pace import AT_ONCE
from feedline.structure.block import Block

QUICK_PULL = 100e-6
LONG_PULL = 500e-6
MOST_ROWS = 1 << 16
WIDEST = 16
WIDE_BYTES = 1 << 26
"""Where workers have had nothing to do while the consumer was busy (with putting a batch together, say), up to `WIDEST`
times as many calls are handed out ahead, as long as their results take no more bytes than that.
"""


class Handing(Input):
    """A row-wise node, its workers, and the calls that are on their way."""

    __slots__ = (
        "__weakref__",
        "active",
        "calls",
        "closing",
        "crew",
        "draws",
        "early",
        "ended",
        "error",
        "finished",
        "full",
        "given_up",
        "landed",
        "landing",
        "late",
        "light",
        "made",
        "moved",
        "ordered",
        "origin",
        "out",
        "pull_rows",
        "ready",
        "rows_out",
        "seeded",
        "seen",
        "timed",
        "tuner",
        "unsettled",
        "waited",
        "wide",
        "window",
        "worked",
        "workers",
    )
    inputs: Input

    node: RowWise

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.crew = run.crew
        parallel = node.parallel
        settings = self.crew.settings
        calls = parallel.calls if parallel is not None else 1
        ordered = parallel.ordered if parallel is not None else True
        self.ordered = settings.ordered if ordered is None else ordered
        self.workers: Any = None
        self.unsettled = False  # whether workers have copies of the node that do not know what results look like
        self.moved = False  # from threads to processes, since the function holds the interpreter
        self.light = self.ordered and run.is_light(inputs)
        self.seeded = inputs.node.takes_shared
        if self.seeded and isinstance(inputs, Ahead):
            inputs.eager = True
        self.tuner = Tuner(calls, settings, self.crew.cores, self.key, self.crew.budget.piece)
        if self._in_processes() or settings.processes:
            # Now, by the thread that makes iterators: a child that is forked while another one imports it never can.
            import feedline.engine.processes  # noqa: F401
        if self._in_processes():
            self.tuner.in_processes(self.crew.cores if calls == AUTOTUNE else calls)
        self.timed = Timed(inputs)
        self.waited = self.worked = 0.0
        self.made = self.rows_out = self.calls = 0
        self.closing = False
        self.wide = 1
        self.landing: Landing | None = None
        self._idle()
        self.crew.stages.add(self)

    @property
    def key(self) -> str:
        """The name of this stage in reports."""
        return f"{self.run.path}{self.node.position} {self.node.op}"

    def _idle(self) -> None:
        self.active = self.ended = self.full = False
        self.window: deque[Call] = deque()
        self.finished: SimpleQueue[None] = SimpleQueue()
        self.out: Block | None = None
        self.origin: Call | None = None  # what `out` came from, where it gives as many rows as it got
        self.landed: Place | None = None  # where `out` was written
        if self.landing is not None:
            self.landing.forget()
        self.error: Exception | None = None
        self.ready: deque[Block | Exception] = deque()  # what comes after these two
        self.early = False  # whether what comes after them cannot be read ahead of its time
        self.late: Exception | None = None
        self.pull_rows = 1
        self.seen = 0
        self.draws: Any = None

    def batched(self, rows: int) -> None:
        """The consumer makes batches of so many rows."""
        if self.ordered and self.node.one_to_one:
            self.landing = Landing(rows)

    def _in_processes(self) -> bool:
        parallel = self.node.parallel
        wanted = self.moved or forced.mode == "process" or (parallel is not None and parallel.workers == "process")
        return wanted and may_start_processes()

    def _go(self, state: RowWiseState) -> None:
        """Workers make the calls from now on."""
        self._idle()
        self.calls = max(1, self.tuner.go())
        self._hire()
        self.seen, self.draws = state.seen, state.draws
        self.ready, self.late = deque(state.ready), state.late
        self.states[self.slot] = RowWiseState(skip=state.skip, draws=state.draws)  # passed over in `_pull`
        self.active = True
        if state.rest is not None:
            self._cut(state.rest, None, 0)

    def _hire(self) -> None:
        self._dismiss()
        self.unsettled = self._in_processes() and not self.node.settled
        if self._in_processes():
            from feedline.engine.processes import Processes

            self.workers = Processes(self.crew, self.node, self.calls)
            if self.landing is not None:
                self.landing.use(self.workers.memory)
        else:
            pool = self.crew.pool((self.run.level, self.slot, self.node.op), self.calls, self.node.op)
            self.workers = Threads(pool, self.node)

    def _stop(self) -> None:
        """The consumer makes the calls by itself from now on, or there are no more."""
        self.states[self.slot] = RowWiseState(self.seen, draws=self.draws)
        self.active = False
        self._dismiss()

    def _dismiss(self) -> None:
        workers, self.workers = self.workers, None
        if workers is not None:
            workers.close()
            if self.landing is not None and not isinstance(workers, Threads):
                self.landing.use()

    def _top_up(self, want: int) -> None:
        """Hands chunks to the workers until enough are on their way."""
        began = perf_counter()
        if self.full and self.window and self.wide < WIDEST and all(call.finished for call in self.window):
            self.wide *= 2
        room = self._room()
        self.full = False
        while not self.ended and self.late is None and len(self.window) < room:
            if self.window:
                if self.early:
                    return
                if self.window[0].again:
                    return  # made alone, to see whether it is the one that kills its worker
                if self.crew.budget.left < self._row_cost() or not self._fed():
                    return
                if perf_counter() - began > LONG_PULL and self._any_finished():
                    return
            if not self._pull(room, want):
                return
        self.full = len(self.window) >= room

    def _any_finished(self) -> bool:
        """True when there is something to hand out."""
        return self.window[0].finished if self.ordered else any(call.finished for call in self.window)

    def _room(self) -> int:
        settings = self.crew.settings
        calls = self.tuner.decide()
        if not calls and self._watched():
            calls = max(1, self.tuner.go()) if self.tuner.rested else 1
        if calls != self.calls and calls:
            self.calls = calls
            self._hire()
        if not calls:
            if self.tuner.holds_gil and settings.processes and self.tuner.asked == AUTOTUNE and not self.moved:
                self._move()
            return 0  # what is on its way is waited for, then the consumer goes on alone
        if not self.node.settled and self.ordered and not self._in_processes():
            return 1  # the first one says what results look like
        if settings.timeout is not None:
            return calls  # each has a worker, and its time begins when it is handed over
        if self.tuner.asked == 1:
            return 1
        room = max(2 * calls, calls + 2)
        return room if self.wide == 1 else max(room, min(self.wide * room, int(WIDE_BYTES / self.tuner.call_bytes)))

    def _watched(self) -> bool:
        """True where somebody might close the iterator while the consumer is in a function of the user's: then a worker
        should be in it, even where that brings nothing else.
        """
        return self.node.user_code and watched()

    def _move(self) -> None:
        """The next calls are made by processes, if the function can be sent there."""
        from feedline.engine.shipping import shipped

        try:
            shipped(self.node)
        except InvalidArgumentError as e:
            self.tuner.why += f"; {e}"
            return
        self.moved = True
        self.tuner.moved(self.crew.cores)

    def _fed(self) -> bool:
        """True when the input can be asked for more without waiting for its thread, and without taking seeds before
        their time.
        """
        if isinstance(self.inputs, Ahead) and (self.seeded or self.inputs.running):
            return self.inputs.ready_now()
        return not self.seeded

    def _pull(self, room: int, want: int) -> bool:
        """Pulls rows and hands them out; False where there are none now."""
        state = self.states[self.slot]
        chunk = self._chunk(want)
        before = self.inputs.copy() if self.light and not state.skip else None
        began = perf_counter()
        affordable = self.crew.budget.left / self._row_cost()
        asked = state.skip or max(1, min(self._at_once(), chunk * (room - len(self.window)), int(affordable)))
        outer, self.early = working.ahead, False
        first = not self.window and self.out is None
        working.ahead = outer or not first
        try:
            block = self.inputs(asked)
        except Exception as e:
            self.late = e
            return False
        except Early:
            if first:
                raise
            self.early = True
            return False
        finally:
            working.ahead = outer
        seconds = perf_counter() - began
        if block is None:
            self.ended = True
            return False
        if not block.n:
            return not self.window
        if state.skip:
            self.states[self.slot] = state._replace(skip=state.skip - block.n)
            return True
        self._pulled(asked, seconds)
        self.tuner.row_bytes.add(block.nbytes / block.n)
        if self.seeded and before is not None and self.inputs.has_taken(before, self.inputs.copy()):
            before = None  # nobody could take the same again
        self._cut(block, before, 0)
        return True

    def _at_once(self) -> int:
        """How many rows the input gives at once. A thread gives those that are ready, however many are asked for."""
        return MOST_ROWS if isinstance(self.inputs, Ahead) else self.pull_rows

    def _pulled(self, asked: int, seconds: float) -> None:
        """The input took so many seconds to give rows."""
        if seconds < QUICK_PULL:
            self.pull_rows = max(self.pull_rows, min(2 * asked, MOST_ROWS))
        elif seconds > AT_ONCE:
            self.pull_rows = max(1, asked // 2)

    def _result_bytes(self) -> float:
        """What the result for one row takes, about."""
        known = self.tuner.result_bytes
        return known.value if known.count else self.crew.budget.unknown

    def _row_cost(self) -> float:
        """What one row takes on its way, about."""
        return max(1.0, self.tuner.row_bytes.value + self._result_bytes())

    def _share(self, block: Block) -> Share:
        return Share(self.crew.budget, block.nbytes + int(block.n * self._result_bytes()))

    def _chunk(self, want: int) -> int:
        if not self.node.settled or self.crew.settings.timeout is not None:
            return 1
        if self.seeded and not isinstance(self.inputs, Ahead):
            return max(1, min(self.tuner.chunk(), want))
        return self.tuner.chunk()

    def _cut(self, block: Block, before: list[Any] | None, offset: int, at_head: bool = False) -> None:
        """Makes calls of a block's rows."""
        chunk = self._chunk(block.n)
        landing = self.landing if self.landing is not None and self.landing.worth_it and not at_head else None
        made = []
        start = 0
        while start < block.n:
            number = self.seen + start
            rows = min(chunk, block.n - start) if landing is None else min(chunk, block.n - start, landing.room(number))
            part = block.slice(start, start + rows) if rows < block.n else block
            made.append(Call(part, number, self.draws, before, offset + start))
            if landing is not None:
                made[-1].place = landing.place(number)
            start += rows
        self.seen += block.n
        for call in made:
            call.share = self._share(call.block)
        if at_head:
            self._first(made)
        else:
            self.window.extend(made)
        if not self.window[0].again:
            for call in made:
                self._hand(call)

    def _first(self, calls: list[Call]) -> None:
        """Puts calls first in the window, but behind those that are made again, each alone, after a worker's death."""
        at = next((i for i, call in enumerate(self.window) if not call.again), len(self.window))
        for i, call in enumerate(calls, at):
            self.window.insert(i, call)

    def _hand(self, call: Call) -> None:
        if not self.ordered:
            call.on_done = self._tell
        if self.workers is None:  # an interrupt has come between two
            self._hire()
        call.handed = True
        try:
            self.workers.submit(call)
        except BaseException:  # an interrupt: nobody knows whether it is on its way
            call.handed = False
            raise
        if self.closing or self.crew.closing:
            raise Closing  # who told so may not have seen this call, and it may never be made

    def _tell(self) -> None:
        """A call has been made. One word is enough, however many have been."""
        if self.finished.empty():
            self.finished.put(None)
