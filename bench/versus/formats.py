"""Converts data to the formats of peers, in their environments: `python -m bench.versus.formats FOLDER SET FORMAT`."""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench.versus.functions import FLOATS, INTEGERS, STRINGS, VECTOR, VECTOR_SIZE, records

EXTENSIONS = {"jpeg": "jpg"}


def sources(dataset: Path) -> list[Path]:
    """The TFRecord files of a dataset."""
    return sorted((dataset / "tfrecord").glob("part-*"))


def shard_columns(dataset: Path) -> Iterator[dict[str, np.ndarray]]:
    """The columns of each shard."""
    for path in sorted((dataset / "columns").glob("part-*")):
        with np.load(path) as columns:
            yield dict(columns)


def rows(dataset: Path) -> Iterator[dict[str, Any]]:
    """The rows of a dataset as dicts: the columns of an Example, or the bytes of a record."""
    if dataset.name == "tabular":
        for columns in shard_columns(dataset):
            names = list(columns)
            for values in zip(*(columns[name] for name in names), strict=True):
                yield dict(zip(names, values, strict=True))
    else:
        for path in sources(dataset):
            yield from ({"data": record} for record in records(str(path)))


def arrayrecord(dataset: Path, folder: Path) -> None:
    """ArrayRecord, Grain's format; one record per group, for random access."""
    from array_record.python.array_record_module import ArrayRecordWriter

    for path in sources(dataset):
        writer = ArrayRecordWriter(str(folder / f"{path.name}.arrayrecord"), "group_size:1")
        for record in records(str(path)):
            writer.write(record)
        writer.close()


def parquet(dataset: Path, folder: Path) -> None:
    """Parquet, as Hugging Face datasets and Ray recommend."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def table(columns: dict[str, np.ndarray]) -> Any:
        arrays = {name: pa.array(columns[name]) for name in [*FLOATS, *INTEGERS]}
        arrays |= {name: pa.array(columns[name].tolist(), pa.binary()) for name in STRINGS}
        arrays[VECTOR] = pa.FixedSizeListArray.from_arrays(pa.array(columns[VECTOR].reshape(-1)), VECTOR_SIZE)
        return pa.table(arrays)

    def tables() -> Iterator[Any]:
        if dataset.name == "tabular":
            yield from map(table, shard_columns(dataset))
        else:
            for path in sources(dataset):
                yield pa.table({"data": pa.array(list(records(str(path))), pa.binary())})

    for number, made in enumerate(tables()):
        pq.write_table(made, folder / f"part-{number:05d}.parquet", row_group_size=4096)


def mds(dataset: Path, folder: Path) -> None:
    """MDS, the format of Streaming."""
    from bench.versus.mds import package

    columns = {"data": "bytes"}
    if dataset.name == "tabular":
        columns = dict.fromkeys(FLOATS, "float32") | dict.fromkeys(INTEGERS, "int64") | dict.fromkeys(STRINGS, "bytes")
        columns[VECTOR] = f"ndarray:float32:{VECTOR_SIZE}"
    with package().MDSWriter(out=str(folder), columns=columns) as writer:
        for row in rows(dataset):
            writer.write(row)


def litdata(dataset: Path, folder: Path) -> None:
    """The chunks of LitData."""
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(folder), chunk_bytes=64 << 20)
    for number, row in enumerate(rows(dataset)):
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
        writer[number] = plain
    writer.done()
    writer.merge()


def tar(dataset: Path, folder: Path) -> None:
    """Tar files, the format of webdataset."""
    extension = EXTENSIONS.get(dataset.name, "bin")
    for shard, path in enumerate(sources(dataset)):
        with tarfile.open(folder / f"{path.name}.tar", "w") as out:
            for number, record in enumerate(records(str(path))):
                member = tarfile.TarInfo(f"{shard:05d}{number:08d}.{extension}")
                member.size = len(record)
                out.addfile(member, io.BytesIO(record))


def files(dataset: Path, folder: Path) -> None:
    """One file per record."""
    extension = EXTENSIONS.get(dataset.name, "bin")
    for shard, path in enumerate(sources(dataset)):
        inner = folder / f"{shard:05d}"
        inner.mkdir()
        for number, record in enumerate(records(str(path))):
            (inner / f"{number:08d}.{extension}").write_bytes(record)


FORMATS: dict[str, Callable[[Path, Path], None]] = {
    "arrayrecord": arrayrecord,
    "parquet": parquet,
    "mds": mds,
    "litdata": litdata,
    "tar": tar,
    "files": files,
}


def main(folder: str, dataset: str, form: str) -> None:
    """Makes one format of one dataset, if it is not there."""
    from bench.versus.data import complete

    done = Path(folder) / dataset / form
    if not done.exists():
        print(f"== data: {dataset} as {form}", flush=True)
        with complete(done) as draft:
            FORMATS[form](Path(folder) / dataset, draft)


if __name__ == "__main__":
    main(*sys.argv[1:])
