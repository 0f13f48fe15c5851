from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.data import NAMES, damage, example, many, output, run

import feedline as fl


@pytest.mark.parametrize("kind", NAMES)
def test_every_format(kind: str, pets: dict[str, Path]) -> None:
    said = json.loads(output("schema", "--json", pets[kind]))
    assert (said["records"], said["format"], said["examples"]) == (3, kind, kind in ("tfrecord", "arrayrecord"))
    text = "bytes" if kind in ("tfrecord", "arrayrecord", "tar") else "text"
    want = {"name": [text], "age": ["int"], "weight": ["float"]}
    if kind == "tar":
        want = {"__key__": ["text"], **{key: ["bytes"] for key in want}}
    assert {name: one["types"] for name, one in said["features"].items()} == want
    assert all(one["records"] == 3 for one in said["features"].values())
    shown = output("schema", pets[kind])
    assert "import feedline as fl" in shown
    assert "weight" in shown


@pytest.mark.parametrize("kind", NAMES)
def test_the_code_runs(kind: str, pets: dict[str, Path]) -> None:
    made: dict[str, Any] = {}
    exec(output("schema", "--python", pets[kind]), made)
    first = next(iter(made["ds"]))
    assert "weight" in first


def test_the_code_has_patterns_that_find_the_same_files(tmp_path: Path) -> None:
    for name in ("a-0.csv", "a-1.csv", "b-0.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    for given in ([f"{tmp_path}/a-*.csv"], [f"{tmp_path}/a-*.csv", f"{tmp_path}/b-0.csv"]):
        code = output("schema", "--python", *given)
        files = fl.io.gfile.glob(given)
        assert f"files = fl.io.gfile.glob({(given if len(given) > 1 else given[0])!r})" in code
        made: dict[str, Any] = {}
        exec(code, made)
        assert made["files"] == files
    (tmp_path / "a-2.csv").mkdir()
    assert "glob" not in output("schema", "--python", f"{tmp_path}/a-*.csv")
    assert "glob" not in output("schema", "--python", tmp_path / "a-0.csv", tmp_path / "a-1.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "id\tzip\trate\tgap\n1\t01234\t0.5\t\n99999999999\t00501\t2\t3\n"),
        ("a.csv", "1,01234,0.5,\n99999999999,00501,2,3\n"),
        ("a.csv.gz", "id;zip;rate;gap\n1;01234;0.5;\n99999999999;00501;2;3\n"),
    ],
)
def test_the_code_reads_csv_as_it_is(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    made: dict[str, Any] = {}
    exec(output("schema", "--python", path), made)
    (batch,) = made["ds"]
    number, _, rate, gap = batch.values()
    assert (number.dtype, rate.dtype, gap.dtype) == (np.int64, np.float64, np.int64)
    assert [column.tolist() for column in batch.values()] == [[1, 99999999999], [b"01234", b"00501"], [0.5, 2], [0, 3]]


def test_the_code_for_empty_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    assert "make_csv_dataset" in output("schema", "--python", tmp_path / "a.csv")
    code = output("schema", "--python", tmp_path / "a.csv", tmp_path / "b.csv")
    assert "column_defaults=[fl.int64, fl.int64]" in code


def test_presence_shapes_and_types(tmp_path: Path) -> None:
    path = tmp_path / "varied.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(a=1, b=[1.5, 2.5], c="x", d=[1, 2, 3], odd=1))
        writer.write(example(a=2, b=[0.5, 0.5], d=[4], odd="two"))
    said = json.loads(output("schema", "--json", path))["features"]
    assert said["c"] == {"types": ["bytes"], "records": 1, "least_values": 1, "most_values": 1, "list": False}
    assert said["d"] == {"types": ["int"], "records": 2, "least_values": 1, "most_values": 3, "list": False}
    assert said["odd"]["types"] == ["bytes", "int"]
    shown = output("schema", path)
    assert "'b': fl.io.FixedLenFeature([2], fl.float32)," in shown
    assert "'c': fl.io.VarLenFeature(fl.string)," in shown
    assert "# omitted: 'odd', which holds bytes and int" in shown
    assert "50.0%" in shown
    assert "'d': fl.io.RaggedFeature(fl.int64)," in output("schema", "--ragged", path)


def test_sequences(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    train = fl.train
    steps = [train.Feature(int64_list=train.Int64List(value=[k])) for k in range(3)]
    message = train.SequenceExample(
        context=train.Features(feature={"id": train.Feature(int64_list=train.Int64List(value=[9]))}),
        feature_lists=train.FeatureLists(feature_list={"steps": train.FeatureList(feature=steps)}),
    )
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([message.SerializeToString()] * 2)
    code = output("schema", "--python", path)
    assert "fl.io.FixedLenSequenceFeature([], fl.int64)" in code
    made: dict[str, Any] = {}
    exec(code, made)
    context, lists = next(iter(made["ds"]))
    assert (context["id"], lists["steps"].tolist()) == (9, [0, 1, 2])


def test_records_limits_what_is_read(tmp_path: Path) -> None:
    paths = many(tmp_path, 2, 100)
    assert json.loads(output("schema", "--json", "--records", 5, *paths))["records"] == 10


def test_files_that_cannot_be_read(tmp_path: Path, pets: dict[str, Path]) -> None:
    (good,) = many(tmp_path, 1, 10)
    bad = damage(good, 100, tmp_path / "bad.tfrecord")
    said = run("schema", good, bad, tmp_path / "none.tfrecord")
    assert said.returncode == 1
    assert "19 Examples" in said.stdout.decode()
    assert len(said.stderr.decode().splitlines()) == 2
    said = run("schema", tmp_path / "none.tfrecord")
    assert (said.returncode, said.stdout) == (1, b"")
