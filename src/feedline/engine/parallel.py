"""A row-wise node whose calls are shared out among threads or processes.

The consumer pulls rows from the input, cuts them into chunks, hands those to workers, and takes the results in order
(or as they come). Between two chunks it looks at whether that pays; where it does not, it makes the calls by itself,
which is all that a sequential run does.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty
from time import perf_counter, thread_time
from typing import Any

from feedline.engine.call import Call
from feedline.engine.crew import Closing, forced
from feedline.engine.handing import QUICK_PULL, Handing
from feedline.engine.input import MOVING, blocks
from feedline.engine.landing import Place
from feedline.engine.prefetch import Ahead
from feedline.engine.report import Stage
from feedline.errors import DeadlineExceededError
from feedline.kernels.interrupts import check, paused
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.calls import called_by
from feedline.plan.node import EMPTY, Interrupted, RowFailed, RowWiseState
from feedline.structure.block import Block


class Calls(Handing):
    """A row-wise node with workers."""

    __slots__ = ()

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """The next finished rows."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        check()
        if not self.active:
            return self._alone(want)
        while True:
            if self.out is not None:
                if self.landed is not None and self._more_landed(self.landed, self.out, want):
                    continue
                return self._give(want)
            if self.error is not None:
                error, self.error = self.error, None
                raise error
            if self.ready:
                self._next_ready()
                continue
            if not self.tuner.calls and not self.window and self.late is None and not self._watched():
                self._stop()
                return self._alone(want)
            self._top_up(want)
            if not self.window:
                if self.late is not None:
                    error, self.late = self.late, None
                    raise error
                if self.ended:
                    self._stop()
                    return None
                return EMPTY
            self._take(self._wait(want))

    def _give(self, want: int) -> Block:
        rows = self.out
        assert rows is not None
        self.out = rows.slice(want, rows.n) if rows.n > want else None
        self.landed = None
        return rows if self.out is None else rows.slice(0, want)

    def _more_landed(self, place: Place, out: Block, want: int) -> bool:
        """Adds what the next call has written behind the rows at hand to them, so that a batch is given as a whole."""
        if out.n >= want or self.error is not None or self.ready:
            return False
        self._top_up(want)
        if not self.window or not place.goes_on(self.window[0].place, out.n):
            return False
        call = self._wait(want)
        if call.failed is not None or call.place is None:
            self.window.appendleft(call)
            return False
        self._take(call)
        assert self.out is not None
        self.out, self.origin, self.landed = place.joined([out, self.out]), None, place
        return True

    def _next_ready(self) -> None:
        item = self.ready.popleft()
        if isinstance(item, Exception):
            self.error = item
        else:
            self.out, self.origin, self.landed = item, None, None

    def _alone(self, want: int) -> Block | None:
        """As without workers; measures how long calls take, and decides whether workers would pay."""
        state = self.states[self.slot]
        tuner = self.tuner
        if self._must_hand_over(state):
            self._go(state)
            return self(want)
        if tuner.fixed is None:  # a call must not take long before it is known whether others should help
            want = min(want, tuner.chunk() if tuner.alone.count else 1)
        want = min(want, self._at_once())
        timed = self.timed
        timed.seconds = 0.0
        cpu = thread_time() if tuner.alone.count < 8 or tuner.alone.value > QUICK_PULL else None
        began = perf_counter()
        try:
            block, self.states[self.slot] = self.step(state, timed, want)
        except Exception:
            self.states[self.slot] = self.node.after_error(state)
            raise
        except Interrupted as e:
            return self._interrupted(e)
        after = self.states[self.slot]
        rows = after.seen - state.seen
        if rows:
            self._pulled(want, timed.seconds)
            wall = perf_counter() - began - timed.seconds
            spent = None if cpu is None or timed.seconds > 0.1 * wall else thread_time() - cpu
            self.worked += wall
            self.made += rows
            if block is not None and block.n and cpu is not None:
                tuner.result_bytes.add(block.nbytes / block.n)
            if tuner.made_alone(rows, wall, spent) and self.node.settled:
                self._go(after)
        return block

    def _must_hand_over(self, state: RowWiseState) -> bool:
        """True where calls must be made by others from the first one on: other processes, threads that may be given up
        on, or any where what is ready first comes first.
        """
        if not self.ordered and not self.tuner.tried and not state.ready:
            return True
        by_others = self.crew.settings.timeout is not None or self._in_processes() or forced.mode is not None
        return not state.ready and ((by_others and self.node.settled) or self._watched())

    def _wait(self, want: int | None = None) -> Call:
        """The call whose turn it is, when it is finished. Where so many rows are wanted after it, more calls are handed
        out meanwhile, as the input gives rows for them.
        """
        head = self.window[0]
        if not head.handed:
            self._hand(head)
        found = self._next_finished()
        if found is None:
            self.crew.check()
            began = perf_counter()
            try:
                while (found := self._next_finished()) is None:
                    self._wait_for_one(head, self._watched_input(want))
                    if want is not None:
                        self._top_up(want)
            finally:
                self.waited += perf_counter() - began
        if self.closing or self.crew.closing:
            raise Closing
        self.window.remove(found)
        return found

    def _next_finished(self) -> Call | None:
        """The first call where the order counts, else any, if it is finished or takes too long."""
        limit = self.crew.settings.timeout
        for i, call in enumerate(self.window):
            if call.finished:
                return call
            if limit is not None and self.workers.age(call) > limit:
                self.window[i] = self._overdue(call)
                return self.window[i]
            if self.ordered:
                return None
        return None

    def _watched_input(self, want: int | None) -> Ahead | None:
        """The input, where workers would have something to do as soon as its thread has rows."""
        if want is None or self.ended or self.late is not None or self.early or self.window[0].again:
            return None
        room = len(self.window) < self._room() and self.crew.budget.left >= self._row_cost()
        return self.inputs if room and isinstance(self.inputs, Ahead) and self.inputs.running else None

    def _wait_for_one(self, head: Call, feeding: Ahead | None) -> None:
        """Returns when something has happened, or it is time to look for calls that take too long."""
        limit = self.crew.settings.timeout
        if feeding is not None:
            feeding.watch(self.finished)
        elif self.ordered:
            with paused():
                if head.done.acquire(timeout=-1 if limit is None else limit / 4):
                    head.release()
            return
        if self.ordered:
            head.on_done = self._tell
            if head.finished:
                return
        with paused(), suppress(Empty):
            self.finished.get(timeout=limit and limit / 4)

    def _overdue(self, call: Call) -> Call:
        """Gives up on a call that takes too long. Its worker is left to itself."""
        limit = self.crew.settings.timeout
        message = (
            f"the call took longer than {limit:g} seconds (options.threading.call_timeout) and was given up; "
            f"{self.workers.afterlife}"
        )
        self.workers.given_up()
        return call.given_up(DeadlineExceededError(message))

    def _take(self, call: Call) -> None:
        """What a finished call has brought."""
        tuner = self.tuner
        call.settled()
        self.worked += call.wall
        failed = call.failed
        if failed is None and self.unsettled:
            assert call.rows is not None
            try:
                call.rows = self.node.accepted(call.rows)
            except RowFailed as e:
                failed = e
        if failed is None:
            rows = call.rows
            assert rows is not None
            if call.used < call.block.n:
                self._again(call, call.used)
                call.block = call.block.slice(0, call.used)
            self.made += call.block.n
            tuner.result_bytes.add(rows.nbytes / max(1, call.block.n))
            if call.wall:
                tuner.made_by_worker(call.block.n, call.wall, call.cpu)
            self.out = rows if rows.n else None
            self.origin = call if rows.n == call.block.n else None
            self.landed = call.place
            if self.landing is not None:
                self.landing.learn(rows)
            return
        if isinstance(failed, RowFailed) and not isinstance(failed.error, Exception):
            failed = failed.error  # from outside: no thread was left, and the consumer has made the call
        if not isinstance(failed, RowFailed):
            if self._in_processes() and self._after_death(call, failed):
                return
            if not isinstance(failed, Exception):
                self._again(call, 0)
            raise failed
        self.out = failed.done if failed.done is not None and failed.done.n else None
        self.origin = self.landed = None
        failed.locate(call.block)  # those who made the call may not know where its rows come from
        self.error = self.node.blame(failed, call.number + failed.index)
        self._again(call, failed.index + 1)

    def _again(self, call: Call, used: int) -> None:
        """Hands over the rows of a call that are left, to be made next."""
        if used < call.block.n:
            seen, self.seen = self.seen, call.number + used
            self._cut(call.block.slice(used, call.block.n), call.before, call.offset + used, at_head=True)
            self.seen = seen

    def _after_death(self, call: Call, failed: BaseException) -> bool:
        """Calls that were on their way when a worker process died are made again, one row at a time, each alone, so
        that the one that kills its worker is found. False where the error is another one.
        """
        from feedline.engine.processes import WorkerDied

        if not isinstance(failed, WorkerDied):
            return False
        self.workers.revive(failed)
        if call.block.n == 1 and call.again:
            self.error = self.node.blame(RowFailed(0, None, self.workers.death(failed)), call.number)
            return True
        rows = call.row_by_row()
        for single in rows:
            single.share = self._share(single.block)
        self._first(rows)
        return True

    # Checkpoints.

    def capture_stages(self, into: list[Any]) -> None:
        """The states that a run without workers would have: those from which the oldest chunk on its way was pulled, or
        those of now. `pause` has waited for rows on their way that cannot be had again; without it, their calls may be
        changing them.
        """
        if not self.active:
            self.inputs.capture_stages(into)
            return
        ready = (*self._at_hand(), *self.ready)
        head = self.window[0] if self.window else None
        origin = self.origin if self.out is not None else None
        if origin is not None and origin.before is not None:
            assert self.out is not None
            given = origin.block.n - self.out.n
            into[self.first : self.slot] = origin.before
            state = RowWiseState(origin.number + given, skip=origin.offset + given, draws=self.draws)
        elif head is not None and head.before is not None:
            into[self.first : self.slot] = head.before
            state = RowWiseState(head.number, None, ready, head.offset, self.draws)
        elif head is not None:
            into[self.slot] = MOVING
            return
        else:
            self.inputs.capture_stages(into)
            skip = self.states[self.slot].skip
            state = RowWiseState(self.seen, None, ready, skip, self.draws, self.late)
        into[self.slot] = state

    def pause(self) -> None:
        """Nothing of it runs when its consumer does not, but for calls on their way. Where their rows cannot be had
        again, those are waited for: a function may write into what it was given. An interrupt ends the waiting; what
        has come by then is kept.
        """
        if not self.active or self._can_be_had_again():
            return
        self.ready.extendleft(reversed(self._put_away()))
        while self.window:
            try:
                self._take(self._wait())
            except Exception as e:
                self.ready.append(e)
            self.ready += self._put_away()

    def _put_away(self) -> list[Block | Exception]:
        """What is at hand, which is not any more."""
        found = self._at_hand()
        self.out = self.error = None
        return found

    def _can_be_had_again(self) -> bool:
        origin = self.origin if self.out is not None else None
        oldest = origin or (self.window[0] if self.window else None)
        return oldest is None or oldest.before is not None

    def _at_hand(self) -> list[Block | Exception]:
        return [v for v in (self.out, self.error) if v is not None]

    def resume(self) -> None:
        """The opposite of `pause`: it goes on when it is asked for more."""

    def described(self) -> Stage:
        """For reports."""
        calls = self.tuner.calls  # also those that have made everything there was
        how = "alone" if not calls else "processes" if self._in_processes() else "threads"
        held = sum(call.size for call in self.window.copy())
        name = " and ".join(name for _, _, name in called_by(self.node))
        tuned = self.tuner.asked == AUTOTUNE
        return Stage(self.key, how, calls, None, self.worked, self.waited, held, self.tuner.why, name, tuned)

    # The end.

    def tell_closing(self) -> None:
        """Wakes a consumer that waits, to its end; calls that nobody has begun are not made any more."""
        self.closing = True
        if self.workers is not None:
            self.workers.forget()
        self.finished.put(None)
        for call in self.window.copy():
            call.release()

    def finish(self) -> bool:
        """Forgets what is on its way."""
        for call in self.window:
            call.settled()
        self._dismiss()
        self._idle()
        return True

    def start(self) -> None:
        """Starts anew. Calls that have not begun are not made; those that have may end later."""
        if self.workers is not None:
            self.workers.forget()
        self.finish()
        super().start()
