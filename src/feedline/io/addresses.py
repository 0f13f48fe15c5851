"""Addresses of records: what another process needs to read rows by itself, and reading them.

A record was verified when its address was taken. When it is read, its bytes must still have the size and the checksum
they had then, whatever else has happened to the file; otherwise `FailedPreconditionError` names the file and the byte.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import OpError
from feedline.io.files import system_path
from feedline.io.record_file import FilePosition, RecordFile
from feedline.io.tfrecord.framing import AROUND, HEADER
from feedline.io.tfrecord.index import OpenFile
from feedline.provenance.files import SHIFT, file_at
from feedline.structure.block import Array, Bytes, Unread

MOST_OPEN = 128
"""The most files that a reader of addresses keeps open."""

PLAIN = "tfrecord", ""
"""The recipe of files whose records are read as spans: TFRecord files without compression."""


class Addresses(NamedTuple):
    """The addresses of rows, valid in any process that has the same files: row i is the record at byte `starts[i]` of
    `files[which[i]]`, with `sizes[i]` bytes of data, whose checksum is `sums[i]`.
    """

    files: tuple[RecordFile, ...]
    which: Array
    starts: Array
    sizes: Array
    sums: Array

    @staticmethod
    def of(column: Unread) -> Addresses:
        """The addresses of the rows of a column."""
        locations = column.addresses.numbers()
        numbers, which = np.unique(locations >> SHIFT, return_inverse=True)
        files = tuple(_file(number) for number in numbers.tolist())
        starts = locations & ((1 << SHIFT) - 1)
        return Addresses(files, which, starts, np.ascontiguousarray(column.sizes), column.sums)


class AddressReader:
    """Reads records at addresses. Files are kept open for the next ones."""

    def __init__(self) -> None:
        self._open: OrderedDict[RecordFile, OpenFile] = OrderedDict()

    def read(self, addresses: Addresses) -> Bytes:
        """The records, in order, in fresh memory. Raises an `OpError` if one of them cannot be had any more."""
        if len(addresses.files) > MOST_OPEN or any(file.recipe != PLAIN for file in addresses.files):
            found = [self._one(addresses, i) for i in range(len(addresses.which))]
            return Bytes(np.frombuffer(b"".join(found), np.uint8), np.cumsum([0, *map(len, found)]))
        files = [self._opened(file) for file in addresses.files]
        fds = np.array([file.fd for file in files], np.int64)[addresses.which]
        sizes = addresses.sizes + AROUND
        begins = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=begins[1:])
        data, whole, _ = kernels.read_spans(fds, addresses.starts, sizes)
        offsets = begins + HEADER.size
        there = kernels.tfrecord_frames(data[: begins[whole]], 0, whole)[0]
        good = int((there != offsets[: len(there)]).argmax() or len(there)) - 1
        sums = data[(begins[1 : good + 1] - 4)[:, None] + np.arange(4)].view("<u4").ravel()
        same = sums == _masked(addresses.sums[:good])
        good = good if same.all() else int(same.argmin())
        if good < len(sizes):
            raise self._changed(addresses, good)
        return Bytes(data, offsets, AROUND)

    def _one(self, addresses: Addresses, i: int) -> bytes:
        """Record i, read by the reader of its file."""
        reader = addresses.files[int(addresses.which[i])].opened(1 << 16)
        try:
            got = reader.read(FilePosition(int(addresses.starts[i])), 1)
        finally:
            reader.close()
        found: bytes | None = None if got.rows is None else got.rows.rows()[0]
        if found is None or len(found) != addresses.sizes[i] or kernels.crc32c(found) != addresses.sums[i]:
            raise self._changed(addresses, i)
        return found

    def _changed(self, addresses: Addresses, i: int) -> OpError:
        """The error for row i, whose file is no longer used."""
        file = addresses.files[int(addresses.which[i])]
        self._open.pop(file, None)
        return file.no_record(int(addresses.starts[i]))

    def _opened(self, file: RecordFile) -> OpenFile:
        found = self._open.get(file)
        if found is None:
            found = self._open[file] = OpenFile(system_path(file.name) or file.name)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(file)
        return found


def read_records(column: Unread) -> Bytes:
    """The records of a column, read now."""
    return AddressReader().read(Addresses.of(column))


def _file(number: int) -> RecordFile:
    """The file with this number, by a name that is valid in other processes, too."""
    file = file_at(number << SHIFT)[0]
    assert isinstance(file, RecordFile)
    return file.absolute


def _masked(sums: Array) -> Array:
    """Checksums as TFRecord files store them (see `framing.mask`)."""
    return ((sums >> np.uint32(15)) | (sums << np.uint32(17))) + np.uint32(0xA282EAD8)
