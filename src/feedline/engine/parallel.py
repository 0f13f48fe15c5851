"""The parallel map stage: a row-wise node whose calls are made by several threads or processes at a time.

    inline ──calls take long enough (Tuner), or must be made by workers──▶ parallel
       ▲                                                                      │
       └──the end, or workers do not pay──────────────────────────────────────┘

    input ──RowFeed──▶ tasks ──WorkerTeam──▶ TaskWindow ──▶ Output ──▶ consumer

Inline, the consumer makes the calls itself, as in a sequential run. In parallel, it pulls rows from the input
(`RowFeed`), splits them into tasks, submits those to the workers (`WorkerTeam`), keeps them in the order of their rows
(`TaskWindow`), and takes the results in this order, or as they come (`Output`).
"""

from __future__ import annotations

from time import perf_counter, thread_time
from typing import Any

from feedline.engine import batch_buffer
from feedline.engine.autotune import PER_PROCESS_SECONDS, PER_WORKER_SECONDS, Tuner
from feedline.engine.batch_buffer import BatchAllocator, BatchSlot
from feedline.engine.context import Closing, Reservation, closable_by_others, forced
from feedline.engine.input import CHANGING, Input, blocks
from feedline.engine.prefetch_stage import PrefetchStage
from feedline.engine.row_feed import QUICK_PULL, RowFeed
from feedline.engine.sampling import pauses
from feedline.engine.task import Task
from feedline.engine.task_output import Output
from feedline.engine.task_window import TaskWindow
from feedline.engine.worker_team import WorkerTeam
from feedline.kernels.interrupts import check
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.interrupted import Interrupted, WorkersLost
from feedline.plan.node import EMPTY, Node
from feedline.plan.row_calls import RowFailed, RowWiseState, called_by
from feedline.plan.row_wise import FunctionCalls, OneToOne, RowWise, output_spec_known, parallel_of
from feedline.plan.traits.effects import user_code
from feedline.reports.measured import StepReport
from feedline.structure.block import Block

LONG_PULL = 500e-6
NOT_CARRIED, TO_BE_CARRIED, CARRIED = range(3)
"""Whether a stage's rows are made by the workers of a stage above: no; soon, so that it starts no workers; now."""
WIDEST = 16
WIDE_BYTES = 1 << 26
"""If workers were idle while the consumer was busy (with putting a batch together, say), up to `WIDEST` times as many
tasks are submitted ahead, as long as their inputs and results take no more bytes than this.
"""


def carried_inputs(pull: Input, workers: Any) -> list[Input]:
    """The steps directly below a stage, from below, that its workers, on a cluster, can make as well: one row of each,
    in order, and with no other workers of their own. All of them that call functions are to be sent there too.
    """
    found: list[Input] = []
    while isinstance(pull.node, OneToOne) and isinstance(pull.inputs, Input):
        if isinstance(pull, ParallelMapStage):
            if pull.team.cluster != workers or not pull.window.ordered:
                break
            pull.carried, pull.carries = TO_BE_CARRIED, []
        elif pull.is_stage or user_code(pull.node):
            break
        found.insert(0, pull)
        pull = pull.inputs
    return found


