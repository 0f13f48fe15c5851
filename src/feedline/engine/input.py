"""One node inside a run, as its consumer sees it: the `Pull` of plan/pull.py.

States are kept in the run's list, each node's after those of all nodes below it: a node and everything below it are
one slice of the list, from `first` up to its own `slot`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from feedline.early import Early, working
from feedline.engine.context import Closing
from feedline.engine.meter import StepMeter
from feedline.engine.sampling import Sampling, costs, pauses
from feedline.engine.state_validation import after_restore, damaged
from feedline.errors import ResourceExhaustedError
from feedline.kernels.interrupts import check
from feedline.plan.interrupted import Interrupted
from feedline.plan.link_times import link_times
from feedline.plan.node import EMPTY, Node, pulls_of
from feedline.plan.pull import Child, Pull, RecordBuffer
from feedline.plan.row_calls import RowWiseState, called_by
from feedline.plan.row_wise import OneToOne
from feedline.plan.states import Closable, SkippingState
from feedline.plan.traits.checkpoint import Snapshotable
from feedline.plan.traits.provenance import KeepsRows
from feedline.plan.traits.record_source import GivesAddresses, RecordSource
from feedline.plan.traits.schedule import Buffers
from feedline.plan.traits.seeds import consumes_shared_seeds, seeds_drawn, shared_at_start
from feedline.reports.measured import BUFFERS, StepReport
from feedline.structure.block import Array, Block, Objects
from feedline.structure.datasets import Datasets, Nested

if TYPE_CHECKING:
    from feedline.engine.run import Run


StepCall: TypeAlias = Callable[[Any, Any, int], tuple[Block | None, Any]]
Inputs: TypeAlias = "Input | tuple[Input, ...] | None"
"""What a node pulls from: one input, several, or none."""

LARGE_ROW = 512
"""Rows of at least this many bytes are worth recomputing from a checkpoint instead of storing them in it."""

CHANGING = object()
"""Placeholder for a state that a background thread may be changing while the states are copied."""


class PendingInterrupt(threading.local):
    """An interrupt of a step that first had rows to hand on, per thread: raised when the step is called again, or by
    the iterator once it has got those rows.
    """

    interrupt: BaseException | None = None

    def raise_pending(self) -> None:
        """Raises the pending interrupt, if there is one."""
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            raise interrupt


pending_interrupt = PendingInterrupt()


class blocks:
    """Context manager: new runs move blocks of at most `rows` rows between all nodes. Results must not depend on it.

    >>> from feedline.engine.run import blocks
    >>> with blocks(1):
    ...     list(fl.Dataset.range(4).batch(3))
    [array([0, 1, 2]), array([3])]
    """

    cap: int | None = None

    def __init__(self, rows: int | None) -> None:
        self.rows = rows

    def __enter__(self) -> None:
        self.outer, blocks.cap = blocks.cap, self.rows

    def __exit__(self, *_: object) -> None:
        blocks.cap = self.outer


class TimedPull:
    """Forwards a pull to an input and measures the time spent in it, and, if it `counts_cpu`, the processor time.
    Blocks are pulled by calling `pull`, by default the input itself.
    """

    __slots__ = ("_pull", "counts_cpu", "cpu", "inputs", "seconds")

    def __init__(self, inputs: Pull, pull: Callable[[int], Block | None] | None = None) -> None:
        self.inputs, self.seconds, self.cpu, self.counts_cpu = inputs, 0.0, 0.0, False
        self._pull = pull if pull is not None else inputs

    def __call__(self, want: int) -> Block | None:
        """The next block of the input, timed."""
        began, cpu = perf_counter(), thread_time() if self.counts_cpu else 0.0
        try:
            return self._pull(want)
        finally:
            self.seconds += perf_counter() - began
            if self.counts_cpu:
                self.cpu += thread_time() - cpu

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Forwards to the input."""
        return self.inputs.read_into(want, buffer)

    def one(self) -> Block | None:
        """Forwards to the input."""
        return self.inputs.one()

    def start(self) -> None:
        """Forwards to the input."""
        self.inputs.start()

    def open(self, plan: Node, key: Block | None = None) -> Child:
        """Forwards to the input."""
        return self.inputs.open(plan, key)


class RecomputableRow(Block):
    """A large row, with the nodes that made it and the states from which they can recompute it."""

    __slots__ = ("nodes", "states")

    def __init__(self, row: Block, nodes: list[Node], states: list[Any]) -> None:
        super().__init__(row.columns, row.n, row.tree, row.provenance, row.batch_provenance)
        self.nodes, self.states = nodes, states


