"""The files that random pipelines read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import feedline as fl

COUNTS = (0, 13, 5, 8)  # records of each file


def write_files(folder: Path) -> None:
    """TFRecord files of numbers, Examples, lines, fixed-length records, a table, and a database."""
    for i, count in enumerate(COUNTS):
        with fl.io.TFRecordWriter(str(folder / f"records-{i}")) as writer:
            for x in range(10 * i, 10 * i + count):
                writer.write(b"%d" % x)
    with fl.io.TFRecordWriter(str(folder / "records.gz"), "GZIP") as writer:
        for x in range(9):
            writer.write(b"%d" % (x * x))
    with fl.io.TFRecordWriter(str(folder / "examples")) as writer:
        for x in range(15):
            writer.write(_example(x))
    for i, count in enumerate((4, 0, 7)):
        (folder / f"lines-{i}").write_text("".join(f"line {j} of {i}\n" for j in range(count)))
    (folder / "fixed").write_bytes(bytes(range(65, 65 + 56)))
    rows = "".join(f"{i},{i / 4},name{i % 3}\n" for i in range(12))
    (folder / "table.csv").write_text("number,part,name\n" + rows)
    with closing(sqlite3.connect(folder / "table.db")) as base:
        base.execute("create table t (number integer, part real, name text)")
        base.executemany("insert into t values (?, ?, ?)", [(i, i / 4, f"name{i % 3}") for i in range(12)])
        base.commit()


def _example(x: int) -> bytes:
    features = {
        "x": fl.train.Feature(int64_list=fl.train.Int64List(value=[x])),
        "v": fl.train.Feature(float_list=fl.train.FloatList(value=[x / 2, 1.0])),
        "r": fl.train.Feature(int64_list=fl.train.Int64List(value=list(range(x % 4)))),
    }
    return fl.train.Example(features=fl.train.Features(feature=features)).SerializeToString()
