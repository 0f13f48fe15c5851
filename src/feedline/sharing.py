"""Thread-safe cached properties, and locks that survive a fork.

Python's own are not enough. Its `cached_property` holds, up to Python 3.11, one lock for all objects of a class during
the computation: if that calls a user function which waits for threads that need the value of another object, there is a
deadlock. And a lock that is held while a program forks stays locked in the child for ever.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

WITH_GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether Python has a GIL."""

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """A property that is computed on first access. Threads that access it at once may all compute it; the first
        result is kept.
        """

        def __init__(self, function: object) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, owner: object, kind: type | None = None) -> Any:
            if owner is None:
                return self
            value = self.function(owner)  # once it is in `__dict__`, Python does not call `__get__` any more
            return owner.__dict__.setdefault(self.name, value)


class Guard:
    """A lock. It is reentrant, since garbage may be collected while it is held, and finalizers may want it, too. In a
    forked child it is released unless the forking thread holds it: the other threads do not exist there.

    >>> from feedline.sharing import Guard
    >>> guard = Guard()
    >>> with guard, guard:
    ...     pass
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _guards.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def open_in_child(self) -> None:
        """Replaces the lock in a forked child if another thread held it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


def _after_fork() -> None:
    for guard in list(_guards):
        guard.open_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
