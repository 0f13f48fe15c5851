"""The buffer between a prefetch thread and its consumer, and the states of that thread.

    NONE ──start──▶ WORKING ◀──room──▶ FULL
                      │ ▲
                      │ └──asked for more── HALTED   after an error, or before what only the consumer may do
                      │ ◀──resume────────── PAUSED   while a checkpoint is taken
                      ▼
                     GONE                            the end of the input, a switch to inline, or closing

Only the thread changes its state, always under the lock; others set the flags it reacts to (`pausing`, `closing`,
`halt`) and notify it. Both sides wait on one condition variable. It is made of queues, one per waiter, since a signal
handler that raises while a `threading.Condition` waits leaves it in an inconsistent state.
"""

from __future__ import annotations

import threading
from collections import deque
from enum import Enum, auto
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeAlias

from feedline.early import Early, working
from feedline.engine.context import Closing
from feedline.structure.block import Block

Waiter: TypeAlias = "SimpleQueue[None]"
"""A queue that gets an item when something has changed."""


class Producer(Enum):
    """The states of the prefetch thread."""

    NONE = auto()
    WORKING = auto()
    FULL = auto()
    HALTED = auto()
    PAUSED = auto()
    GONE = auto()


RESTING = frozenset({Producer.FULL, Producer.HALTED, Producer.PAUSED})
"""States in which the thread changes nothing; while `pausing` is set it does not leave them."""


class PrefetchItem:
    """One block, or an error, or the end (neither), with the states it was made from if they are cheap to keep."""

    __slots__ = ("before", "block", "error", "made", "size", "switch")

    def __init__(
        self, block: Block | None, error: BaseException | None, before: list[Any] | None, switch: bool = False
    ) -> None:
        self.block, self.error, self.before = block, error, before
        self.size = 0 if block is None else block.nbytes
        self.switch = switch  # whether the consumer makes what follows inline
        self.made = perf_counter()

    @property
    def last(self) -> bool:
        """Whether the thread makes nothing after this item."""
        return self.block is None and self.error is None


class PrefetchBuffer:
    """Blocks that are ready, in order. `next_states` are the input's states from which the next one is made, if known.
    """

    __slots__ = (
        "closing", "filled", "halt", "in_turn", "items", "lock", "next_states", "pausing", "producer", "waiters",
    )

    def __init__(self, next_states: list[Any] | None = None) -> None:
        self.lock = threading.RLock()  # a finalizer may take it again in the same thread
        self.waiters: list[Waiter] = []
        self.items: deque[PrefetchItem] = deque()
        self.next_states = next_states
        self.producer = Producer.NONE
        self.pausing = self.closing = False
        self.halt: Early | bool = False  # why the thread makes nothing until the consumer asks for more
        self.in_turn = False  # whether the iterator's consumer waits for the next item
        self.filled = False  # whether it has been full since the depth was changed

    @property
    def alive(self) -> bool:
        """Whether there is a thread."""
        return self.producer not in (Producer.NONE, Producer.GONE)

    @property
    def still(self) -> bool:
        """Whether no thread is changing the states of the input."""
        return not self.alive or (self.pausing and self.producer in RESTING)

    def add_waiter(self) -> Waiter:
        """A queue that gets an item at the next change; under the lock."""
        waiter: Waiter = SimpleQueue()
        self.waiters.append(waiter)
        return waiter

    def notify(self) -> None:
        """Wakes all waiters; under the lock."""
        if self.waiters:
            waiters, self.waiters = self.waiters, []
            for waiter in waiters:
                waiter.put(None)

    def watch(self, waiter: Waiter) -> None:
        """Notifies a waiter when something is ready, or when nothing will be until the consumer asks."""
        with self.lock:
            if self.items or self.closing or not self.alive:
                waiter.put(None)
            elif not self.halt:
                self.waiters.append(waiter)

    # The consumer's side.

    def take(self) -> PrefetchItem | Waiter:
        """The next item, or a waiter to wait on before trying again."""
        with self.lock:
            if self.items:
                return self.items.popleft()
            if self.closing or not self.alive:
                raise Closing
            if isinstance(self.halt, Early) and working.ahead:
                raise self.halt
            if self.halt:
                self.halt, self.in_turn = False, not working.ahead
            self.notify()  # an interrupt may have come between taking the last item and notifying
            return self.add_waiter()

    # The thread's side.

    def obstacle(self, depth: int, budget_left: int) -> Waiter | None:
        """The waiter that the thread must wait on before it makes more, if it must."""
        with self.lock:
            if self.closing:
                raise Closing
            if self.pausing:
                self.producer = self.producer if self.producer in RESTING else Producer.PAUSED
            elif self.halt:
                self.producer = Producer.HALTED
            elif not self.items or (len(self.items) < max(1, depth) and budget_left >= self.items[-1].size):
                self.producer = Producer.WORKING
                return None
            else:
                self.producer, self.filled = Producer.FULL, True
            self.notify()
            return self.add_waiter()

    def put(self, item: PrefetchItem | None, next_states: list[Any] | None) -> None:
        """Adds an item, if there is one, and the states from which the next one is made."""
        with self.lock:
            self.next_states = next_states
            if item is not None:
                self.items.append(item)
                self.halt, self.in_turn = item.error is not None, False
            self.notify()

    def leave(self) -> None:
        """Marks the thread as gone."""
        with self.lock:
            self.producer = Producer.GONE
            self.notify()

    # Either side.

    def pause(self) -> Waiter | None:
        """Asks the thread to pause; returns a waiter to wait on before asking again, None once it has paused."""
        with self.lock:
            self.pausing = self.alive
            if self.still:
                return None
            self.notify()
            return self.add_waiter()

    def resume(self) -> None:
        """Ends `pause`."""
        with self.lock:
            self.pausing = False
            self.notify()

    def close(self) -> None:
        """Wakes all waiters, to end them."""
        with self.lock:
            self.closing = True
            self.notify()
