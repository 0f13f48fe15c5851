"""One execution of a plan: the list of its nodes' states, and the calls between them.

    Run     a plan with its states; blocks are pulled from it
    Input   one node inside a run, as its consumer sees it (engine/input.py); `PrefetchStage` and `ParallelMapStage`
            are the inputs that work in the background
    Cursor  between a run and a loop: pulls blocks, hands out rows

States are values. Most are immutable, so a copy of the list taken before a block, and the number of rows handed out
since, is a checkpoint. Mutable states are updated in place; there the checkpoint is the current states and the rest of
the block. Background stages correct the list to what a run without threads would have at the same element: a checkpoint
does not depend on how the plan was run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from operator import length_hint
from queue import SimpleQueue
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar

from feedline.early import working
from feedline.engine.background_read import BackgroundRead
from feedline.engine.block_growth import BLOCK_BYTES, BLOCK_ROWS, BlockGrowth
from feedline.engine.called_rows import CalledRows
from feedline.engine.context import Closing, ExecutionContext, Reservation, forced
from feedline.engine.input import CHANGING, BufferingInput, CappedInput, Input, MeasuredInput, blocks, close_state
from feedline.engine.meter import key_of, letters
from feedline.engine.parallel import ParallelMapStage
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.step_times import StepTimes
from feedline.kernels import interrupts
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.dataset_base import register_sampler
from feedline.plan.interrupted import Exited, WorkersLost
from feedline.plan.node import Node
from feedline.plan.row_wise import RowWise, epochs_of, parallel_of
from feedline.plan.states import ErrorObserver
from feedline.plan.traits.checkpoint import snapshotable
from feedline.plan.traits.effects import user_code
from feedline.plan.traits.schedule import Buffers, HasRowsReady, ManyInputs, ParallelArgs, Prefetches, Stacks
from feedline.plan.traits.seeds import consumes_seeds_early, generator_of, reshuffles
from feedline.random.element import uncounted
from feedline.sharing import cached_property
from feedline.structure.block import Block

T = TypeVar("T")

__all__ = [
    "BLOCK_BYTES",
    "BLOCK_ROWS",
    "Cursor",
    "Input",
    "Run",
    "RunSnapshot",
    "as_is",
    "blocks",
    "close_state",
    "sample",
]

SAMPLE_FAILURES = 8
WORTH_READING_AHEAD = 500e-6
"""Nested runs whose blocks take at least this many seconds are read in the background."""


class Preparation(Protocol):
    """Makes the plans that run; an optimizer."""

    def __call__(self, plan: Node) -> Node:
        """The plan that runs in place of a nested one."""

    def restored(self, plan: Node, above: Sequence[Collection[str] | None]) -> Node:
        """A plan that runs, in the form in which it was saved: `above` names the checkpoint-transparent nodes that had
        a state directly above each step; None for a step that had not begun.
        """


class AsIs:
    """Leaves plans unchanged: for runs without an optimizer."""

    def __call__(self, plan: Node) -> Node:
        """The plan itself."""
        return plan

    def restored(self, plan: Node, above: Sequence[Collection[str] | None]) -> Node:
        """The plan itself."""
        return plan


as_is = AsIs()


class Run:
    """A running plan. Calling it returns the next block. Without an execution context everything runs in the caller's
    thread.
    """

    def __init__(
        self,
        plan: Node,
        prepare: Preparation = as_is,
        key: Block | None = None,
        context: ExecutionContext | None = None,
        path: str = "",
    ) -> None:
        self.plan = plan
        self.prepare = prepare
        self.key = key
        self.context = context
        self.path = path
        self.letters = {} if context is None else letters(plan)
        self.level = path.count("/")
        self.seconds = 0.0
        self.restored = False
        self.nodes: list[Node] = []
        self.states: list[Any] = []
        self.stages: list[PrefetchStage | ParallelMapStage] = []
        self.root = self._input(plan)
        last = self.stages[-1] if self.stages and not path else None
        if isinstance(last, PrefetchStage):
            last.policy.slack = context is not None and context.settings.slack
        self.snapshot_slots = tuple(i for i, n in enumerate(self.nodes) if n.mutable_state and snapshotable(n))
        self.mutable_state = any(n.mutable_state and not snapshotable(n) for n in self.nodes) or any(
            not s.copyable for s in self.stages
        )
        self.pull = self.root.__call__ if context is None or path else StepTimes(self.root, context)
        self.called: CalledRows | None = None

    def _input(self, node: Node) -> Input:
        first = len(self.nodes)
        below = tuple(self._input(n) for n in node.inputs)
        slot = len(self.nodes)
        self.nodes.append(node)
        self.states.append(None)
        pulls = below if isinstance(node, ManyInputs) else below[0] if below else None
        kind = self._kind(node)
        made = kind(self, node, first, slot, pulls)
        if isinstance(made, (PrefetchStage, ParallelMapStage)):
            self.stages.append(made)
        if isinstance(node, Stacks) and isinstance(pulls, Input):
            pulls.set_batch_hint(node.batch_size_hint)
        return made

    def _kind(self, node: Node) -> type[Input]:
        plain = Input if blocks.cap is None else CappedInput
        if self.context is None:
            return plain
        if isinstance(node, Prefetches) and node.ahead is not None:
            return PrefetchStage
        if isinstance(node, RowWise):
            timed = self.context.settings.timeout is not None and user_code(node)
            if parallel_of(node) is not None or timed or (forced.mode and isinstance(node, ParallelArgs)):
                return ParallelMapStage
            if user_code(node) and plain is Input:
                return MeasuredInput
        return BufferingInput if plain is Input and isinstance(node, Buffers) else plain

    def calls(self, wanted: int | None, most: int) -> int:
        """The number of nested runs that may be read in the background at once."""
        if self.context is None or (wanted is None and not forced.mode):
            return 0
        return reads_at_once(AUTOTUNE if wanted is None else wanted, most, self.context.cores)

    def ordered(self, wanted: bool | None) -> bool:
        """Whether the order of elements must be kept."""
        return wanted if wanted is not None else self.context is None or self.context.settings.ordered

    def ask(self, want: int, news: SimpleQueue[None] | None = None, size: float | None = None) -> BackgroundRead | None:
        """Prepares a background read of the next block, of about `size` bytes. None if the budget has no room for it,
        or if blocks are read too quickly for it to pay and no `news` queue waits for it.
        """
        if self.context is None:
            return None
        budget = self.context.budget
        taken = budget.unknown if size is None else int(size)
        if budget.left < taken:
            return None
        always = news is not None or forced.mode is not None
        if not always and (self.seconds < WORTH_READING_AHEAD or not self.context.background_reads.pays()):
            return None
        return BackgroundRead(self, self.context, want, self.snapshot(), Reservation(budget, taken), news)

    def nested(self, plan: Node, key: Block | None, within: Node | None = None) -> Run:
        """A run of a nested plan that a node of this run opens."""
        if self.context is not None and self.context.closing:
            raise Closing
        opener = self.key_of(within or self.plan).partition(" ")[0]
        made = Run(self.prepare(plan), self.prepare, key, self.context, f"{opener}/")
        made.restored = self.restored
        return made

    def key_of(self, node: Node) -> str:
        """The name of a step of this run in reports."""
        return key_of(self.path, node, self.letters.get(id(node), ""))

    def duplicate(self, plan: Node | None = None) -> Run:
        """Another run of this plan, or of `plan`, not started."""
        return Run(plan or self.plan, self.prepare, self.key, self.context, self.path)

    def input_at(self, slot: int) -> Input:
        """The input with this slot."""
        found = [self.root]
        while found[-1].slot != slot:
            last = found.pop()
            found += last.below()
        return found[-1]

    def first_below(self, slot: int) -> int:
        """The first slot of the nodes below the one with this slot."""
        return self.input_at(slot).first

    def apply_skips(self) -> None:
        """Skips the rows that the states still have to skip, inputs first."""
        self.root.apply_skips()

    def is_copyable(self, pull: Input) -> bool:
        """Whether the states of an input and all below it can be copied cheaply into a snapshot that stays valid."""
        stages = (s for s in self.stages if pull.first <= s.slot <= pull.slot)
        nodes = pull.node.walk()
        return not any((n.mutable_state or self.seeded(n)) and not snapshotable(n) for n in nodes) and all(
            s.copyable for s in stages
        )

    @staticmethod
    def seeded(node: Node) -> bool:
        """Whether a node draws seeds that all iterators of a dataset share."""
        return reshuffles(node)

    def may_read_ahead(self, pull: Input) -> bool:
        """Whether pulling more than is needed now has no visible effect: all user functions below run in a background
        stage anyway.
        """
        if isinstance(pull, (PrefetchStage, ParallelMapStage)):
            return True
        if user_code(pull.node) or consumes_seeds_early(pull.node):
            return False
        return all(self.may_read_ahead(p) for p in pull.below())

    def start(self) -> None:
        """Starts at the first element; seeds are drawn in TensorFlow's order."""
        self.root.start()

    @property
    def started(self) -> bool:
        """Whether the run has been started and not closed."""
        return self.states[-1] is not None

    def __call__(self, want: int) -> Block | None:
        """The next block of at most `want` rows, for the node that opened this run. Records the time it took."""
        began = perf_counter()
        try:
            block = self.pull(want)
        finally:
            self.seconds = perf_counter() - began
        if block is not None and block.provenance is not None and block.provenance.lineage:
            return Block(block.columns, block.n, block.tree)  # its lineage cannot be resolved outside the nested plan
        return block

    def copy(self) -> list[Any] | None:
        """`captured`, or None if a state in it is live."""
        states = self.captured()
        return None if self.has_live(states, 0, len(states)) else states

    def has_live(self, states: list[Any], first: int, end: int) -> bool:
        """Whether any of `states`, those of the slots from `first` to `end`, is a live mutable state or is changing
        right now.
        """
        if any(state is CHANGING for state in states):
            return True
        snapshots = ((states[i - first], self.states[i]) for i in self.snapshot_slots if first <= i < end)
        return any(state is not None and state is now for state, now in snapshots)

    @cached_property
    def counts(self) -> bool:
        """Whether a node counts iterations."""
        return any(generator_of(n) is not None or epochs_of(n) is not None for n in self.nodes)

    def snapshot(self) -> RunSnapshot | None:
        """The run's position as a value; None if states cannot be copied, or a node counts iterations."""
        if self.mutable_state or self.counts:
            return None
        states = self.copy() if self.stages or self.snapshot_slots else self.states.copy()
        return None if states is None else RunSnapshot(self.plan, self.key, states)

    def captured(self) -> list[Any]:
        """A copy of the states as of the rows that the consumer has got. Mutable states in it are live, unless they can
        be copied.
        """
        states = self.states.copy()
        if self.stages or self.snapshot_slots:
            self.root.capture_stages(states)
        if self.called is not None:
            self.called.capture(states)
        return states

    @contextmanager
    def held(self) -> Iterator[list[Any]]:
        """Context manager: the states, with the background work that would change them paused."""
        try:
            states = self._paused_states(False)
            yield self._paused_states(True) if any(state is CHANGING for state in states) else states
        finally:
            for stage in self.stages[::-1]:
                stage.resume()

    def _paused_states(self, everything: bool) -> list[Any]:
        """Pauses stages and returns `captured`. A prefetch thread whose states are known keeps running, and so do the
        stages below it, unless `everything` is to be paused.
        """
        going: list[PrefetchStage] = []
        for stage in self.stages[::-1]:
            if any(above.first <= stage.slot < above.slot for above in going):
                continue
            if not isinstance(stage, PrefetchStage):
                stage.pause()
            elif stage.pause(everything):
                going.append(stage)
        return self.captured()

    def warm(self) -> None:
        """Starts prefetching before the first pull."""
        for stage in self.stages[::-1]:
            if isinstance(stage, PrefetchStage):
                stage.start_thread()
                return

    def notify_error(self) -> None:
        """Notifies states that hold shared resources of an error that has reached the consumer, which may not go on.
        """
        for state in self.states:
            if isinstance(state, ErrorObserver):
                state.notify_error()

    def cancel(self) -> None:
        """Cancels the stages of this run and wakes their waiters."""
        for stage in self.stages:
            stage.cancel()

    def close(self) -> None:
        """Ends background work and frees what the states hold: open files, generators, nested runs."""
        self.cancel()
        self.free(0, len(self.states))

    def free(self, first: int, end: int) -> None:
        """Ends the stages from `first` to `end`, top down, and closes their states. States that a stuck thread uses
        are left for that thread to free.
        """
        kept: set[int] = set()
        for stage in reversed(self.stages):
            if first <= stage.slot < end and stage.slot not in kept and not stage.finish():
                kept.update(range(stage.first, stage.slot))
        for i in range(first, end):
            if i not in kept:
                state, self.states[i] = self.states[i], None
                close_state(state)


