"""The targets that read whole files of other formats: tables, archives, ArrayRecord."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from tests.fuzz.outcomes import Target, outcome, rows
from tests.io.arrow_tables import table

import feedline as fl

# Tables


@functools.cache
def _arrow(kind: str) -> list[bytes]:
    made = []
    for compression in (None, "lz4", "zstd"):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        data = table(6).unify_dictionaries()
        for part in (data, data.select(["l"]), data.select(["s", "kind"])):
            sink = pa.BufferOutputStream()
            opened = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind]
            with opened(sink, part.schema, options=options) as writer:
                writer.write_table(part, max_chunksize=4)
            made.append(sink.getvalue().to_pybytes())
    return made


@functools.cache
def _parquet() -> list[bytes]:
    made = []
    for settings in ({}, {"compression": "none", "use_dictionary": False}, {"compression": "gzip", "version": "1.0"}):
        for part in (table(6), table(6).select(["l", "s"])):
            sink = pa.BufferOutputStream()
            pyarrow.parquet.write_table(part, sink, row_group_size=4, **settings)
            made.append(sink.getvalue().to_pybytes())
    return made


def _table(kind: Callable[..., Any], data: bytes, folder: Path) -> Any:
    """In order, by number, in batches, and some of the columns alone."""
    path = folder / "table"
    path.write_bytes(data)
    return [
        outcome(lambda: rows(kind(path))),
        outcome(lambda: rows(kind(path).take(3).batch(2))),
        outcome(lambda: fl.experimental.at(kind(path), 5)),
        outcome(lambda: rows(kind(path, ["s", "l"]).skip(2))),
        outcome(lambda: rows(kind(path, batch_size=3, fill_null={"i": 0}))),
    ]


FILES: dict[str, Target] = {
    "Arrow file": Target(lambda folder: _arrow("file"), functools.partial(_table, fl.ArrowDataset), twin=False),
    "Arrow stream": Target(lambda folder: _arrow("stream"), functools.partial(_table, fl.ArrowDataset), twin=False),
    "Parquet": Target(lambda folder: _parquet(), functools.partial(_table, fl.ParquetDataset), twin=False),
}
