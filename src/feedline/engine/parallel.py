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

from feedline.engine.batch_buffer import BatchSlot
from feedline.engine.context import Closing, forced
from feedline.engine.dispatch import QUICK_PULL, ChunkDispatcher
from feedline.engine.input import CHANGING, blocks
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.report import Stage
from feedline.engine.task import Task
from feedline.errors import DeadlineExceededError
from feedline.kernels.interrupts import check, paused
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import EMPTY, Interrupted, RowFailed, RowWiseState
from feedline.plan.row_calls import called_by
from feedline.structure.block import Block


class ParallelMapStage(ChunkDispatcher):
    """A row-wise node with workers."""

    __slots__ = ()

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """The next finished rows."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        check()
        if not self.active:
            return self._run_inline(want)
        while True:
            if self.out is not None:
                if self.batch_slot is not None and self._extend_from_slot(self.batch_slot, self.out, want):
                    continue
                return self._emit(want)
            if self.error is not None:
                error, self.error = self.error, None
                raise error
            if self.ready:
                self._next_ready()
                continue
            if not self.tuner.calls and not self.window and self.late is None and not self._closable_by_others():
                self._stop_parallel()
                return self._run_inline(want)
            self._fill_window(want)
            if not self.window:
                if self.late is not None:
                    error, self.late = self.late, None
                    raise error
                if self.ended:
                    self._stop_parallel()
                    return None
                return EMPTY
            self._take(self._wait(want))

    def _emit(self, want: int) -> Block:
        rows = self.out
        assert rows is not None
        self.out = rows.slice(want, rows.n) if rows.n > want else None
        self.batch_slot = None
        return rows if self.out is None else rows.slice(0, want)

    def _extend_from_slot(self, batch_slot: BatchSlot, out: Block, want: int) -> bool:
        """Adds what the next call has written behind the rows at hand to them, so that a batch is given as a whole."""
        if out.n >= want or self.error is not None or self.ready:
            return False
        self._fill_window(want)
        if not self.window or not batch_slot.continues(self.window[0].batch_slot, out.n):
            return False
        task = self._wait(want)
        if task.failed is not None or task.batch_slot is None:
            self.window.appendleft(task)
            return False
        self._take(task)
        assert self.out is not None
        self.out, self.source_task, self.batch_slot = batch_slot.joined([out, self.out]), None, batch_slot
        return True

    def _next_ready(self) -> None:
        item = self.ready.popleft()
        if isinstance(item, Exception):
            self.error = item
        else:
            self.out, self.source_task, self.batch_slot = item, None, None

    def _run_inline(self, want: int) -> Block | None:
        """As without workers; measures how long calls take, and decides whether workers would pay."""
        state = self.states[self.slot]
        tuner = self.tuner
        if self._must_parallelize(state):
            self._start_parallel(state)
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
            if tuner.made_alone(rows, wall, spent) and self.node.output_spec_known:
                self._start_parallel(after)
        return block

    def _must_parallelize(self, state: RowWiseState) -> bool:
        """True where calls must be made by others from the first one on: other processes, threads that may be given up
        on, or any where what is ready first comes first.
        """
        if not self.ordered and not self.tuner.tried and not state.ready:
            return True
        by_others = self.context.settings.timeout is not None or self._in_processes() or forced.mode is not None
        return not state.ready and ((by_others and self.node.output_spec_known) or self._closable_by_others())

    def _wait(self, want: int | None = None) -> Task:
        """The call whose turn it is, when it is finished. Where so many rows are wanted after it, more calls are handed
        out meanwhile, as the input gives rows for them.
        """
        head = self.window[0]
        if not head.submitted:
            self._submit(head)
        found = self._next_finished()
        if found is None:
            self.context.check()
            began = perf_counter()
            try:
                while (found := self._next_finished()) is None:
                    self._wait_for_one(head, self._watched_input(want))
                    if want is not None:
                        self._fill_window(want)
            finally:
                self.waited += perf_counter() - began
        if self.closing or self.context.closing:
            raise Closing
        self.window.remove(found)
        return found

    def _next_finished(self) -> Task | None:
        """The first call where the order counts, else any, if it is finished or takes too long."""
        limit = self.context.settings.timeout
        for i, task in enumerate(self.window):
            if task.finished:
                return task
            if limit is not None and self.workers.age(task) > limit:
                self.window[i] = self._overdue(task)
                return self.window[i]
            if self.ordered:
                return None
        return None

    def _watched_input(self, want: int | None) -> PrefetchStage | None:
        """The input, where workers would have something to do as soon as its thread has rows."""
        if want is None or self.ended or self.late is not None or self.early or self.window[0].again:
            return None
        room = len(self.window) < self._window_size() and self.context.budget.left >= self._row_cost()
        return self.inputs if room and isinstance(self.inputs, PrefetchStage) and self.inputs.running else None

    def _wait_for_one(self, head: Task, feeding: PrefetchStage | None) -> None:
        """Returns when something has happened, or it is time to look for calls that take too long."""
        limit = self.context.settings.timeout
        if feeding is not None:
            feeding.watch(self.finished)
        elif self.ordered:
            with paused():
                if head.done.acquire(timeout=-1 if limit is None else limit / 4):
                    head.release()
            return
        if self.ordered:
            head.on_done = self._notify
            if head.finished:
                return
        with paused(), suppress(Empty):
            self.finished.get(timeout=limit and limit / 4)

    def _overdue(self, task: Task) -> Task:
        """Gives up on a call that takes too long. Its worker is left to itself."""
        limit = self.context.settings.timeout
        message = (
            f"the call took longer than {limit:g} seconds (options.threading.call_timeout) and was given up; "
            f"{self.workers.after_timeout}"
        )
        self.workers.abandoned()
        return task.abandoned(DeadlineExceededError(message))

    def _take(self, task: Task) -> None:
        """What a finished call has brought."""
        tuner = self.tuner
        task.release_budget()
        self.worked += task.wall
        failed = task.failed
        if failed is None and self.workers_unaware_of_spec:
            assert task.rows is not None
            try:
                task.rows = self.node.accepted(task.rows)
            except RowFailed as e:
                failed = e
        if failed is None:
            rows = task.rows
            assert rows is not None
            if task.used < task.block.n:
                self._resubmit(task, task.used)
                task.block = task.block.slice(0, task.used)
            self.made += task.block.n
            tuner.result_bytes.add(rows.nbytes / max(1, task.block.n))
            if task.wall:
                tuner.made_by_worker(task.block.n, task.wall, task.cpu)
            self.out = rows if rows.n else None
            self.source_task = task if rows.n == task.block.n else None
            self.batch_slot = task.batch_slot
            if self.allocator is not None:
                self.allocator.learn(rows)
            return
        if isinstance(failed, RowFailed) and not isinstance(failed.error, Exception):
            failed = failed.error  # from outside: no thread was left, and the consumer has made the call
        if not isinstance(failed, RowFailed):
            if self._in_processes() and self._after_death(task, failed):
                return
            if not isinstance(failed, Exception):
                self._resubmit(task, 0)
            raise failed
        self.out = failed.done if failed.done is not None and failed.done.n else None
        self.source_task = self.batch_slot = None
        failed.locate(task.block)  # those who made the call may not know where its rows come from
        self.error = self.node.blame(failed, task.number + failed.index)
        self._resubmit(task, failed.index + 1)

    def _resubmit(self, task: Task, used: int) -> None:
        """Hands over the rows of a call that are left, to be made next."""
        if used < task.block.n:
            seen, self.seen = self.seen, task.number + used
            self._split(task.block.slice(used, task.block.n), task.before, task.offset + used, at_head=True)
            self.seen = seen

    def _after_death(self, task: Task, failed: BaseException) -> bool:
        """Calls that were on their way when a worker process died are made again, one row at a time, each alone, so
        that the one that kills its worker is found. False where the error is another one.
        """
        from feedline.engine.processes import WorkerDied

        if not isinstance(failed, WorkerDied):
            return False
        self.workers.revive(failed)
        if task.block.n == 1 and task.again:
            self.error = self.node.blame(RowFailed(0, None, self.workers.death(failed)), task.number)
            return True
        rows = task.split_rows()
        for single in rows:
            single.reservation = self._reserve(single.block)
        self._push_front(rows)
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
        ready = (*self._pending_output(), *self.ready)
        head = self.window[0] if self.window else None
        source_task = self.source_task if self.out is not None else None
        if source_task is not None and source_task.before is not None:
            assert self.out is not None
            given = source_task.block.n - self.out.n
            into[self.first : self.slot] = source_task.before
            state = RowWiseState(source_task.number + given, skip=source_task.offset + given, draws=self.draws)
        elif head is not None and head.before is not None:
            into[self.first : self.slot] = head.before
            state = RowWiseState(head.number, None, ready, head.offset, self.draws)
        elif head is not None:
            into[self.slot] = CHANGING
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
        if not self.active or self._reproducible():
            return
        self.ready.extendleft(reversed(self._take_output()))
        while self.window:
            try:
                self._take(self._wait())
            except Exception as e:
                self.ready.append(e)
            self.ready += self._take_output()

    def _take_output(self) -> list[Block | Exception]:
        """What is at hand, which is not any more."""
        found = self._pending_output()
        self.out = self.error = None
        return found

    def _reproducible(self) -> bool:
        source_task = self.source_task if self.out is not None else None
        oldest = source_task or (self.window[0] if self.window else None)
        return oldest is None or oldest.before is not None

    def _pending_output(self) -> list[Block | Exception]:
        return [v for v in (self.out, self.error) if v is not None]

    def resume(self) -> None:
        """The opposite of `pause`: it goes on when it is asked for more."""

    def stats(self) -> Stage:
        """For reports."""
        calls = self.tuner.calls  # also those that have made everything there was
        how = "alone" if not calls else "processes" if self._in_processes() else "threads"
        held = sum(task.size for task in self.window.copy())
        name = " and ".join(name for _, _, name in called_by(self.node))
        tuned = self.tuner.asked == AUTOTUNE
        return Stage(self.key, how, calls, None, self.worked, self.waited, held, self.tuner.why, name, tuned)

    # The end.

    def cancel(self) -> None:
        """Wakes a consumer that waits, to its end; calls that nobody has begun are not made any more."""
        self.closing = True
        if self.workers is not None:
            self.workers.forget()
        self.finished.put(None)
        for task in self.window.copy():
            task.release()

    def finish(self) -> bool:
        """Forgets what is on its way."""
        for task in self.window:
            task.release_budget()
        self._stop_workers()
        self._reset()
        return True

    def start(self) -> None:
        """Starts anew. Calls that have not begun are not made; those that have may end later."""
        if self.workers is not None:
            self.workers.forget()
        self.finish()
        super().start()
