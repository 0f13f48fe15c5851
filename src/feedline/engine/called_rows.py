"""Rows that users' functions make at the end of a plan, each when it is asked for.

Laziness is about the user's code. The rows below the lowest function are read in blocks, if that has no visible effect,
and each row is passed through the row steps above it (`plan/row_steps.py`) when the consumer asks for it. Anything out
of the ordinary takes the way of all blocks, `step`: rows that wait in a state, the end of an epoch, nested runs.
"""

from __future__ import annotations

import threading
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from feedline.early import working
from feedline.engine.block_growth import BlockGrowth
from feedline.engine.context import Closing
from feedline.engine.input import Input, MeasuredInput
from feedline.engine.meter import StepMeter, key_of
from feedline.engine.sampling import Sampling, costs, pauses
from feedline.engine.step_times import StepTimes
from feedline.kernels.interrupts import hold, release
from feedline.kernels.threads import most as kernel_threads
from feedline.plan.interrupted import judged
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_steps import DROPPED, RowStep, Waiting
from feedline.plan.traits.checkpoint import Snapshotable
from feedline.plan.traits.effects import user_code
from feedline.plan.traits.schedule import RowByRow
from feedline.structure.block import Block, Objects

if TYPE_CHECKING:
    from feedline.engine.run import Run

_NOTHING = object()
_HALTED = InterruptedError()
"""In place of an error that is due: the next row is for the steps of the nodes."""


class CalledStep:
    """A step that gets its rows one by one."""

    __slots__ = ("call", "input", "key", "meter", "node", "seconds", "seen")

    def __init__(self, pull: Input, call: RowStep) -> None:
        self.input, self.node, self.call, self.key = pull, pull.node, call, key_of(pull.run.path, pull.node)
        self.meter = self._meter() if call.calls else None
        self.seconds = 0.0
        self.seen = call.called

    def _meter(self) -> StepMeter | None:
        if isinstance(self.input, MeasuredInput):
            return next(iter(self.input.work.values()))
        context = self.input.run.context
        return None if context is None else context.meters.of(self.input.run.path, self.node)

    @property
    def slot(self) -> int:
        """The slot of the node's state."""
        return self.input.slot

    def spent(self, seconds: float, scale: float, cpu: float | None) -> None:
        """Adds a call, which stands for `scale` times its seconds; it used a processor for `cpu` seconds, if known."""
        self.seconds += scale * seconds
        if self.meter is not None:
            self.meter.add(seconds, 0, cpu, scale=scale)

    def count(self) -> None:
        """Adds the rows of the last calls to those of the step."""
        seen, self.seen = self.seen, self.call.called
        if self.meter is not None:
            self.meter.rows += max(0, self.seen - seen)


class Level:
    """Rows that go into link `first`, of which `at` are used up: those of the source, or of the link before."""

    __slots__ = ("at", "block", "first", "rows")

    def __init__(self, block: Block | None, first: int) -> None:
        self.block, self.first, self.at = block, first, 0
        self.rows: list[Any] = [] if block is None else block.rows()

    def rest(self) -> Block | None:
        """The rows that are left; None if there are none."""
        block = self.block
        return None if block is None or self.at == block.n else block.slice(self.at, block.n)