class Input:
    """A node of a run as its consumer sees it."""

    is_stage: ClassVar[bool] = False
    """Whether it works in the background, or may."""
    __slots__ = ("again", "first", "inputs", "node", "run", "slot", "states", "step", "usual_step")

    def __init__(self, run: Run, node: Node, first: int, slot: int, inputs: Inputs) -> None:
        self.run, self.node, self.first, self.slot, self.inputs = run, node, first, slot, inputs
        self.states = run.states
        self.usual_step: StepCall = node.step
        self.step: StepCall = node.step
        self.again: bool | None = None  # whether a row can be recomputed from the states before it

    def one(self) -> Block | None:
        """Pulls one row; a `RecomputableRow` if it is large and can be recomputed."""
        return pull_recomputable(self)

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block."""
        states, slot = self.states, self.slot
        if self.inputs is None:
            check()  # a safe point: every loop of steps passes through a source, or a thread
        try:
            block, states[slot] = self.step(states[slot], self.inputs, want)
        except (Exception, Interrupted) as e:
            return self._stopped(e)
        return block

    def _stopped(self, e: Exception | Interrupted) -> Block | None:
        """Handles what the step has raised: raises an error, or returns the rows that were made before an interrupt."""
        if isinstance(e, Interrupted):
            return self._interrupted(e)
        error = self.failed(e)
        try:
            if error is not None:
                raise error from e
            raise e
        finally:
            del e, error  # they hold this frame

    def failed(self, e: Exception) -> Exception | None:
        """Updates the state after the step has raised; returns the error to raise in its place, if any."""
        states, slot = self.states, self.slot
        if states[slot] is None:
            return damaged(f"step {self.node.position}, {self.node.op}: it was not started")
        states[slot] = self.node.after_error(states[slot])
        if isinstance(e, MemoryError):
            return self._out_of_memory(e)
        return after_restore(self.node, e) if self.run.restored else None

    def _interrupted(self, e: Interrupted) -> Block | None:
        """Handles an interrupt of a step that can go on: rows it has made are returned before the error is raised."""
        self.states[self.slot] = e.state
        if isinstance(e.error, Exception) and self.run.restored:
            e.error = after_restore(self.node, e.error) or e.error
        has_rows = e.rows is not None and e.rows.n > 0
        if isinstance(e.error, Early) and (has_rows or not working.ahead):
            return e.rows if has_rows else EMPTY  # the step tries again when it is called next
        if not has_rows or isinstance(e.error, Closing):
            raise e.error from None
        pending_interrupt.interrupt, self.step = e.error, self._raise_pending
        return e.rows

    def _raise_pending(self, state: object, pull: object, want: int) -> tuple[Block | None, Any]:
        """Stands in for the next call of the step, to raise the pending interrupt."""
        self.step = self.usual_step
        pending_interrupt.raise_pending()
        return self.step(state, pull, want)

    def _out_of_memory(self, e: MemoryError) -> MemoryError:
        """The error for a step that ran out of memory, with the step's name."""
        if isinstance(e, ResourceExhaustedError):
            return e
        text = f"{self.node.op} at step {self.node.position}: out of memory: {e}"
        return ResourceExhaustedError(f"{text}; reduce the size or number of its elements")

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Implements `Pull.read_into`, if the node is a `RecordSource`."""
        if not isinstance(self.node, RecordSource) or self.usual_step != self.node.step:
            return None
        got = self.node.read_into(self.states[self.slot], self.inputs, want, buffer)
        if got is None:
            return None
        numbers, self.states[self.slot] = got
        return numbers

    def start(self) -> None:
        """Restarts the node and what it starts below it. A thread that works ahead does not start a node that draws
        from what all iterators share: such a start must not be left half done.
        """
        must_be_startable(self.node)
        before = self.states[self.slot]
        close_state(before)
        state = self.node.begin(self.inputs)
        self.states[self.slot] = state if before is None else self.node.again(before, state)

    def open(self, plan: Node, key: Block | None = None) -> Run:
        """A run of a nested plan, not started, and prepared (optimized) as the plan around it was."""
        consumer = next(n for n in self.run.nodes[self.slot + 1 :] if any(below is self.node for below in n.inputs))
        return self.run.nested(plan, key, consumer)

    def set_batch_hint(self, rows: int) -> None:
        """Passes the consumer's batch size on to the stages below, which align blocks to it."""
        if isinstance(self.node, OneToOne) and isinstance(self.inputs, Input):
            self.inputs.set_batch_hint(rows)

    def prefer_addresses(self) -> None:
        """Has the sources below give addresses in place of rows, as far as nothing between looks at the rows."""
        if isinstance(self.node, GivesAddresses):
            before, self.usual_step = self.usual_step, self.node.step_addresses
            if self.step == before:  # else an interrupt is pending
                self.step = self.usual_step
        elif isinstance(self.node, KeepsRows) and not self.node.looks_at_rows:
            for pull in self.below():
                pull.prefer_addresses()

    def pass_rows(self, on: bool) -> None:
        """Has a row-wise node pass on the rows of its input as they are, or not any more. Its state counts them."""
        before, self.usual_step = self.usual_step, _pass_rows if on else self.node.step
        if self.step == before:  # else an interrupt is pending
            self.step = self.usual_step

    def apply_skips(self) -> None:
        """Skips the rows that the states of this node and all below it still have to skip."""
        for pull in self.below():
            pull.apply_skips()
        state = self.states[self.slot]
        if not isinstance(state, SkippingState) or not state.skip:
            return
        self.states[self.slot] = state.with_ready(())  # the finished rows come before the skipped ones, and are kept
        while self.states[self.slot].skip and self(1) is not None:
            pass
        self.states[self.slot] = self.states[self.slot].with_ready(state.ready)

    def below(self) -> tuple[Input, ...]:
        """The inputs as a tuple, in whichever form the node takes them."""
        return pulls_of(self.inputs)

    def capture(self, into: list[Any]) -> None:
        """Copies the states of this node and all below it into their slots of `into`, as the consumer sees them."""
        into[self.first : self.slot + 1] = self.states[self.first : self.slot + 1]
        self.capture_stages(into)

    def copy(self) -> list[Any] | None:
        """The states of this node and all below it, as the consumer sees them; None if one cannot be copied."""
        into: list[Any] = [None] * (self.slot + 1)
        self.capture(into)
        states = into[self.first :]
        return None if self.run.has_live(states, self.first, self.slot + 1) else states

    def has_drawn_seeds(self, before: list[Any] | None, after: list[Any] | None) -> bool:
        """Whether shared seeds were drawn between two copies of the states: a run that resumes from the first copy may
        draw others, if another iterator has drawn meanwhile.
        """
        if before is None or not consumes_shared_seeds(self.node):
            return False
        return after is None or self._counts(before) != self._counts(after)

    def _counts(self, states: list[Any]) -> list[Any]:
        """How often each node has drawn shared seeds, by its state."""
        nodes = self.run.nodes[self.first : self.slot + 1]
        pairs = [(n, s) for n, s in zip(nodes, states, strict=True) if s is not None]
        draws = [s.draws if isinstance(s, RowWiseState) else None for _, s in pairs]
        return [*([count for _, count in seeds_drawn(n, s)] for n, s in pairs), draws]

    def capture_stages(self, into: list[Any]) -> None:
        """The part of `capture` beyond plain states: replaces those of stages that run ahead of their consumer, and
        snapshots mutable states.
        """
        state = self.states[self.slot]
        if self.slot in self.run.snapshot_slots and state is not None and isinstance(self.node, Snapshotable):
            into[self.slot] = self.node.snapshot(state)
        for pull in self.below():
            pull.capture_stages(into)


