"""Memory for large arrays that is used again: the system clears every page it hands out, which for a batch of images
takes longer than filling it.

An array made here is a view of a buffer that is kept. Once nobody holds the array, or any view of it, only the pool
refers to the buffer, and the next array of the same size gets it.

It begins and ends with a page: frameworks take memory that is aligned as it is, where they would copy other memory, and
drivers lock whole pages for devices to read.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.kernels.threads import allowed, spare_processors
from feedline.sharing import Guard

Array = np.ndarray[Any, Any]

LARGE = 1 << 20
"""Arrays of fewer bytes are left to the allocator."""
MAX_POOLED = 1 << 30
"""How many bytes are kept in all. What is in use counts; what does not fit is made and forgotten as usual."""


PAGE = 4096
MOST_THREADS = 8
"""Rows are gathered by no more; two or three take what the memory gives on most machines."""


_pooled: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()
"""The buffers that pools keep, or have kept, by id."""


class BufferPool:
    """Buffers by their size."""

    def __init__(self) -> None:
        self._by_size: dict[int, list[Array]] = {}
        self._total = 0
        self._trimming = False
        self._lock = Guard()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """As `np.empty`, in memory that may have been used before."""
        if _size(shape, dtype) < LARGE:
            return np.empty(shape, dtype)
        array = self.acquire(shape, dtype)
        return np.empty(shape, dtype) if array is None else array

    def acquire(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """The same, in memory that is kept for certain; None where no more may be."""
        size = _size(shape, dtype)
        with self._lock:
            buffer = next((b for b in self._by_size.get(size, ()) if sys.getrefcount(b) <= _UNUSED), None)
            if buffer is None:
                if self._total + size > MAX_POOLED:
                    return None
                buffer = self._allocate(-(-size // PAGE) * PAGE + PAGE)
                self._by_size.setdefault(size, []).append(buffer)
                _pooled[id(buffer)] = buffer
                self._total += size
        first = -address(buffer) % PAGE
        return buffer[first : first + size].view(dtype).reshape(shape)

    def _allocate(self, size: int) -> Array:
        return np.empty(size, np.uint8)

    @staticmethod
    def pages(array: Array) -> tuple[Array, int, int] | None:
        """The buffer that an array made here, or a view of one, lies in, and where its whole pages begin and how many
        bytes they have. None where the memory is not one that is kept.
        """
        buffer = _pooled.get(id(array.base))
        if buffer is None or buffer is not array.base:
            return None
        first = address(buffer)
        return buffer, first + -first % PAGE, (buffer.nbytes // PAGE - 1) * PAGE

    def forget(self) -> None:
        """Nothing that is in use now is used again."""
        with self._lock:
            self._by_size, self._total = {}, 0

    def trim(self) -> None:
        """Frees what nobody uses."""
        with self._lock:
            if self._trimming:  # garbage has been collected in the middle of this
                return
            self._trimming = True
            try:
                for size, buffers in list(self._by_size.items()):
                    used = [b for b in buffers if sys.getrefcount(b) > _UNUSED]
                    if used:
                        self._by_size[size] = used
                    else:
                        self._by_size.pop(size, None)
                self._total = sum(size * len(buffers) for size, buffers in list(self._by_size.items()))
            finally:
                self._trimming = False

    @property
    def held(self) -> int:
        """How many bytes are kept, in use or not."""
        return self._total


def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def address(array: Array) -> int:
    """Where the first byte of an array lies."""
    return int(array.__array_interface__["data"][0])


def _unused() -> int:
    """How many references `empty` sees on a buffer that only the pool holds."""
    kept = [np.empty(1, np.uint8)]
    return next(sys.getrefcount(b) for b in kept)


_UNUSED = _unused()
buffers = BufferPool()


def copy_array(array: Array) -> Array:
    """As `array.copy()`."""
    if array.dtype.hasobject or array.nbytes < LARGE:
        return array.copy()
    out = buffers.empty(array.shape, array.dtype)
    np.copyto(out, array)
    return out


def take_array(array: Array, index: Array) -> Array:
    """As `array.take(index, axis=0)`."""
    if array.dtype.hasobject or len(index) * array[:1].nbytes < LARGE:
        return array.take(index, axis=0)
    first, last = index.min(), index.max()
    if first < -len(array) or last >= len(array):
        return array.take(index, axis=0)  # which says what is wrong
    out = buffers.empty((len(index), *array.shape[1:]), array.dtype)
    if first >= 0 and array.flags.c_contiguous:
        numbers = np.ascontiguousarray(index, np.int64)
        return kernels.gather_rows(array, numbers, out, allowed(max(1, min(MOST_THREADS, spare_processors()))))
    # NumPy writes straight into `out` only in the modes that never fail.
    return np.take(array, index, axis=0, out=out, mode="wrap")


def concatenate(arrays: Sequence[Array]) -> Array:
    """As `np.concatenate` for arrays of one dtype and equal shapes but for the first dimension."""
    first = arrays[0]
    rows = sum(len(a) for a in arrays)
    if first.dtype.hasobject or rows * first[:1].nbytes < LARGE:
        return np.concatenate(arrays)
    out = buffers.empty((rows, *first.shape[1:]), first.dtype)
    return np.concatenate(arrays, out=out)
