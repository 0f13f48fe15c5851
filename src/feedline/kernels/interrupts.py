"""Ctrl-C, and other signals, at safe points only.

A signal's handler may raise wherever the interpreter happens to be, and what is half done then is lost. While the main
thread is held here, handlers wait: for the next safe point (`check`), until a function of the user's or a wait begins
(`pause`), or until it is released. Other threads are never interrupted; for them all this does nothing. A second signal
that comes more than a second after one that still waits does not wait.

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
    """The same without C++: a handler of Python's own, in place of that for Ctrl-C while the main thread is held."""

    def __init__(self) -> None:
        self.held, self.waiting, self.locked, self.since = False, False, False, 0.0
        self.behind: Any = None

    def guard(self, signals: list[int]) -> None:
        """Nothing is needed beforehand."""

    def hold(self) -> bool:
        """Handlers wait from now on; whether they did before, or this is another thread."""
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
        """The opposite of `hold`, given what that said; what has waited happens now."""
        if before:
            return
        self.held = False
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self.behind)
        self._tell()

    def pause(self) -> bool:
        """Handlers do not wait until `resume` is given what this says."""
        if not self.held or self.locked or threading.current_thread() is not threading.main_thread():
            return False
        self.release(False)
        return True

    def lock(self) -> bool:
        """From now on `pause` does nothing, where handlers wait; whether this has changed anything."""
        if not self.held or self.locked or threading.current_thread() is not threading.main_thread():
            return False
        self.locked = True
        return True

    def unlock(self, before: bool) -> None:
        """The opposite of `lock`, given what that said."""
        self.locked = self.locked and not before

    def resume(self, before: bool) -> None:
        """The opposite of `pause`."""
        if before:
            self.hold()

    def call_into(self, into: list[Any], function: Callable[[], Any]) -> None:
        """Calls a function with handlers not waiting. What it gives is in the list before one can come up."""
        before = self.pause()
        try:
            into.append(function())
        finally:
            self.resume(before)

    def check(self) -> None:
        """A safe point: what has waited happens now."""
        if self.waiting and not self.locked and threading.current_thread() is threading.main_thread():
            self._tell()

    def _tell(self) -> None:
        if self.waiting:
            self.waiting = False
            self.behind(signal.SIGINT, None)

    def forked(self) -> None:
        """In a child process nobody holds it."""
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
    "wait_for_word",
]


def guard() -> None:
    """Sees to it that the signals which this program handles can wait: to be called now and then, since a program may
    set handlers at any time.
    """
    if threading.current_thread() is threading.main_thread():
        _guard([s for s in SIGNALS if callable(signal.getsignal(s))])


@contextmanager
def paused() -> Iterator[None]:
    """Within it, signals do not wait: for what may take long."""
    before = pause()
    try:
        yield
    finally:
        resume(before)


def wait_for_word(queue: SimpleQueue[None]) -> None:
    """Takes a word from a queue; an interrupt ends the waiting."""
    with paused():
        queue.get()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
