"""Calls at the end of a plan: rows that users' functions make, each when it is asked for.

Laziness is about the user's code. The rows below the last functions of a plan are read in blocks, if that has no
visible effect, and each row is passed through the functions when the consumer asks for it. Other steps, and anything
out of the ordinary such as rows that wait in a state, take the way of all blocks: `RowWise.step`.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

from feedline.early import working
from feedline.engine.block_growth import BlockGrowth
from feedline.engine.context import Closing
from feedline.engine.input import Input, MeasuredInput
from feedline.kernels.interrupts import hold, release
from feedline.kernels.threads import most as kernel_threads
from feedline.plan.interrupted import judged
from feedline.plan.row_caller import DROPPED, RowCaller
from feedline.plan.row_calls import RowFailed, RowWiseState
from feedline.plan.row_wise import FunctionCalls
from feedline.structure.block import Block, Objects

if TYPE_CHECKING:
    from feedline.engine.run import Run

_NOTHING = object()


class CalledStep:
    """A step whose function is called row by row."""

    __slots__ = ("caller", "input", "node", "seconds", "total")

    def __init__(self, pull: MeasuredInput, node: FunctionCalls, caller: RowCaller) -> None:
        self.input, self.node, self.caller = pull, node, caller
        self.seconds = self.total = 0.0

    def note(self) -> float:
        """Adds the time of the last calls to that of the step; returns the time of all calls."""
        for work in self.input.work.values():
            work.seconds += self.seconds
        self.total += self.seconds
        self.seconds = 0.0
        return self.total


class CalledRows:
    """An iterator over rows that functions make: `links`, from the lowest up, whose lowest gets the rows of `source`.

    It ends when there is something to be done in a safe place, for `refill`: the block is used up, a call has failed or
    was interrupted, or the iterator is being closed. Between `begin` and `stop` it has the states of its links.

    `_at` rows of `_block` are used up; the states of the source before that block are `_before`, if they can be kept.
    A row on its way waits at a link (`_waiting`) if an interrupt has stopped it there, and at the end (`_made`) if one
    came before it was handed out.
    """

    __slots__ = (
        *("_active", "_at", "_before", "_block", "_context", "_copyable", "_due", "_growth", "_limit", "_links"),
        *("_lock", "_made", "_rows", "_run", "_source", "_waiting"),
    )

    def __init__(self, run: Run, links: list[CalledStep], source: Input, lock: threading.RLock) -> None:
        self._run, self._links, self._source, self._lock = run, links, source, lock
        self._growth = BlockGrowth(run, source)
        self._copyable = self._growth.largest > 1 and run.is_copyable(source)
        self._context = run.context
        self._limit = None if run.context is None else run.context.settings.kernel_threads
        self._active = False
        self._block: Block | None = None
        self._before: list[Any] | None = None
        self._rows: list[Any] = []
        self._at = 0
        self._made: Any = _NOTHING
        self._waiting: tuple[int, Any] | None = None
        self._due: tuple[int, Exception] | BaseException | None = None

    @staticmethod
    def of(run: Run, lock: threading.RLock) -> CalledRows | None:
        """For a run whose last steps call functions in the consumer's thread; None for others."""
        links: list[CalledStep] = []
        pull = run.root
        while type(pull) is MeasuredInput and isinstance(pull.node, FunctionCalls):
            caller = pull.node.one_by_one() if len(pull.work) == 1 else None
            if caller is None:
                break
            links.insert(0, CalledStep(pull, pull.node, caller))
            pull = pull.inputs
        return CalledRows(run, links, pull, lock) if links else None

    def begin(self) -> bool:
        """Takes the states of the links over, unless rows wait in them."""
        if self._active:
            return True
        states = [self._run.states[link.input.slot] for link in self._links]
        if any(s.rest is not None or s.ready or s.skip or s.late is not None for s in states):
            return False
        for link, state in zip(self._links, states, strict=True):
            link.caller.begin(state.seen, state.draws, link.node.epochs)
            link.caller.expect(None)
        self._active = True
        return True

    def stop(self) -> None:
        """Gives the states back to the run: rows that have been read and not called wait in the lowest one."""
        if self._active:
            self._active = False
            self._write(self._run.states, None)
            self._block, self._before, self._rows, self._at = None, None, [], 0
            self._made, self._waiting, self._due = _NOTHING, None, None

    def capture(self, into: list[Any]) -> None:
        """Writes the states as of the rows that the consumer has got."""
        if self._active:
            source, before = self._source, self._before
            if before is not None and source.has_drawn_seeds(before, source.copy()):
                before = None
            self._write(into, before)

    def _write(self, into: list[Any], before: list[Any] | None) -> None:
        """Writes the states of the links; those of the source too if it is to make the rows of this block again from
        the states `before` it.
        """
        fields: list[dict[str, Any]] = [{} for _ in self._links]
        block = self._block
        if block is not None and self._at < block.n:
            if before is not None:
                into[self._source.first : self._source.slot + 1] = before
                fields[0]["skip"] = self._at
            else:
                fields[0]["rest"] = block.slice(self._at, block.n)
        if self._waiting is not None:
            fields[self._waiting[0]]["rest"] = Block.of_elements([self._waiting[1]])
        if isinstance(self._due, tuple):
            fields[self._due[0]]["ready"] = (self._due[1],)
        if self._made is not _NOTHING:
            fields[-1]["ready"] = (Block.of_elements([self._made]),)
        for link, given in zip(self._links, fields, strict=True):
            into[link.input.slot] = RowWiseState(link.caller.seen, draws=link.caller.draws, **given)

    def seconds(self) -> float:
        """How long the calls have taken."""
        return sum(link.note() for link in self._links)

    def refill(self) -> bool:
        """Gets rows ready to be called; False at the end. Raises what has stopped the iterator."""
        self.seconds()
        due, self._due = self._due, None
        if isinstance(due, tuple):
            raise self._passed_up(*due)
        if due is not None:
            raise due
        growth, source = self._growth, self._source
        while self._at == len(self._rows) and self._waiting is None:
            if self._context is not None and self._context.closing:
                raise Closing
            self._block, self._rows, self._at = None, [], 0
            self._before = source.copy() if self._copyable else None
            began = perf_counter()
            try:
                block = source(growth.want)
            except Exception as e:
                error = self._passed_up(0, e)
                if error is e:
                    raise
                raise error from e
            if block is None:
                return False
            if block.n:
                self._take(block)
                if growth.largest > 1:
                    growth.adapt(block, perf_counter() - began)
        return True

    @property
    def dense(self) -> bool:
        """Whether all leaves of the rows are known to be arrays."""
        last = next((link for link in reversed(self._links) if link.caller.replaces), None)
        if last is not None:
            return last.caller.function.results is not None
        return self._block is not None and not any(isinstance(c, Objects) for c in self._block.columns)

    def _take(self, block: Block) -> None:
        for link in self._links:
            link.caller.expect(block)
            if link.caller.replaces:  # what is above gets rows of its own
                break
        self._block, self._rows = block, block.rows()

    def _passed_up(self, first: int, error: Exception) -> Exception:
        """An error of a step, as the steps from `first` on pass it up."""
        for link in self._links[first:]:
            error = link.input.failed(error) or error
        return error

    def __iter__(self) -> CalledRows:
        return self

    def __length_hint__(self) -> int:
        return 0 if self._due is not None else len(self._rows) - self._at + (self._waiting is not None)

    def __next__(self) -> Any:
        if self._made is not _NOTHING:
            made, self._made = self._made, _NOTHING
            return made
        held, made = hold(), _NOTHING
        try:
            if self._lock.acquire(False):  # otherwise the iterator waits for the thread that is at it
                try:
                    made = self._called()
                finally:
                    self._lock.release()
        except BaseException:
            release(held)
            raise
        try:
            release(held)
        except BaseException:
            self._made = made
            raise
        if made is _NOTHING:
            raise StopIteration
        return made

    def _called(self) -> Any:
        """The next row that passes all functions; `_NOTHING` if there is none."""
        if not working.ahead and self._limit is None:
            while (made := self._through()) is DROPPED:
                pass
            return made
        token = None if self._limit is None else kernel_threads.set(self._limit)
        try:
            with working.in_turn():
                while (made := self._through()) is DROPPED:
                    pass
            return made
        finally:
            if token is not None:
                kernel_threads.reset(token)

    def _through(self) -> Any:
        """The next row after all functions; `DROPPED` if it does not pass, `_NOTHING` if there is none."""
        at, step, context = self._at, 0, self._context
        if self._due is not None or (context is not None and (context.closing or context.lost)):
            return _NOTHING
        if self._waiting is not None:
            step, row = self._waiting
        elif at < len(self._rows):
            row = self._rows[at]
            at += 1
        else:
            return _NOTHING
        clock = perf_counter()
        try:
            for link in self._links[step:] if step else self._links:
                row = link.caller(row)
                step += 1
                began, clock = clock, perf_counter()
                link.seconds += clock - began
                if row is DROPPED:
                    break
        except BaseException as e:
            self._links[step].seconds += perf_counter() - clock
            self._failed(e, step, row, at)
            return _NOTHING
        self._at, self._waiting = at, None
        return _NOTHING if context is not None and context.closing else row

    def _failed(self, e: BaseException, step: int, row: object, at: int) -> None:
        """Notes why the call of a link, for the row before `at`, has raised."""
        link, block = self._links[step], self._block
        failed = e if isinstance(e, RowFailed) else RowFailed(0, None, judged(e))
        if not isinstance(failed.error, Exception):  # an interrupt: the call is made again
            self._due = failed.error
            if step:
                self._at, self._waiting = at, (step, row)
            return
        if block is not None and not any(below.caller.replaces for below in self._links[:step]):
            failed.index = at - 1
            failed.locate(block)
        self._due = step, link.node.attribute_error(failed, link.caller.seen)
        link.caller.seen += 1
        self._at, self._waiting = at, None
