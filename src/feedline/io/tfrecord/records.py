"""Random access to the records of TFRecord files by number, through the files' indexes."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import FailedPreconditionError
from feedline.io.addresses import read_records
from feedline.io.files import as_op_error, shown
from feedline.io.record_file import RecordFile
from feedline.io.tfrecord import index as indexing
from feedline.io.tfrecord.framing import AROUND, HEADER, Stop
from feedline.io.tfrecord.index import Index, OpenFile
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.io.tfrecord.sidecar import Array, Stamp
from feedline.io.unchanged import sameness
from feedline.provenance.files import FileNumbers, number_of
from feedline.provenance.identity import Identity
from feedline.provenance.rows import Provenance
from feedline.sharing import Guard
from feedline.structure.block import Block, Bytes, Unread, concat
from feedline.structure.nest import LEAF

MOST_OPEN = 128
"""The most files kept open."""

FIRST_LOOK = 1 << 20


class RecordFiles:
    """The records of files, numbered across all of them. They are counted incrementally, as far as needed; once all are
    counted, any record can be read.

    The numbers hold for the files as they were when they were counted. A file that has changed since raises an error.
    """

    def __init__(self, names: Sequence[bytes]) -> None:
        self.names = tuple(names)
        self._lock = Guard()
        self._indexes: list[Index] = []
        self._stamps: list[Stamp] | None = None
        self._looked: int | None = None
        self._wrong_index = False
        self._open: OrderedDict[int, OpenFile] = OrderedDict()
        self._starts: Array | None = None
        self._firsts: Array = np.zeros(1, np.int64)
        self._bases: Array | None = None
        self._held = FileNumbers()
        self._mark: int | None = None

    @classmethod
    def found(cls, names: Sequence[bytes]) -> RecordFiles | None:
        """The records of files that all have an index already; None if one has not."""
        made = cls(names)
        for name in made.names:
            index = indexing.found(name)
            if index is None:
                return None
            made._indexes.append(index)
        return made.whole()

    # Counting.

    @property
    def low(self) -> int:
        """Lower bound of the number of records."""
        return max(self._looked or 0, sum(map(len, self._indexes)))

    @property
    def high(self) -> int:
        """Upper bound of the number of records."""
        if len(self._indexes) == len(self.names):
            return self.low
        if self._stamps is None:
            self._stamps = [indexing.stamp_of(name) for name in self.names]
        left = sum(stamp.size // AROUND for stamp in self._stamps[len(self._indexes) :])
        return sum(map(len, self._indexes)) + left

    def more(self) -> None:
        """Counts further: at first the beginning of the first file, then whole files, twice as many each time."""
        with self._lock:
            if self._looked is None and self.names:
                self._looked = _first_records(self.names[0])
            elif len(self._indexes) < len(self.names):
                have = len(self._indexes)
                self._indexes += indexing.indexes(self.names[have : max(1, 2 * have)])

    def whole(self) -> RecordFiles:
        """Counts all records; returns itself."""
        with self._lock:
            if self._starts is None:
                self._indexes += indexing.indexes(self.names[len(self._indexes) :])
                parts = [index.starts for index in self._indexes]
                self._starts = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint32), *parts])
                self._firsts = np.cumsum([0, *map(len, self._indexes)])
                stamped = zip(self.names, self._indexes, strict=True)
                recipe = TFRecordReader.kind, ""
                given = [number_of(RecordFile.of(recipe, name, Identity(*index.stamp))) for name, index in stamped]
                numbers = [number for number in given if number is not None]
                if len(numbers) == len(given):
                    self._held = FileNumbers(numbers)
                    self._bases = np.array([number.base for number in numbers], np.int64)
        return self

    @property
    def counts(self) -> list[int]:
        """The number of records in each file."""
        return [len(index) for index in self.whole()._indexes]

    @property
    def count(self) -> int:
        """The total number of records."""
        return int(self.whole()._firsts[-1])

    @property
    def firsts(self) -> Array:
        """The number of each file's first record, followed by the total."""
        return self.whole()._firsts

    @property
    def mark(self) -> int:
        """A checksum that identifies these files by their sizes, counts and samples of their data. It ignores their
        times, so that a copy of the files has the same.
        """
        if self._mark is None:
            stamped = zip(self.names, self.whole()._indexes, strict=True)
            parts = [(len(index), *sameness(name, Identity(*index.stamp))) for name, index in stamped]
            self._mark = kernels.crc32c(repr(parts).encode())
        return self._mark

    def changed(self) -> bool:
        """Whether a file that was counted has been replaced or modified."""
        stamps = [index.stamp for index in self._indexes]
        return self._wrong_index or any(_stamp(name) != stamp for name, stamp in zip(self.names, stamps, strict=False))

    # Reading.

    def rows(self, index: Array) -> Block:
        """The records with these numbers, in fresh memory. All checksums are verified."""
        n = len(index)
        starts_ = self.whole()._starts
        assert starts_ is not None
        if n == 1 or (n > 1 and index[-1] - index[0] == n - 1 and bool((index[1:] - index[:-1] == 1).all())):
            return self._span(int(index[0]), int(index[-1]) + 1)
        in_file = np.searchsorted(self._firsts, index, "right") - 1
        at = index + in_file  # each file has one more start than records
        used = np.flatnonzero(np.bincount(in_file)).tolist()
        if len(used) > MOST_OPEN:
            return concat([self.rows(index[: n // 2]), self.rows(index[n // 2 :])])
        files = {i: self._opened(i) for i in used}
        fds = np.zeros(len(self.names), np.int64)
        for i, file in files.items():
            fds[i] = file.fd
        starts = starts_[at].astype(np.int64)
        ends = starts_[at + 1].astype(np.int64)
        begins = np.zeros(n + 1, np.int64)
        np.cumsum(ends - starts, out=begins[1:])
        provenance = Provenance(0, self._bases[in_file] + starts, (self._held,)) if self._bases is not None else None
        return self._read(index, fds[in_file], starts, ends - starts, begins, provenance)

    def located(self, index: Array) -> Block:
        """The addresses of the records with these numbers, which are verified but not kept; what `rows` gives if one of
        them cannot be read.
        """
        starts_, bases = self.whole()._starts, self._bases
        in_file = np.searchsorted(self._firsts, index, "right") - 1
        used = np.flatnonzero(np.bincount(in_file)).tolist()
        if starts_ is None or bases is None or len(used) > MOST_OPEN:
            return self.rows(index)
        files = {i: self._opened(i) for i in used}
        starts, ends = (starts_[index + in_file + more].astype(np.int64) for more in (0, 1))
        sums = np.empty(len(index), np.uint32)
        places = zip(in_file.tolist(), starts.tolist(), ends.tolist(), strict=True)
        for k, (i, start, end) in enumerate(places):
            begins, found = kernels.tfrecord_places(files[i].fd, start, 1, end - start)
            if len(found) == 0 or begins[1] != end:
                return self.rows(index)
            sums[k] = found[0]
        addresses = Provenance(0, bases[in_file] + starts, (self._held,))
        return Block([Unread(addresses, ends - starts - AROUND, sums, read_records)], len(index), LEAF, addresses)

    def _span(self, first: int, last: int) -> Block:
        """Consecutive records, as far as they lie in one file, in one piece."""
        assert self._starts is not None
        i = int(self._firsts.searchsorted(first, "right")) - 1
        stop = min(last, int(self._firsts[i + 1]))
        file = self._opened(i)
        begins = self._starts[first + i : stop + i + 1].astype(np.int64)
        start, end = int(begins[0]), int(begins[-1])
        begins -= start
        provenance = None
        if self._bases is not None:
            provenance = Provenance(int(self._bases[i]) + start, begins[:-1], (self._held,))
        block = self._read(first, np.array([file.fd]), np.array([start]), np.array([end - start]), begins, provenance)
        return block if stop == last else concat([block, self._span(stop, last)])

    def _read(
        self, index: int | Array, fds: Array, starts: Array, sizes: Array, begins: Array, provenance: Provenance | None
    ) -> Block:
        """The bytes at these places of files, verified to be the complete records with these numbers (or numbers from
        this one on). In the result each frame begins at one of `begins`.
        """
        n = len(begins) - 1
        data, whole, failure = kernels.read_spans(fds, starts, sizes)
        good, stop, length = 0 if isinstance(index, int) else whole, int(Stop.DATA_CUT), 0
        if whole == len(sizes):
            offsets = begins + HEADER.size
            there, stop, length = kernels.tfrecord_frames(data, 0, n)
            if len(there) == n + 1 and bool((there == offsets).all()):
                return Block([Bytes(data, offsets, AROUND)], n, LEAF, provenance)
            good = int((there == offsets[: len(there)]).argmin() or len(there)) - 1
        raise self._wrong(index + good if isinstance(index, int) else int(index[good]), stop, length, failure)

    def _opened(self, i: int) -> OpenFile:
        """The file with this number, verified to be the one that was counted. It stays open while the returned object
        is referenced, and for a while after.
        """
        stamp = self._indexes[i].stamp
        with self._lock:
            file = self._open.get(i)
            if _stamp(self.names[i]) != stamp:
                self._open.pop(i, None)
                raise FailedPreconditionError(
                    f"{shown(self.names[i])} has changed since its records were counted, when it had {stamp.size} "
                    "bytes; create the dataset again"
                )
            if file is None:
                file = self._open[i] = OpenFile(self.names[i])
                if Stamp.of(os.fstat(file.fd)) != stamp:
                    self._open.pop(i)
                    return self._opened(i)
                while len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(i)
            return file

    def _wrong(self, number: int, stop: int, length: int, failure: int) -> Exception:
        assert self._starts is not None
        i = int(self._firsts.searchsorted(number, "right")) - 1
        name, start = self.names[i], int(self._starts[number + i])
        number -= int(self._firsts[i])
        if failure:
            return as_op_error(OSError(failure, os.strerror(failure)), name)
        if stop == Stop.DATA_DAMAGED:
            return indexing.damage(name, number, start, stop, length, 0)
        # The index points to a place without such a record, although size and time of the file are unchanged.
        indexing.forget(name)
        self._wrong_index = True
        return FailedPreconditionError(
            f"{shown(name)}, record {number} (byte {start}) is not where the index says: the file is corrupt, "
            "or was changed without a new modification time; create the dataset again, which recounts its "
            "records"
        )

    def expect(self, start: int, stop: int) -> None:
        """Asks the system to read ahead the records from number `start` to `stop`, which are needed soon."""
        advise = getattr(os, "posix_fadvise", None)
        if advise is None or start >= stop:
            return
        assert self._starts is not None
        first, last = np.searchsorted(self._firsts, [start, stop - 1], "right") - 1
        for i in range(first, min(last, first + MOST_OPEN) + 1):
            a = int(self._starts[max(start, self._firsts[i]) + i])
            b = int(self._starts[min(stop, self._firsts[i + 1]) + i])
            if a < b:
                advise(self._opened(i).fd, a, b - a, os.POSIX_FADV_WILLNEED)

    @property
    def size(self) -> int:
        """The total size of the files, in bytes."""
        return sum(index.stamp.size for index in self.whole()._indexes)

    def close(self) -> None:
        """Closes the files; they are reopened when needed."""
        with self._lock:
            self._open.clear()

    def __reduce__(self) -> Any:
        return _again, (self.names, self.mark)


def indexed_size(names: Sequence[bytes]) -> tuple[int, int] | None:
    """The number of records in files and their size in bytes, if all have an index already; None if one has not."""
    count = size = 0
    for name in names:
        index = indexing.found(name)
        if index is None:
            return None
        count, size = count + len(index), size + index.stamp.size
    return count, size


def _again(names: tuple[bytes, ...], mark: int) -> RecordFiles:
    """The same object after unpickling in another process, if the files are the same."""
    made = _Marked(names)
    made.expected = mark
    return made


class _Marked(RecordFiles):
    """The records of files that were counted in another process."""

    expected = 0

    def whole(self) -> RecordFiles:
        if self._starts is None:
            super().whole()
            if self.mark != self.expected:
                self._starts = None
                raise changed_since(self.names)
        return self


def changed_since(names: Sequence[bytes]) -> FailedPreconditionError:
    """The error for files that are not those that were counted before."""
    files = shown(names[0]) + (f" and {len(names) - 1} other files" if len(names) > 1 else "")
    return FailedPreconditionError(f"{files} changed since the records were numbered; start a new epoch")


def _stamp(name: bytes) -> Stamp | None:
    try:
        return Stamp.of(os.stat(name))
    except OSError:
        return None


def _first_records(name: bytes) -> int:
    """The number of records at the beginning of a file, as far as one short read shows."""
    size = indexing.stamp_of(name).size
    with OpenFile(name) as fd:
        return len(indexing.scan_headers(name, fd, 0, size, 0, FIRST_LOOK)[0]) if size else 0