def _pass_rows(state: RowWiseState, pull: Pull, want: int) -> tuple[Block | None, RowWiseState]:
    """The step of a row-wise node that its consumer applies: the input's rows as they are."""
    block = pull(want)
    return block, state if block is None else state._replace(seen=state.seen + block.n)


class BufferingInput(Input):
    """An input that buffers rows: they count against the memory budget and are shown in reports."""

    __slots__ = ("__weakref__", "context", "held", "most", "rows")
    node: Buffers

    def __init__(self, run: Run, node: Node, first: int, slot: int, inputs: Inputs) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.held = self.rows = self.most = 0
        context: Any = run.context
        self.context = context
        self.context.stages.add(self)

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block."""
        try:
            return super().__call__(want)
        finally:
            self._note()

    def start(self) -> None:
        """Restarts the node."""
        super().start()
        self._note()

    def _note(self) -> None:
        rows, size = self.node.holds(self.states[self.slot]) or (0, 0)
        if size != self.held:
            self.context.budget.add(size - self.held)
            self.held, self.rows = size, rows
            self.most = max(self.most, rows)

    def stats(self) -> StepReport:
        """What the step holds, for a report."""
        key = self.run.key_of(self.node)
        why = f"{self.rows:,} elements, at most {self.most:,}"
        return StepReport(key, does=BUFFERS, held=self.held, buffers=True, most=self.most, why=why)

    def cancel(self) -> None:
        """Does nothing: no thread waits here."""

    def finish(self) -> bool:
        """Does nothing: there is no background work."""
        return True


class MeasuredInput(Input):
    """A row-wise step that calls user functions in its consumer's thread. Their time is measured, and sampled where
    calls are short.
    """

    __slots__ = ("_context", "_pause", "_sampling", "_works", "keys", "work")
    inputs: Input

    def __init__(self, run: Run, node: Node, first: int, slot: int, inputs: Inputs) -> None:
        super().__init__(run, node, first, slot, inputs)
        self._pause, self._sampling = 0, Sampling()
        context: Any = run.context
        self._context = context
        called = called_by(node)
        chained = len(called) > 1
        letter = run.letters.get(id(node), "")
        self.keys = [(position, f"{run.path}{position}{letter} {op}") for op, position, _ in called]
        names = {position: name for _, position, name in called}
        self.work: dict[int, StepMeter] = {
            position: context.meters.named(key, node, names[position], chained) for position, key in self.keys
        }
        self._works = tuple(self.work.values())

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block."""
        if not self._pause:
            return self._measured(want)
        self._pause -= 1
        states, slot = self.states, self.slot
        try:
            block, states[slot] = self.step(states[slot], self.inputs, want)
        except (Exception, Interrupted) as e:
            return self._stopped(e)
        if block is not None:
            for work in self._works:
                work.rows += block.n
        return block

    def _measured(self, want: int) -> Block | None:
        """Runs the node by one block, timed."""
        timed = TimedPull(self.inputs)
        timed.counts_cpu = closely = self._sampling.closely
        states, slot = self.states, self.slot
        outer, link_times.spent = link_times.spent, {} if len(self.work) > 1 else None
        block = None
        paused, cpu = (pauses(), thread_time()) if closely else (0, 0.0)
        began = perf_counter()
        try:
            block, states[slot] = self.step(states[slot], timed, want)
        except (Exception, Interrupted) as e:
            return self._stopped(e)
        finally:
            ended = perf_counter()
            spent, link_times.spent = link_times.spent, outer
            rows = 0 if block is None else block.n
            seconds, share = ended - began - timed.seconds, None
            if closely and seconds > 0:
                share = (thread_time() - cpu - timed.cpu) / seconds if pauses() > paused else 1.0
            self._note(began, ended, seconds, share, spent, rows)
            if self._context.recorder is not None:
                self._context.recorder.work(self.keys[0][1], began, ended, rows)
        return block

    def _note(
        self, began: float, ended: float, seconds: float, share: float | None, spent: dict[int, float] | None, rows: int
    ) -> None:
        _, scale = self._sampling.stands_for(began, ended)
        cost = costs().clock if share is None else costs().closely
        self._pause = self._sampling.pause((1 + len(self.work)) * cost, self._context.recorder is not None)
        for position, work in self.work.items():
            own = seconds if spent is None else spent.get(position, 0.0)
            work.add(own, rows, None if share is None else share * own, scale=scale)


