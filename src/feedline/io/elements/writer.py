"""Writing one file of elements."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from feedline import kernels
from feedline.io.elements import columns
from feedline.io.elements.compression import compressed
from feedline.io.elements.form import Seen, described
from feedline.io.tfrecord.framing import CHECKSUM, LENGTH, mask, masked_crc
from feedline.structure.block import Block, concat

FORMAT = "feedline elements"
VERSION = 1
END = b"elements"
BLOCK_BYTES = 1 << 20

Append = Callable[[list[Any]], None]


class ElementsWriter:
    """Gathers rows into blocks and hands their bytes to `append`, in pieces to be written one after another."""

    def __init__(self, append: Append, compression: str = "", fingerprint: str | None = None) -> None:
        self.rows = 0
        self._append = append
        self._compression = compression
        self._about = {"format": FORMAT, "version": VERSION, "compression": compression, "fingerprint": fingerprint}
        self._written = 0
        self._blocks: list[tuple[int, int]] = []
        self._seen = Seen()
        self._waiting: list[Block] = []
        self._waiting_rows = self._waiting_bytes = 0

    def write(self, block: Block) -> None:
        """Adds rows. They must not change until they are on their way: give read-only ones, or ones nobody has."""
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

    def finish(self, known: Any = None) -> None:
        """Writes what completes the file. `known` is the spec of the elements as far as it was known before."""
        self._flush()
        if not self._written:
            self._header()
        start = self._written
        about = {"form": described(self._seen.spec(known)), "blocks": self._blocks}
        self._frame([json.dumps(about).encode()])
        self._frame([LENGTH.pack(start), END])

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
        self._frame([json.dumps(self._about).encode()])

    def _frame(self, pieces: list[Any]) -> int:
        """Writes pieces as one record; gives its size."""
        crc = size = 0
        for piece in pieces:
            crc = kernels.crc32c(piece, crc)
            size += memoryview(piece).nbytes
        length = LENGTH.pack(size)
        framed = [length, CHECKSUM.pack(masked_crc(length)), *pieces, CHECKSUM.pack(mask(crc))]
        self._append(framed)
        self._written += sum(memoryview(p).nbytes for p in framed)
        return size
