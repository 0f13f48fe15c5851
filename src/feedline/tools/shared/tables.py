"""Rows of tables as they are stored: record batches of Arrow, whose types all stay as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.arrow import needed as arrow
from feedline.structure.block import Array
from feedline.tools.shared.formats import ARROW, DataFile
from feedline.tools.shared.records import table_reader

SPILLED_ROWS = 1024
"""Rows of a record batch from which single rows are read."""


class TableRows(NamedTuple):
    """A record batch."""

    batch: Any

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.batch.num_rows)

    def slice(self, start: int, stop: int) -> TableRows:
        """Rows start to stop."""
        return TableRows(self.batch.slice(start, stop - start))


def has_columns(source: DataFile, names: Sequence[str]) -> bool:
    """Whether a table has these columns. A feature may also be a part of a column, such as a field of a struct."""
    with closing(table_reader(source)) as reader:
        return set(names) <= set(reader.schema.names)


def schema_of(sources: Sequence[DataFile], chosen: list[str] | None, format: str) -> Any:
    """The schema of a table of this format that holds the columns of all files, or the chosen ones."""
    pa = arrow("convert")
    found = []
    for source in sources:
        with closing(table_reader(source)) as reader:
            found.append(reader.schema)
    try:
        schema = pa.unify_schemas(found, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        reason = str(e).partition("\n")[0].rstrip(".")
        raise InvalidArgumentError(f"the files have columns whose types do not go together: {reason}") from None
    if chosen is not None:
        schema = pa.schema([schema.field(name) for name in dict.fromkeys(chosen)])
    if format == ARROW:  # an Arrow file has one dictionary per column, and the batches here may have several
        schema = pa.schema([_decoded(field) for field in schema], schema.metadata)
    return schema


def _decoded(field: Any) -> Any:
    return field.with_type(field.type.value_type) if arrow("convert").types.is_dictionary(field.type) else field


def count_of(source: DataFile) -> int:
    """The number of rows of a table."""
    with closing(table_reader(source)) as reader:
        known = reader.count
        return sum(batch.num_rows for batch in reader.stored()) if known is None else known


def stored(source: DataFile, schema: Any) -> Iterator[tuple[TableRows, int]]:
    """The rows of a table, with the columns of a schema, and the bytes of the file that they take."""
    pa = arrow("convert")
    with closing(table_reader(source)) as reader:
        names = [name for name in schema.names if name in reader.schema.names]
    with closing(table_reader(source, names)) as reader:
        total = reader.count
        for batch in reader.stored():
            arrays = [
                batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(len(batch), field.type)
                for field in schema
            ]
            taken = (source.size or 0) * batch.num_rows // total if total else 0
            yield TableRows(pa.RecordBatch.from_arrays(arrays, schema=schema)), taken


class SpilledTable:
    """Rows in a temporary file, from which any are read in bounded memory."""

    def __init__(self, parts: Iterable[TableRows], schema: Any) -> None:
        pa = arrow("convert")
        self._stack = ExitStack()
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="feedline-shuffle-"))
            path = str(Path(folder) / "rows.arrow")
            plain = pa.schema([_decoded(field) for field in schema], schema.metadata)
            with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, plain) as writer:
                for part in parts:
                    table = pa.Table.from_batches([part.batch]).cast(plain)
                    writer.write_table(table, max_chunksize=SPILLED_ROWS)
            self._file = stack.enter_context(pa.memory_map(path))
            self.size = int(self._file.size())
            self._batches = pa.ipc.open_file(self._file)
            self._stack = stack.pop_all()
        sizes = [self._batches.get_batch(i).num_rows for i in range(self._batches.num_record_batches)]
        self._ends = np.cumsum(np.array(sizes, np.int64))
        self._schema = schema
        self.count = sum(sizes)

    def take(self, index: Array) -> Any:
        """The rows with these numbers, in this order."""
        pa = arrow("convert")
        order = np.argsort(index, kind="stable")
        wanted = index[order]
        which = np.searchsorted(self._ends, wanted, "right")
        parts = []
        for i in np.unique(which).tolist():
            batch = self._batches.get_batch(i)
            parts.append(batch.take(pa.array(wanted[which == i] - (self._ends[i] - batch.num_rows))))
        back = np.empty(len(index), np.int64)
        back[order] = np.arange(len(index))
        table = pa.Table.from_batches(parts).combine_chunks().take(pa.array(back)).cast(self._schema)
        return table.combine_chunks().to_batches()[0]

    def __enter__(self) -> SpilledTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
