"""Memory that a GPU reads by itself.

A GPU copies from memory at the full speed of its link where the pages are locked, that is, where the system has
promised not to move them. From other memory somebody must copy first, which takes longer than sending it. Locking takes
about as long as copying, so it pays for memory that is used again: that of the buffer pool, which batches are put
together in, and large arrays that come by a second time, as in the next epoch over a cache.
"""

from __future__ import annotations

import functools
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feedline.structure.buffer_pool import address, buffers

Array = np.ndarray[Any, Any]

MOST = 16 << 30
"""How many bytes of others' arrays are locked at most."""


class Driver(NamedTuple):
    """What locks pages, given an array, the address of its pages and their size; and what unlocks them again."""

    lock: Callable[[Array, int, int], bool]
    unlock: Callable[[int], Any]


class PinnedMemory:
    """What is locked in this process, by whichever driver: they do not lock twice, and use what others have locked.
    Each buffer is locked once and unlocked when its memory is freed.
    """

    def __init__(self) -> None:
        self._sent: dict[int, int] = {}  # bytes that were copied from a buffer, by its id
        self._by: dict[int, Driver | None] = {}  # who has locked it; None where nobody could
        self._total = 0
        self._guard = threading.RLock()

    def holds(self, array: Array, driver: Driver) -> bool:
        """True where the array's memory is locked, now if not before."""
        owner = array if array.base is None else array.base
        if id(owner) in self._by:
            return self._by[id(owner)] is not None
        pages = buffers.pages(array)
        if pages is not None:
            return self._locked(pages, driver)
        if type(owner) is not np.ndarray or not owner.flags.owndata:
            return False
        return self._locked((owner, address(owner), owner.nbytes), driver, array.nbytes)

    def _locked(self, pages: tuple[Array, int, int], driver: Driver, foreign: int = 0) -> bool:
        buffer, first, size = pages
        key = id(buffer)
        with self._guard:
            if key in self._by:
                return self._by[key] is not None
            sent = self._sent.get(key)
            if sent is None:
                sent = self._sent[key] = 0
                weakref.finalize(buffer, self._freed, key, first, size if foreign else 0).atexit = False
            if foreign and sent < size:  # it comes by for the first time
                self._sent[key] = sent + foreign
                return False
            may = forks_safely() and (not foreign or self._total + size <= MOST)
            done = may and driver.lock(buffer, first, size)
            self._by[key] = driver if done else None
            self._total += size if done and foreign else 0
            return done

    def _freed(self, key: int, first: int, foreign: int) -> None:
        with self._guard:
            self._sent.pop(key)
            driver = self._by.pop(key, None)
            if driver is not None:
                self._total -= foreign
                driver.unlock(first)


locked = PinnedMemory()


@functools.cache
def forks_safely() -> bool:
    """True where a process that forks keeps the pages that devices read. Linux before 5.12 may leave the device with
    pages that the process has no longer.
    """
    found = re.match(r"(\d+)\.(\d+)", os.uname().release) if hasattr(os, "uname") else None
    return found is not None and os.uname().sysname == "Linux" and (int(found[1]), int(found[2])) >= (5, 12)


class PendingCopies:
    """The copies that a device is still making, and what they read."""

    def __init__(self) -> None:
        self._copies: deque[tuple[Any, Any]] = deque()

    def add(self, done: object, read: object) -> None:
        """A copy has been started that reads `read`; `done` is its event."""
        self._copies.append((done, read))

    def wait(self, most: int) -> None:
        """Waits until there are no more than so many."""
        while len(self._copies) > most:
            self._copies[0][0].synchronize()
            self._copies.popleft()


class _Alias:
    """An array's memory, as if it could be written to."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address(array), False)}


def readable(array: Array) -> Array:
    """The array for those who only read it but do not take memory that must not be written to."""
    return array if array.flags.writeable else np.asarray(_Alias(array))
