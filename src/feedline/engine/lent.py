"""Memory that a process and its workers share: they read the strings of elements there, and write the rows of batches.

The memory has no name in any folder, so nothing is left whoever dies: a worker opens it through the process that has
made it. It is used again, as the keeper's is, and workers keep it mapped meanwhile.
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

from feedline.engine.crew import members
from feedline.engine.landing import Place
from feedline.structure.block import Block, Bytes, bytes_of, is_objects
from feedline.structure.memory import Keeper, address

Array = np.ndarray[Any, Any]

MOST = 128
"""So many pieces of memory a worker has mapped at a time."""

WORTH_IT = 1 << 15
"""Fewer bytes of strings travel with everything else."""

_numbers = itertools.count()


class Memory(mmap.mmap):
    """Memory that other processes can open."""

    fd: int
    number: int

    def __new__(cls, size: int) -> Memory:
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


class Lender(Keeper):
    """A keeper of such memory. A fork has it begin anew: what a child sees of the batches that there are must stay."""

    def __init__(self) -> None:
        super().__init__()
        _lenders.add(self)

    def _made(self, size: int) -> Array:
        return np.frombuffer(Memory(size), np.uint8)

    def kept(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """None also where the system has no more of it."""
        try:
            return super().kept(shape, dtype)
        except OSError:
            return None

    def lent(self, block: Block) -> tuple[Block, list[Array]]:
        """The block for a worker, which finds large columns of strings here; and the memory, which must be kept until
        the worker is done.
        """
        memory: list[Array] = []
        columns = list(block.columns)
        for j, column in enumerate(columns):
            found = self._strings(column) if is_objects(column) and bytes_of(column) >= WORTH_IT else None
            if found is not None:
                columns[j], array = found
                memory.append(array)
        return Block(columns, block.n, block.tree, block.origin), memory

    def _strings(self, objects: Array) -> tuple[Strings, Array] | None:
        strings = objects.ravel().tolist()
        if objects.ndim > 2 or set(map(type, strings)) != {bytes}:
            return None
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=offsets[1:])
        total = int(offsets[-1])
        memory = self.kept((1 << (total - 1).bit_length(),), np.dtype(np.uint8))  # of few sizes, to be used again
        if memory is None:
            return None
        view = memory.data
        for string, start, stop in zip(strings, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            view[start:stop] = string
        size = objects.shape[1] if objects.ndim == 2 else None
        return Strings(os.getpid(), _ticket(memory[:total]), offsets, size), memory

    @staticmethod
    @functools.cache
    def possible() -> bool:
        """True where the system has such memory."""
        try:
            Memory(1)
        except (AttributeError, OSError):
            return False
        return os.path.isdir("/proc/self/fd")


_lenders: weakref.WeakSet[Lender] = weakref.WeakSet()


def _before_fork() -> None:
    for lender in members(_lenders):
        lender.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


class Ticket(NamedTuple):
    """Where a worker finds the column of a batch."""

    fd: int
    number: int
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Strings(NamedTuple):
    """A column of strings in memory of the process `pid`, on its way to a worker."""

    pid: int
    ticket: Ticket
    offsets: Array
    size: int | None


class Loan(NamedTuple):
    """A place in memory of the process `pid`, on its way to a worker."""

    pid: int
    tickets: tuple[Ticket | None, ...]
    start: int


def loan(place: Place) -> Loan:
    """What a worker must know of a place, all arrays of which are a lender's."""
    return Loan(os.getpid(), tuple(None if a is None else _ticket(a) for a in place.arrays), place.start)


def _ticket(array: Array) -> Ticket:
    buffer: Any = array.base
    memory = buffer.base.obj
    return Ticket(memory.fd, memory.number, address(array) - address(buffer), array.shape, array.dtype)


# In the worker.


class Unreachable(Exception):
    """A worker may not open the memory of the process it works for."""


class _Borrowed:
    """The memory that is mapped here."""

    def __init__(self) -> None:
        self._mapped: OrderedDict[tuple[int, int], mmap.mmap] = OrderedDict()
        self._path = ""
        self._habits: Array = np.empty(0, np.int64)

    def serve(self, path: str) -> None:
        """Works for the step that is known as `path`: memory of others is not needed any more."""
        if path != self._path:
            self._path, self._habits = path, np.empty(0, np.int64)
            self._mapped.clear()

    def place(self, lent: Loan) -> Place | None:
        """The place; None where the memory cannot be had."""
        if len(self._habits) != len(lent.tickets):
            self._habits = np.full(len(lent.tickets), -1, np.int64)
        try:
            arrays = tuple(None if ticket is None else self._array(lent.pid, ticket) for ticket in lent.tickets)
        except OSError:
            return None
        return Place(arrays, lent.start, self._habits)

    def block(self, block: Block) -> Block:
        """The block that was lent."""
        try:
            columns = [
                Bytes(self._array(c.pid, c.ticket), c.offsets, 0, c.size) if isinstance(c, Strings) else c
                for c in block.columns
            ]
        except OSError as e:
            raise Unreachable(str(e)) from None
        return Block(columns, block.n, block.tree, block.origin)

    def _array(self, pid: int, ticket: Ticket) -> Array:
        key = pid, ticket.number
        found = self._mapped.get(key)
        if found is None:
            while len(self._mapped) >= MOST:
                self._mapped.popitem(last=False)
            fd = os.open(f"/proc/{pid}/fd/{ticket.fd}", os.O_RDWR | os.O_CLOEXEC)
            try:
                found = self._mapped[key] = mmap.mmap(fd, 0)
            finally:
                os.close(fd)
        self._mapped.move_to_end(key)
        return np.ndarray(ticket.shape, ticket.dtype, found, ticket.start)


borrowed = _Borrowed()


def without(rows: Block, place: Place) -> Block:
    """A block without the columns that lie in a place."""
    columns = [c if a is None else np.empty(0) for c, a in zip(rows.columns, place.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)


def within(rows: Block, place: Place) -> Block:
    """The opposite of `without`."""
    here = slice(place.start, place.start + rows.n)
    columns = [c if a is None else a[here] for c, a in zip(rows.columns, place.arrays, strict=True)]
    return Block(columns, rows.n, rows.tree)
