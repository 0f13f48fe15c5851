"""Shared memory between a process and its workers, which read strings from it and write rows of batches to it.

The memory is anonymous (memfd), so nothing is left whichever process dies: a worker opens it through /proc of its
owner. It comes from a buffer pool, is reused, and stays mapped in the workers meanwhile.
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
"""The most mappings that a worker keeps at a time, and the most that a pool has: each takes a file descriptor."""

MIN_STRING_BYTES = 1 << 15
"""Columns with fewer bytes of strings than this are sent in the message."""

_numbers = itertools.count()


class SharedMapping(mmap.mmap):
    """Memory that other processes can open."""

    fd: int = -1
    number: int

    def __new__(cls, size: int) -> SharedMapping:
        """`size` zero bytes; pages are allocated when they are first written to."""
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
        if self.fd >= 0:
            os.close(self.fd)


class SharedMemoryPool(BufferPool):
    """A buffer pool of shared memory. It starts afresh at a fork: batches that the child can see must not be
    overwritten.
    """

    def __init__(self) -> None:
        super().__init__()
        _pools.add(self)

    def _allocate(self, size: int) -> Array:
        if sum(map(len, self._by_size.values())) >= MOST:
            self.trim()
            if sum(map(len, self._by_size.values())) >= MOST:
                raise OSError("too many mappings")
        return np.frombuffer(SharedMapping(size), np.uint8)

    def acquire(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """As `BufferPool.acquire`; also None if the system has no memory left."""
        try:
            return super().acquire(shape, dtype)
        except OSError:
            return None

    def share(self, block: Block) -> tuple[Block, list[Array]]:
        """The block with large columns of strings moved to shared memory; and that memory, which must be kept until the
        worker is done.
        """
        memory: list[Array] = []
        columns = list(block.columns)
        for j, column in enumerate(columns):
            found = self._strings(column) if is_objects(column) and bytes_of(column) >= MIN_STRING_BYTES else None
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
        memory = self.acquire((1 << (total - 1).bit_length(),), np.dtype(np.uint8))  # few sizes, so that it is reused
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
        """Whether the system supports this kind of memory."""
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
    """Where an array lies in shared memory."""

    fd: int
    number: int
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class SharedStrings(NamedTuple):
    """A column of strings in the shared memory of process `pid`, as sent to a worker."""

    pid: int
    descriptor: Descriptor
    offsets: Array
    size: int | None


class SharedSlot(NamedTuple):
    """A batch slot in the shared memory of process `pid`, as sent to a worker."""

    pid: int
    descriptors: tuple[Descriptor | None, ...]
    start: int


def share_slot(batch_slot: BatchSlot) -> SharedSlot:
    """The form in which a batch slot is sent to a worker. All its arrays must be in shared memory."""
    return SharedSlot(
        os.getpid(), tuple(None if a is None else _descriptor(a) for a in batch_slot.arrays), batch_slot.start
    )


def _descriptor(array: Array) -> Descriptor:
    buffer: Any = array.base
    memory = buffer.base.obj
    return Descriptor(memory.fd, memory.number, address(array) - address(buffer), array.shape, array.dtype)


# In the worker.


class SharedMemoryUnavailable(Exception):
    """A worker is not allowed to open the memory of its parent process."""


class MappedMemory:
    """The shared memory that is mapped in this worker."""

    def __init__(self) -> None:
        self._mapped: OrderedDict[tuple[int, int], mmap.mmap] = OrderedDict()
        self._path = ""

    def serve(self, path: str) -> bool:
        """Switches to the step serialized at `path`, and tells whether it is another one: its mappings are dropped."""
        if path == self._path:
            return False
        self._path = path
        self._mapped.clear()
        return True

    def batch_slot(self, shared_slot: SharedSlot) -> BatchSlot | None:
        """The batch slot, mapped; None if the memory cannot be opened."""
        try:
            arrays = tuple(
                None if descriptor is None else self._array(shared_slot.pid, descriptor)
                for descriptor in shared_slot.descriptors
            )
        except OSError:
            return None
        return BatchSlot(arrays, shared_slot.start)

    def block(self, block: Block) -> Block:
        """The block with its shared strings mapped."""
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


def drop_slot_columns(rows: Block, batch_slot: BatchSlot) -> Block:
    """The block without the columns that lie in a batch slot."""
    columns = [c if a is None else np.empty(0) for c, a in zip(rows.columns, batch_slot.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)


def restore_slot_columns(rows: Block, batch_slot: BatchSlot) -> Block:
    """The inverse of `drop_slot_columns`."""
    here = slice(batch_slot.start, batch_slot.start + rows.n)
    columns = [c if a is None else a[here] for c, a in zip(rows.columns, batch_slot.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)
