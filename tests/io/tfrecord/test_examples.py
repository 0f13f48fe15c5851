from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.io.output_file import OutputFile
from feedline.io.tfrecord import examples as room
from feedline.train import Example

ROWS = 100
DATA: dict[str, Any] = {
    "int": np.arange(ROWS, dtype=np.int16) - 50,
    "flag": np.arange(ROWS) % 2 == 0,
    "float": np.linspace(0, 1, ROWS),
    "matrix": np.arange(ROWS * 6, dtype=np.float32).reshape(ROWS, 2, 3),
    "text": [f"row {i} é" for i in range(ROWS)],
    "bytes": np.array([bytes([i]) * i for i in range(ROWS)], object),
    "fixed": np.array([b"ab", b"c"] * (ROWS // 2)),
    "ragged": fl.ragged.range(np.arange(ROWS) % 5),
    "words": fl.RaggedTensor.from_row_lengths([b"w"] * (ROWS * 2), [2] * ROWS),
    "sparse": fl.SparseTensor([[i, 0] for i in range(0, ROWS, 3)], list(range(0, ROWS, 3)), [ROWS, 1]),
}
FEATURES = {
    "int": fl.io.FixedLenFeature([], fl.int64),
    "flag": fl.io.FixedLenFeature([], fl.int64),
    "float": fl.io.FixedLenFeature([], fl.float32),
    "matrix": fl.io.FixedLenFeature([2, 3], fl.float32),
    "text": fl.io.FixedLenFeature([], fl.string),
    "bytes": fl.io.FixedLenFeature([], fl.string),
    "fixed": fl.io.FixedLenFeature([], fl.string),
    "ragged": fl.io.RaggedFeature(fl.int64),
    "words": fl.io.RaggedFeature(fl.string),
    "sparse": fl.io.VarLenFeature(fl.int64),
}


def parsed(files: list[str], compression: str = "") -> dict[str, Any]:
    """Everything in the files."""
    records = list(fl.TFRecordDataset(files, compression))
    return fl.io.parse_example(records, FEATURES)


def same(found: dict[str, Any]) -> None:
    assert found["int"].tolist() == DATA["int"].tolist()
    assert found["flag"].tolist() == DATA["flag"].astype(int).tolist()
    assert np.array_equal(found["float"], DATA["float"].astype(np.float32))
    assert np.array_equal(found["matrix"], DATA["matrix"])
    assert [t.decode() for t in found["text"]] == DATA["text"]
    assert found["bytes"].tolist() == DATA["bytes"].tolist()
    assert found["fixed"].tolist() == DATA["fixed"].tolist()
    assert found["ragged"].to_list() == DATA["ragged"].to_list()
    assert found["words"].to_list() == DATA["words"].to_list()
    assert np.array_equal(found["sparse"].values, DATA["sparse"].values)
    assert np.array_equal(found["sparse"].indices, DATA["sparse"].indices)


def elements() -> list[dict[str, Any]]:
    """The same as single elements."""
    plain = ("int", "flag", "float", "matrix", "text", "bytes", "fixed")
    rows = [{k: DATA[k][i] for k in plain} for i in range(ROWS)]
    for i, row in enumerate(rows):
        row |= {"ragged": np.arange(i % 5), "words": [b"w", b"w"]}
        places, values = ([[0]], [i]) if i % 3 == 0 else (np.zeros((0, 1), np.int64), [])
        row["sparse"] = fl.SparseTensor(places, np.array(values, np.int64), [1])
    return rows


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("shards", [None, 1, 3, 101])
def test_columns_come_back(tmp_path: Path, shards: int | None, compression: str) -> None:
    files = fl.io.write_examples(tmp_path / "a.tfrecord", DATA, shards=shards, compression=compression)
    assert len(files) == (shards or 1)
    assert sorted(os.listdir(tmp_path)) == sorted(os.path.basename(f) for f in files)
    same(parsed(files, compression))


def test_the_bytes_are_those_of_example(tmp_path: Path) -> None:
    data = {"b": [1, 2], "a": np.array([0.5, 1.5]), "c": ["x", "y"], "e": np.zeros((2, 0), np.float32)}
    (file,) = fl.io.write_examples(tmp_path / "a", data)
    rows = [{k: np.array(v[i]) if k == "e" else v[i] for k, v in data.items()} for i in range(2)]
    assert list(fl.TFRecordDataset(file)) == [fl.train.example(row).SerializeToString() for row in rows]


@pytest.mark.parametrize("shards", [None, 1, 3])
def test_datasets_come_back(tmp_path: Path, shards: int | None) -> None:
    rows = elements()
    known = fl.Dataset.range(ROWS).map(lambda i: rows[i])
    files = fl.io.write_examples(tmp_path / "known", known, shards=shards)
    same(parsed(files))
    unknown = known.filter(lambda row: True)
    files = fl.io.write_examples(tmp_path / "unknown", unknown, shards=shards)
    parts = [list(fl.TFRecordDataset(f)) for f in files]
    assert [len(p) for p in parts] == ([34, 33, 33] if shards == 3 else [100])
    in_order = [parts[i % len(parts)][i // len(parts)] for i in range(ROWS)]
    same(fl.io.parse_example(in_order, FEATURES))


def test_batched_datasets(tmp_path: Path) -> None:
    plain = {k: DATA[k] for k in ("int", "matrix", "text")}
    batches = fl.Dataset.from_tensor_slices(plain).batch(7)
    files = fl.io.write_examples(tmp_path / "b@2", batches, batched=True)
    parts = [list(fl.TFRecordDataset(f)) for f in files]
    in_order = [parts[i % 2][i // 2] for i in range(ROWS)]
    found = fl.io.parse_example(in_order, {k: FEATURES[k] for k in plain})
    assert np.array_equal(found["matrix"], DATA["matrix"])
    ragged = fl.Dataset.range(6).map(lambda i: {"r": np.arange(i)}).ragged_batch(4)
    (file,) = fl.io.write_examples(tmp_path / "r", ragged, batched=True)
    again = fl.io.parse_example(list(fl.TFRecordDataset(file)), {"r": fl.io.RaggedFeature(fl.int64)})
    assert again["r"].to_list() == [list(range(i)) for i in range(6)]


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 20_000])
def test_any_number_of_rows(tmp_path: Path, rows: int) -> None:
    files = fl.io.write_examples(tmp_path / "n", {"i": np.arange(rows)}, shards=3)
    found = fl.io.parse_example(list(fl.TFRecordDataset(files)), {"i": fl.io.FixedLenFeature([], fl.int64)})
    assert np.array_equal(found["i"], np.arange(rows))
    assert len(fl.io.write_examples(tmp_path / "e", fl.Dataset.range(rows).map(lambda i: {"i": i}))) == 1


@pytest.mark.parametrize(
    ("path", "shards", "wanted"),
    [
        ("d/a.tfrecord", None, ["d/a.tfrecord"]),
        ("d/a", None, ["d/a"]),
        ("d/a.tfrecord", 1, ["d/a-00000-of-00001.tfrecord"]),
        ("d/a.v2.tfrecord", 2, ["d/a.v2-00000-of-00002.tfrecord", "d/a.v2-00001-of-00002.tfrecord"]),
        ("a.tfrecord.gz", 1, ["a-00000-of-00001.tfrecord.gz"]),
        ("a", 1, ["a-00000-of-00001.tfrecord"]),
        ("a@1.tfrecord", None, ["a-00000-of-00001.tfrecord"]),
        ("a@1", 1, ["a-00000-of-00001.tfrecord"]),
        ("d@3/part_{shard}.rec", 1, ["d@3/part_00000-of-00001.rec"]),
        ("{shard}", None, ["00000-of-00001"]),
    ],
)
def test_names(path: str, shards: int | None, wanted: list[str]) -> None:
    assert [p.decode() for p in room.shard_paths(path, shards)] == wanted


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ({"a": [1, 2], "b": [1]}, {}, "the same number of rows: 'a' 2, 'b' 1"),
        ({"a": 3}, {}, "'a' is a single int32; give an array"),
        ({"a": np.array([1j])}, {}, "'a' is complex128; an Example holds"),
        ({"a": np.array(["2020-01-01"], "datetime64[D]")}, {}, "'a' cannot be written: .*datetime64"),
        ({"a": [[1], [2, 3]]}, {}, "'a' cannot be written"),
        ({"a": np.array([2**63], np.uint64)}, {}, "'a' has the value 9223372036854775808, too large for int64"),
        ({"a": np.array([None])}, {}, "'a' cannot be written: .*NoneType"),
        ({3: [1]}, {}, "name of a feature must be a str, got 3"),
        ({"\udcff": [1]}, {}, "is not valid UTF-8"),
        ({"a": fl.SparseTensor([[0, 1]], [1], [1, 2])}, {}, "'a' is a SparseTensor of shape .*without gaps"),
        ({"a": fl.SparseTensor([[3, 0]], [1], [1, 2])}, {}, "'a' is a SparseTensor"),
        ({"a": [1]}, {"shards": 0}, "from 1 to 99999, got 0"),
        ({"a": [1]}, {"shards": 2.5}, "from 1 to 99999, got 2.5"),
        ({"a": [1]}, {"compression": "LZ4"}, "compression_type"),
        ([1, 2], {}, "a dict of columns or a Dataset, got a list"),
        (fl.Dataset.range(3), {}, "elements must be dicts of features"),
        (fl.Dataset.range(3).map(lambda i: {"a": 1}).repeat(), {}, "is infinite"),
    ],
)
def test_errors_leave_nothing_behind(tmp_path: Path, data: Any, options: Any, said: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=said):
        fl.io.write_examples(tmp_path / "a", data, **options)
    assert os.listdir(tmp_path) == []


def test_two_numbers_of_shards(tmp_path: Path) -> None:
    for path, shards in (("a@2", 3), ("a@2@2", None)):
        with pytest.raises(fl.errors.InvalidArgumentError, match="do not agree"):
            fl.io.write_examples(tmp_path / path, {"a": [1]}, shards=shards)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_middle_leaves_what_was_there(tmp_path: Path, error: Any) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"before")

    def fail(i: Any) -> Any:
        if i == 5000:
            raise error("no")
        return {"i": i}

    with pytest.raises(error):
        fl.io.write_examples(path, fl.Dataset.range(10_000).map(fail))
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert path.read_bytes() == b"before"


def test_an_interrupt_stops_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = threading.Event()

    def slow(self: Any, data: Any) -> None:
        seen.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(OutputFile, "write", slow)
    with pytest.raises(KeyboardInterrupt):
        fl.io.write_examples(tmp_path / "a@4", {"i": np.arange(100_000)})
    assert seen.is_set()
    assert os.listdir(tmp_path) == []


INTERRUPTED = """
import sys, numpy as np, feedline as fl
print("ready", flush=True)
data = {"x": np.random.default_rng(0).standard_normal((40_000, 500))}
fl.io.write_examples(sys.argv[1] + "/a@4.tfrecord", data, compression="GZIP")
"""


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_from_the_keyboard(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path)], stdout=-1, stderr=-1, text=True)
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(1000):
            if any(file.stat().st_size for file in tmp_path.iterdir()):
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert "KeyboardInterrupt" in said
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(fl.errors.OpError, match="file"):
        fl.io.write_examples(tmp_path / "file" / "a@2", {"i": [1]})
    files = fl.io.write_examples(tmp_path / "new" / "folder" / "a", {"i": [1]})
    assert len(list(fl.TFRecordDataset(files))) == 1


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    fl.io.write_examples(tmp_path / "a", {"i": np.arange(100_000)}, progress=True)
    assert stderr.getvalue().endswith("write_examples: 100,000 of 100,000 examples\n")
    stderr.truncate(0)
    fl.io.write_examples(tmp_path / "a", {"i": np.arange(100_000)})
    fl.io.write_examples(tmp_path / "a", {"i": np.arange(100_000)}, progress=False)
    assert stderr.getvalue().strip("\0") == ""


