"""A node that makes rows ready before they are asked for.

As long as making rows takes no longer than handing them over would, nothing happens in the background: the consumer
runs what is below by itself. Otherwise a thread does, and puts what it made, with the states it started from, into a
queue.

Where the thread comes to something that all iterators of a dataset share (the seeds of the next epoch), it stands still
before it until the consumer has come there too: an iterator that is left early has taken nothing it did not need.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from functools import partial
from math import inf
from queue import SimpleQueue
from time import monotonic, perf_counter, sleep
from typing import Any

from feedline.early import Early, working
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
from feedline.engine.prefetch_depth import LARGEST_ROWS, PrefetchSizing
from feedline.engine.prefetch_item import PrefetchItem
from feedline.engine.prefetch_thread import produce
from feedline.engine.report import Stage, why_alone
from feedline.kernels.interrupts import check, wait_for_word
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.structure.block import Block

WORTH_A_THREAD = 100e-6
"""Seconds per block from which on a thread makes them, and as many more as its bytes take to another cache."""
CROSSING = 8e9  # bytes per second
FAST = 2e8
"""Where blocks come at so many bytes per second, one that takes long may be the time it takes to begin, or that of
somebody else. Those in a row that are worth a thread must take so many seconds together:"""
CERTAIN = 20e-3
NOT_WORTH_IT = 20e-6
CHEAP_BLOCKS = 256
"""So many blocks in a row that take less than `NOT_WORTH_IT` each end the thread."""
DEEPEST = 64
SLACK = 0.2
"""The share of the time that elements wait in a full buffer which a thread with slack lets pass before it goes on."""
LONGEST_SLACK = 0.1


class PrefetchStage(PrefetchSizing):
    """A node whose rows may be made ready by a thread."""

    __slots__ = (
        "alive", "asked", "began", "blocked", "blocks", "cheap", "closing", "consumer_waits", "copyable", "eager",
        "filled", "front", "given", "go_on", "halted", "items", "left", "lock", "parked", "parked_now", "pausing",
        "ready", "room", "running", "slack", "slow_down", "slow_seconds", "starved", "starving", "thread", "threaded",
        "waited", "watcher", "worked",
    )
    inputs: Input

    def __init__(self, run: Any, node: Node, first: int, slot: int, inputs: Any) -> None:
        super().__init__(run, node, first, slot, inputs)
        self.copyable = run.is_copyable(inputs)
        self.eager = forced.mode is not None  # always uses a thread
        self.slack = False  # gives the consumer a moment alone before it goes on
        self.slow_down = 0.0
        self.threaded, self.lock = False, threading.RLock()  # whether a thread makes the rows, or made those there were
        self.blocks = 0
        self.worked = self.waited = self.slow_seconds = 0.0
        self.left = -inf  # when the consumer left with the last block
        self.starved = self.asked = 0
        self._reset()
        self.context.stages.add(self)

    def _reset(self) -> None:
        self.running = self.alive = self.closing = self.pausing = self.parked_now = False
        self.blocked = self.starving = self.filled = False
        self.halted: Early | bool = False  # after an error, or before what is not its turn, until it is asked for more
        self.consumer_waits = False  # whether the consumer of all waits for what is made now
        self.front: PrefetchItem | None = None
        self.given = self.cheap = 0
        self.items: deque[PrefetchItem] = deque()
        self.began: list[Any] | None = None
        self.thread: threading.Thread | None = None
        self.watcher: SimpleQueue[None] | None = None

    # The consumer's side.

    def __call__(self, want: int) -> Block | None:
        """What is ready, up to `want` rows; waits for it if nothing is."""
        if blocks.cap is not None:
            want = min(want, blocks.cap)
        check()
        item = self.front
        if item is None:
            if not self.running:
                return self._inline(want)
            item = self._next()
            if item.switch or (item.block is None and item.error is None):
                self.running, self.threaded = False, not item.switch
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
        """True when rows, or the end, can be had without waiting and without taking what others share."""
        return self.front is not None or (self.running and len(self.items) > 0)

    def watch(self, watcher: SimpleQueue[None]) -> None:
        """Has a word put into a queue when something is ready, or nothing will be without being asked for."""
        with self.lock:
            if self.items or not (self.running and self.alive) or self.closing:
                watcher.put(None)
            elif not self.halted:
                self.watcher = watcher

    def _inline(self, want: int) -> Block | None:
        if (
            not (self.run.path and self.may_read_ahead)
            and closable_by_others()
            and self.states[self.slot] == self.node.State()
        ):
            self.start_thread()
            if self.running:
                return self(want)
        if not self.may_read_ahead and self.node.ahead != AUTOTUNE:
            want = min(want, self.depth + 1)  # nobody wants to see effects further ahead
        began = perf_counter()
        away = began - self.left
        block = super().__call__(want)
        self.left = perf_counter()
        seconds = self.left - began
        if block is None or not block.n:
            return block
        self.blocks, self.worked = self.blocks + 1, self.worked + seconds
        if self._should_start_thread(block, seconds, away) and self.states[self.slot] == self.node.State():
            if self.may_read_ahead:  # what was asked for at once so far may be made at once in the background
                self.rows = max(1, min(block.n, LARGEST_ROWS, self.largest * block.n // max(1, block.nbytes)))
            self.start_thread()
        return block

    def _should_start_thread(self, block: Block, seconds: float, away: float) -> bool:
        """Whether it pays to make a block that took so long while the consumer is away, who was so long."""
        if self.eager:
            return True
        cost = WORTH_A_THREAD + block.nbytes / CROSSING
        if min(seconds, away) <= cost and seconds <= 2 * cost:
            self.slow_seconds = 0.0
            return False
        self.slow_seconds += seconds
        return self.slow_seconds > CERTAIN or block.nbytes < FAST * seconds

    def start_thread(self) -> None:
        """From now on a thread makes the rows."""
        if self.running or self.node.ahead is None or self.context.closing:
            return
        if self.thread is not None:
            self.thread.join()  # the last one has nothing to do any more, but may not be out of the door yet
        self._reset()
        self.began = self.inputs.copy() if self.copyable else None
        self.ready: SimpleQueue[None] = SimpleQueue()
        self.room: SimpleQueue[None] = SimpleQueue()
        self.parked: SimpleQueue[None] = SimpleQueue()
        self.go_on: SimpleQueue[None] = SimpleQueue()
        self.thread = worker = self.context.worker(partial(produce, weakref.ref(self)), "prefetch")
        self.running = self.alive = self.threaded = True
        try:
            self.context.start(worker)
        except BaseException as e:
            if worker.cancelled():
                self.running, self.alive, self.threaded, self.thread = False, False, False, None
            if not isinstance(e, NoThreadLeft):
                raise

    def _next(self) -> PrefetchItem:
        item = self._ready_item()
        if item is None:
            self.context.check()
            began = perf_counter()
            while item is None:
                wait_for_word(self.ready)
                item = self._ready_item()
            self.waited += perf_counter() - began
            self._starved()
        if item.block is None:
            self._consumed(item)
        return item

    def _ready_item(self) -> PrefetchItem | None:
        """The next item; where there is none the thread is told to say when there is."""
        with self.lock:
            if self.items:
                return self.items.popleft()
            if self.closing or not self.alive:
                raise Closing
            if isinstance(self.halted, Early) and working.ahead:
                raise self.halted
            if self.halted:
                self.halted, self.consumer_waits = False, not working.ahead
            self.starving = True
            self._make_room()  # an interrupt may have come between taking the last item and telling so
        return None

    def _consumed(self, item: PrefetchItem) -> None:
        self.context.budget.add(-item.size)
        if self.slack:
            self.slow_down = min(SLACK * (perf_counter() - item.made), LONGEST_SLACK)
        with self.lock:
            self.asked += 1
            self._make_room()

    def _make_room(self) -> None:
        """Wakes the thread where it waits for room; under the lock."""
        if self.blocked:
            self.blocked = False
            self.room.put(None)

    def _starved(self) -> None:
        """Nothing was ready. Where the queue has been full meanwhile, a longer one would have helped."""
        self.starved += 1
        if self.filled and self.node.ahead == AUTOTUNE and not (self.context.settings.chosen or {}).get(self.key):
            self.filled = False
            if self.context.settings.tuned:
                self.depth = min(2 * self.depth, DEEPEST)

    # The thread's side.

    def produce_more(self, after: SimpleQueue[None] | None) -> SimpleQueue[None] | None:
        """Makes rows until there is no room for more; gives what has to be waited for then, None at the end. `after` is
        what has been waited for.
        """
        waits: SimpleQueue[None] | None = None
        try:
            if self.slack and after is not None and after is self.room and not self.closing:
                sleep(self.slow_down)
            over = False
            while not over and (waits := self._wait_reason()) is None:
                item = self._make()
                over = item is not None and item.block is None and item.error is None
                self._put(item)
                if self.cheap > CHEAP_BLOCKS and single_threaded():
                    self._put(PrefetchItem.switching(self.began))
                    over = True
        except Closing:
            waits = None
        finally:
            if waits is None:
                self._thread_exit()
        return waits

    def _put(self, item: PrefetchItem | None) -> None:
        """Queues an item, and notes from which states the next one will be made."""
        began = self.inputs.copy() if self.copyable else None
        if item is not None:
            self.context.budget.add(item.size)
        with self.lock:
            self.began = began
            if item is not None:
                self.items.append(item)
                self.halted, self.consumer_waits = item.error is not None, False
            elif not self.halted:
                return
            if self.starving:
                self.starving = False
                self.ready.put(None)
            self._tell()

    def _tell(self) -> None:
        """Tells the one who waits for something to be ready; under the lock."""
        if self.watcher is not None:
            self.watcher.put(None)
            self.watcher = None

    def _thread_exit(self) -> None:
        """The thread ends: those who wait for it are told; where they have gone already, it frees what it used."""
        with self.lock:
            self.alive = False
            self.parked.put(None)
            self.ready.put(None)
            self._tell()
            abandoned = self.closing and self.thread is None
        if abandoned:
            self.run.free(self.first, self.slot)

    def _wait_reason(self) -> SimpleQueue[None] | None:
        """What has to be waited for before more is made, if anything."""
        with self.lock:
            if self.closing or self.context.closing:
                raise Closing
            self.parked_now = self.pausing
            if self.pausing:
                self.parked.put(None)
                return self.go_on
            queued = len(self.items)
            if self.halted:
                self.blocked = True
                return self.room
            if queued == 0 or (queued < max(1, self._max_blocks()) and self.context.budget.left >= self.items[-1].size):
                return None
            self.filled = True
            self.blocked = True
            return self.room

    def _make(self) -> PrefetchItem | None:
        """The next block or error; None where there is nothing yet."""
        began = perf_counter()
        working.ahead = not self.consumer_waits
        try:
            block = self.inputs(self.rows)
        except Closing:
            raise
        except Early as e:
            self.halted = e.with_traceback(None)
            return None
        except BaseException as e:  # SystemExit, too, belongs to the consumer
            return PrefetchItem(None, e, self.began)
        seconds = perf_counter() - began
        if block is not None:
            if not block.n:
                return None
            self.blocks, self.worked = self.blocks + 1, self.worked + seconds
            self.cheap = self.cheap + 1 if seconds < NOT_WORTH_IT and not self.eager else 0
            self._change_rows(block, seconds)
        return PrefetchItem(block, None, self.began)

    # Checkpoints.

    def capture_stages(self, into: list[Any]) -> None:
        """The states from which the rows that are ready, but not handed on, would be made again; or the states that the
        thread left behind when it was paused, and the rows themselves. Neither is to be had while it runs.
        """
        if not self.running and self.front is None:
            self.inputs.capture_stages(into)
            return
        before, skip, rows = self._position()
        if before is not None:
            into[self.first : self.slot] = before
            into[self.slot] = self.node.State(rows, skip)
        elif self.alive and not self.parked_now:
            into[self.slot] = CHANGING
        else:
            self.inputs.capture_stages(into)
            waiting: list[Any] = []
            if self.front is not None and self.front.block is not None:
                waiting.append(self.front.block.slice(self.given, self.front.block.n))
            for item in self.items:
                waiting += [v for v in (item.block, item.error) if v is not None]
            into[self.slot] = self.node.State(tuple(waiting))

    def _position(self) -> tuple[list[Any] | None, int, tuple[Block, ...]]:
        """The states that what comes next is made from, if they have been kept, how many rows of it have been handed
        on, and rows that come before it.
        """
        with self.lock:
            after = self.items[0].before if self.items else self.began
            if self.front is None:
                return after, 0, ()
            if self.front.block is not None and self.inputs.has_drawn_seeds(self.front.before, after):
                return after, 0, (self.front.block.slice(self.given, self.front.block.n),)
            return self.front.before, self.given, ()

    def pause(self, anyway: bool = False) -> bool:
        """Returns when the thread stands still between two blocks; `resume` lets it go on. True where it need not stand
        still and does not: the states that the consumer would go on from are known.
        """
        with self.lock:
            self.pausing = self.alive and (anyway or self._position()[0] is None)
            if not self.pausing:
                return self.alive
            self._make_room()
        while self.alive and not self.parked_now:
            wait_for_word(self.parked)
        return False

    def resume(self) -> None:
        """The opposite of `pause`."""
        with self.lock:
            if self.pausing and self.alive:
                self.go_on.put(None)
            self.pausing = self.parked_now = False

    def stats(self) -> Stage:
        """For reports."""
        how, held = "thread" if self.threaded else "alone", sum(item.size for item in self.items.copy())
        why = f"{self.starved} of {self.asked + self.starved} times nothing was ready"
        why = why if self.threaded else why_alone(self.worked, self.blocks)
        return Stage(self.key, how, None, self.depth, self.worked, self.waited, held, why)

    # The end.

    def cancel(self) -> None:
        """Wakes all who wait for or in this stage, to their end."""
        with self.lock:
            self.closing = True
            if not self.alive:
                return
            self.ready.put(None)
            self._make_room()
            if self.pausing:
                self.go_on.put(None)

    def finish(self) -> bool:
        """Waits a moment for the thread; False where it is stuck and will free its states by itself, later."""
        self.cancel()
        thread = self.thread
        if thread is not None and not self.context.lost:
            wait_for([thread], self.context.until or monotonic() + PATIENCE)
        with self.lock:
            # One whose stage was garbage has not said that it ends.
            stuck = self.alive and not self.context.lost and (thread is None or thread.is_alive())
            self.alive, self.thread = stuck, None
        if not stuck:
            self._empty()
        return not stuck

    def _empty(self) -> None:
        """Nobody is interested in what has been made ready."""
        waiting = [*self.items, *filter(None, [self.front])]
        self.context.budget.add(-sum(item.size for item in waiting))
        self.front, self.given = None, 0
        self.items.clear()
        self.running = False

    def start(self) -> None:
        """Starts anew. What a thread has made ready for the epoch before goes; what it does just now is waited for."""
        if self.thread is not None:
            self.cancel()
            while self.thread.is_alive():
                self.thread.join(PATIENCE)
                if self.context.closing:
                    raise Closing
        self._empty()
        self._reset()
        super().start()
