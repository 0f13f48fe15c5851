"""Reading Arrow files (Feather) and streams of record batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from feedline.errors import DataLossError, OpError
from feedline.io.arrow import needed
from feedline.io.arrow.table import TableReader
from feedline.io.files import shown, system_path
from feedline.io.reader import FilePosition, Read
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block

MAGIC = b"ARROW1"


class ArrowReader(TableReader):
    """An open Arrow file, which has a footer, or stream, which has none and is read from its beginning."""

    kind = "Arrow file or stream"
    _batches: Any = None
    _stream: Any = None
    _mapped: Any = None

    def open(self) -> Any:
        """Detects the format from the first bytes."""
        pa = needed("ArrowDataset")
        self._file = file = self.source()
        try:
            if file.read(len(MAGIC)) == MAGIC:
                self._batches = pa.ipc.open_file(file)
                return self._batches.schema
            file.seek(0)
            self._stream = pa.ipc.open_stream(file)
            return self._stream.schema
        except BaseException:
            self.close()
            raise

    @cached_property
    def starts(self) -> Array | None:
        """None for a stream, and for a remote file, of which all batches would have to be read."""
        if self._batches is None or system_path(self.name) is None:
            return None
        # Batches may be compressed by column: one column is enough to count rows.
        one = self._open_columns([0], self._mapping())
        return self.counted(one.get_batch(i).num_rows for i in range(one.num_record_batches))

    def part(self, i: int) -> Any:
        """A record batch, memory-mapped: only the rows taken are read."""
        self._mapping()
        return self._random_access.get_batch(i)

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        with self._errors_converted():
            self._mapping()
        return super().take(index)

    def read_with_nulls(self, place: FilePosition, want: int) -> tuple[Read, dict[str, Array]]:
        """The next rows, those with nulls included, and the numbers of these within the rows, by column."""
        try:
            with self._errors_converted():
                if self.starts is not None:
                    self._mapping()
        except OpError as e:
            return Read(None, None, e), {}
        return super().read_with_nulls(place, want)

    def close(self) -> None:
        """Closes the file."""
        mapped, self._mapped = self._mapped, None
        if mapped is not None:
            mapped.close()
        super().close()

    def _mapping(self) -> Any:
        """The memory-mapped file, for random access. It must not have been truncated: access past its end would crash.
        """
        size = os.stat(shown(system_path(self.name) or b"")).st_size
        if self._mapped is None:
            self._mapped = needed("ArrowDataset").memory_map(shown(system_path(self.name) or b""))
            self._size = self._mapped.size()
        if size < self._size:
            raise DataLossError(f"{shown(self.name)} had {self._size} bytes when it was opened and now has {size}")
        return self._mapped

    def parts_from(self, row: int) -> Iterator[tuple[int, Any]]:
        """The record batches: all of them, unless their first rows are known."""
        first = 0 if self.starts is None else int(np.searchsorted(self.starts[:-1], row, "right")) - 1
        at = 0 if self.starts is None else int(self.starts[max(0, first)])
        if self._batches is not None:
            batches = (self._wanted.get_batch(i) for i in range(max(0, first), self._batches.num_record_batches))
        else:
            batches = iter(self._again())
        for batch in batches:
            yield at, batch
            at += batch.num_rows

    @cached_property
    def _wanted(self) -> Any:
        """The file, reading only the selected columns."""
        return self._open_columns(self._columns, self._file)

    @cached_property
    def _random_access(self) -> Any:
        """The same, memory-mapped for random access."""
        return self._open_columns(self._columns, self._mapping())

    @property
    def _columns(self) -> list[int]:
        return [self._batches.schema.get_field_index(name) for name in self.names]

    @staticmethod
    def _open_columns(columns: list[int], file: object) -> Any:
        pa = needed("ArrowDataset")
        return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=sorted(columns)))

    def _again(self) -> Any:
        """The stream from its beginning."""
        stream, self._stream = self._stream, None
        if stream is not None:
            return stream
        self._file.seek(0)
        return needed("ArrowDataset").ipc.open_stream(self._file)
