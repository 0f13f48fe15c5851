"""Tasks and results as objects of Ray's store.

A value is a pickle without its arrays, and those arrays, which Ray stores as they are and gives back without a copy.

Ray's objects are read-only, since several processes may read them. A result has one reader: the consumer whose task it
is, which gets it once. So its arrays are made writeable where they lie, and a batch belongs to the user as everywhere
else. The store's memory is freed with the last view of it. If the user keeps more than a share of the store, results
are copied out of it.
"""

from __future__ import annotations

import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.engine.serialization import dumps
from feedline.structure.block import Array
from feedline.structure.buffer_pool import buffers

SMALL = 1 << 16
"""Arrays with fewer bytes than this are copied out of an object."""
SHARE = 0.5
"""The share of the store on this machine that the objects of one pool may take."""

Parcel = tuple[bytes, list[Array]]
"""A pickle, and the bytes of the arrays in it."""


def wrap(value: tuple[Any, ...]) -> Parcel:
    """Values as a parcel; their arrays are not copied."""
    found: list[pickle.PickleBuffer] = []
    head = dumps(value, buffer_callback=found.append)
    return head, [np.frombuffer(b.raw(), np.uint8) for b in found]


def unwrap(parcel: Parcel) -> tuple[Any, ...]:
    """The values of a parcel, with copies of the arrays, which a function may change."""
    head, arrays = parcel
    values: tuple[Any, ...] = pickle.loads(head, buffers=[np.array(a) for a in arrays])
    return values


def parcel_bytes(parcel: Parcel) -> int:
    """The bytes of a parcel."""
    head, arrays = parcel
    return len(head) + sum(array.nbytes for array in arrays)


class StoreMemory:
    """The bytes of the store that a pool's objects take: tasks, with rows that have no address and with results, on
    their way, and results that are still in use.
    """

    def __init__(self, size: float, freed: Callable[[], None]) -> None:
        self.limit = size * SHARE
        self.expected = 0  # tasks on their way
        self.held = 0  # results in use
        self.copied = 0  # results that were copied out of the store
        self._lock = threading.RLock()  # garbage may be collected, and memory released, at any moment
        self._freed = freed

    def has_room(self, size: int) -> bool:
        """Whether a task of this size may be sent. One may always be."""
        return not self.expected or self.held + self.expected + size <= self.limit

    def expect(self, size: int) -> None:
        """Adds a task on its way, or, if negative, removes it."""
        with self._lock:
            self.expected += size

    def open(self, parcel: Parcel) -> tuple[Any, ...]:
        """The values of a result, whose arrays stay in the store unless the user keeps too many."""
        head, arrays = parcel
        values: tuple[Any, ...] = pickle.loads(head, buffers=[self._own(a) for a in arrays])
        return values

    def _own(self, array: Array) -> Array:
        size = array.nbytes
        if size < SMALL:
            return array.copy()
        if self.held + size > self.limit / 2 or not writeable_pages(array):
            self.copied += 1
            found = buffers.empty(array.shape, array.dtype)
            np.copyto(found, array)
            return found
        lent = Lent(array)
        with self._lock:
            self.held += size
        weakref.finalize(lent, self._release, size).atexit = False
        return np.asarray(lent)

    def _release(self, size: int) -> None:
        with self._lock:
            self.held -= size
        self._freed()


class Lent:
    """Memory of an object, as NumPy takes it: writeable, and in use as long as a view of it is."""

    __slots__ = ("__array_interface__", "__weakref__", "_array")

    def __init__(self, array: Array) -> None:
        self._array = array
        at, _ = array.__array_interface__["data"]
        self.__array_interface__ = {"shape": array.shape, "typestr": "|u1", "data": (at, False), "version": 3}


_known: list[tuple[int, int]] = []
"""The address ranges of Ray's stores that are mapped for writing."""


def writeable_pages(array: Array) -> bool:
    """Whether the memory of an array may be written to: Ray maps its store for reading and writing, on Linux."""
    if sys.platform != "linux":
        return False
    start = array.ctypes.data
    end = start + array.nbytes
    if any(low <= start and end <= high for low, high in _known):
        return True
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, flags, *_ = line.split(None, 5)
            low, high = (int(v, 16) for v in span.split("-"))
            if low <= start and end <= high:
                if flags.startswith("rw") and "plasma" in line:
                    _known.append((low, high))
                return flags.startswith("rw")
    return False
