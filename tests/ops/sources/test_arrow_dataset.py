"""`ArrowDataset`: Feather files, IPC files and streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from tests.harness import Raises, check, check_errors
from tests.io.arrow_tables import rows, table

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.reader import Place


def write(path: Path, data: Any, kind: str = "file", size: int = 4) -> str:
    data = pa.table(data) if isinstance(data, dict) else data.unify_dictionaries()
    opened = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind]
    with opened(path, data.schema) as sink:
        sink.write_table(data, max_chunksize=size)
    return str(path)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_rows_of_every_kind(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "a.arrow", table(10), kind)
    ds = fl.ArrowDataset(path)
    assert type(ds) is fl.ArrowDataset
    assert ds.cardinality() == (10 if kind == "file" else fl.UNKNOWN_CARDINALITY)
    check(ds, rows(10))
    few = [{"s": r["s"], "i": r["i"]} for r in rows(10)]
    check(fl.ArrowDataset([path, path], ["s", "i"]), few + few, sizes=(1, 7, None), optimizer=[True])


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(table(10), str(path), compression=compression, chunksize=3)
    ds = fl.ArrowDataset(path)
    check(ds, rows(10), sizes=(2, None), optimizer=[True])
    assert sorted(int(e["i"]) for e in ds.global_shuffle(seed=1)) == list(range(10))
    assert fl.experimental.at(ds, 7)["s"] == rows(10)[7]["s"]
    assert [int(e["i"]) for e in ds.skip(6)] == [6, 7, 8, 9]


def test_numbers_are_read_where_they_lie(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", {"x": np.arange(1000)}, size=1000)
    block = next(iter(fl.ArrowDataset(path).batch(10)))
    assert block["x"].flags.writeable and block["x"].tolist() == list(range(10))
    reader = fl.ArrowDataset(path)._plan.open_file(path.encode())
    rows = reader.read(Place(), 5).rows
    assert rows is not None and not rows.columns[0].flags.owndata
    reader.close()


def test_nulls(tmp_path: Path) -> None:
    path = write(tmp_path / "n", {"x": [1, None, 3]}, "stream")
    bad = Raises(InvalidArgumentError, "n, row 1: the column 'x' is null")
    check_errors(fl.ArrowDataset(path), [{"x": np.int64(1)}, bad, {"x": np.int64(3)}])
    check(fl.ArrowDataset(path, fill_null={"x": 0}), [{"x": np.int64(i)} for i in (1, 0, 3)])


def test_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "a", table(5), "stream")
    assert [b["i"].tolist() for b in fl.ArrowDataset(path, ["i", "l"], batch_size=3)] == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_bad_files(tmp_path: Path, kind: str) -> None:
    good = write(tmp_path / "good", {"x": list(range(8))}, kind)
    data = Path(good).read_bytes()
    bad = {"cut": data[: -len(data) // 3], "text": b"this is no table at all", "empty": b"", "short": data[:4]}
    for name, contents in bad.items():
        (tmp_path / name).write_bytes(contents)
    for name in ("text", "empty", "short"):
        with pytest.raises(DataLossError, match=f"{name}: it is no Arrow file or stream"):
            fl.ArrowDataset(tmp_path / name)
    with pytest.raises(NotFoundError, match="nope"):
        fl.ArrowDataset(tmp_path / "nope")
    expect = [{"x": np.int64(i)} for i in range(8)]
    lost = Raises(DataLossError, "cut")
    before = expect[:4] if kind == "stream" else []
    ds = fl.ArrowDataset([good, str(tmp_path / "cut"), good])
    check_errors(ds, [*expect, *before, lost, *expect], sizes=(1, 7, None), optimizer=[True])
    with pytest.raises(InvalidArgumentError, match="good: it has no column named 'y'"):
        fl.ArrowDataset(good, ["y"])


def test_elsewhere(tmp_path: Path) -> None:
    for kind in ("file", "stream"):
        fl.io.gfile.copy(write(tmp_path / kind, table(10), kind), f"memory://arrow/{kind}", overwrite=True)
        check(fl.ArrowDataset(f"memory://arrow/{kind}"), rows(10), sizes=(7,), optimizer=[True])
    fl.io.gfile.rmtree("memory://arrow")