class CappedInput(Input):
    """An input that returns at most `blocks.cap` rows at a time, for tests."""

    __slots__ = ()

    def __call__(self, want: int) -> Block | None:
        """Runs the node by one block of at most `blocks.cap` rows."""
        return super().__call__(min(want, blocks.cap or want))

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Reads at most `blocks.cap` rows into the buffer."""
        return super().read_into(min(want, blocks.cap or want), buffer)


def pull_recomputable(pull: Input) -> Block | None:
    """The next row of an input; a `RecomputableRow` if it is large and the input can recompute it from the states
    before it.
    """
    if pull.again is None:
        pull.again = pull.run.is_copyable(pull)
    before = pull.copy() if pull.again else None
    row = pull(1)
    if before is None or row is None or not row.n or row.provenance is not None:
        return row
    datasets = any(isinstance(c, Objects) and isinstance(c.items[0], (Nested, Datasets)) for c in row.columns)
    if not datasets and row.nbytes < LARGE_ROW:
        return row
    if pull.has_drawn_seeds(before, pull.copy()):
        return row  # the same seeds cannot be drawn again
    return RecomputableRow(row, pull.run.nodes[pull.first : pull.slot + 1], before)


def must_be_startable(plan: Node) -> None:
    """Raises `Early` in a thread that works ahead, if starting a plan may draw from what all iterators share."""
    if working.ahead and any(shared.moves for shared in shared_at_start(plan)):
        raise Early


def close_state(value: Any) -> None:
    """Closes everything in a state that can be closed."""
    if value is None:
        return
    if isinstance(value, (tuple, list, deque)):
        for v in value:
            close_state(v)
    elif isinstance(value, dict):
        for v in value.values():
            close_state(v)
    elif not isinstance(value, type) and isinstance(value, Closable):
        value.close()