class ParallelMapStage(Input):
    """A row-wise node with workers."""

    __slots__ = (
        "__weakref__", "active", "carried", "carries", "closing", "context", "draws", "feed", "full", "key", "meter",
        "output", "seen", "team", "tuner", "wide", "window",
    )
    is_stage = True
    inputs: Input
    node: RowWise

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.context = run.context
        self.key = run.key_of(node)
        called = called_by(node)
        name = " and ".join(name for _, _, name in called)
        self.meter = self.context.meters.named(self.key, node, name, len(called) > 1)
        parallel, settings = parallel_of(node), self.context.settings
        calls = parallel.calls if parallel is not None else 1
        ordered = parallel.ordered if parallel is not None else True
        ordered = settings.ordered if ordered is None else ordered
        self.feed = RowFeed(inputs, ordered and run.is_copyable(inputs), self.context)
        self.team = WorkerTeam(self.context, self.node, (run.level, slot, node.op))
        self.tuner = Tuner(calls, settings, self.context.cores, self.key, self.context.budget.piece)
        if parallel is not None and parallel.rows is not None:
            self.tuner.fix(calls, parallel.rows)
        self.carries: list[Input] = []
        self.carried = NOT_CARRIED
        if self.team.elsewhere:
            per_call = PER_PROCESS_SECONDS if self.team.cluster is None else PER_WORKER_SECONDS
            self.tuner.in_processes(self.context.cores if calls == AUTOTUNE else calls, per_call)
            if self.team.cluster is not None and ordered:
                self.carries = carried_inputs(inputs, self.team.cluster)
            for pull in self.carries[0].below() if self.carries else (inputs,):
                pull.prefer_addresses()
        self.closing = False
        self.wide = 1  # factor on the usual number of tasks submitted ahead
        self._reset(ordered)
        self.context.stages.add(self)

    def _reset(self, ordered: bool) -> None:
        self.active = False  # whether workers make the calls
        self.full = False  # whether the window is full
        self.window = TaskWindow(ordered)
        self.output = Output()
        self.feed.reset()
        self.seen = 0  # number of rows pulled
        self.draws: Any = None
        if self.team.allocator is not None:
            self.team.allocator.forget()

    @property
    def copyable(self) -> bool:
        """Whether pulled rows come with the states from which they can be pulled again."""
        return self.feed.copyable

    def set_batch_hint(self, rows: int) -> None:
        """Sets the consumer's batch size, so that results can be written into batches."""
        super().set_batch_hint(rows)
        if batch_buffer.ENABLED and self.window.ordered and isinstance(self.node, OneToOne):
            self.team.allocator = BatchAllocator(rows)

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """The next finished rows."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        check()
        if self.carried == CARRIED:
            return super().__call__(want)
        if not self.active:
            return self._run_inline(want)
        output, feed = self.output, self.feed
        while True:
            if output.rows is not None:
                if output.batch_slot is not None and self._extend_from_slot(output.batch_slot, output.rows, want):
                    continue
                return output.take(want)
            if output.error is not None:
                error, output.error = output.error, None
                raise error
            if output.later:
                output.advance()
                continue
            if not self.tuner.calls and not self.window and feed.late is None and self._goes_inline:
                self._stop_parallel()
                return self._run_inline(want)
            self._fill_window(want)
            if not self.window:
                if feed.late is not None:
                    error, feed.late = feed.late, None
                    raise error
                if feed.ended:
                    self._stop_parallel()
                    return None
                return EMPTY
            self._take(self._wait(want))

    def _extend_from_slot(self, batch_slot: BatchSlot, rows: Block, want: int) -> bool:
        """Extends the rows by those that the next task has written behind them, so that a batch is returned whole."""
        output = self.output
        if rows.n >= want or output.error is not None or output.later:
            return False
        self._fill_window(want)
        head = self.window.head
        if head is None or not batch_slot.continues(head.batch_slot, rows.n):
            return False
        task = self._wait(want)
        if task.failed is not None or task.batch_slot is None:
            self.window.put_back(task)
            return False
        self._take(task)
        assert output.rows is not None
        output.put(batch_slot.joined([rows, output.rows]), None, batch_slot)
        return True

    def _run_inline(self, want: int) -> Block | None:
        """Runs as without workers; measures how long calls take, and decides whether workers would pay."""
        state = self.states[self.slot]
        tuner = self.tuner
        if self._must_parallelize(state):
            self._start_parallel(state)
            return self(want)
        if tuner.fixed is None:  # a call must not take long before it is known whether others should help
            want = min(want, tuner.chunk() if tuner.costs.alone.count else 1)
        want = min(want, self.feed.at_once)
        timed = self.feed.timed
        timed.seconds = timed.cpu = 0.0
        timed.counts_cpu = tuner.costs.alone.count < 8 or tuner.costs.alone.value > QUICK_PULL
        paused, cpu = (pauses(), thread_time()) if timed.counts_cpu else (0, 0.0)
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
            self.feed.pulled(want, timed.seconds)
            wall = perf_counter() - began - timed.seconds
            spent = None
            if timed.counts_cpu:  # a call that loses its processor to other programs does not wait
                spent = thread_time() - cpu - timed.cpu if pauses() > paused else wall
            self.meter.add(wall, 0 if block is None else block.n, spent)
            if self.context.recorder is not None:
                self.context.recorder.work(self.key, began, perf_counter(), rows)
            if block is not None and block.n and spent is not None:
                tuner.costs.result_bytes.add(block.nbytes / block.n)
            if tuner.made_alone(rows, wall, spent) and output_spec_known(self.node) and self.carried == NOT_CARRIED:
                self._start_parallel(after)
        return block

    def _must_parallelize(self, state: RowWiseState) -> bool:
        """Whether workers must make the calls from the first one on: processes, threads with a call timeout, or any if
        results come in the order of completion.
        """
        if self.carried != NOT_CARRIED:
            return False
        if not self.window.ordered and not self.tuner.tried and not state.ready:
            return True
        by_others = self.context.settings.timeout is not None or self.team.elsewhere or forced.mode is not None
        return not state.ready and ((by_others and output_spec_known(self.node)) or self._closable_by_others())

    def _closable_by_others(self) -> bool:
        """Whether another thread could close the iterator while the consumer is in a user function: then a worker
        should call it, even if that gains nothing else.
        """
        return user_code(self.node) and closable_by_others()

    @property
    def _goes_inline(self) -> bool:
        """Whether the consumer goes on without workers, if the tuner wants none: to make the calls itself, or to start
        processes in place of threads.
        """
        return self.team.outdated or not self._closable_by_others()

    def _start_parallel(self, state: RowWiseState) -> None:
        """Switches to workers."""
        self._reset(self.window.ordered)
        state = self._carry(state)
        self.team.start(max(1, self.tuner.start()))
        self.seen, self.draws = state.seen, state.draws
        self.output, self.feed.late = Output(state.ready), state.late
        self.states[self.slot] = RowWiseState(skip=state.skip, draws=state.draws)  # `_pull` skips the rows
        self.active = True
        if state.rest is not None:
            self._split(state.rest, None, 0, self._task_rows(state.rest.n))

    def _stop_parallel(self) -> None:
        """Switches back to inline, also at the end."""
        self.states[self.slot] = self._uncarried(RowWiseState(self.seen, draws=self.draws), self.states)
        self.active = False
        self._drop_carried()
        self.team.stop()

    # Steps below that the same workers make.

    def _carry(self, state: RowWiseState) -> RowWiseState:
        """Has the workers also make the rows of steps below, which only pass them on from now on. Only steps without
        rows of their own: those are to come out first. Gives the state with the rows to be skipped by all of them.
        """
        if not self.carries or state.rest is not None:  # those rows have been made
            self._give_up_carrying()
            return state
        states = [self.states[pull.slot] for pull in self.carries]
        if any(s is None or s.rest or s.ready or s.late for s in states):
            self._give_up_carrying()
            return state
        from feedline.engine.cluster.workers import Carried

        # A row to be skipped in front of any of the steps is one of the input: all rows before it have passed them.
        skip = state.skip
        carried: list[Carried] = []
        for pull, own in zip(reversed(self.carries), reversed(states), strict=True):
            ahead = own.seen + skip - state.seen
            carried.insert(0, Carried(pull.node, pull.slot, ahead, own.draws))  # type: ignore[arg-type]
            skip += own.skip
            self.states[pull.slot] = own._replace(skip=0)
        self.team.carried = carried
        for pull in self.carries:
            pull.pass_rows(True)
        return state._replace(skip=skip)

    def _drop_carried(self) -> None:
        for pull in self.carries:
            pull.pass_rows(False)
        self.team.carried = ()

    def _uncarried(self, state: RowWiseState, into: list[Any]) -> RowWiseState:
        """The state of this step, and in `into` those of the carried ones, as they are without carrying: the lowest one
        skips the rows that have passed them all, since it may fail again on one of those.
        """
        skip = state.skip
        for own in self.team.carried:
            into[own.slot] = into[own.slot]._replace(seen=state.seen + own.ahead, skip=skip)
            skip = 0
        return state._replace(skip=skip)

    def _failed_below(self, carried: int, task: Task) -> None:
        """Renumbers the rows after one that has failed in a carried step: this step and those above that one never see
        it.
        """
        for own in self.team.carried[: carried + 1]:
            own.ahead += 1
        self.seen -= 1
        task.number -= 1
        for later in self.window:
            later.number -= 1

    def _give_up_carrying(self) -> None:
        """Has the steps below make their rows themselves, for this iteration."""
        self._drop_carried()
        for pull in self.carries:
            if isinstance(pull, ParallelMapStage):
                pull.carried = NOT_CARRIED

    def pass_rows(self, on: bool) -> None:
        """Has this stage pass on rows as they are, for a stage above whose workers make them."""
        super().pass_rows(on)
        self.carried = CARRIED if on else TO_BE_CARRIED

    # Submitting tasks.

    def _fill_window(self, want: int) -> None:
        """Submits tasks until the window is full."""
        window = self.window
        began = perf_counter()
        if self.full and window and self.wide < WIDEST and window.all_finished():
            self.wide *= 2
        room = self._window_size()
        self.full = False
        while self.feed.is_open and len(window) < room:
            if window:
                if self.feed.early or window.one_at_a_time:
                    return
                if self.context.budget.left < self._row_cost():
                    self.context.budget.refused += 1
                    return
                if not self.feed.has_ready():
                    return
                if perf_counter() - began > LONG_PULL and window.any_finished():
                    return
            if not self._pull(room, want):
                return
        self.full = len(window) >= room

    def _window_size(self) -> int:
        settings, tuner = self.context.settings, self.tuner
        calls = tuner.decide()
        if not calls:
            if tuner.holds_gil and settings.processes and tuner.requested == AUTOTUNE and self.team.movable:
                self._move_to_processes()
            if self._goes_inline:
                return 0  # tasks in the window are waited for first
            calls = max(1, tuner.start()) if tuner.rested else 1
        if calls != self.team.calls:
            self.team.start(calls)
        calls = self.team.breadth(calls)
        if not output_spec_known(self.node) and self.window.ordered and not self.team.elsewhere:
            return 1  # the first one determines the output spec
        if settings.timeout is not None:
            return calls  # each has a worker, and its time begins when it is submitted
        if tuner.requested == 1:
            return 1
        room = max(2 * calls, calls + 2)
        return room if self.wide == 1 else max(room, min(self.wide * room, int(WIDE_BYTES / tuner.call_bytes)))

    def _move_to_processes(self) -> None:
        why_not = self.team.move_to_processes()
        if why_not:
            self.tuner.why += f"; {why_not}"
        else:
            self.tuner.moved(self.context.cores)
            self.inputs.prefer_addresses()

    def _pull(self, room: int, want: int) -> bool:
        """Pulls rows and submits them; returns False if there are none now."""
        state = self.states[self.slot]
        affordable = self.context.budget.left / self._row_cost()
        task_rows = self._task_rows(want)
        most = self._rows_of_tasks(room - len(self.window), task_rows)
        rows = state.skip or max(1, min(self.feed.at_once, most, int(affordable)))
        in_turn = not self.window and self.output.rows is None
        allocator = self.team.allocator
        if allocator is not None and allocator.whole and not state.skip:
            pulled = self.feed.gather(min(most, allocator.task_rows(self.seen, task_rows)), in_turn)
        else:
            pulled = self.feed.pull(rows, in_turn, fresh=not state.skip)
        if pulled is None:
            return False
        block, before = pulled
        if not block.n:
            return True  # nothing yet: the end of an epoch, or a filter
        if state.skip:
            self.states[self.slot] = state._replace(skip=state.skip - block.n)
            return True
        self.tuner.costs.row_bytes.add(block.nbytes / block.n)
        self._split(block, before, 0, task_rows)
        return True

    def _rows_of_tasks(self, tasks: int, rows: int) -> int:
        """The rows of the next tasks, of about `rows` rows each."""
        allocator = self.team.allocator
        if allocator is None or not allocator.worth_it:
            return rows * tasks
        number = self.seen
        for _ in range(tasks):
            number += allocator.task_rows(number, rows)
        return number - self.seen

    def _task_rows(self, want: int) -> int:
        """How many rows a task should have."""
        if not output_spec_known(self.node) or self.context.settings.timeout is not None:
            return 1
        if self.feed.seeded and not self.feed.threaded:
            return max(1, min(self.tuner.chunk(), want))
        return self.tuner.chunk()

    def _split(
        self, block: Block, before: list[Any] | None, offset: int, task_rows: int, at_head: bool = False
    ) -> None:
        """Splits a block's rows into tasks of `task_rows` rows."""
        allocator = self.team.allocator
        if allocator is not None and (at_head or not allocator.worth_it):
            allocator = None
        tasks = []
        start = 0
        while start < block.n:
            number = self.seen + start
            rows = task_rows if allocator is None else allocator.task_rows(number, task_rows)
            rows = min(rows, block.n - start)
            part = block.slice(start, start + rows) if rows < block.n else block
            tasks.append(Task(part, number, self.draws, before, offset + start))
            if allocator is not None:
                tasks[-1].batch_slot = allocator.batch_slot(number)
                tasks[-1].whole = allocator.whole and rows <= allocator.rows
            start += rows
        self.seen += block.n
        for task in tasks:
            task.reservation = self._reserve(task.block)
        if at_head:
            self.window.push_front(tasks)
        else:
            self.window.append(tasks)
        if not self.window.one_at_a_time:
            for task in tasks:
                self._submit(task)

    def _submit(self, task: Task) -> None:
        if not self.window.ordered:
            self.window.notify_of(task)
        self.team.submit(task, 2 * self.tuner.task_seconds)
        if self.closing or self.context.closing:
            raise Closing  # the closing thread may not have seen this task, which may never be run

    def _result_bytes(self) -> float:
        """The bytes of the result for one row, about."""
        known = self.tuner.costs.result_bytes
        return known.value if known.count else self.context.budget.unknown

    def _row_cost(self) -> float:
        """The bytes that one row in the window takes, about."""
        return max(1.0, self.tuner.costs.row_bytes.value + self._result_bytes())

    def _reserve(self, block: Block) -> Reservation:
        return Reservation(self.context.budget, block.nbytes + int(block.n * self._result_bytes()))

    # Taking results.

    def _wait(self, want: int | None = None) -> Task:
        """Waits for the task whose result is next. If `want` is given, more tasks are submitted meanwhile, as the input
        has rows for them.
        """
        window, limit = self.window, self.context.settings.timeout
        head = window.head
        assert head is not None
        if not head.submitted:
            self._submit(head)
        found = window.next_finished(self.team.overdue)
        if found is None:
            self.context.check()
            began = perf_counter()
            try:
                while (found := window.next_finished(self.team.overdue)) is None:
                    window.wait(limit and limit / 4, self._feeding(want))
                    if want is not None:
                        self._fill_window(want)
            finally:
                ended = perf_counter()
                self.meter.waited += ended - began
                self.team.waited(ended - began)
                if self.context.recorder is not None:
                    self.context.recorder.wait(self.key, began, ended)
        if self.closing or self.context.closing:
            raise Closing
        window.remove(found)
        return found

    def _feeding(self, want: int | None) -> PrefetchStage | None:
        """The input stage, if workers could go on as soon as its thread has rows."""
        if want is None or not self.feed.is_open or self.feed.early or self.window.one_at_a_time:
            return None
        room = len(self.window) < self._window_size() and self.context.budget.left >= self._row_cost()
        return self.feed.running if room else None

    def _take(self, task: Task) -> None:
        """Moves the outcome of a finished task to the output."""
        task.release_budget()
        rows = 0 if task.rows is None else task.rows.n
        wall, cpu, ended = task.took
        self.meter.add(wall, rows, cpu)
        if self.context.recorder is not None and wall:
            self.context.recorder.task(self.key, ended - wall, ended, rows)
        if task.drawn_for not in (None, task.number):  # a carried step has failed before: they are other rows now
            self._resubmit(task, 0)
            return
        failed = task.failed
        if failed is None and self.team.unaware_of_spec:
            assert task.rows is not None and isinstance(self.node, FunctionCalls)
            try:
                task.rows = self.node.accepted(task.rows)
            except RowFailed as e:
                failed = e
        if failed is None:
            self._take_rows(task)
            return
        if isinstance(failed, RowFailed) and not isinstance(failed.error, Exception):
            failed = failed.error  # an outside error: no thread was left, and the consumer has made the call
        if not isinstance(failed, RowFailed):
            self._take_crash(task, failed)
            return
        self.output.put(failed.done)
        failed.locate(task.block)  # a worker may not have the provenance of its rows
        number = task.number + failed.index
        if failed.carried is None:
            self.output.error = self.node.attribute_error(failed, number)
        else:
            own = self.team.carried[failed.carried]
            self.output.error = own.node.attribute_error(failed, number + own.ahead)
            self._failed_below(failed.carried, task)
        self._resubmit(task, failed.index + 1)

    def _take_rows(self, task: Task) -> None:
        rows, tuner = task.rows, self.tuner
        assert rows is not None
        if task.used < task.block.n:
            self._resubmit(task, task.used)
            task.block = task.block.slice(0, task.used)
        tuner.costs.result_bytes.add(rows.nbytes / max(1, task.block.n))
        wall, cpu, _ = task.took
        if wall:
            tuner.made_by_worker(task.block.n, wall, cpu, task.started)
        self.output.put(rows, task if rows.n == task.block.n else None, task.batch_slot)
        if self.team.allocator is not None:
            self.team.allocator.learn(rows)

    def _take_crash(self, task: Task, failed: BaseException) -> None:
        """Handles an error that belongs to no row: a worker process died, or an error from outside."""
        after = self.team.after_death(task, failed)
        if after is None:
            if not isinstance(failed, Exception):
                self._resubmit(task, 0)
            raise failed
        if isinstance(after, RowFailed):
            self.output.error = self.node.attribute_error(after, task.number)
            return
        for single in after:
            single.reservation = self._reserve(single.block)
        self.window.push_front(after)

    def _resubmit(self, task: Task, used: int) -> None:
        """Submits the rest of a task's rows, to be made next."""
        if used < task.block.n:
            seen, self.seen = self.seen, task.number + used
            rest = task.block.slice(used, task.block.n)
            self._split(rest, task.before, task.offset + used, self._task_rows(rest.n), at_head=True)
            self.seen = seen

    # Checkpoints.

    def capture_stages(self, into: list[Any]) -> None:
        """Captures the states that a run without workers would have: those from which the oldest task's rows were
        pulled, or the current ones. `pause` has waited for tasks whose rows cannot be pulled again; without it, their
        calls may be changing them.
        """
        if not self.active:
            self.inputs.capture_stages(into)
            return
        output, head = self.output, self.window.head
        task = output.task if output.rows is not None else None
        if task is not None and task.before is not None:
            assert output.rows is not None
            given = task.block.n - output.rows.n
            into[self.first : self.slot] = task.before
            state = RowWiseState(task.number + given, skip=task.offset + given, draws=self.draws)
            state = self._uncarried(state, into)
        elif head is not None and head.before is not None:
            into[self.first : self.slot] = head.before
            state = self._uncarried(RowWiseState(head.number, None, output.waiting, head.offset, self.draws), into)
        elif head is not None:
            into[self.slot] = CHANGING
            return
        else:
            self.inputs.capture_stages(into)
            skip = self.states[self.slot].skip
            state = RowWiseState(self.seen, None, output.waiting, skip, self.draws, self.feed.late)
            state = self._uncarried(state, into)
        into[self.slot] = state

    def pause(self) -> None:
        """Waits for submitted tasks if their rows cannot be pulled again: a function may write into its argument.
        Nothing else runs without the consumer. An interrupt ends the wait; results that have come by then are kept.
        """
        if not self.active or self._reproducible():
            return
        self.output.defer_first()
        while self.window:
            try:
                self._take(self._wait())
            except Exception as e:
                self.output.later.append(e)
            except WorkersLost as e:  # these rows cannot be made, nor pulled again
                raise e.error from None
            self.output.defer()

    def _reproducible(self) -> bool:
        """Whether the rows of the oldest task can be pulled again."""
        task = self.output.task if self.output.rows is not None else None
        oldest = task or self.window.head
        return oldest is None or oldest.before is not None

    def resume(self) -> None:
        """Does nothing: the stage goes on when it is asked for more."""

    def stats(self) -> StepReport:
        """What the stage is like now, for a report."""
        tuner = self.tuner
        calls = tuner.calls or (self.team.calls if tuner.remeasures else 0)  # also after the end
        calls = self.team.breadth(calls) if calls else 0
        how = "alone" if not calls else self.team.kind
        tuned, contended = tuner.requested == AUTOTUNE, tuner.holds_gil or tuner.contended
        alone = tuner.costs.share  # of calls that nothing hindered
        return StepReport(
            self.key,
            how,
            cpu=alone.value if alone.count else None,
            calls=calls,
            held=self.window.size,
            why=tuner.why,
            tuned=tuned,
            contended=contended,
            workers=self.team.reports(),
        )

    # The end.

    def cancel(self) -> None:
        """Wakes a waiting consumer, to end it; drops tasks that no worker has begun."""
        self.closing = True
        self.team.forget()
        self.window.release_all()

    def finish(self) -> bool:
        """Drops the tasks in the window and stops the workers."""
        for task in self.window:
            task.release_budget()
        self._drop_carried()
        self.team.stop()
        self._reset(self.window.ordered)
        return True

    def start(self) -> None:
        """Restarts the stage. Tasks that have not begun are dropped; the others may end later."""
        self.team.forget()
        self.finish()
        super().start()
