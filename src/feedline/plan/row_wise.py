"""Row-wise nodes: a step that processes each row independently, and the calls of users' functions in it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, ClassVar

from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node
from feedline.plan.pace import soon
from feedline.plan.pull import Pull
from feedline.plan.row_calls import Parallel, RowFailed, RowWiseState
from feedline.plan.traits.effects import CallsUserCode, user_code
from feedline.plan.traits.reshard import Reshards, error_waits, round_robin_share
from feedline.plan.traits.schedule import ParallelArgs, RowByRow
from feedline.plan.tree import node
from feedline.random.element import Draws, Epochs, drawing
from feedline.structure.block import Block, concat

_NOTHING: tuple[tuple[Exception, ...], BaseException | None] = (), None


@node
class RowWise(Reshards):
    """A step that processes each row independently. `apply` has no state, so the engine may fuse it, or run it in
    threads or processes.
    """

    State: ClassVar[Any] = RowWiseState
    input: Node

    def apply(self, block: Block) -> Block:
        """The block's rows, transformed. Raises `RowFailed` for the first row that fails."""
        raise TypeError(f"{type(self).__name__} must define apply")

    def attribute_error(self, failed: RowFailed, number: int) -> Exception:
        """The exception users see for a failed row; `number` counts rows from the start of the iteration."""
        assert isinstance(failed.error, Exception)
        return failed.error

    def begin(self, pull: Pull) -> RowWiseState:
        """Starts the input; no row has been processed."""
        pull.start()
        return RowWiseState()

    def step(self, state: RowWiseState, pull: Pull, want: int) -> tuple[Block | None, RowWiseState]:
        """Transforms the input's rows. The rows before a failing one come out first, then the error, then the rest."""
        seen, rest, ready, skip, draws, late = state
        if ready:
            first, others = ready[0], ready[1:]
            if isinstance(first, Exception):
                raise first
            left = (first.slice(want, first.n), *others) if first.n > want else others
            return first.slice(0, want), state._replace(ready=left)
        if skip:
            passed = pull(skip)
            return (passed, state) if passed is None else (EMPTY, state._replace(skip=skip - passed.n))
        if rest is not None:
            block, rest = rest.slice(0, want), rest.slice(want, rest.n) if rest.n > want else None
        elif late is not None:
            raise late
        else:
            got = pull(want)
            if got is None:
                return got, state
            block = got
        until = inf if block.n == 1 else soon()
        try:
            finished, used = applied(self, block, seen, draws, until)
            told, interrupt = _NOTHING
        except RowFailed as failed:
            own = isinstance(failed.error, Exception)  # otherwise it is an interrupt, and the row is to be made again
            finished, used = failed.done if failed.done is not None else EMPTY, failed.index + own
            told = (self.attribute_error(failed, seen + failed.index),) if own else ()
            interrupt = None if own else failed.error
        except BaseException as e:
            if isinstance(e, Exception):
                raise
            finished, used, told, interrupt = EMPTY, 0, (), e
        if used < block.n:
            after = block.slice(used, block.n)
            rest = after if rest is None else concat([after, rest])
        state = RowWiseState(seen + used, rest, told, draws=draws, late=late)
        if interrupt is None:
            return finished, state
        raise Interrupted(interrupt, state, finished)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the buffered rows; random numbers continue from those of one of the saved iterators."""
        begun = [s for s in states if s is not None]
        if not begun:
            return None
        ready = [r for s in begun for r in s.ready]
        if any(isinstance(r, Exception) for r in ready) or any(s.late is not None for s in begun):
            raise error_waits(self)
        rest, done = round_robin_share([s.rest for s in begun], part, parts), round_robin_share(ready, part, parts)
        drawn = begun[part % len(begun)].draws
        return RowWiseState(max(s.seen for s in begun), rest, () if done is None else (done,), draws=drawn)

    def after_error(self, state: RowWiseState) -> RowWiseState:
        """The state without the error that was raised; the rows after it are still to be processed."""
        if state.ready:
            return state._replace(ready=state.ready[1:])
        return state._replace(late=None) if state.late is not None else state


class OneToOne(RowWise):
    """A row-wise node that makes one row of each."""


class ParallelCalls(ParallelArgs, RowWise):
    """A row-wise node whose calls of `apply` may run in parallel."""

    @property
    def parallel(self) -> Parallel | None:
        """How the calls run in parallel; None if they run in order, in the thread that pulls."""
        return None


class FunctionCalls(CallsUserCode, RowByRow, RowWise):
    """A row-wise node that calls a user's function."""

    @property
    def epochs(self) -> Epochs | None:
        """Numbers the iterations, for the random numbers of the function; None if it draws none."""
        return None

    @property
    def output_spec_known(self) -> bool:
        """Whether the result of `apply` no longer depends on earlier calls."""
        return True

    def accepted(self, made: Block) -> Block:
        """Rows made by a copy of this node that was not `output_spec_known`. Raises `RowFailed` for a row whose type
        differs from those before.
        """
        return made

    def apply_some(self, block: Block, until: float) -> tuple[Block, int]:
        """Applies the step to the first rows of a block: at least one, and no row is begun after `until`. Also gives
        how many rows those are.
        """
        return self.apply(block), block.n

    def apply_into(self, block: Block, where: object) -> tuple[Block, bool]:
        """`apply`, with large rows written to their slots in a batch; also gives whether they were."""
        return self.apply(block), False

    def begin(self, pull: Pull) -> RowWiseState:
        """Starts the input, and numbers the iteration."""
        pull.start()
        return RowWiseState() if self.epochs is None else RowWiseState(draws=self.epochs.next())


def epochs_of(node: Node) -> Epochs | None:
    """The numbers of the iterations, for the random numbers of a node's function; None if it draws none."""
    return node.epochs if isinstance(node, FunctionCalls) else None


def parallel_of(node: Node) -> Parallel | None:
    """How the calls of a node run in parallel; None if they do not."""
    return node.parallel if isinstance(node, ParallelCalls) else None


def output_spec_known(node: RowWise) -> bool:
    """Whether the result of a node's `apply` no longer depends on earlier calls."""
    return not isinstance(node, FunctionCalls) or node.output_spec_known


def can_recompute(node: Node) -> bool:
    """Whether a node's `apply` is a pure, deterministic function that makes one row of each."""
    return isinstance(node, OneToOne) and not user_code(node) and epochs_of(node) is None


def recompute(node: RowWise, block: Block) -> Block:
    """`apply`; the rows keep their provenance, with this node in the lineage, if the step `can_recompute`."""
    return with_lineage(node, block, node.apply(block))


def with_lineage(node: RowWise, block: Block, made: Block) -> Block:
    """Rows that a node has made of a block, with their provenance if the step `can_recompute`."""
    if block.provenance is None or not can_recompute(node) or made.n != block.n:
        return made
    return Block(made.columns, made.n, made.tree, block.provenance.through(node))


def applied(node: RowWise, block: Block, number: int, draws: Draws | None, until: float = inf) -> tuple[Block, int]:
    """Applies a step to the first rows of a block whose first row is row `number` of the iteration, and gives how many
    rows those are: no row is begun after `until`.
    """
    try:
        if not isinstance(node, FunctionCalls):
            return recompute(node, block), block.n
        if draws is None:
            made, used = node.apply_some(block, inf)
            return with_lineage(node, block if used == block.n else block.slice(0, used), made), used
        with drawing(number, draws, node.epochs):
            return node.apply_some(block, until)
    except RowFailed as failed:
        failed.locate(block)
        raise
