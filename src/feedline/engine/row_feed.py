"""The row feed of a parallel map stage: pulls rows for tasks from its input."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from feedline.early import Early, working
from feedline.engine.context import ExecutionContext
from feedline.engine.input import Input, TimedPull
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.step_times import StepTimes
from feedline.plan.pace import AT_ONCE
from feedline.plan.traits.seeds import consumes_shared_seeds
from feedline.structure.block import Block, concat

QUICK_PULL = 100e-6
MOST_ROWS = 1 << 16
GATHER_SECONDS = 50e-3
"""How long rows of a batch are waited for after its first one."""


class RowFeed:
    """The input of a stage. `ended`: it has no more rows; `late`: an error that comes after the rows it gave; `early`:
    the next rows cannot be read ahead of time.
    """

    __slots__ = ("_due", "_pull_rows", "_times", "copyable", "early", "ended", "inputs", "late", "seeded", "timed")

    def __init__(self, inputs: Input, copyable: bool, context: ExecutionContext) -> None:
        self.inputs, self.copyable = inputs, copyable
        self._times = StepTimes(inputs, context)
        self.timed = TimedPull(inputs, self._times)
        self.seeded = consumes_shared_seeds(inputs.node)
        self._due: BaseException | None = None  # an interrupt that came when there were rows to hand on first
        if self.seeded and isinstance(inputs, PrefetchStage):
            inputs.policy.eager = True
        self.reset()

    def reset(self) -> None:
        """Goes back to the state before the first row."""
        self.ended = self.early = False
        self.late: Exception | None = None
        self._pull_rows = 1

    @property
    def threaded(self) -> bool:
        """Whether a thread may read the input."""
        return isinstance(self.inputs, PrefetchStage)

    @property
    def running(self) -> PrefetchStage | None:
        """The input stage, if its thread is running."""
        return self.inputs if isinstance(self.inputs, PrefetchStage) and self.inputs.running else None

    @property
    def at_once(self) -> int:
        """The number of rows to ask the input for at once. A thread returns those that are ready, whatever is asked."""
        return MOST_ROWS if self.threaded else self._pull_rows

    @property
    def is_open(self) -> bool:
        """Whether more rows may come before the end or an error."""
        return not self.ended and self.late is None

    def has_ready(self) -> bool:
        """Whether the input can be pulled without waiting for its thread, and without drawing seeds ahead of time."""
        if isinstance(self.inputs, PrefetchStage) and (self.seeded or self.inputs.running):
            return self.inputs.has_ready()
        return not self.seeded

    def pull(self, want: int, in_turn: bool, fresh: bool) -> tuple[Block, list[Any] | None] | None:
        """Rows, and the states from which they can be pulled again, if known; None if there are none now. `in_turn`
        says that the consumer waits for them; rows that are not `fresh` are to be skipped.
        """
        if self._due is not None:
            due, self._due = self._due, None
            raise due
        before = self.inputs.copy() if self.copyable and fresh else None
        outer, self.early = working.ahead, False
        working.ahead = outer or not in_turn
        began = perf_counter()
        try:
            block = self._times(want)
        except Exception as e:
            self.late = e
            return None
        except Early:
            if in_turn:
                raise
            self.early = True
            return None
        finally:
            working.ahead = outer
        if block is None:
            self.ended = True
            return None
        if block.n and fresh:
            self.pulled(want, perf_counter() - began)
            if self.seeded and self.inputs.has_drawn_seeds(before, self.inputs.copy()):
                before = None  # another iterator may have drawn from the same seeds meanwhile
        return block, before

    def gather(self, want: int, in_turn: bool) -> tuple[Block, list[Any] | None] | None:
        """As `pull`, several times, until there are `want` rows, or no more come soon."""
        blocks: list[Block] = []
        before: list[list[Any] | None] = []
        have, until = 0, perf_counter() + GATHER_SECONDS
        while have < want and self.is_open and (not blocks or perf_counter() < until):
            try:
                got = self.pull(max(1, min(want - have, self.at_once)), in_turn and not blocks, fresh=True)
            except BaseException as e:
                if not blocks:
                    raise
                self._due = e
                break
            if got is None:
                break
            block, states = got
            if not block.n:
                if not blocks:
                    return got
                continue
            blocks.append(block)
            before.append(states)
            have += block.n
        if not blocks:
            return None
        return concat(blocks), None if None in before else before[0]

    def pulled(self, want: int, seconds: float) -> None:
        """Adapts `at_once` to the seconds that a pull took."""
        if seconds < AT_ONCE / 2:
            self._pull_rows = max(self._pull_rows, min(2 * want, MOST_ROWS))
        elif seconds > AT_ONCE:
            self._pull_rows = max(1, want // 2)
