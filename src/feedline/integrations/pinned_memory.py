"""Pinned memory, from which a GPU copies without help of the processor.

A GPU copies at the full speed of its link only from page-locked memory, which the system promises not to move. Other
memory must first be copied to such pages, which takes longer than the transfer. Locking takes about as long as copying,
so it pays for memory that is reused: that of the buffer pool, in which batches are assembled, and large arrays that are
sent a second time, as in the next epoch over a cache.
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
"""The most bytes to lock in arrays outside the buffer pool."""


class Driver(NamedTuple):
    """Locks pages, given an array, the address of its pages and their size; and unlocks them."""

    lock: Callable[[Array, int, int], bool]
    unlock: Callable[[int], Any]


class PinnedMemory:
    """The memory pinned in this process, by any driver: drivers cannot lock twice, and use what another has locked.
    Each buffer is locked once and unlocked when its memory is freed.
    """

    def __init__(self) -> None:
        self._sent: dict[int, int] = {}  # bytes copied from a buffer, by its id
        self._by: dict[int, Driver | None] = {}  # the driver that has locked it; None if none could
        self._total = 0
        self._guard = threading.RLock()

    def holds(self, array: Array, driver: Driver) -> bool:
        """Whether the array's memory is pinned; pins it if that pays."""
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
            if foreign and sent < size:  # it is sent for the first time
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
    """Whether a process keeps the pages that devices read when it forks. With Linux before 5.12 the device may be left
    with pages the process no longer has.
    """
    found = re.match(r"(\d+)\.(\d+)", os.uname().release) if hasattr(os, "uname") else None
    return found is not None and os.uname().sysname == "Linux" and (int(found[1]), int(found[2])) >= (5, 12)


class PendingCopies:
    """The copies that a device is still making, and the memory they read."""

    def __init__(self) -> None:
        self._copies: deque[tuple[Any, Any]] = deque()

    def add(self, done: object, read: object) -> None:
        """Records a copy in progress that reads `read`; `done` is its event."""
        self._copies.append((done, read))

    def wait(self, most: int) -> None:
        """Waits until at most `most` copies are in progress."""
        while len(self._copies) > most:
            self._copies[0][0].synchronize()
            self._copies.popleft()


class _Alias:
    """An array's memory, presented as writeable."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address(array), False)}


def readable(array: Array) -> Array:
    """A writeable view of a read-only array, for libraries that reject read-only buffers. Do not write to it."""
    return array if array.flags.writeable else np.asarray(_Alias(array))
