"""The same few records in every format, and the command on them."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from array_record.python import array_record_module
from tests.tools import command_server

import feedline as fl

ROWS = [
    {"name": "Ada", "age": 3, "weight": 4.5},
    {"name": "Bob, the <b>cat</b>", "age": 5, "weight": 6.25},
    {"name": "Çelik [red]", "age": 7, "weight": 3.0},
]
NAMES = {
    "tfrecord": "pets.tfrecord",
    "arrayrecord": "pets.arrayrecord",
    "tar": "pets.tar",
    "parquet": "pets.parquet",
    "arrow": "pets.arrow",
    "csv": "pets.csv",
    "jsonl": "pets.jsonl",
}


def example(**features: Any) -> bytes:
    """A serialized Example."""
    return fl.train.example(features).SerializeToString()


def written(folder: Path) -> dict[str, Path]:
    """A file of each format with `ROWS`."""
    paths = {kind: folder / name for kind, name in NAMES.items()}
    records = [example(**row) for row in ROWS]
    with fl.io.TFRecordWriter(str(paths["tfrecord"])) as writer:
        writer.write_many(records)
    array = array_record_module.ArrayRecordWriter(str(paths["arrayrecord"]), "group_size:1")
    for record in records:
        array.write(record)
    array.close()
    with tarfile.open(paths["tar"], "w") as tar:
        for i, row in enumerate(ROWS):
            for key, value in row.items():
                data = str(value).encode()
                member = tarfile.TarInfo(f"{i}.{key}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    table = pa.table({key: [row[key] for row in ROWS] for key in ROWS[0]})
    pq.write_table(table, paths["parquet"])
    with pa.OSFile(str(paths["arrow"]), "wb") as file, pa.ipc.new_file(file, table.schema) as arrow:
        arrow.write_table(table)
    lines = ["name,age,weight", *('"{name}",{age},{weight}'.format(**row) for row in ROWS)]
    paths["csv"].write_text("\n".join(lines) + "\n")
    paths["jsonl"].write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS))
    return paths


def plain_rows(kind: str) -> list[dict[str, Any]]:
    """What `head --json` shows of the file of this format."""
    if kind == "tar":
        return [{"__key__": str(i), **{key: str(v) for key, v in row.items()}} for i, row in enumerate(ROWS)]
    return [dict(row) for row in ROWS]


class Said(NamedTuple):
    """What a command has said."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run(*arguments: object, stdin: bytes | None = None, cwd: Path | None = None, **env: str) -> Said:
    """The command, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("in", "out", "err")]
        for file in files:
            file.write_bytes(stdin or b"" if file.name == "in" else b"")
        status = command_server.wait(command_server.start(arguments, files, cwd, env))
        return Said(status, files[1].read_bytes(), files[2].read_bytes())


def output(*arguments: object, **kwargs: Any) -> str:
    """The output of a command that succeeds without complaints."""
    said = run(*arguments, **kwargs)
    assert (said.returncode, said.stderr.decode()) == (0, ""), said
    return said.stdout.decode()


def damage(path: Path, at: int, to: Path | None = None) -> Path:
    """A copy of a file with one byte changed."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    (to or path).write_bytes(data)
    return to or path


def many(folder: Path, files: int, rows: int, name: str = "many") -> list[Path]:
    """TFRecord files of numbered Examples."""
    paths = []
    for i in range(files):
        paths.append(folder / f"{name}-{i:05}-of-{files:05}.tfrecord")
        numbers = np.arange(i * rows, (i + 1) * rows)
        words = [f"word {n % 7}" for n in numbers]
        fl.io.write_examples(paths[-1], {"id": numbers, "half": numbers / 2, "word": words})
    return paths
