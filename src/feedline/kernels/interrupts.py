"""Ctrl-C, and other signals, at safe points only.

A signal handler may raise anywhere in the interpreter, and half-done work would be lost. Between `hold` and `release`
the main thread's handlers are deferred: to the next safe point (`check`), to the start of a user function or a wait
(`pause`), or to the release. Other threads are never interrupted; for them all this does nothing. A second signal more
than a second after one that is still deferred is delivered at once.

    before = hold()
    try:
        ...
    finally:
        release(before)
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from feedline.kernels import NATIVE

PATIENCE = 1.0
SIGNALS = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


class _Reference:
    """The implementation without C++: replaces the Ctrl-C handler with one in Python while signals are held."""

    def __init__(self) -> None:
        self.held, self.waiting, self.locked, self.since = False, False, False, 0.0
        self.behind: Any = None

    def guard(self, signals: list[int]) -> None:
        """Does nothing: no preparation is needed."""

    def hold(self) -> bool:
        """Defers handlers from now on. Returns True if they were deferred already, or in another thread."""
        if self.held or threading.current_thread() is not threading.main_thread():
            return True
        found = signal.getsignal(signal.SIGINT)
        if not callable(found):
            return True
        self.behind = found
        signal.signal(signal.SIGINT, self._note)
        self.held = True
        return False

    def _note(self, number: int, frame: object) -> None:
        if self.waiting and time.monotonic() - self.since > PATIENCE:
            self.waiting = False
            self.behind(number, frame)
        elif not self.waiting:
            self.waiting, self.since = True, time.monotonic()

    def release(self, before: bool) -> None:
        """Ends `hold`, given its result; a deferred handler runs now."""
        if before:
            return
        self.held = False
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self.behind)
        self._run_handler()

    def pause(self) -> bool:
        """Stops deferring handlers until `resume`, which takes the result."""
        if not self.held or self.locked or threading.current_thread() is not threading.main_thread():
            return False
        self.release(False)
        return True

    def lock(self) -> bool:
        """Disables `pause` while handlers are deferred. Returns whether this has changed anything."""
        if not self.held or self.locked or threading.current_thread() is not threading.main_thread():
            return False
        self.locked = True
        return True

    def unlock(self, before: bool) -> None:
        """Ends `lock`, given its result."""
        self.locked = self.locked and not before

    def resume(self, before: bool) -> None:
        """Ends `pause`, given its result."""
        if before:
            self.hold()

    def call_into(self, into: list[Any], function: Callable[[], Any]) -> None:
        """Calls a function without deferring handlers. Its result is in the list before a handler can raise."""
        before = self.pause()
        try:
            into.append(function())
        finally:
            self.resume(before)

    def check(self) -> None:
        """A safe point: a deferred handler runs now."""
        if self.waiting and not self.locked and threading.current_thread() is threading.main_thread():
            self._run_handler()

    def _run_handler(self) -> None:
        if self.waiting:
            self.waiting = False
            self.behind(signal.SIGINT, None)

    def forked(self) -> None:
        """Releases everything in a forked child."""
        self.waiting = self.locked = False
        if self.held:
            self.release(False)


if TYPE_CHECKING or not NATIVE:
    _reference = _Reference()
    _guard, hold, release = _reference.guard, _reference.hold, _reference.release
    pause, resume, check, _forked = _reference.pause, _reference.resume, _reference.check, _reference.forked
    call_into, lock, unlock = _reference.call_into, _reference.lock, _reference.unlock
else:
    from feedline.kernels._native import call_into, check, hold, lock, pause, release, resume, unlock
    from feedline.kernels._native import forked as _forked
    from feedline.kernels._native import guard as _guard

__all__ = [
    "call_into",
    "check",
    "guard",
    "hold",
    "lock",
    "pause",
    "paused",
    "release",
    "resume",
    "unlock",
    "wait_for_item",
]


def guard() -> None:
    """Makes the signals that this program handles deferrable. To be called from time to time, since a program may set
    handlers at any time.
    """
    if threading.current_thread() is threading.main_thread():
        _guard([s for s in SIGNALS if callable(signal.getsignal(s))])


@contextmanager
def paused() -> Iterator[None]:
    """Context manager: signals are not deferred, for work that may take long."""
    before = pause()
    try:
        yield
    finally:
        resume(before)


def wait_for_item(queue: SimpleQueue[None]) -> None:
    """Takes an item from a queue; an interrupt ends the wait."""
    with paused():
        queue.get()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
