"""`ArrowDataset`: Feather files, IPC files and streams."""

from __future__ import annotations

import struct
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
from feedline.io.reader import FilePosition


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
    rows = reader.read(FilePosition(), 5).rows
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
        with pytest.raises(DataLossError, match=f"{name}: not a valid Arrow file or stream"):
            fl.ArrowDataset(tmp_path / name)
    with pytest.raises(NotFoundError, match="nope"):
        fl.ArrowDataset(tmp_path / "nope")
    expect = [{"x": np.int64(i)} for i in range(8)]
    lost = Raises(DataLossError, "truncated")
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


DAMAGES = {
    "a list that begins before its values": ("l", [0, 7, 18, 31], 0, -1000),
    "a list that ends far away": ("l", [0, 7, 18, 31], 3, 100_000_000),
    "lists that run backwards": ("l", [0, 7, 18, 31], 1, 19),
    "a string that begins before its bytes": ("s", [0, 3, 8, 15], 0, -5),
    "a string that ends far away": ("s", [0, 3, 8, 15], 2, 1 << 30),
    "an index outside its dictionary": ("kind", [0, 1, 0], 1, 77),
}


def damaged(path: Path, kind: str, column: str, numbers: list[int], at: int, value: int) -> str:
    """Three rows, with one of their offsets or indices changed."""
    words = pa.array(["red", "blue", "red"]).dictionary_encode()
    lists = pa.array([[1.0] * 7, [2.0] * 11, [3.0] * 13])
    columns = {"l": lists, "s": pa.array(["abc", "defgh", "ijklmno"]), "kind": words}
    write(path, {column: columns[column]}, kind)
    data = bytearray(path.read_bytes())
    place = data.index(np.array(numbers, "<i4").tobytes()) + 4 * at
    data[place : place + 4] = value.to_bytes(4, "little", signed=True)
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_noticed_before_anything_is_read(tmp_path: Path, kind: str, damage: tuple[Any, ...]) -> None:
    path = damaged(tmp_path / "damaged.arrow", kind, *damage)
    with pytest.raises(DataLossError, match=r"damaged\.arrow, rows 0 to 2: .*corrupt"):
        next(iter(fl.ArrowDataset(path)))
    if kind == "file":
        with pytest.raises(DataLossError, match=r"damaged\.arrow, rows 0 to 2: .*corrupt"):
            fl.experimental.at(fl.ArrowDataset(path), 1)


def test_text_that_is_no_utf8_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "text.arrow", {"s": ["abc", "def"]})
    data = Path(path).read_bytes()
    Path(path).write_bytes(data.replace(b"abcdef", b"ab\xffdef"))
    check_errors(fl.ArrowDataset(path), [Raises(DataLossError, r"text\.arrow, rows 0 to 1: .*UTF8")])


def test_lists_of_a_negative_size_are_damage(tmp_path: Path) -> None:
    lists = pa.array([[0.5] * 77], pa.list_(pa.float32(), 77))
    path = Path(write(tmp_path / "lists.arrows", {"l": lists}, "stream"))
    size, negative = struct.pack("<i", 77), struct.pack("<i", -180)
    path.write_bytes(path.read_bytes().replace(size, negative, 1))  # the first is in the schema
    for use in (list, lambda ds: ds.element_spec, lambda ds: ds.ragged_batch(2).element_spec):
        with pytest.raises(DataLossError, match=r"lists\.arrows: .*corrupt: the column 'l' has lists of -180 values"):
            use(fl.ArrowDataset(path))


def test_offsets_in_a_buffer_that_is_longer_than_they_are(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.arrows", {"s": ["a", "bcd", "ef"]}, "stream"))
    place, longer = struct.pack("<qq", 0, 16), struct.pack("<qq", 0, 18)
    data = path.read_bytes()
    assert data.count(place) == 1
    path.write_bytes(data.replace(place, longer))
    assert [e["s"] for e in fl.ArrowDataset(path)] == [b"a", b"bcd", b"ef"]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", {"x": np.arange(100_000)}, size=10_000)
    ds = fl.ArrowDataset(path)
    with iter(ds) as it:
        assert [int(next(it)["x"]) for _ in range(3)] == [0, 1, 2]
        assert int(fl.experimental.at(ds, 99_999)["x"]) == 99_999
        with open(path, "r+b") as file:
            file.truncate(100_000)
        with pytest.raises(DataLossError, match=r"a\.arrow"):
            for _ in it:
                pass
        with pytest.raises(DataLossError, match=r"a\.arrow had \d+ bytes when it was opened and now has 100000"):
            fl.experimental.at(ds, 50_000)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_struct_with_two_fields_of_one_name(tmp_path: Path, kind: str) -> None:
    struct_type = pa.struct([("y", pa.int64()), ("y", pa.struct([("z", pa.string())]))])
    schema = pa.schema([("in", struct_type), ("i", pa.int32())])
    batch = pa.RecordBatch.from_arrays([pa.nulls(2, struct_type), pa.array([1, 2], pa.int32())], schema=schema)
    path = tmp_path / "a.arrow"
    with {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind](path, schema) as sink:
        sink.write_batch(batch)
    expect = r"a\.arrow: a field of the struct 'in' is named twice: \['y', 'y'\]"
    with pytest.raises(InvalidArgumentError, match=expect):
        list(fl.ArrowDataset(str(path)).batch(2))
    assert next(iter(fl.ArrowDataset(str(path), ["i"]))) == {"i": 1}
