"""The prefetch stage of a run: rows are made before they are asked for.

    INLINE ──a block takes long enough (ThreadPolicy)──▶ BUFFERED
       ▲                                                    │
       └──the end, or blocks that are cheap again───────────┘

Inline, the consumer runs the steps below by itself. Buffered (`running`), a thread runs them and puts blocks, with the
states they were made from, into a `PrefetchBuffer`; its states are drawn there.

Before it would draw from what all iterators of a dataset share (the seeds of the next epoch), the thread halts until
the consumer has come there too: an iterator that is abandoned early has drawn nothing that it did not need.
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from time import monotonic, perf_counter, sleep
from typing import Any

from feedline.early import Early, working
from feedline.engine.autotune import seconds_of
from feedline.engine.context import (
    PATIENCE,
    Closing,
    NoThreadLeft,
    closable_by_others,
    forced,
    single_threaded,
    wait_for,
)
from feedline.engine.input import CHANGING, Input, blocks
from feedline.engine.prefetch_buffer import PrefetchBuffer, PrefetchItem, Producer, Waiter
from feedline.engine.prefetch_policy import WORTH_A_THREAD, BlockSizing, ThreadPolicy
from feedline.engine.recorder import SHORTEST
from feedline.engine.step_times import StepTimes
from feedline.kernels.interrupts import check, wait_for_item
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.traits.schedule import Prefetches
from feedline.reports.measured import PREFETCH, StepReport
from feedline.structure.block import Block


class PrefetchCounts:
    """The counts of a prefetch stage for reports."""

    __slots__ = ("blocks", "consumed", "starved", "threaded", "worked")

    def __init__(self) -> None:
        self.blocks = self.consumed = self.starved = 0
        self.worked = 0.0
        self.threaded = False  # whether a thread makes the rows, or made the last ones

    def made(self, seconds: float) -> None:
        """Counts a block."""
        self.blocks, self.worked = self.blocks + 1, self.worked + seconds


class PrefetchStage(Input):
    """A node whose rows may be made ready by a thread."""

    __slots__ = (
        "__weakref__", "buffer", "context", "copyable", "counts", "front", "given", "key", "meter", "policy", "running",
        "sizing", "thread", "times",
    )
    is_stage = True
    inputs: Input
    node: Prefetches

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.context = run.context
        self.key = run.key_of(node)
        self.meter = run.context.meters.named(self.key, node)
        self.copyable = run.is_copyable(inputs)
        self.policy = ThreadPolicy(eager=forced.mode is not None)
        self.sizing = self._initial_sizing()
        self.counts = PrefetchCounts()
        self.times = StepTimes(inputs, self.context)
        self.buffer = PrefetchBuffer()
        self.thread: threading.Thread | None = None
        self.running = False  # whether the consumer takes from the buffer
        self.front: PrefetchItem | None = None  # an item of which `given` rows have been handed out
        self.given = 0
        self.context.stages.add(self)

    def _initial_sizing(self) -> BlockSizing:
        ahead = self.node.ahead
        assert ahead is not None
        depth = ahead
        if ahead == AUTOTUNE:
            chosen = (self.context.settings.chosen or {}).get(self.key, {}).get("buffer")
            depth = 2 if chosen is None else chosen
        return BlockSizing(ahead, depth, self.run.may_read_ahead(self.inputs), self.context.budget.piece)

    def set_batch_hint(self, rows: int) -> None:
        """Sets the consumer's batch size, to which blocks are aligned."""
        self.sizing.unit = rows

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """Up to `want` rows that are ready; waits if none are."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        check()
        item = self.front
        if item is None:
            if not self.running:
                return self._inline(want)
            item = self._next()
            if item.last:
                self.running, self.counts.threaded = False, not item.switch
                return self._inline(want) if item.switch else None
        if item.error is not None:
            raise item.error
        block, given = item.block, self.given
        assert block is not None
        if want >= block.n - given:
            self.front, self.given = None, 0
            self._consumed(item)
            return block if not given else block.slice(given, block.n)
        self.front, self.given = item, given + want
        return block.slice(given, given + want)

    def has_ready(self) -> bool:
        """Whether rows, or the end, are ready, without waiting and without drawing shared seeds."""
        return self.front is not None or (self.running and len(self.buffer.items) > 0)

    def watch(self, waiter: Waiter) -> None:
        """Notifies a waiter when something is ready, or when nothing will be until the consumer asks."""
        if self.running:
            self.buffer.watch(waiter)
        else:
            waiter.put(None)

    def _inline(self, want: int) -> Block | None:
        visible = not (self.run.path and self.sizing.effect_free)
        if visible and closable_by_others() and self._is_fresh():
            self.start_thread()
            if self.running:
                return self(want)
        began = perf_counter()
        block = super().__call__(self.sizing.inline(want))
        ended = perf_counter()
        pays = self.policy.starts_after(block, began, ended)
        if block is None or not block.n:
            return block
        self.counts.made(ended - began)
        self.meter.rows += block.n
        self.sizing.made(block.n)
        if pays and self._is_fresh():
            self.sizing.like(block)
            self.start_thread()
        return block

    def _is_fresh(self) -> bool:
        """Whether no rows from a checkpoint wait in the node."""
        return bool(self.states[self.slot] == self.node.State())

    def start_thread(self) -> None:
        """Starts the thread, which makes the rows from now on."""
        if self.running or self.node.ahead is None or self.context.closing:
            return
        if self.thread is not None:
            self.thread.join()  # the last thread has nothing left to do, but may not have ended yet
        self.policy.started()
        self.front, self.given = None, 0
        self.buffer = PrefetchBuffer(self.inputs.copy() if self.copyable else None)
        self.thread = worker = self.context.worker(partial(produce, weakref.ref(self)), "prefetch")
        self.buffer.producer = Producer.WORKING
        self.running = self.counts.threaded = True
        try:
            self.context.start(worker)
        except BaseException as e:
            if worker.cancelled():
                self.buffer, self.thread = PrefetchBuffer(), None
                self.running = self.counts.threaded = False
            if not isinstance(e, NoThreadLeft):
                raise

    def _next(self) -> PrefetchItem:
        meter = self.meter
        meter.asked += 1
        meter.ready += min(1.0, len(self.buffer.items) / max(1, self.sizing.blocks))
        began = ended = perf_counter()
        self.policy.asked(began)
        item = self.buffer.take()
        if not isinstance(item, PrefetchItem):
            self.context.check()
            while not isinstance(item, PrefetchItem):
                wait_for_item(item)
                item = self.buffer.take()
            ended = perf_counter()
            meter.waited += ended - began
            if self.context.recorder is not None:
                self.context.recorder.wait(self.key, began, ended)
            self._starved()
        self.policy.given(ended)
        if item.block is None:
            self._consumed(item)
        return item

    def _consumed(self, item: PrefetchItem) -> None:
        self.context.budget.add(-item.size)
        self.counts.consumed += 1
        self.policy.consumed(item.made)
        with self.buffer.lock:
            self.buffer.notify()

    def _starved(self) -> None:
        """Counts a pull that found nothing ready; if the buffer has been full, it is made deeper."""
        self.counts.starved += 1
        settings = self.context.settings
        if self.buffer.filled and self.sizing.ahead == AUTOTUNE and not (settings.chosen or {}).get(self.key):
            self.buffer.filled = False
            if settings.tuned:
                self.sizing.deepen()

    # The thread's side.

    def produce_more(self) -> Waiter | None:
        """Makes blocks until the buffer is full; returns the waiter to wait on then, or None at the end."""
        buffer = self.buffer
        waiter: Waiter | None = None
        try:
            if self.policy.slack and buffer.producer is Producer.FULL and not buffer.closing:
                sleep(self.policy.delay)
            while (waiter := buffer.obstacle(self.sizing.blocks, self.context.budget.left)) is None:
                item = self._make()
                self._put(item)
                if item is not None and item.last:
                    break
                if self.policy.ends and single_threaded():
                    self._put(PrefetchItem(None, None, buffer.next_states, switch=True))
                    break
        except Closing:
            waiter = None
        finally:
            if waiter is None:
                self._leave()
        return waiter

    def _make(self) -> PrefetchItem | None:
        """The next block or error; None if there is nothing yet."""
        buffer = self.buffer
        began = perf_counter()
        working.ahead = not buffer.in_turn
        try:
            if self.context.closing:
                raise Closing
            block = self.times(self.sizing.next_rows)
        except Closing:
            raise
        except Early as e:
            buffer.halt = e.with_traceback(None)
            return None
        except BaseException as e:  # raised in the consumer, SystemExit too
            return PrefetchItem(None, e, buffer.next_states)
        if block is not None:
            if not block.n:
                return None
            ended = perf_counter()
            seconds = ended - began
            self.counts.made(seconds)
            self.meter.rows += block.n
            if self.context.recorder is not None and seconds >= SHORTEST:
                self.context.recorder.in_thread(self.key)
                self.context.recorder.work(self.key, began, ended, block.n)
            self.sizing.made(block.n)
            self.policy.made(seconds)
            self.sizing.adapt(block, seconds)
        return PrefetchItem(block, None, buffer.next_states)

    def _put(self, item: PrefetchItem | None) -> None:
        next_states = self.inputs.copy() if self.copyable else None
        if item is not None:
            self.context.budget.add(item.size)
        self.buffer.put(item, next_states)

    def _leave(self) -> None:
        """Ends the thread; it frees what it used if the consumer has gone already."""
        with self.buffer.lock:
            self.buffer.leave()
            abandoned = self.buffer.closing and self.thread is None
        if abandoned:
            self.run.free(self.first, self.slot)

    # Checkpoints.

    def capture_stages(self, into: list[Any]) -> None:
        """Captures the states from which rows that are ready, but not handed out, can be recomputed; or else the states
        of the paused thread, and the rows themselves. Neither is known while the thread runs.
        """
        if not self.running and self.front is None:
            self.inputs.capture_stages(into)
            return
        before, skip, rows = self._position()
        if before is not None:
            into[self.first : self.slot] = before
            into[self.slot] = self.node.State(rows, skip)
        elif not self.buffer.still:
            into[self.slot] = CHANGING
        else:
            self.inputs.capture_stages(into)
            waiting: list[Any] = []
            if self.front is not None and self.front.block is not None:
                waiting.append(self.front.block.slice(self.given, self.front.block.n))
            for item in self.buffer.items:
                waiting += [v for v in (item.block, item.error) if v is not None]
            into[self.slot] = self.node.State(tuple(waiting))

    def _position(self) -> tuple[list[Any] | None, int, tuple[Block, ...]]:
        """The states from which the next item is made, if they have been kept, the number of its rows that have been
        handed out, and the rows that come before it.
        """
        with self.buffer.lock:
            after = self.buffer.items[0].before if self.buffer.items else self.buffer.next_states
            if self.front is None:
                return after, 0, ()
            if self.front.block is not None and self.inputs.has_drawn_seeds(self.front.before, after):
                return after, 0, (self.front.block.slice(self.given, self.front.block.n),)
            return self.front.before, self.given, ()

    def pause(self, anyway: bool = False) -> bool:
        """Waits until the thread has paused between two blocks, until `resume`. Returns True without pausing it if the
        states that the consumer would resume from are known, unless it must pause `anyway`.
        """
        if not anyway and self._position()[0] is not None:
            return self.buffer.alive
        while (waiter := self.buffer.pause()) is not None:
            wait_for_item(waiter)
        return False

    def resume(self) -> None:
        """Ends `pause`."""
        self.buffer.resume()

    def stats(self) -> StepReport:
        """What the stage is like now, for a report."""
        counts = self.counts
        held = sum(item.size for item in self.buffer.items.copy())
        why, how = f"empty {counts.starved} of {counts.consumed + counts.starved} times", "thread"
        if not counts.threaded:
            each, how = counts.worked / max(1, counts.blocks), "alone"
            if each < 2 * WORTH_A_THREAD:
                why = f"a block takes {seconds_of(each)}, less than the overhead of a thread"
            else:
                why = "its consumer does nothing else meanwhile"
            why = why if counts.blocks else "not used yet"
        return StepReport(self.key, how, PREFETCH, buffer=self.sizing.depth, held=held, why=why)

    # The end.

    def cancel(self) -> None:
        """Wakes all waiters of this stage, to end them."""
        self.buffer.close()

    def finish(self) -> bool:
        """Waits briefly for the thread; returns False if it is stuck and will free its states itself, later."""
        self.cancel()
        thread = self.thread
        if thread is not None and not self.context.lost:
            wait_for([thread], self.context.until or monotonic() + PATIENCE)
        with self.buffer.lock:
            # A thread whose stage was garbage has not reported its end.
            stuck = self.buffer.alive and not self.context.lost and (thread is None or thread.is_alive())
            self.thread = None
            if not stuck:
                self.buffer.leave()
        if not stuck:
            self._empty()
        return not stuck

    def _empty(self) -> None:
        """Drops everything that is ready."""
        waiting = [*self.buffer.items, *filter(None, [self.front])]
        self.context.budget.add(-sum(item.size for item in waiting))
        self.front, self.given = None, 0
        self.buffer.items.clear()
        self.running = False

    def start(self) -> None:
        """Restarts the stage. Waits for the thread's current block, and drops what it made for the epoch before."""
        if self.thread is not None:
            self.cancel()
            while self.thread.is_alive():
                self.thread.join(PATIENCE)
                if self.context.closing:
                    raise Closing
        self._empty()
        self.buffer, self.thread = PrefetchBuffer(), None
        self.sizing.restarted()
        super().start()


def produce(of: weakref.ref[PrefetchStage]) -> None:
    """The thread's main loop. While it waits it holds no reference to the stage: an error that is kept may reference
    the frames of its thread, and through them the iterator, which must still be collectable.
    """
    while (stage := of()) is not None:
        waiter = stage.produce_more()
        del stage
        if waiter is None:
            return
        waiter.get()
