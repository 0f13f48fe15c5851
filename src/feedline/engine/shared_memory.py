"""Memory that a process and its workers share: they read the strings of elements there, and write the rows of batches.

The memory has no name in any folder, so nothing is left whoever dies: a worker opens it through the process that has
made it. It is used again, as that of a buffer pool is, and workers keep it mapped meanwhile.
"""

from __future__ import annotations

import functools
import itertools
import mmap
import os
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from feedline.engine.batch_buffer import BatchSlot
from feedline.engine.context import live_members
from feedline.structure.block import Block, Bytes, bytes_of, is_objects
from feedline.structure.buffer_pool import BufferPool, address

Array = np.ndarray[Any, Any]

MOST = 128
"""So many pieces of memory a worker has mapped at a time."""

WORTH_IT = 1 << 15
"""Fewer bytes of strings travel with everything else."""

_numbers = itertools.count()


class SharedMapping(mmap.mmap):
    """Memory that other processes can open."""

    fd: int
    number: int

    def __new__(cls, size: int) -> SharedMapping:
        """So many bytes, all zero, none of which is taken before it is written to."""
        fd = os.memfd_create("feedline")
        try:
            os.ftruncate(fd, size)
            made = super().__new__(cls, fd, size)
        except BaseException:
            os.close(fd)
            raise
        made.fd, made.number = fd, next(_numbers)
        return made

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)


class SharedMemoryPool(BufferPool):
    """A buffer pool of such memory. A fork has it begin anew: what a child sees of the batches that there are must
    stay.
    """

    def __init__(self) -> None:
        super().__init__()
        _pools.add(self)

    def _allocate(self, size: int) -> Array:
        return np.frombuffer(SharedMapping(size), np.uint8)

    def acquire(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """None also where the system has no more of it."""
        try:
            return super().acquire(shape, dtype)
        except OSError:
            return None

    def share(self, block: Block) -> tuple[Block, list[Array]]:
        """The block for a worker, which finds large columns of strings in shared memory; and the memory, which must be
        kept until the worker is done.
        """
        memory: list[Array] = []
        columns = list(block.columns)
        for j, column in enumerate(columns):
            found = self._strings(column) if is_objects(column) and bytes_of(column) >= WORTH_IT else None
            if found is not None:
                columns[j], array = found
                memory.append(array)
        return Block(columns, block.n, block.tree, block.provenance), memory

    def _strings(self, objects: Array) -> tuple[SharedStrings, Array] | None:
        strings = objects.ravel().tolist()
        if objects.ndim > 2 or set(map(type, strings)) != {bytes}:
            return None
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=offsets[1:])
        total = int(offsets[-1])
        memory = self.acquire((1 << (total - 1).bit_length(),), np.dtype(np.uint8))  # of few sizes, to be used again
        if memory is None:
            return None
        view = memory.data
        for string, start, stop in zip(strings, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            view[start:stop] = string
        size = objects.shape[1] if objects.ndim == 2 else None
        return SharedStrings(os.getpid(), _descriptor(memory[:total]), offsets, size), memory

    @staticmethod
    @functools.cache
    def possible() -> bool:
        """True where the system has such memory."""
        try:
            SharedMapping(1)
        except (AttributeError, OSError):
            return False
        return os.path.isdir("/proc/self/fd")


_pools: weakref.WeakSet[SharedMemoryPool] = weakref.WeakSet()


def _before_fork() -> None:
    for pool in live_members(_pools):
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


class Descriptor(NamedTuple):
    """Where a worker finds the column of a batch."""

    fd: int
    number: int
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class SharedStrings(NamedTuple):
    """A column of strings in memory of the process `pid`, on its way to a worker."""

    pid: int
    descriptor: Descriptor
    offsets: Array
    size: int | None


class SharedSlot(NamedTuple):
    """A place in memory of the process `pid`, on its way to a worker."""

    pid: int
    descriptors: tuple[Descriptor | None, ...]
    start: int


def share_slot(batch_slot: BatchSlot) -> SharedSlot:
    """What a worker must know of a batch slot, all arrays of which are in shared memory."""
    return SharedSlot(
        os.getpid(), tuple(None if a is None else _descriptor(a) for a in batch_slot.arrays), batch_slot.start
    )


def _descriptor(array: Array) -> Descriptor:
    buffer: Any = array.base
    memory = buffer.base.obj
    return Descriptor(memory.fd, memory.number, address(array) - address(buffer), array.shape, array.dtype)


# In the worker.


class SharedMemoryUnavailable(Exception):
    """A worker may not open the memory of the process it works for."""


class _MappedFiles:
    """The memory that is mapped here."""

    def __init__(self) -> None:
        self._mapped: OrderedDict[tuple[int, int], mmap.mmap] = OrderedDict()
        self._path = ""
        self._alloc_pattern: Array = np.empty(0, np.int64)

    def serve(self, path: str) -> None:
        """Works for the step that is known as `path`: memory of others is not needed any more."""
        if path != self._path:
            self._path, self._alloc_pattern = path, np.empty(0, np.int64)
            self._mapped.clear()

    def batch_slot(self, shared_slot: SharedSlot) -> BatchSlot | None:
        """The batch slot; None where the memory cannot be had."""
        if len(self._alloc_pattern) != len(shared_slot.descriptors):
            self._alloc_pattern = np.full(len(shared_slot.descriptors), -1, np.int64)
        try:
            arrays = tuple(
                None if descriptor is None else self._array(shared_slot.pid, descriptor)
                for descriptor in shared_slot.descriptors
            )
        except OSError:
            return None
        return BatchSlot(arrays, shared_slot.start, self._alloc_pattern)

    def block(self, block: Block) -> Block:
        """The block whose strings are in shared memory."""
        try:
            columns = [
                Bytes(self._array(c.pid, c.descriptor), c.offsets, 0, c.size) if isinstance(c, SharedStrings) else c
                for c in block.columns
            ]
        except OSError as e:
            raise SharedMemoryUnavailable(str(e)) from None
        return Block(columns, block.n, block.tree, block.provenance)

    def _array(self, pid: int, descriptor: Descriptor) -> Array:
        key = pid, descriptor.number
        found = self._mapped.get(key)
        if found is None:
            while len(self._mapped) >= MOST:
                self._mapped.popitem(last=False)
            fd = os.open(f"/proc/{pid}/fd/{descriptor.fd}", os.O_RDWR | os.O_CLOEXEC)
            try:
                found = self._mapped[key] = mmap.mmap(fd, 0)
            finally:
                os.close(fd)
        self._mapped.move_to_end(key)
        return np.ndarray(descriptor.shape, descriptor.dtype, found, descriptor.start)


mapped = _MappedFiles()


def drop_slot_columns(rows: Block, batch_slot: BatchSlot) -> Block:
    """A block without the columns that lie in a batch slot."""
    columns = [c if a is None else np.empty(0) for c, a in zip(rows.columns, batch_slot.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)


def restore_slot_columns(rows: Block, batch_slot: BatchSlot) -> Block:
    """The opposite of `drop_slot_columns`."""
    here = slice(batch_slot.start, batch_slot.start + rows.n)
    columns = [c if a is None else a[here] for c, a in zip(rows.columns, batch_slot.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)
