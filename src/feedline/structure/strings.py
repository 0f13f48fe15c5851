"""Columns of strings in one buffer, without an object per string until it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.kernels.threads import team
from feedline.provenance.rows import Provenance
from feedline.structure.buffer_pool import buffers

Array = np.ndarray[Any, Any]

SHORT = 4096
"""Strings of up to this many bytes are faster to copy than to turn into objects."""


class Bytes:
    """Strings in one buffer: string i is `data[offsets[i]:offsets[i + 1] - gap]`, so that the records of a file can
    stay where they were read, with the bytes between them. A row is one string or, with `size`, an array of `size`
    strings.
    """

    __slots__ = ("data", "gap", "offsets", "size")

    def __init__(self, data: Array, offsets: Array, gap: int = 0, size: int | None = None) -> None:
        self.data, self.offsets, self.gap, self.size = data, offsets, gap, size

    @property
    def ndim(self) -> int:
        """The number of dimensions of the array that `objects` gives."""
        return 1 if self.size is None else 2

    def rows(self) -> list[Any]:
        """The strings as Python `bytes`, or arrays of those."""
        objects = self.objects()
        return objects.tolist() if self.size is None else list(objects)

    def objects(self) -> Array:
        """The strings as an object array of `bytes`, in fresh memory."""
        strings = kernels.bytes_rows(self.data, np.ascontiguousarray(self.offsets), self.gap)
        return strings if self.size is None else strings.reshape(-1, self.size)

    def matrix(self) -> Array | None:
        """The bytes of each string as a row, in fresh memory; None if their lengths differ."""
        offsets = np.ascontiguousarray(self.offsets)
        n = len(offsets) - 1
        length = int(offsets[1] - offsets[0]) - self.gap if n else 0
        if (offsets[1:] - offsets[:-1] != length + self.gap).any():
            return None
        rows = buffers.empty((n, length), np.dtype(np.uint8))
        kernels.strings_to_rows(self.data, offsets, self.gap, rows, np.empty(n, np.int64), np.arange(n), team())
        return rows

    def slice(self, start: int, stop: int) -> Bytes:
        """Rows start to stop, in the same buffer."""
        step = self.size or 1
        return Bytes(self.data, self.offsets[start * step : stop * step + 1], self.gap, self.size)

    def take(self, index: Array) -> Any:
        """The rows with these numbers."""
        return self.objects().take(index, axis=0)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the rows take."""
        return int(self.offsets[-1] - self.offsets[0]) + self.offsets.nbytes

    def compact(self) -> Bytes:
        """The same strings without gaps."""
        if not self.gap:
            return self
        column = self.data, np.ascontiguousarray(self.offsets), self.gap
        return Bytes(*kernels.strings_round_robin([column], max(1, len(self.offsets) - 1)), 0, self.size)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles only the column's own strings, not the whole buffer."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        return Bytes, (self.data[first:last], self.offsets - first, self.gap, self.size)

    def __len__(self) -> int:
        return (len(self.offsets) - 1) // (self.size or 1)


class Unread(Bytes):
    """Strings that are still in their files, as their addresses: row i is the record at location i of `addresses`, of
    `sizes[i]` bytes with the checksum `sums[i]`, which was verified when it was located. They are read, by
    `read_records`, when someone looks at them.
    """

    __slots__ = ("addresses", "read_records", "sizes", "sums")

    def __init__(self, addresses: Provenance, sizes: Array, sums: Array, read_records: ReadRecords) -> None:
        self.addresses, self.sizes, self.sums, self.read_records = addresses, sizes, sums, read_records
        self.size = None

    def __getattr__(self, name: str) -> Any:
        """Called for an attribute that is not set: those of `Bytes`, before the strings are read."""
        if name not in Bytes.__slots__:
            raise AttributeError(name)
        found = self.read_records(self)
        self.data, self.offsets, self.gap = found.data, found.offsets, found.gap
        return object.__getattribute__(self, name)

    def slice(self, start: int, stop: int) -> Unread:
        """Rows start to stop, not read either."""
        part = slice(start, stop)
        return Unread(self.addresses.slice(start, stop), self.sizes[part], self.sums[part], self.read_records)

    def take(self, index: Array) -> Unread:
        """The rows with these numbers, not read either."""
        return Unread(self.addresses.take(index), self.sizes.take(index), self.sums.take(index), self.read_records)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the rows take."""
        return 20 * len(self)

    def __len__(self) -> int:
        return len(self.sizes)


ReadRecords = Callable[[Unread], Bytes]
"""Reads the strings of a column."""


def joined(columns: Sequence[Bytes]) -> Bytes | None:
    """The rows of all columns in one buffer; None if that would copy long strings, or the row sizes differ."""
    unread = [c for c in columns if isinstance(c, Unread)]
    if len(unread) == len(columns):
        return _joined_unread(unread)
    gap, size = columns[0].gap, columns[0].size
    if any(c.size != size for c in columns):
        return None
    spans = [(int(c.offsets[0]), int(c.offsets[-1])) for c in columns]
    if sum(stop - start for start, stop in spans) > SHORT * sum(len(c.offsets) for c in columns):
        return None
    if any(c.gap != gap for c in columns):
        return joined([c.compact() for c in columns])
    offsets: list[Array] = [np.zeros(1, np.int64)]
    pieces: list[Array] = []
    at = 0
    for c, (start, stop) in zip(columns, spans, strict=True):
        offsets.append(c.offsets[1:] + (at - start))
        at += stop - start
        pieces.append(c.data[start:stop])
        if len(pieces[-1]) < stop - start:  # a buffer may end with its last string, without the gap after it
            pieces.append(np.zeros(stop - start - len(pieces[-1]), np.uint8))
    return Bytes(np.concatenate(pieces), np.concatenate(offsets), gap, size)


def _joined_unread(columns: Sequence[Unread]) -> Unread:
    addresses = Provenance.joined([c.addresses for c in columns])
    assert addresses is not None  # they have no lineage that could differ
    sizes, sums = (np.concatenate(parts) for parts in zip(*((c.sizes, c.sums) for c in columns), strict=True))
    return Unread(addresses, sizes, sums, columns[0].read_records)
