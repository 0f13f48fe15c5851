"""Buffer pool for large arrays: the system clears every new page, which for a batch of images takes longer than filling
it.

An array made here is a view of a pooled buffer. Once neither the array nor a view of it is in use, the pool holds the
only reference to the buffer, and the next array of the same size gets it.

The memory is page-aligned: frameworks use aligned memory without a copy, and drivers pin whole pages for devices to
read.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.kernels.threads import team
from feedline.sharing import Guard

Array = np.ndarray[Any, Any]

LARGE = 1 << 20
"""Smaller arrays, in bytes, are left to the allocator."""
MAX_POOLED = 1 << 30
"""The most bytes that are pooled, including those in use; beyond that, arrays are allocated and freed as usual."""


PAGE = 4096


_pooled: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()
"""The buffers that pools hold, or have held, by id."""


class BufferPool:
    """Reusable buffers, by size."""

    def __init__(self) -> None:
        self._by_size: dict[int, list[Array]] = {}
        self._total = 0
        self._trimming = False
        self._lock = Guard()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """`np.empty`, in memory that may have been used before."""
        if _size(shape, dtype) < LARGE:
            return np.empty(shape, dtype)
        array = self.acquire(shape, dtype)
        return np.empty(shape, dtype) if array is None else array

    def acquire(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """`empty`, always in a pooled buffer; None if the pool is full."""
        size = _size(shape, dtype)
        room = _size_class(size)
        with self._lock:
            buffer = next((b for b in self._by_size.get(room, ()) if sys.getrefcount(b) <= _UNUSED), None)
            if buffer is None:
                if self._total + room > MAX_POOLED:
                    return None
                buffer = self._allocate(room + PAGE)
                self._by_size.setdefault(room, []).append(buffer)
                _pooled[id(buffer)] = buffer
                self._total += room
        first = -address(buffer) % PAGE
        return buffer[first : first + size].view(dtype).reshape(shape)

    def _allocate(self, size: int) -> Array:
        return np.empty(size, np.uint8)

    @staticmethod
    def pages(array: Array) -> tuple[Array, int, int] | None:
        """The buffer that a pooled array, or a view of one, lies in, with the address and the size in bytes of its
        whole pages. None if the memory is not pooled.
        """
        buffer = _pooled.get(id(array.base))
        if buffer is None or buffer is not array.base:
            return None
        first = address(buffer)
        return buffer, first + -first % PAGE, (buffer.nbytes // PAGE - 1) * PAGE

    def forget(self) -> None:
        """Empties the pool; buffers in use are not reused."""
        with self._lock:
            self._by_size, self._total = {}, 0

    def trim(self) -> None:
        """Frees the unused buffers."""
        with self._lock:
            if self._trimming:  # the garbage collector has closed an iterator during a trim
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
        """How many bytes are pooled, in use or not."""
        return self._total


def _size_class(size: int) -> int:
    """The size of the buffer for so many bytes, in whole pages: one of eight between a power of two and the next, so
    that blocks of almost the same size share buffers.
    """
    step = max(PAGE, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step


def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def address(array: Array) -> int:
    """The address of an array's first byte."""
    return int(array.__array_interface__["data"][0])


def _unused() -> int:
    """The reference count that `acquire` sees on an unused buffer."""
    kept = [np.empty(1, np.uint8)]
    return next(sys.getrefcount(b) for b in kept)


_UNUSED = _unused()
buffers = BufferPool()


def copy_array(array: Array) -> Array:
    """`array.copy()`, with a large result in a pooled buffer."""
    if array.dtype.hasobject or array.nbytes < LARGE:
        return array.copy()
    out = buffers.empty(array.shape, array.dtype)
    np.copyto(out, array)
    return out


def take_array(array: Array, index: Array) -> Array:
    """`array.take(index, axis=0)`, with a large result in a pooled buffer."""
    if array.dtype.hasobject or len(index) * array[:1].nbytes < LARGE:
        return array.take(index, axis=0)
    first, last = index.min(), index.max()
    if first < -len(array) or last >= len(array):
        return array.take(index, axis=0)  # which raises
    out = buffers.empty((len(index), *array.shape[1:]), array.dtype)
    if first >= 0 and array.flags.c_contiguous:
        numbers = np.ascontiguousarray(index, np.int64)
        return kernels.gather_rows(array, numbers, out, team())
    # NumPy writes straight into `out` only in the modes that never fail.
    return np.take(array, index, axis=0, out=out, mode="wrap")


def concatenate(arrays: Sequence[Array]) -> Array:
    """`np.concatenate` for arrays of one dtype and one shape but for the first dimension, with a large result in a
    pooled buffer.
    """
    first = arrays[0]
    rows = sum(map(len, arrays))
    if first.dtype.hasobject or rows * first[:1].nbytes < LARGE:
        return np.concatenate(arrays)
    out = buffers.empty((rows, *first.shape[1:]), first.dtype)
    return np.concatenate(arrays, out=out)
