"""What conversions keep: types, missing values, empty lists, nested values, and numbers that JSON has not."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tools.data import example, many, output, run

import feedline as fl
from feedline.tools.cli import main
from feedline.tools.shared import records

NAN, INFINITY = float("nan"), float("inf")
LEAST, GREATEST = -(2**63), 2**63 - 1
EXTREMES = {"i": pa.array([LEAST, None, GREATEST]), "u": pa.array([2**64 - 1, 0, None], pa.uint64())}
TABLES = {
    "numbers": {
        **EXTREMES, "b": pa.array([True, None, False]), "small": pa.array([1, None, -128], pa.int8()),
        "half": pa.array(np.array([1, 2, 3], np.float16)), "f": pa.array([1.1, None, NAN], pa.float32()),
    },
    "strings": {"s": pa.array(["é", None, ""]), "raw": pa.array([b"\xff", None, b""])},
    "lists": {
        "i": pa.array([[1, 2], None, []], pa.list_(pa.int32())), "s": pa.array([["x", "y"], None, []]),
        "fixed": pa.array([[1.0, 2.0], [3.0, 4.0], None], pa.list_(pa.float32(), 2)),
    },
    "nested": {
        "deep": pa.array([[[1, 2], [3]], None, []]), "objects": pa.array([[{"k": 1}], [{"k": 2}, {"k": None}], []]),
        "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 3, "b": ""}]),
        "nulls": pa.array([[1, None], [], [None]]),
    },
    "times": {
        "when": pa.array([datetime.datetime(2024, 1, 1), None, None], pa.timestamp("us")),
        "day": pa.array([datetime.date(2024, 1, 1)] * 3), "price": pa.array([decimal.Decimal("1.10"), None, None]),
        "long": pa.array([1, 2, None], pa.duration("s")), "none": pa.nulls(3),
    },
}  # fmt: skip


def table_in(path: Path) -> pa.Table:
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def objects(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output("cat", path).splitlines()]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("name", TABLES)
def test_tables_keep_all_types(name: str, kind: str, tmp_path: Path) -> None:
    table = pa.table(TABLES[name]).replace_schema_metadata({"made": "here"})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / f"out.{kind}"
    assert main(["convert", str(tmp_path / "in.parquet"), str(out)]) == 0
    found = table_in(out)
    assert found.schema.equals(pq.read_schema(tmp_path / "in.parquet"), check_metadata=False)
    assert found.schema.metadata[b"made"] == b"here"
    assert str(found.to_pydict()) == str(table.to_pydict())
    assert main(["diff", str(tmp_path / "in.parquet"), str(out)]) == 0
    assert main(["convert", "--seed", "1", "--shards", "2", str(tmp_path / "in.parquet"), str(out)]) == 0
    parts = pa.concat_tables([table_in(path) for path in sorted(tmp_path.glob("out-*"))])
    assert parts.schema.types == found.schema.types
    assert sorted(map(str, parts.to_pylist())) == sorted(map(str, table.to_pylist()))


def test_dictionaries_and_tables_with_other_columns(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    pq.write_table(pa.table({"word": words, "x": pa.array([1, 2, 3], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2**40]), "y": ["new"]}), tmp_path / "b.parquet")
    for kind in ("arrow", "parquet"):
        output("convert", tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / f"both.{kind}")
        found = table_in(tmp_path / f"both.{kind}").to_pydict()
        assert found == {"word": ["a", "b", "a", None], "x": [1, 2, 3, 2**40], "y": [None] * 3 + ["new"]}
    pq.write_table(pa.table({"x": ["text"]}), tmp_path / "c.parquet")
    said = run("convert", tmp_path / "a.parquet", tmp_path / "c.parquet", tmp_path / "none.arrow")
    assert said.returncode == 1 and b"do not go together" in said.stderr
    output("convert", tmp_path / "a.parquet", tmp_path / "x.arrow", "--features", "x")
    assert table_in(tmp_path / "x.arrow").schema.names == ["x"]


def test_a_shuffle_of_a_large_table_is_reproducible(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": np.arange(10_000)}), tmp_path / "in.parquet")
    for name in "ab":
        output("convert", "--seed", 5, tmp_path / "in.parquet", tmp_path / f"{name}.arrow")
    found = [table_in(tmp_path / f"{name}.arrow")["id"].to_pylist() for name in "ab"]
    assert found[0] == found[1] and found[0] != list(range(10_000)) and sorted(found[0]) == list(range(10_000))


@pytest.mark.parametrize("back", ["jsonl", "parquet", "arrow"])
def test_examples_keep_missing_features_and_empty_lists(back: str, tmp_path: Path) -> None:
    path = tmp_path / "in.tfrecord"
    none = np.empty(0, np.int64)
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(i=LEAST, j=[1, 2], f=[NAN, INFINITY, -INFINITY, -0.0], s="", k=none))
        writer.write(example(i=GREATEST, j=none, f=[1.5], b=b"\xff", words=["a"]))
        writer.write(example(i=0, f=[0.1], s="é", k=[7], words=np.empty(0)))
    output("convert", path, tmp_path / f"there.{back}")
    output("convert", tmp_path / f"there.{back}", tmp_path / "back.tfrecord")
    for given in (path, tmp_path / "back.tfrecord"):
        found = objects(given)
        assert [sorted(row) for row in found] == [
            ["f", "i", "j", "k", "s"], ["b", "f", "i", "j", "words"], ["f", "i", "k", "s", "words"],
        ]  # fmt: skip
        assert [row.get("j") for row in found] == [[1, 2], [], None]
        assert [row.get("words") for row in found] == [None, ["a"], []]
        assert found[0]["f"] == ["NaN", "Infinity", "-Infinity", 0.0] and str(found[0]["f"][3]) == "-0.0"
        assert [row["i"] for row in found] == [LEAST, GREATEST, 0]
    assert "no differences" in output("diff", path, tmp_path / "back.tfrecord")
    assert "no differences" in output("diff", path, tmp_path / f"there.{back}")


def test_a_feature_has_one_type_in_all_records(tmp_path: Path) -> None:
    rows = [{"x": i if i < 20_000 else i + 0.5, "odd": "NaN" if i < 20_000 else i} for i in range(20_003)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.tfrecord")
    output("convert", "--seed", 3, tmp_path / "in.jsonl", tmp_path / "mixed.tfrecord")
    for name in ("out", "mixed"):
        features = json.loads(output("schema", "--json", tmp_path / f"{name}.tfrecord"))["features"]
        assert {name: one["types"] for name, one in features.items()} == {"x": ["float"], "odd": ["float"]}
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.parquet")
    assert [str(kind) for kind in pq.read_schema(tmp_path / "out.parquet").types] == ["double", "double"]


def test_text_that_spells_a_number_stays_text(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"s": "NaN"}\n{"s": "Infinity"}\n{"s": "word"}\n')
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.parquet")
    assert table_in(tmp_path / "out.parquet")["s"].to_pylist() == ["NaN", "Infinity", "word"]


def test_nested_json(tmp_path: Path) -> None:
    chats = [
        {"id": 1, "messages": [{"role": "user", "content": "hi"}, {"role": "bot", "content": None}]},
        {"id": 2, "messages": []},
        {"id": 3, "deep": [[1, 2], []]},
    ]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in chats))
    assert objects(path) == chats
    assert json.loads(output("head", "--json", "-n", 1, path)) == chats[0]
    assert "messages" in output("schema", path) and "nested" in output("stats", path, "--json")
    assert "3 good records" in output("verify", path)
    for target in ("again.jsonl.gz", "shuffled.jsonl"):
        output("convert", path, tmp_path / target, *(["--seed", 1] if "shuffled" in target else []))
        assert sorted(objects(tmp_path / target), key=lambda row: row["id"]) == chats
    output("convert", path, tmp_path / "chats.csv")
    assert json.loads(objects(tmp_path / "chats.csv")[0]["messages"]) == chats[0]["messages"]
    for target, why in (("chats.tfrecord", b"an Example has only"), ("chats.parquet", b"a table need a type")):
        said = run("convert", path, tmp_path / target)
        assert said.returncode == 1 and b"nested values, and " in said.stderr
        assert why in said.stderr and b"--features" in said.stderr and not (tmp_path / target).exists()


def test_columns_that_datasets_cannot_hold(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3], **TABLES["nested"], "price": TABLES["times"]["price"]}).drop_columns(["nulls"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert output("count", tmp_path / "t.parquet") == "3\n"
    found = objects(tmp_path / "t.parquet")
    assert found[0] == {
        "x": 1, "deep": [[1, 2], [3]], "objects": [{"k": 1}], "struct.a": 1, "struct.b": "x", "price": "1.10"
    }  # fmt: skip
    code = output("schema", "--python", tmp_path / "t.parquet")
    assert "columns=['x', 'deep', 'struct']" in code
    held: dict[str, Any] = {}
    exec(code, held)
    assert len(held["ds"].element_spec) == 3


def test_a_file_is_not_replaced_by_what_is_read_from_it(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 3)
    data = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    os.link(path, tmp_path / "other")
    for command in (["convert", "--to", "tfrecord"], ["repair"]):
        for target in (f"{tmp_path}/./{path.name}", tmp_path / "link", tmp_path / "other"):
            said = run(*command, "--force", path, target)
            assert said.returncode == 1 and b"is to be read and written" in said.stderr
    assert path.read_bytes() == data and (tmp_path / "link").is_symlink()
    said = run("convert", "--force", "--to", "tfrecord", path, tmp_path)
    assert said.returncode == 1 and b"is a folder" in said.stderr


@pytest.mark.parametrize("target", ["big.tfrecord", "big.parquet", "big.arrayrecord"])
def test_a_disk_that_is_full(target: str, tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 20_000)
    (tmp_path / "out").mkdir()
    command = f"ulimit -f 40; exec {sys.executable} -m feedline convert {path} {tmp_path}/out/{target}"
    said = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120)
    assert said.returncode == 1
    assert said.stderr.count(b"\n") == 1 and target.encode() in said.stderr and b"oo large" in said.stderr
    assert os.listdir(tmp_path / "out") == []


def test_fields_of_csv_that_are_no_numbers_stay_as_they_are(tmp_path: Path) -> None:
    rows = ["id,zip,long,longer,dial,odd,mixed", "1,01234,12345678901234567890,123456789012345678901,+49,1_000,0.5"]
    rows += ["2,00501,12345678901234567891,1,+1,2,9007199254740993", "3,10001,0,,,-3,7"]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n")
    output("convert", tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "in.csv").read_bytes()
    output("convert", tmp_path / "in.csv", tmp_path / "out.parquet")
    types = {field.name: str(field.type) for field in table_in(tmp_path / "out.parquet").schema}
    assert types.pop("id") == "int64" and types.pop("long") == "uint64"
    assert set(types.values()) == {"large_string"}


def test_fields_of_csv_that_are_numbers_are_read_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('i,f,spaced,none,lines\n-1,1.5,1,,"1\n2"\n0,nan,-2 ,,3\n7,-1e5, 3,,4\n')
    kinds = [f"{name} {type(value).__name__}" for name, value in objects(tmp_path / "in.csv")[2].items()]
    assert kinds == ["i int", "f float", "spaced int", "lines str"]


def test_line_ends_and_quotes_in_csv(tmp_path: Path) -> None:
    texts = ["a\rb", "a\r\nb", "\n", 'say "x", y', "", "plain", " blank "]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.csv")
    assert [row.get("text", "") for row in objects(tmp_path / "out.csv")] == texts


def test_objects_that_look_like_bytes_stay_objects(tmp_path: Path) -> None:
    rows = [{"a": {"base64": "/w=="}}, {"a": {"base64": "not this!"}}, {"b": {"base64": "data:image/png;base64,AA=="}}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = objects(tmp_path / "in.jsonl")
    assert found == [rows[0], {"a.base64": "not this!"}, {"b.base64": "data:image/png;base64,AA=="}]


def test_no_value_of_an_object_is_dropped_silently(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": {"b": 1}, "a.b": 2}\n')
    said = run("cat", tmp_path / "in.jsonl")
    assert said.returncode == 1 and "it has two values for 'a.b'" in said.stderr.decode()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"__key__": "v1.5", "t": "x"}], "record 0 cannot be a sample of a tar file: its key is 'v1.5'"),
        ([{"__key__": "a", "t": "x"}] * 2, "record 1 cannot be a sample of a tar file: its key is 'a'"),
        ([{"t": "x"}, {"t": None}], "record 1 cannot be a sample of a tar file: it has no values"),
        ([{"a/b": "x", "a_b": "y"}], "it has the features 'a/b', 'a_b', and each sample needs files, of different"),
    ],
)
def test_samples_that_would_be_read_as_others(rows: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    got = run("convert", tmp_path / "in.jsonl", tmp_path / "out.tar")
    assert got.returncode == 1 and said in got.stderr.decode() and not (tmp_path / "out.tar").exists()


def test_keys_of_samples(tmp_path: Path) -> None:
    rows = [{"__key__": key, "t": "x"} for key in ("v1.5/a", {"base64": "Yf8="}, "b c")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.tar")
    output("convert", tmp_path / "out.tar", tmp_path / "again.tar")
    assert objects(tmp_path / "out.tar") == objects(tmp_path / "again.tar") == rows
    (tmp_path / "numbers.jsonl").write_text('{"__key__": 7, "t": "x"}\n')
    output("convert", tmp_path / "numbers.jsonl", tmp_path / "numbers.tar")
    assert objects(tmp_path / "numbers.tar") == [{"__key__": "7", "t": "x"}]


def test_numbers_that_no_dtype_holds_together_are_text(tmp_path: Path) -> None:
    lines = ["x", *["-1"] * records.AT_ONCE, *["18446744073709551615"] * 3]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    output("convert", tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "in.csv").read_bytes()
