"""Writing one file of elements."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from feedline import kernels
from feedline.io.elements import columns
from feedline.io.elements.compression import compressed
from feedline.io.elements.form import ObservedSpecs, described
from feedline.io.tfrecord.framing import CHECKSUM, LENGTH, mask, masked_crc
from feedline.structure.block import Block, concat

FORMAT = "feedline elements"
VERSION = 1
END = b"elements"
BLOCK_BYTES = 1 << 20

Append = Callable[[list[Any]], None]


class ElementsWriter:
    """Gathers rows into blocks and passes their bytes to `append`, in pieces to be written in order.

    `mark` distinguishes this file from others of the same name: a file can only be continued if it has it.
    """

    def __init__(self, append: Append, compression: str = "", fingerprint: str | None = None, mark: str = "") -> None:
        self.rows = 0
        self._append = append
        self._compression = compression
        self._about = {"format": FORMAT, "version": VERSION, "compression": compression, "fingerprint": fingerprint}
        if mark:
            self._about["mark"] = mark
        self._written = 0
        self._blocks: list[tuple[int, int]] = []
        self._seen = ObservedSpecs()
        self._waiting: list[Block] = []
        self._waiting_rows = self._waiting_bytes = 0

    def write(self, block: Block) -> None:
        """Writes rows. They must not change until they are written: pass read-only or unshared ones."""
        columns.check(block)
        block = self._seen.add(block)
        for start in range(0, block.n, columns.MOST_ROWS):
            part = block.slice(start, start + columns.MOST_ROWS)
            if self._waiting_rows + part.n > columns.MOST_ROWS:
                self._flush()
            self._waiting.append(part)
            self._waiting_rows += part.n
            self._waiting_bytes += part.nbytes
            if self._waiting_bytes >= BLOCK_BYTES:
                self._flush()
        self.rows += block.n

    def finish(self, known: object = None) -> None:
        """Completes the file. `known` is the spec of the elements as far as it was known before."""
        self._flush()
        if not self._written:
            self._header()
        start = self._written
        about = {"form": described(self._seen.spec(known)), "blocks": self._blocks}
        self._frame([json.dumps(about).encode()])
        self._frame([LENGTH.pack(start), END])

    def save(self) -> dict[str, Any]:
        """Writes the buffered rows, and returns the progress as JSON values and a block."""
        self._flush()
        return {"bytes": self._written, "blocks": [list(b) for b in self._blocks], "form": self._seen.save()}

    def load(self, saved: dict[str, Any], file: Any) -> None:
        """Continues where `save` was called, if `file`, opened for reading and writing, is the same file; truncates
        anything written later. Raises ValueError or another exception if it is not.
        """
        self._written = LENGTH.size + 2 * CHECKSUM.size + len(self._header_text())
        if _record(file, 0) != self._header_text():
            raise ValueError("it is a different file")
        for size, rows in saved["blocks"]:
            if _size(file, self._written) != size or rows < 0:
                raise ValueError("it has different blocks")
            self._written += size + LENGTH.size + 2 * CHECKSUM.size
            self._blocks.append((size, rows))
            self.rows += rows
        if self._written != saved["bytes"] or file.seek(0, 2) < self._written:
            raise ValueError("it is truncated")
        file.truncate(self._written)
        self._seen.load(saved["form"])

    def _flush(self) -> None:
        if not self._waiting:
            return
        if not self._written:
            self._header()
        block = concat(self._waiting)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        size = self._frame(compressed(columns.encoded(block), self._compression))
        self._blocks.append((size, block.n))

    def _header(self) -> None:
        self._frame([self._header_text()])

    def _header_text(self) -> bytes:
        return json.dumps(self._about).encode()

    def _frame(self, pieces: list[Any]) -> int:
        """Writes pieces as one record; returns its size."""
        crc = size = 0
        for piece in pieces:
            crc = kernels.crc32c(piece, crc)
            size += memoryview(piece).nbytes
        length = LENGTH.pack(size)
        framed = [length, CHECKSUM.pack(masked_crc(length)), *pieces, CHECKSUM.pack(mask(crc))]
        self._append(framed)
        self._written += sum(memoryview(p).nbytes for p in framed)
        return size


def _size(file: Any, offset: int) -> int:
    """The size of the record that begins at an offset."""
    file.seek(offset)
    head = file.read(LENGTH.size + CHECKSUM.size)
    if len(head) < LENGTH.size + CHECKSUM.size or masked_crc(head[: LENGTH.size]) != CHECKSUM.unpack_from(head, 8)[0]:
        raise ValueError("a record is missing")
    return int(LENGTH.unpack_from(head)[0])


def _record(file: Any, offset: int) -> bytes:
    size = _size(file, offset)
    return file.read(size) if size <= BLOCK_BYTES else b""