def test_examples_of_plain_values() -> None:
    data = fl.train.example({"a": True, "b": 2.5, "c": "é", "d": [[1, 2]], "e": []}).SerializeToString()
    feature = Example.FromString(data).features.feature
    assert feature["a"].int64_list.value == [1] and feature["b"].float_list.value == [2.5]
    assert feature["c"].bytes_list.value == ["é".encode()] and feature["d"].int64_list.value == [1, 2]
    assert feature["e"].WhichOneof("kind") == "float_list"
    many = {"u": np.arange(3, dtype=np.uint64), "h": np.float16([1, 2]), "s": np.array([["x"], ["y"]]), "n": np.int8(3)}
    feature = fl.train.example(many).features.feature
    assert feature["u"].int64_list.value == [0, 1, 2] and feature["h"].float_list.value == [1, 2]
    assert feature["s"].bytes_list.value == [b"x", b"y"] and feature["n"].int64_list.value == [3]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1j, "'x' is complex128"),
        (None, "'x' cannot be written: .*NoneType"),
        (2**63, "'x' .*64"),
        (np.array([2**63], np.uint64), "too large for int64"),
        (fl.ragged.constant([[1], []]), "'x' is a RaggedTensor; pass its values"),
        ([[1], [2, 3]], "'x' cannot be written"),
    ],
)
def test_examples_refuse(value: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        fl.train.example({"x": value})