def reads_at_once(wanted: int, opens: int, cores: int) -> int:
    """The number of nested runs that are read at once, if so many are open, for an argument `num_parallel_calls`."""
    return min(opens, 2 * cores if wanted == AUTOTUNE else wanted)


class RunSnapshot(NamedTuple):
    """The position of a nested run."""

    plan: Node
    key: Block | None
    states: list[Any]


class Cursor:
    """Hands out the rows of a run one by one.

    A side-effect free plan is asked for more and more rows (block growth). A plan with user functions is asked only for
    what the consumer wants now, so that effects come no earlier than they would element by element; if it ends in calls
    of functions, these are made one by one, and block growth applies to the rows below them (called_rows.py).
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.rows: Iterator[Any] = iter(())
        self.block: Block | None = None
        self.before: list[Any] | None = None
        self.ended = False
        self.due: BaseException | None = None  # an error that an interrupt has kept back: it comes before any row
        self.growth = BlockGrowth(run, run.root)
        self.called: CalledRows | None = None

    def call_one_by_one(self, lock: threading.RLock) -> None:
        """Calls functions at the end of the plan one by one, each when its row is asked for. `lock` is held during a
        call, and by all other users of this cursor.
        """
        self.called = self.run.called = CalledRows.of(self.run, lock)

    def refill(self) -> bool:
        """Gets the next rows ready; returns False at the end."""
        run, growth = self.run, self.growth
        while not self.ended:
            if run.context is not None and run.context.closing:
                raise Closing
            if self.called is not None and self.called.begin():
                self.block, self.before = None, None
                if self._pulled(self.called.refill):
                    self.rows = self.called
                    return True
                self.called.stop()
                if not self.called.goes_on:
                    break
            want = self._ready_rows() or growth.want
            if not run.mutable_state:
                plain = not run.stages and not run.snapshot_slots
                # A block of one row is handed out whole: a checkpoint after it needs only the states after it.
                self.before = run.states.copy() if plain else run.copy() if want > 1 else None
                self.block = None
            began = perf_counter() if growth.largest > 1 else 0.0
            block = self._pulled(partial(run.pull, want))
            if block is None:
                break
            if block.n:
                self.block = block
                self.rows = iter(block.rows())
                if growth.largest > 1:
                    growth.adapt(block, perf_counter() - began)
                return True
        self.ended, self.block, self.rows = True, None, iter(())
        return False

    def _ready_rows(self) -> int:
        """How many rows the last step has ready, if it must otherwise be asked for one at a time."""
        node = self.run.plan
        if self.growth.largest > 1 or blocks.cap is not None or not isinstance(node, HasRowsReady):
            return 0
        return node.ready_rows(self.run.states[-1])

    @property
    def left(self) -> int:
        """The number of rows that are ready."""
        called = self.called
        return called.left if called is not None and self.rows is called else length_hint(self.rows)

    def handed_out(self) -> int:
        """The number of rows of the current block that the consumer has got."""
        return 0 if self.block is None else self.block.n - length_hint(self.rows)

    def rest(self) -> Block | None:
        """The rows of the current block that have not been handed out."""
        if self.called is not None and self.called.made is not None:
            return self.called.made
        done = self.handed_out()
        return None if self.block is None or done == self.block.n else self.block.slice(done, self.block.n)

    def next_block(self, want: int) -> Block | None:
        """Up to `want` rows as a block, for consumers that need no Python objects; None at the end."""
        rest = self.rest()
        if rest is not None:
            part = rest.slice(0, want)
            rows = self.rows
            for _ in range(part.n):
                next(rows)
            return part
        if self.ended:
            return None
        if self.called is not None:
            self.called.stop()
        block = self._pulled(partial(self.run.pull, want))
        self.ended = block is None
        return block

    def _pulled(self, pull: Callable[[], T]) -> T:
        try:
            return pull()
        except Exception as e:
            self.run.notify_error()
            if isinstance(e, Exited):
                raise e.error from None
            raise
        except WorkersLost as e:
            self.run.notify_error()
            raise e.error from None


def sample(plan: Node, count: int, failures: int = SAMPLE_FAILURES, seconds: float = inf) -> list[Block]:
    """The first `count` elements of a plan, one block each, or those that are made within so many seconds. Fewer than
    `failures` elements that fail are skipped.
    """
    run, until = Run(plan), perf_counter() + seconds
    found: list[Block] = []
    failed: list[Exception] = []
    locked = interrupts.lock()  # a step that asks for a spec may be holding rows
    try:
        with working.in_turn():
            with uncounted:
                run.start()
            while len(found) < count and len(failed) < failures and perf_counter() < until:
                try:
                    block = run.pull(1)
                except Exception as e:
                    failed.append(e)
                    continue
                if block is None:
                    break
                if block.n:
                    found.append(block)
    finally:
        interrupts.unlock(locked)
        run.close()
    if failed and not found:
        raise failed[0].error if isinstance(failed[0], Exited) else failed[0]
    return found


register_sampler(sample)
