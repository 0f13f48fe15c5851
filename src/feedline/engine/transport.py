"""Transport of tasks to worker processes and of results back.

A task is a function (the node, which is sent once), and rows or their addresses (`Unread`), which the worker reads by
itself. The result is rows, most of them in their slot of the batch.

A value is sent as a pickle without its arrays, which are written to one file in shared memory. The receiver maps the
file and unlinks it at once, so nothing is left when both sides are done with it. Long strings and batch slots are in
memory that both sides keep mapped (shared_memory.py).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import mmap
import os
import pickle
import tempfile
import uuid
from glob import glob
from typing import Any, NamedTuple

from feedline.engine.batch_buffer import Allocate, BatchSlot
from feedline.engine.serialization import dumps
from feedline.engine.shared_memory import (
    MappedMemory,
    SharedMemoryPool,
    SharedSlot,
    drop_slot_columns,
    restore_slot_columns,
    share_slot,
)
from feedline.errors import OpError
from feedline.io.addresses import Addresses, AddressReader
from feedline.plan.node import Node
from feedline.provenance.rows import Provenance
from feedline.structure.block import Array, Block, Unread

SMALL = 1 << 15
"""Arrays with fewer bytes than this are sent in the message itself."""
ALIGNED = 64
_process, _files = uuid.uuid4().hex, itertools.count()

Packed = tuple[bytes, Any]
"""A pickle, and the arrays in it: (path of a file, offset and size of each), or their bytes."""


class TaskMessage(NamedTuple):
    """The rows of a task, and the batch slot that its results go to."""

    rows: Packed
    batch_slot: SharedSlot | None


class Transport:
    """The side of the iterator's process, for one stage. Its files have a prefix of their own."""

    def __init__(self) -> None:
        remove_stale_files()
        self.prefix = own_prefix()
        self._pool = SharedMemoryPool() if SharedMemoryPool.possible() else None
        self._addresses = True

    @property
    def allocate(self) -> Allocate | None:
        """The allocator of memory that the workers can write to, if there is one."""
        return None if self._pool is None else self._pool.acquire

    def without_addresses(self) -> None:
        """Sends rows in place of their addresses from now on: the workers cannot read the files."""
        self._addresses = False

    def without_shared_memory(self) -> None:
        """Sends everything in messages and files from now on: the workers cannot open this process's memory."""
        self._pool = None

    def write_file(self, name: str, data: bytes) -> str:
        """Writes a file that the workers can read until the transport is closed; gives its path."""
        path = f"{self.prefix}-{name}"
        with open(path, "xb", opener=private) as file:
            file.write(data)
        return path

    def send(self, block: Block, batch_slot: BatchSlot | None) -> tuple[TaskMessage, list[Array]]:
        """The message for a task, and memory that must be kept until the worker is done."""
        if any(isinstance(c, Unread) for c in block.columns):
            columns = [self._addressed(c) if isinstance(c, Unread) else c for c in block.columns]
            block = Block(columns, block.n, block.tree, block.provenance)
        block, memory = (block, []) if self._pool is None else self._pool.share(block)
        used = batch_slot is not None and any(a is not None for a in batch_slot.arrays)
        slot = share_slot(batch_slot) if batch_slot is not None and used else None
        return TaskMessage(pack((without_lineage(block),), self.prefix), slot), memory

    def _addressed(self, column: Unread) -> Addresses | Array:
        """The addresses of rows; the rows themselves, read here, for workers that cannot read them."""
        if self._addresses:
            return Addresses.of(column)
        try:
            return column.objects()
        except OpError as e:
            raise RowsLost(e) from e

    def receive(self, packed: Packed) -> tuple[Any, ...]:
        """The values that a worker has sent. Rows are made complete by `restored`."""
        return unpack(*packed)

    def restored(self, rows: Block, block: Block, node: Node, batch_slot: BatchSlot | None) -> Block:
        """The rows that a worker made of `block`, with their lineage, and with the columns in the batch slot."""
        rows = with_lineage(rows, block, node)
        return rows if batch_slot is None else restore_slot_columns(rows, batch_slot)

    def close(self) -> None:
        """Removes the files, also those that were never received since a worker died."""
        for path in glob(f"{self.prefix}-*"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


class AddressesUnavailable(Exception):
    """A worker could not read the rows at the addresses it was sent."""


class RowsLost(Exception):
    """The rows of a task can no longer be read; `error` says why."""

    def __init__(self, error: OpError) -> None:
        super().__init__(str(error))
        self.error = error


class WorkerTransport:
    """The side of a worker process."""

    def __init__(self) -> None:
        self._memory = MappedMemory()
        self._files = AddressReader()

    def serve(self, path: str) -> None:
        """Switches to the stage whose node is in the file `path`."""
        if self._memory.serve(path):
            self._files = AddressReader()

    def receive(self, message: TaskMessage) -> tuple[Block, BatchSlot | None]:
        """The rows of a task, and the slot for its results; None if there is none that this process can write to."""
        (block,) = unpack(*message.rows)
        try:
            block.columns = [self._files.read(c) if isinstance(c, Addresses) else c for c in block.columns]
        except OpError as e:
            raise AddressesUnavailable(str(e)) from None
        slot = None if message.batch_slot is None else self._memory.batch_slot(message.batch_slot)
        return self._memory.block(block), slot

    def send(self, rows: Block | None, batch_slot: BatchSlot | None, values: tuple[Any, ...], prefix: str) -> Packed:
        """Rows and other values, packed. Columns that are in the batch slot are left out."""
        if rows is not None:
            rows = without_lineage(rows) if batch_slot is None else drop_slot_columns(rows, batch_slot)
        return pack((rows, *values), prefix)


def pack(value: tuple[Any, ...], prefix: str) -> tuple[bytes, Any]:
    """Values as a pickle, and their arrays: (path of the file, offset and size of each), or the arrays' bytes."""
    buffers: list[pickle.PickleBuffer] = []
    head = dumps(value, buffer_callback=buffers.append)
    raw = [b.raw() for b in buffers]
    total = sum(r.nbytes for r in raw)
    if total < SMALL:
        return head, [bytes(r) for r in raw]
    places, at = [], 0
    for r in raw:
        places.append((at, r.nbytes))
        at += -(-r.nbytes // ALIGNED) * ALIGNED
    path = f"{prefix}-{_process}-{next(_files)}"
    handle = private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.ftruncate(handle, at)
        for (start, _), r in zip(places, raw, strict=True):
            _write(handle, r, start)
    except OSError:  # shared memory is used up: the message takes all
        os.unlink(path)
        return head, [bytes(r) for r in raw]
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)
    return head, (path, places)


def _write(handle: int, data: memoryview, at: int) -> None:
    """Writes with `pwrite`: in a mapping of the file, running out of memory would be a SIGBUS, which ends the process.
    """
    while data.nbytes:
        n = os.pwrite(handle, data, at)
        data, at = data[n:], at + n


def unpack(head: bytes, arrays: Any) -> tuple[Any, ...]:
    """The values that `pack` was given. Their arrays lie in the mapped file, which is unlinked."""
    if isinstance(arrays, list):
        values: tuple[Any, ...] = pickle.loads(head, buffers=[bytearray(b) for b in arrays])
        return values
    path, places = arrays
    handle = os.open(path, os.O_RDWR)
    try:
        memory = memoryview(mmap.mmap(handle, 0))
    finally:
        os.close(handle)
        os.unlink(path)
    values = pickle.loads(head, buffers=[memory[a : a + size] for a, size in places])
    return values


def without_lineage(block: Block) -> Block:
    """A block as it is sent: with the record locations of its rows, but with None in place of each lineage node, whose
    functions stay behind.
    """
    provenance = block.provenance
    if provenance is None and block.batch_provenance is None:
        return block
    kept = None if provenance is None else provenance.with_lineage((None,) * len(provenance.lineage))
    return Block(block.columns, block.n, block.tree, kept)


def with_lineage(rows: Block, block: Block, node: Node) -> Block:
    """The rows that a worker made of `block`, with their lineage: that of `block`, and the node itself if it adds
    to it.
    """
    if rows.provenance is None or block.provenance is None:
        return rows
    lineage = (*block.provenance.lineage, *[node] * (len(rows.provenance.lineage) - len(block.provenance.lineage)))
    found = Provenance(rows.provenance.base, rows.provenance.offsets, block.provenance.files, lineage)
    return Block(rows.columns, rows.n, rows.tree, found)


def shared_folder() -> str:
    """The folder for shared-memory files."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


@functools.cache
def _namespace() -> str:
    """Distinguishes containers that share memory but not process ids."""
    try:
        return f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return "0"


def own_prefix() -> str:
    """A unique prefix for one owner's shared-memory files."""
    return f"{shared_folder()}/feedline-{os.getpid()}-{_namespace()}-{uuid.uuid4().hex[:12]}"


def private(path: str, flags: int) -> int:
    """Opens a file that no other user may read."""
    return os.open(path, flags, 0o600)


def remove_stale_files() -> None:
    """Removes shared-memory files of processes that were killed."""
    for path in glob(f"{shared_folder()}/feedline-*-{_namespace()}-*"):
        pid = os.path.basename(path).split("-")[1]
        if pid.isdigit() and not _alive(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
