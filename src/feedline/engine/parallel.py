"""A row-wise node whose calls are shared out among threads or processes.

The consumer pulls rows from the input, cuts them into chunks, hands those to workers, and takes the results in order
(or as they come). Between two chunks it looks at whether that pays; where it does not, it makes the calls by itself,
which is all that a sequential run does.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter, thread_time
from typing import Any

from feedline.engine.autotune import Tuner
from feedline.engine.call import Call, Threads, Timed
from feedline.engine.crew import Closing, forced
from feedline.engine.input import Input, blocks
from feedline.engine.prefetch import Ahead
from feedline.engine.report import Stage
from feedline.errors import DeadlineExceededError, InvalidArgumentError
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import EMPTY, Node, RowFailed, RowWise, RowWiseState
from feedline.structure.block import Block, concat

QUICK_PULL = 100e-6
LONG_PULL = 500e-6


class Calls(Input):
    """A row-wise node with workers."""

    __slots__ = (
        "__weakref__", "active", "calls", "closing", "crew", "draws", "ended", "error", "finished",
        "given_up", "late", "light", "made", "moved", "ordered", "origin", "out", "pull_rows", "ready",
        "rows_out", "seeded", "seen", "timed", "tuner", "waited", "window", "worked", "workers",
    )

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
        self.moved = False  # from threads to processes, since the function holds the interpreter
        self.light = self.ordered and run.is_light(inputs)
        self.seeded = run.has_seeds(inputs.node)
        if self.seeded and isinstance(inputs, Ahead):
            inputs.eager = True
        self.tuner = Tuner(calls, settings, self.crew.cores, self.key)
        if self._in_processes():
            self.tuner.in_processes(self.crew.cores if calls == AUTOTUNE else calls)
        self.timed = Timed(inputs)
        self.waited = self.worked = 0.0
        self.made = self.rows_out = self.calls = 0
        self.closing = False
        self._idle()
        self.crew.stages.add(self)

    @property
    def key(self) -> str:
        """The name of this stage in reports."""
        return f"{self.run.path}{self.node.position} {self.node.op}"

    def _idle(self) -> None:
        self.active = self.ended = False
        self.window: deque[Call] = deque()
        self.finished: SimpleQueue[None] = SimpleQueue()
        self.out: Block | None = None
        self.origin: Call | None = None  # what `out` came from, where it gives as many rows as it got
        self.error: Exception | None = None
        self.ready: deque[Block | Exception] = deque()  # what comes after these two
        self.late: Exception | None = None
        self.pull_rows = 1
        self.seen = 0
        self.draws: Any = None

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """The next finished rows."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        if not self.active:
            return self._alone(want)
        while True:
            if self.out is not None:
                return self._give(want)
            if self.error is not None:
                error, self.error = self.error, None
                raise error
            if self.ready:
                self._next_ready()
                continue
            if not self.tuner.calls and not self.window and self.late is None:
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
            self._take(self._wait())

    def _give(self, want: int) -> Block:
        rows = self.out
        assert rows is not None
        self.out = rows.slice(want, rows.n) if rows.n > want else None
        return rows if self.out is None else rows.slice(0, want)

    def _next_ready(self) -> None:
        item = self.ready.popleft()
        if isinstance(item, Exception):
            self.error = item
        else:
            self.out, self.origin = item, None

    def _alone(self, want: int) -> Block | None:
        """As without workers; measures how long calls take, and decides whether workers would pay."""
        state = self.states[self.slot]
        tuner = self.tuner
        if self._must_hand_over(state):
            self._go(state)
            return self(want)
        if tuner.fixed is None:  # a call must not take long before it is known whether others should help
            want = min(want, tuner.chunk() if tuner.alone.count else 1)
        timed = self.timed
        timed.seconds = 0.0
        cpu = thread_time() if tuner.alone.count < 8 or tuner.alone.value > QUICK_PULL else None
        began = perf_counter()
        try:
            block, self.states[self.slot] = self.step(state, timed, want)
        except Exception:
            self.states[self.slot] = self.node.after_error(state)
            raise
        after = self.states[self.slot]
        rows = after.seen - state.seen
        if rows:
            wall = perf_counter() - began - timed.seconds
            spent = None if cpu is None or timed.seconds > 0.1 * wall else thread_time() - cpu
            self.worked += wall
            self.made += rows
            if tuner.made_alone(rows, wall, spent) and self.node.settled:
                self._go(after)
        return block

    def _must_hand_over(self, state: RowWiseState) -> bool:
        """True where calls must be made by others from the first one on: other processes, or threads that may be given
        up on.
        """
        by_others = self.crew.settings.timeout is not None or self._in_processes() or forced.mode is not None
        return by_others and self.node.settled and not state.ready

    def _in_processes(self) -> bool:
        parallel = self.node.parallel
        if self.moved or forced.mode == "process":
            return True
        return parallel is not None and parallel.workers == "process"

    def _go(self, state: RowWiseState) -> None:
        """Workers make the calls from now on."""
        self._idle()
        self.active = True
        self.calls = max(1, self.tuner.go())
        self.seen, self.draws = state.seen, state.draws
        self.ready, self.late = deque(state.ready), state.late
        self.states[self.slot] = RowWiseState(skip=state.skip, draws=state.draws)  # passed over in `_pull`
        self._hire()
        if state.rest is not None:
            self._cut(state.rest, None, 0)

    def _hire(self) -> None:
        if self.workers is not None:
            self.workers.close()
        if self._in_processes():
            from feedline.engine.processes import Processes

            self.workers = Processes(self.crew, self.node, self.calls)
        else:
            pool = self.crew.pool((self.run.level, self.slot, self.node.op), self.calls, self.node.op)
            self.workers = Threads(pool, self.node)

    def _stop(self) -> None:
        """The consumer makes the calls by itself from now on, or there are no more."""
        self.states[self.slot] = RowWiseState(self.seen, draws=self.draws)
        self.active = False
        if self.workers is not None:
            self.workers.close()
            self.workers = None

    def _top_up(self, want: int) -> None:
        """Hands chunks to the workers until enough are on their way."""
        began = perf_counter()
        room = self._room()
        while not self.ended and self.late is None and len(self.window) < room:
            if self.window:
                if self.window[0].again:
                    return  # made alone, to see whether it is the one that kills its worker
                if self.crew.budget.spent or (self.seeded and not self._fed()):
                    return
                if self.window[0].finished and perf_counter() - began > LONG_PULL:
                    return
            if not self._pull(room, want):
                return

    def _room(self) -> int:
        settings = self.crew.settings
        calls = self.tuner.decide()
        if calls != self.calls and calls:
            self.calls = calls
            self._hire()
        if not calls:
            if self.tuner.holds_gil and settings.processes and self.tuner.asked == AUTOTUNE and not self.moved:
                self._move()
            return 0  # what is on its way is waited for, then the consumer goes on alone
        if settings.timeout is not None:
            return calls  # each has a worker, and its time begins when it is handed over
        return 1 if self.tuner.asked == 1 else max(2 * calls, calls + 2)

    def _move(self) -> None:
        """The next calls are made by processes, if the function can be sent there."""
        from feedline.engine.shipping import shipped

        try:
            shipped(self.node)
        except InvalidArgumentError as e:
            self.tuner.why += f"; {e}"
            return
        self.moved = True
        self.tuner.in_processes(self.crew.cores)
        self.tuner.why = "moved to processes: the function holds the interpreter (options.autotune.allow_processes)"

    def _fed(self) -> bool:
        """True when the input can be asked for more without taking seeds before their time."""
        return isinstance(self.inputs, Ahead) and self.inputs.ready_now()

    def _pull(self, room: int, want: int) -> bool:
        """Pulls rows and hands them out; False where there are none now."""
        state = self.states[self.slot]
        chunk = self._chunk(want)
        before = self._before() if self.light and not state.skip else None
        began = perf_counter()
        affordable = self.crew.budget.left / max(1.0, self.tuner.row_bytes.value)
        asked = state.skip or max(1, min(self.pull_rows, chunk * (room - len(self.window)), int(affordable)))
        try:
            block = self.inputs(asked)
        except Exception as e:
            self.late = e
            return False
        seconds = perf_counter() - began
        if block is None:
            self.ended = True
            return False
        if not block.n:
            return not self.window
        if state.skip:
            self.states[self.slot] = state._replace(skip=state.skip - block.n)
            return True
        self.pull_rows = min(2 * asked, chunk * room) if seconds < QUICK_PULL else max(chunk, asked // 2)
        self.tuner.row_bytes.add(block.nbytes / block.n)
        self._cut(block, before, 0)
        return True

    def _chunk(self, want: int) -> int:
        if not self.node.settled or self.crew.settings.timeout is not None:
            return 1
        if self.seeded and not isinstance(self.inputs, Ahead):
            return max(1, min(self.tuner.chunk(), want))
        return self.tuner.chunk()

    def _cut(self, block: Block, before: list[Any] | None, offset: int, at_head: bool = False) -> None:
        """Makes calls of a block's rows."""
        chunk = self._chunk(block.n)
        made = []
        for start in range(0, block.n, chunk):
            part = block.slice(start, min(start + chunk, block.n)) if block.n > chunk else block
            made.append(Call(part, self.seen + start, self.draws, before, offset + start))
        self.seen += block.n
        if at_head:
            self.window.extendleft(reversed(made))
        else:
            self.window.extend(made)
        for call in made:
            self.crew.budget.add(call.size)
            self._hand(call)

    def _hand(self, call: Call) -> None:
        if not self.ordered:
            call.on_done = self._tell
        call.handed = True
        self.workers.submit(call)
        if self.closing:
            raise Closing  # who told so may not have seen this call, and it may never be made

    def _tell(self) -> None:
        """A call has been made. One word is enough, however many have been."""
        if self.finished.empty():
            self.finished.put(None)

    def _wait(self) -> Call:
        """The call whose turn it is, when it is finished."""
        head = self.window[0]
        if not head.handed:
            self._hand(head)
        found = self._next_finished()
        if found is None:
            self.crew.check()
            began = perf_counter()
            try:
                while (found := self._next_finished()) is None:
                    self._wait_for_one(head)
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

    def _wait_for_one(self, head: Call) -> None:
        """Returns when something has happened, or it is time to look for calls that take too long."""
        limit = self.crew.settings.timeout
        if not self.ordered:
            with suppress(Empty):
                self.finished.get(timeout=limit and limit / 4)
        elif head.done.acquire(timeout=-1 if limit is None else limit / 4):
            head.release()

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
        self.crew.budget.add(-call.size)
        self.worked += call.wall
        failed = call.failed
        if failed is None:
            rows = call.rows
            assert rows is not None
            self.made += call.block.n
            if call.wall:
                tuner.made_by_worker(call.block.n, call.wall, call.cpu)
            self.out = rows if rows.n else None
            self.origin = call if rows.n == call.block.n else None
            return
        if not isinstance(failed, RowFailed):
            if self._in_processes() and self._after_death(call, failed):
                return
            raise failed
        self.out, self.origin = failed.done if failed.done is not None and failed.done.n else None, None
        self.error = self.node.blame(failed, call.number + failed.index)
        after = failed.index + 1
        if after < call.block.n:
            seen, self.seen = self.seen, call.number + after
            rest = call.block.slice(after, call.block.n)
            self._cut(rest, call.before, call.offset + after, at_head=True)
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
        self.crew.budget.add(sum(single.size for single in rows))
        self.window.extendleft(reversed(rows))
        return True

    # Checkpoints.

    def _before(self) -> list[Any]:
        into = [None] * self.slot
        self.inputs.capture(into)
        return into[self.first :]

    def capture_stages(self, into: list[Any]) -> None:
        """The states that a run without workers would have: those from which the oldest chunk on its way was pulled, or
        those of now with all rows that are on their way.
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
        else:
            self.inputs.capture_stages(into)
            rest = concat([call.block for call in self.window]) if self.window else None
            skip = self.states[self.slot].skip
            state = RowWiseState(self.seen - (rest.n if rest else 0), rest, ready, skip, self.draws, self.late)
        into[self.slot] = state

    def pause(self) -> None:
        """Nothing of it runs when its consumer does not, but for calls on their way. Where their rows cannot be had
        again, those are waited for: a function may write into what it was given.
        """
        if not self.active or self.light:
            return
        kept = deque([*self._at_hand(), *self.ready])
        while self.window:
            self.out = self.error = None
            try:
                self._take(self._wait())
            except Exception as e:
                kept.append(e)
            kept += self._at_hand()
        self.out, self.error, self.ready = None, None, kept

    def _at_hand(self) -> list[Block | Exception]:
        return [v for v in (self.out, self.error) if v is not None]

    def resume(self) -> None:
        """The opposite of `pause`: it goes on when it is asked for more."""

    def described(self) -> Stage:
        """For reports."""
        calls = self.tuner.calls  # also those that have made everything there was
        how = "alone" if not calls else "processes" if self._in_processes() else "threads"
        held = sum(call.size for call in list(self.window))
        return Stage(self.key, how, calls, None, self.worked, self.waited, held, self.tuner.why)

    # The end.

    def tell_closing(self) -> None:
        """Wakes a consumer that waits, to its end; calls that nobody has begun are not made any more."""
        self.closing = True
        if self.workers is not None:
            self.workers.forget()
        self.finished.put(None)
        for call in list(self.window):
            call.release()

    def finish(self) -> bool:
        """Forgets what is on its way."""
        self.crew.budget.add(-sum(call.size for call in self.window))
        if self.workers is not None:
            self.workers.close()
            self.workers = None
        self._idle()
        return True

    def start(self) -> None:
        """Starts anew. Calls that have not begun are not made; those that have may end later."""
        if self.workers is not None:
            self.workers.forget()
        self.finish()
        super().start()
