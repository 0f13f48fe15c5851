"""Rows pulled from an input and handed to workers in chunks: the sending half of `ParallelMapStage`
(engine/parallel.py).
"""

from __future__ import annotations

from collections import deque
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from feedline.early import Early, working
from feedline.engine.autotune import Tuner
from feedline.engine.batch_buffer import BatchAllocator, BatchSlot
from feedline.engine.context import Closing, Reservation, closable_by_others, forced, may_start_processes
from feedline.engine.input import Input, TimedPull
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.task import Task, ThreadWorkers
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


class ChunkDispatcher(Input):
    """A row-wise node, its workers, and the calls that are on their way."""

    __slots__ = (
        "__weakref__",
        "abandoned",
        "active",
        "allocator",
        "batch_slot",
        "calls",
        "closing",
        "context",
        "copyable",
        "draws",
        "early",
        "ended",
        "error",
        "finished",
        "full",
        "late",
        "made",
        "moved",
        "ordered",
        "out",
        "pull_rows",
        "ready",
        "rows_out",
        "seeded",
        "seen",
        "source_task",
        "timed",
        "tuner",
        "waited",
        "wide",
        "window",
        "worked",
        "workers",
        "workers_unaware_of_spec",
    )
    inputs: Input

    node: RowWise

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.context = run.context
        parallel = node.parallel
        settings = self.context.settings
        calls = parallel.calls if parallel is not None else 1
        ordered = parallel.ordered if parallel is not None else True
        self.ordered = settings.ordered if ordered is None else ordered
        self.workers: Any = None
        self.workers_unaware_of_spec = (
            False  # whether workers have copies of the node that do not know what results look like
        )
        self.moved = False  # from threads to processes, since the function holds the interpreter
        self.copyable = self.ordered and run.is_copyable(inputs)
        self.seeded = inputs.node.consumes_shared_seeds
        if self.seeded and isinstance(inputs, PrefetchStage):
            inputs.policy.eager = True
        self.tuner = Tuner(calls, settings, self.context.cores, self.key, self.context.budget.piece)
        if self._in_processes() or settings.processes:
            # Now, by the thread that makes iterators: a child that is forked while another one imports it never can.
            import feedline.engine.processes  # noqa: F401
        if self._in_processes():
            self.tuner.in_processes(self.context.cores if calls == AUTOTUNE else calls)
        self.timed = TimedPull(inputs)
        self.waited = self.worked = 0.0
        self.made = self.rows_out = self.calls = 0
        self.closing = False
        self.wide = 1
        self.allocator: BatchAllocator | None = None
        self._reset()
        self.context.stages.add(self)

    @property
    def key(self) -> str:
        """The name of this stage in reports."""
        return f"{self.run.path}{self.node.position} {self.node.op}"

    def _reset(self) -> None:
        self.active = self.ended = self.full = False
        self.window: deque[Task] = deque()
        self.finished: SimpleQueue[None] = SimpleQueue()
        self.out: Block | None = None
        self.source_task: Task | None = None  # what `out` came from, where it gives as many rows as it got
        self.batch_slot: BatchSlot | None = None  # where `out` was written
        if self.allocator is not None:
            self.allocator.forget()
        self.error: Exception | None = None
        self.ready: deque[Block | Exception] = deque()  # what comes after these two
        self.early = False  # whether what comes after them cannot be read ahead of its time
        self.late: Exception | None = None
        self.pull_rows = 1
        self.seen = 0
        self.draws: Any = None

    def set_batch_hint(self, rows: int) -> None:
        """The consumer makes batches of so many rows."""
        if self.ordered and self.node.one_to_one:
            self.allocator = BatchAllocator(rows)

    def _in_processes(self) -> bool:
        parallel = self.node.parallel
        wanted = self.moved or forced.mode == "process" or (parallel is not None and parallel.workers == "process")
        return wanted and may_start_processes()

    def _start_parallel(self, state: RowWiseState) -> None:
        """Workers make the calls from now on."""
        self._reset()
        self.calls = max(1, self.tuner.go())
        self._start_workers()
        self.seen, self.draws = state.seen, state.draws
        self.ready, self.late = deque(state.ready), state.late
        self.states[self.slot] = RowWiseState(skip=state.skip, draws=state.draws)  # passed over in `_pull`
        self.active = True
        if state.rest is not None:
            self._split(state.rest, None, 0)

    def _start_workers(self) -> None:
        self._stop_workers()
        self.workers_unaware_of_spec = self._in_processes() and not self.node.output_spec_known
        if self._in_processes():
            from feedline.engine.processes import ProcessWorkers

            self.workers = ProcessWorkers(self.context, self.node, self.calls)
            if self.allocator is not None:
                self.allocator.use(self.workers.memory)
        else:
            pool = self.context.pool((self.run.level, self.slot, self.node.op), self.calls, self.node.op)
            self.workers = ThreadWorkers(pool, self.node)

    def _stop_parallel(self) -> None:
        """The consumer makes the calls by itself from now on, or there are no more."""
        self.states[self.slot] = RowWiseState(self.seen, draws=self.draws)
        self.active = False
        self._stop_workers()

    def _stop_workers(self) -> None:
        workers, self.workers = self.workers, None
        if workers is not None:
            workers.close()
            if self.allocator is not None and not isinstance(workers, ThreadWorkers):
                self.allocator.use()

    def _fill_window(self, want: int) -> None:
        """Hands chunks to the workers until enough are on their way."""
        began = perf_counter()
        if self.full and self.window and self.wide < WIDEST and all(task.finished for task in self.window):
            self.wide *= 2
        room = self._window_size()
        self.full = False
        while not self.ended and self.late is None and len(self.window) < room:
            if self.window:
                if self.early:
                    return
                if self.window[0].again:
                    return  # made alone, to see whether it is the one that kills its worker
                if self.context.budget.left < self._row_cost() or not self._input_ready():
                    return
                if perf_counter() - began > LONG_PULL and self._any_finished():
                    return
            if not self._pull(room, want):
                return
        self.full = len(self.window) >= room

    def _any_finished(self) -> bool:
        """True when there is something to hand out."""
        return self.window[0].finished if self.ordered else any(task.finished for task in self.window)

    def _window_size(self) -> int:
        settings = self.context.settings
        calls = self.tuner.decide()
        if not calls and self._closable_by_others():
            calls = max(1, self.tuner.go()) if self.tuner.rested else 1
        if calls != self.calls and calls:
            self.calls = calls
            self._start_workers()
        if not calls:
            if self.tuner.holds_gil and settings.processes and self.tuner.asked == AUTOTUNE and not self.moved:
                self._move_to_processes()
            return 0  # what is on its way is waited for, then the consumer goes on alone
        if not self.node.output_spec_known and self.ordered and not self._in_processes():
            return 1  # the first one says what results look like
        if settings.timeout is not None:
            return calls  # each has a worker, and its time begins when it is handed over
        if self.tuner.asked == 1:
            return 1
        room = max(2 * calls, calls + 2)
        return room if self.wide == 1 else max(room, min(self.wide * room, int(WIDE_BYTES / self.tuner.call_bytes)))

    def _closable_by_others(self) -> bool:
        """True where somebody might close the iterator while the consumer is in a function of the user's: then a worker
        should be in it, even where that brings nothing else.
        """
        return self.node.user_code and closable_by_others()

    def _move_to_processes(self) -> None:
        """The next calls are made by processes, if the function can be sent there."""
        from feedline.engine.serialization import serialize_node

        try:
            serialize_node(self.node)
        except InvalidArgumentError as e:
            self.tuner.why += f"; {e}"
            return
        self.moved = True
        self.tuner.moved(self.context.cores)

    def _input_ready(self) -> bool:
        """True when the input can be asked for more without waiting for its thread, and without taking seeds before
        their time.
        """
        if isinstance(self.inputs, PrefetchStage) and (self.seeded or self.inputs.running):
            return self.inputs.has_ready()
        return not self.seeded

    def _pull(self, room: int, want: int) -> bool:
        """Pulls rows and hands them out; False where there are none now."""
        state = self.states[self.slot]
        chunk = self._chunk(want)
        before = self.inputs.copy() if self.copyable and not state.skip else None
        began = perf_counter()
        affordable = self.context.budget.left / self._row_cost()
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
        if self.seeded and before is not None and self.inputs.has_drawn_seeds(before, self.inputs.copy()):
            before = None  # nobody could take the same again
        self._split(block, before, 0)
        return True

    def _at_once(self) -> int:
        """How many rows the input gives at once. A thread gives those that are ready, however many are asked for."""
        return MOST_ROWS if isinstance(self.inputs, PrefetchStage) else self.pull_rows

    def _pulled(self, asked: int, seconds: float) -> None:
        """The input took so many seconds to give rows."""
        if seconds < QUICK_PULL:
            self.pull_rows = max(self.pull_rows, min(2 * asked, MOST_ROWS))
        elif seconds > AT_ONCE:
            self.pull_rows = max(1, asked // 2)

    def _result_bytes(self) -> float:
        """What the result for one row takes, about."""
        known = self.tuner.result_bytes
        return known.value if known.count else self.context.budget.unknown

    def _row_cost(self) -> float:
        """What one row takes on its way, about."""
        return max(1.0, self.tuner.row_bytes.value + self._result_bytes())

    def _reserve(self, block: Block) -> Reservation:
        return Reservation(self.context.budget, block.nbytes + int(block.n * self._result_bytes()))

    def _chunk(self, want: int) -> int:
        if not self.node.output_spec_known or self.context.settings.timeout is not None:
            return 1
        if self.seeded and not isinstance(self.inputs, PrefetchStage):
            return max(1, min(self.tuner.chunk(), want))
        return self.tuner.chunk()

    def _split(self, block: Block, before: list[Any] | None, offset: int, at_head: bool = False) -> None:
        """Makes calls of a block's rows."""
        chunk = self._chunk(block.n)
        allocator = self.allocator if self.allocator is not None and self.allocator.worth_it and not at_head else None
        made = []
        start = 0
        while start < block.n:
            number = self.seen + start
            rows = (
                min(chunk, block.n - start)
                if allocator is None
                else min(chunk, block.n - start, allocator.room(number))
            )
            part = block.slice(start, start + rows) if rows < block.n else block
            made.append(Task(part, number, self.draws, before, offset + start))
            if allocator is not None:
                made[-1].batch_slot = allocator.batch_slot(number)
            start += rows
        self.seen += block.n
        for task in made:
            task.reservation = self._reserve(task.block)
        if at_head:
            self._push_front(made)
        else:
            self.window.extend(made)
        if not self.window[0].again:
            for task in made:
                self._submit(task)

    def _push_front(self, calls: list[Task]) -> None:
        """Puts calls first in the window, but behind those that are made again, each alone, after a worker's death."""
        at = next((i for i, task in enumerate(self.window) if not task.again), len(self.window))
        for i, task in enumerate(calls, at):
            self.window.insert(i, task)

    def _submit(self, task: Task) -> None:
        if not self.ordered:
            task.on_done = self._notify
        if self.workers is None:  # an interrupt has come between two
            self._start_workers()
        task.submitted = True
        try:
            self.workers.submit(task)
        except BaseException:  # an interrupt: nobody knows whether it is on its way
            task.submitted = False
            raise
        if self.closing or self.context.closing:
            raise Closing  # who told so may not have seen this call, and it may never be made

    def _notify(self) -> None:
        """A call has been made. One word is enough, however many have been."""
        if self.finished.empty():
            self.finished.put(None)
