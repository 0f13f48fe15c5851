"""Reading Parquet files. Row groups are the units of random access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from feedline.io.arrow import needed
from feedline.io.arrow.table import TableReader
from feedline.io.files import system_path
from feedline.sharing import cached_property
from feedline.structure.block import Array

BATCH_BYTES = 4 << 20
READ_BYTES = 1 << 20
"""Bytes of a column that are read from a local file at once."""
MOST_ROWS = 1 << 16


class ParquetReader(TableReader):
    """An open Parquet file."""

    kind = "Parquet file"
    checksums: ClassVar[bool] = False
    """Whether the checksums of pages are verified, in files that have them."""

    def open(self) -> Any:
        """Reads the footer."""
        needed("ParquetDataset")
        from pyarrow import parquet

        file = self.source()
        # Arrow would read all row groups of a file ahead, and keep them until the last one is decoded.
        here = {} if system_path(self.name) is None else {"pre_buffer": False, "buffer_size": READ_BYTES}
        try:
            self._table = parquet.ParquetFile(file, page_checksum_verification=self.checksums, **here)
        except BaseException:
            file.close()
            raise
        self._file = file
        return self._table.schema_arrow

    @cached_property
    def starts(self) -> Array:
        """The first rows of the row groups, from the footer."""
        about = self._table.metadata
        return self.counted(about.row_group(i).num_rows for i in range(about.num_row_groups))

    def part(self, i: int) -> Any:
        """A row group."""
        table = self._table.read_row_group(i, columns=self.names)
        table.validate(full=True)
        return _one(table)

    def part_bytes(self, i: int) -> int:
        """The size of a row group without compression."""
        return int(self._table.metadata.row_group(i).total_byte_size)

    def parts_from(self, row: int) -> Iterator[tuple[int, Any]]:
        """Pieces of row groups, so that a group need not be in memory as a whole."""
        starts = self.starts
        if row >= starts[-1]:
            return
        first = int(np.searchsorted(starts, row, "right")) - 1
        groups = list(range(first, len(starts) - 1))
        at = int(starts[first])
        for batch in self._table.iter_batches(self._batch_rows, row_groups=groups, columns=self.names):
            yield at, batch
            at += batch.num_rows

    @cached_property
    def _batch_rows(self) -> int:
        about = self._table.metadata
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        return int(min(MOST_ROWS, max(64, BATCH_BYTES * about.num_rows // max(1, size))))


class VerifiedParquetReader(ParquetReader):
    """An open Parquet file whose checksums are verified."""

    checksums = True


def _one(table: Any) -> Any:
    """A table as one record batch."""
    pa = needed("ParquetDataset")
    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_arrays([c.combine_chunks() for c in table.columns], schema=table.schema)
