"""Reading one file of elements. No data are trusted before their checksum has been verified."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from typing import Any

import numpy as np

from feedline.errors import DataLossError, FailedPreconditionError, OpError, UnimplementedError
from feedline.io.elements.columns import MOST_ROWS, decoded
from feedline.io.elements.compression import decompressed
from feedline.io.elements.form import form
from feedline.io.elements.writer import END, FORMAT, VERSION
from feedline.io.files import as_op_error, shown, system_path
from feedline.io.remote import RemoteFile
from feedline.io.tfrecord.framing import AROUND, CHECKSUM, HEADER, LENGTH, masked_crc
from feedline.structure.block import Array, Block, Objects, concat

LAST = AROUND + LENGTH.size + len(END)
"""The size of the last record of a file."""


class ElementsReader:
    """A complete file, read by block or by row.

    The file is opened when the first block is read, and reopened when needed after `close`. The most recently read
    blocks are cached, up to `keep` bytes and at least one.
    """

    def __init__(self, path: bytes, keep: int = 0) -> None:
        self.path = path
        self._keep = keep
        self._file: Any = None
        self._kept: OrderedDict[int, Block] = OrderedDict()
        self._failed: dict[int, str] = {}
        try:
            self._read_about()
        finally:
            self.close()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.starts[-1])

    def span(self, start: int, want: int) -> Block | None:
        """Up to `want` rows from number `start` on, from one block; None past the end."""
        if start >= self.rows:
            return None
        i = int(np.searchsorted(self.starts, start, "right")) - 1
        at = start - int(self.starts[i])
        return self.block(i).slice(at, at + want)

    def exactly(self, start: int, count: int) -> Block:
        """Exactly these rows, all of which must exist."""
        parts: list[Block] = []
        while count:
            part = self.span(start, count)
            assert part is not None
            parts.append(part)
            start, count = start + part.n, count - part.n
        return concat(parts)

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        if not len(index):
            return Block([Objects([], spec) for spec in self.specs], 0, self.tree)
        which = np.searchsorted(self.starts, index, "right") - 1
        parts = [self.block(i).take(index[which == i] - self.starts[i]) for i in np.unique(which).tolist()]
        back = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        return parts[0] if len(parts) == 1 else concat(parts).take(back)

    def block(self, i: int) -> Block:
        """Block i, read-only."""
        if i in self._failed:
            raise DataLossError(self._failed[i])
        found = self._kept.get(i)
        if found is None:
            found = self._kept[i] = self._read_block(i)
            while len(self._kept) > 1 and sum(b.nbytes for b in self._kept.values()) > self._keep:
                self._kept.popitem(last=False)
        self._kept.move_to_end(i)
        return found

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    # Reading the file.

    def _read_about(self) -> None:
        size = self._size()
        end = self._checked("its end", lambda: self._record(size - LAST, LENGTH.size + len(END)))
        if bytes(end[LENGTH.size :]) != END:
            raise self._damaged("its end", "it is not a file of elements")
        (start,) = LENGTH.unpack_from(end)
        header, after = self._checked("its header", lambda: self._json(0, size))
        if header.get("format") != FORMAT:
            raise self._damaged("its header", "it is not a file of elements")
        if header.get("version") != VERSION:
            raise FailedPreconditionError(
                f"{shown(self.path)} has version {header.get('version')}, this feedline reads version {VERSION}"
            )
        self.compression = str(header.get("compression", ""))
        self.fingerprint = header.get("fingerprint")
        footer, last = self._checked("its footer", lambda: self._json(start, size))
        if last != size - LAST:
            raise self._damaged("its footer", "there is data between it and the end")
        self._checked("its footer", lambda: self._take(footer, after, start))

    def _take(self, footer: Any, first: int, end: int) -> None:
        """Adopts the footer, if it agrees with the offsets of the blocks."""
        self.tree, self.specs = form(footer["form"])
        counts = np.array(footer["blocks"], np.int64).reshape(-1, 2)
        if (counts < 0).any() or (counts > [end, MOST_ROWS]).any():
            raise ValueError("a block is larger than the file or than the limit")
        self._offsets = first + np.concatenate([[0], np.cumsum(counts[:, 0] + AROUND)])
        self._sizes = counts[:, 0]
        self.starts = np.concatenate([[0], np.cumsum(counts[:, 1])])
        if self._offsets[-1] != end:
            raise ValueError("the sizes of its blocks do not match the file")

    def _read_block(self, i: int) -> Block:
        def read() -> Block:
            data = decompressed(self._record(int(self._offsets[i]), int(self._sizes[i])), self.compression)
            block = decoded(data, self.tree)
            if block.n != self.starts[i + 1] - self.starts[i]:
                raise ValueError(f"it has {block.n} rows instead of {self.starts[i + 1] - self.starts[i]}")
            return block

        try:
            block: Block = self._checked(f"block {i}", read)
            return block.frozen()
        except DataLossError as e:
            self._failed[i] = str(e)
            raise

    def _checked(self, part: str, read: Any) -> Any:
        """The result of `read`. Any failure means that the file is damaged, unless the file cannot be read at all."""
        try:
            return read()
        except OpError as e:
            if isinstance(e, DataLossError) or isinstance(e.__cause__, OSError):
                raise
            raise self._damaged(part, str(e)) from None
        except Exception as e:
            raise self._damaged(part, f"{type(e).__name__}: {e}" if str(e) else type(e).__name__) from None

    def _damaged(self, part: str, why: str) -> DataLossError:
        return DataLossError(f"{shown(self.path)}: {part} cannot be read, the file is truncated or corrupt: {why}")

    def _json(self, offset: int, end: int) -> tuple[Any, int]:
        """The JSON record at an offset, and its end."""
        head = self._bytes(offset, HEADER.size)
        size, crc = HEADER.unpack(head)
        if masked_crc(head[: LENGTH.size]) != crc or size > end:
            raise ValueError("the checksum of its length is wrong")
        about = json.loads(bytes(self._record(offset, size)))
        if not isinstance(about, dict):
            raise ValueError("it is not a JSON object")
        return about, offset + size + AROUND

    def _record(self, offset: int, size: int) -> memoryview:
        """The data of the record at an offset, which must have this size."""
        head = self._bytes(offset, HEADER.size)
        if head != LENGTH.pack(size) + CHECKSUM.pack(masked_crc(LENGTH.pack(size))):
            raise ValueError("no record of its size at its offset")
        data = self._bytes(offset + HEADER.size, size + CHECKSUM.size)
        if masked_crc(data[:size]) != CHECKSUM.unpack_from(data, size)[0]:
            raise ValueError("its checksum is wrong")
        return data[:size]

    def _bytes(self, offset: int, size: int) -> memoryview:
        """`size` bytes from an offset on, read-only."""
        if offset < 0 or offset + size > self._size():
            raise ValueError("the file is truncated")
        made = np.empty(size, np.uint8)
        view = made.data
        file = self._open()
        try:
            file.seek(offset)
            while view:
                count = file.readinto(view)
                if not count:
                    raise ValueError("the file is truncated")
                view = view[count:]
        except OSError as e:
            raise as_op_error(e, self.path) from e
        made.flags.writeable = False
        return made.data

    def _size(self) -> int:
        file = self._open()
        size = file.size() if isinstance(file, RemoteFile) else os.fstat(file.fileno()).st_size
        if size is None:
            raise UnimplementedError(f"{shown(self.path)} cannot be read: its server does not report its size")
        return size

    def _open(self) -> Any:
        if self._file is None:
            here = system_path(self.path)
            try:
                # Closed by close().
                self._file = RemoteFile(self.path) if here is None else open(here, "rb", buffering=0)  # noqa: SIM115
            except OSError as e:
                raise as_op_error(e, self.path) from e
        return self._file