class CalledRows:
    """An iterator over the rows that come out of `links`, from the lowest up, whose lowest gets the rows of `source`.

    It ends when there is something to be done in a safe place, for `refill`: the rows are used up, a call has failed or
    was interrupted, or the iterator is being closed. Between `begin` and `stop` it has the states of its links.

    The rows being used are those of the last of `_levels`; the first is that of the source. The states of the source
    before its block are `_before`, if they can be kept. A row on its way waits at a link (`_waiting`) if an interrupt
    has stopped it there, and at the end (`_made`) if one came before it was handed out.
    """

    __slots__ = (
        *("_active", "_before", "_context", "_copyable", "_due", "_growth", "_level", "_levels", "_limit"),
        *("_limited", "_links", "_lock", "_made", "_pause", "_pull", "_run", "_sampling", "_source", "_waiting"),
    )

    def __init__(self, run: Run, links: list[CalledStep], source: Input, lock: threading.RLock) -> None:
        self._run, self._links, self._source, self._lock = run, links, source, lock
        self._pull = source if run.context is None else StepTimes(source, run.context)
        ahead = links[0].call.ahead
        self._growth = BlockGrowth(run, source, ahead)
        self._copyable = self._growth.largest > 1 and ahead is None and run.is_copyable(source)
        self._context = run.context
        self._limit = None if run.context is None else run.context.settings.kernel_threads
        self._limited = [link.call for link in links if link.call.room is not None]
        self._active = False
        self._before: list[Any] | None = None
        self._pause, self._sampling = 0, Sampling()
        self._made: Any = _NOTHING
        self._waiting: tuple[int, Any] | None = None
        self._due: tuple[int, Exception] | BaseException | None = None
        self._clear()

    def _clear(self) -> None:
        self._level = Level(None, 0)
        self._levels = [self._level]
        self._before, self._waiting, self._due = None, None, None

    @staticmethod
    def of(run: Run, lock: threading.RLock) -> CalledRows | None:
        """For a run whose last steps, in the consumer's thread, call functions; None for others."""
        links: list[CalledStep] = []
        pull = run.root
        while type(pull) in (Input, MeasuredInput) and isinstance(pull.node, RowByRow):
            several = isinstance(pull, MeasuredInput) and len(pull.work) > 1
            call = None if several else pull.node.one_by_one()
            if call is None or not isinstance(pull.inputs, Input):
                break
            links.append(CalledStep(pull, call))
            pull = pull.inputs
        while links and not (links[-1].call.calls and user_code(links[-1].node)):
            pull = links.pop().input  # the lowest step that calls a function gets its rows in blocks
        return CalledRows(run, links[::-1], pull, lock) if links else None

    @property
    def goes_on(self) -> bool:
        """Whether there may be more rows after those that `refill` gets ready: the steps of the nodes decide."""
        return any(not isinstance(link.input, MeasuredInput) for link in self._links)

    def begin(self) -> bool:
        """Takes the states of the links over, unless something waits in them, or one has not been started: a `take(0)`
        never starts its input.
        """
        if self._active:
            return True
        states = [self._run.states[link.slot] for link in self._links]
        if any(state is None for state in states):
            return False
        if not all([link.call.begin(state) for link, state in zip(self._links, states, strict=True)]):
            return False
        for link in self._links:
            link.call.expect(None)
            link.seen = link.call.called
        self._active = True
        return True

    def stop(self) -> None:
        """Gives the states back to the run: rows that have been read and not called wait in the lowest one."""
        if self._active:
            self._active = False
            self._write(self._run.states, None, False)
            self._clear()

    def capture(self, into: list[Any]) -> None:
        """Writes the states as of the rows that the consumer has got."""
        if self._active:
            source, before = self._source, self._before
            if before is not None and source.has_drawn_seeds(before, source.copy()):
                before = None
            self._write(into, before, True)

    @property
    def made(self) -> Block | None:
        """The element that was made before an interrupt, if it has not been handed out."""
        return None if self._made is _NOTHING else Block.of_elements([self._made])

    def _write(self, into: list[Any], before: list[Any] | None, snapshot: bool) -> None:
        """Writes the states of the links; those of the source too if it is to make the rows of this block again from
        the states `before` it.
        """
        waiting = [Waiting() for _ in self._links]
        rest = self._levels[0].rest()
        if rest is not None and before is not None:
            into[self._source.first : self._source.slot + 1] = before
            waiting[0] = Waiting(skip=self._levels[0].at)
        elif rest is not None:
            waiting[0] = Waiting(rest)
        for level in self._levels[1:]:
            waiting[level.first - 1] = waiting[level.first - 1]._replace(made=level.rest())
        if self._waiting is not None:
            step, row = self._waiting
            waiting[step] = waiting[step]._replace(rest=Block.of_elements([row]))
        if isinstance(self._due, tuple):
            step, error = self._due
            waiting[step] = waiting[step]._replace(error=error)
        for link, waits in zip(self._links, waiting, strict=True):
            state, node = link.call.state(waits), link.node
            into[link.slot] = node.snapshot(state) if snapshot and isinstance(node, Snapshotable) else state

    def seconds(self) -> float:
        """How long the calls have taken."""
        for link in self._links:
            link.count()
        return sum(link.seconds for link in self._links)

    def refill(self) -> bool:
        """Gets rows ready to be called; False if what comes next is for the steps of the nodes, or the end. Raises what
        has stopped the iterator.
        """
        self.seconds()
        due, self._due = self._due, None
        if due is _HALTED:
            return False
        if isinstance(due, tuple):
            self._due = _HALTED if self._full else None
            raise self._passed_up(*due)
        if due is not None:
            raise due
        growth, source = self._growth, self._source
        while not self.left and self._waiting is None:
            want = growth.want
            for call in self._limited:
                want = min(want, call.room or 0)
            if not want:
                return False
            if self._context is not None and self._context.closing:
                raise Closing
            self._clear()
            self._before = source.copy() if self._copyable else None
            began = perf_counter()
            try:
                block = self._pull(want)
            except Exception as e:
                error = self._passed_up(0, e)
                if error is e:
                    raise
                raise error from e
            if block is None:
                return False
            if block.n:
                self._push(block, 0)
                if growth.largest > 1:
                    growth.adapt(block, perf_counter() - began)
        return True

    @property
    def left(self) -> int:
        """The number of rows that have been read and not called."""
        return sum(len(level.rows) - level.at for level in self._levels)

    @property
    def dense(self) -> bool:
        """Whether all leaves of the rows are known to be arrays."""
        last = next((link.call for link in reversed(self._links) if link.call.replaces), None)
        if last is not None:
            return last.dense
        block = self._levels[0].block
        return block is not None and not any(isinstance(c, Objects) for c in block.columns)

    @property
    def _full(self) -> bool:
        """Whether a step passes no more rows on. Rows that a step below it has made may be left."""
        return any([not call.room for call in self._limited])

    def _push(self, block: Block, first: int) -> None:
        """Uses rows that go into link `first` next."""
        for link in self._links[first:]:
            link.call.expect(block)
            if link.call.replaces:  # what is above gets rows of its own
                break
        self._level = Level(block, first)
        if first:
            self._levels.append(self._level)
        else:
            self._levels = [self._level]

    def _passed_up(self, first: int, error: Exception) -> Exception:
        """An error of a step, as the steps from `first` on pass it up."""
        for link in self._links[first:]:
            error = link.input.failed(error) or error
        return error

    def __iter__(self) -> CalledRows:
        return self

    def __length_hint__(self) -> int:
        return 0 if self._due is not None else self.left + (self._waiting is not None)

    def __next__(self) -> Any:
        if self._made is not _NOTHING:
            made, self._made = self._made, _NOTHING
            return made
        held, made = hold(), DROPPED
        try:
            if self._lock.acquire(False):  # otherwise the iterator waits for the thread that is at it
                try:
                    if working.ahead or self._limit is not None:
                        made = self._in_turn()
                    else:
                        while made is DROPPED:
                            made = self._through()
                finally:
                    self._lock.release()
        except BaseException:
            release(held)
            raise
        try:
            release(held)
        except BaseException:
            self._made = _NOTHING if made is DROPPED else made
            raise
        if made is _NOTHING or made is DROPPED:
            raise StopIteration
        return made

    def _in_turn(self) -> Any:
        """The next row that passes all links, made as the consumer's own work, with its limit of threads."""
        token = None if self._limit is None else kernel_threads.set(self._limit)
        made: Any = DROPPED
        try:
            with working.in_turn():
                while made is DROPPED:
                    made = self._through()
            return made
        finally:
            if token is not None:
                kernel_threads.reset(token)

    def _through(self) -> Any:
        """The next row after all links; `DROPPED` if it does not pass, `_NOTHING` if there is none."""
        level, context = self._level, self._context
        if self._due is not None or (context is not None and (context.closing or context.lost)):
            return _NOTHING
        at, step = level.at, level.first
        if self._waiting is not None:
            step, row = self._waiting
        elif at < len(level.rows):
            row = level.rows[at]
            at += 1
        elif step:
            self._levels.pop()
            self._level = self._levels[-1]
            return DROPPED
        else:
            return _NOTHING
        if not self._pause:
            return self._measured(level, at, step, row)
        self._pause -= 1
        try:
            for link in self._links[step:] if step else self._links:
                row = link.call(row)
                if row is DROPPED:
                    break
                step += 1
        except BaseException as e:
            self._failed(e, level, at, step, row)
            return _NOTHING
        level.at, self._waiting = at, None
        if row is DROPPED or self._limited:
            return self._passed(level, step, row)
        return _NOTHING if context is not None and context.closing else row

    def _measured(self, level: Level, at: int, step: int, row: Any) -> Any:
        """The rest of `_through`, with the time that each call takes."""
        links, closely = self._links[step:], self._sampling.closely
        recorder = None if self._context is None else self._context.recorder
        paused, cpu = (pauses(), thread_time()) if closely else (0, 0.0)
        first = clock = perf_counter()
        spent: list[tuple[float, float | None]] = []
        try:
            for link in links:
                row = link.call(row)
                began, clock = clock, perf_counter()
                used = None
                if closely:
                    before, cpu = cpu, thread_time()
                    used = cpu - before if pauses() > paused else clock - began
                spent.append((clock - began, used))
                if recorder is not None:
                    recorder.work(link.key, began, clock, 1)
                if row is DROPPED:
                    break
                step += 1
        except BaseException as e:
            began, clock = clock, perf_counter()
            spent.append((clock - began, None))
            self._failed(e, level, at, step, row)
            row = _NOTHING
        _, scale = self._sampling.stands_for(first, clock)
        cost = costs().closely if closely else costs().clock
        self._pause = self._sampling.pause((1 + len(spent)) * cost, recorder is not None)
        for link, (seconds, used) in zip(links, spent, strict=False):
            link.spent(seconds, scale, used)
        if row is _NOTHING:
            return row
        level.at, self._waiting = at, None
        return self._passed(level, step, row)

    def _passed(self, level: Level, step: int, row: Any) -> Any:
        """What becomes of a row that has passed all links, or that link `step` has dropped."""
        if row is DROPPED:
            link = self._links[step]
            made = link.call.made()
            if made is not None and made.n:
                self._push(made, step + 1)
            if link.call.halted:
                whole = not any(below.call.replaces for below in self._links[level.first : step])
                assert isinstance(link.input.inputs, Input)
                key = level.block.slice(level.at - 1, level.at) if whole and level.block is not None else None
                link.call.hand_over(link.input.inputs, key)
                self._due = _HALTED
        if self._full:
            self._due = _HALTED
        closing = self._context is not None and self._context.closing
        return _NOTHING if closing and row is not DROPPED else row

    def _failed(self, e: BaseException, level: Level, at: int, step: int, row: object) -> None:
        """Notes why the call of link `step`, for the row before `at`, has raised."""
        failed = e if isinstance(e, RowFailed) else RowFailed(0, None, judged(e))
        if not isinstance(failed.error, Exception):  # an interrupt: the call is made again
            self._due = failed.error
            if step > level.first or self._waiting is not None:
                level.at, self._waiting = at, (step, row)
            return
        if level.block is not None and not any(below.call.replaces for below in self._links[level.first : step]):
            failed.index = at - 1
            failed.locate(level.block)
        self._due = step, self._links[step].call.failed(failed)
        level.at, self._waiting = at, None
