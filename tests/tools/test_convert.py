from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.tools.data import NAMES, ROWS, damage, example, many, output, run

import feedline as fl
from feedline.tools.cli import main
from feedline.tools.shared import conversion


def rows(path: Path | str) -> list[dict[str, Any]]:
    said = output("head", "--json", "-n", 100_000, path)
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("kind", NAMES)
def test_every_format_to_every_format(
    kind: str, target: str, pets: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / NAMES[target]
    assert main(["convert", str(pets[kind]), str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"3 records in {path} (")
    assert main(["head", "--json", str(path)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    if target == "tar":
        assert [row["__key__"] for row in found] == (list("012") if kind == "tar" else [f"{i:08}" for i in range(3)])
    for row, want in zip(found, ROWS, strict=True):
        texts = target == "tar" or (kind == "tar" and target != "csv")
        assert {key: row[key] for key in want} == {key: str(v) if texts else v for key, v in want.items()}
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_records_are_copied_as_they_are(tmp_path: Path) -> None:
    paths = many(tmp_path, 3, 50)
    joined = b"".join(path.read_bytes() for path in paths)
    output("convert", tmp_path / "many-*", tmp_path / "one.tfrecord")
    assert (tmp_path / "one.tfrecord").read_bytes() == joined
    output("convert", tmp_path / "one.tfrecord", tmp_path / "again.tfrecord", "--shards", 4)
    again = sorted(tmp_path.glob("again-*-of-00004.tfrecord"))
    assert b"".join(path.read_bytes() for path in again) == joined
    assert [len(list(fl.TFRecordDataset(str(path)))) for path in again] == [37, 38, 37, 38]


def test_records_that_are_large(tmp_path: Path) -> None:
    path = tmp_path / "large.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([os.urandom(100_000 + i) for i in range(20)])
    output("convert", path, tmp_path / "copy.tfrecord")
    assert (tmp_path / "copy.tfrecord").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["copy.tfrecord.gz", "copy.jsonl.gz", "copy.csv.zst", "copy.tar.gz"])
def test_compression_by_name(name: str, pets: dict[str, Path], tmp_path: Path) -> None:
    output("convert", pets["tfrecord"], tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(b"\x1f\x8b" if name.endswith(".gz") else b"\x28\xb5\x2f\xfd")
    assert len(rows(tmp_path / name)) == 3
    output("convert", pets["tfrecord"], tmp_path / name, "--compression", "none", "--force")
    assert (tmp_path / name).read_bytes()[:2] != data[:2]


def test_selection(pets: dict[str, Path], tmp_path: Path) -> None:
    for target in ("tfrecord", "csv", "parquet"):
        output("convert", pets["tfrecord"], tmp_path / f"some.{target}", "--features", "weight,age")
        assert rows(tmp_path / f"some.{target}") == [{"weight": r["weight"], "age": r["age"]} for r in ROWS] or target
        assert sorted(rows(tmp_path / f"some.{target}")[0]) == ["age", "weight"]
    said = run("convert", pets["tfrecord"], tmp_path / "none.csv", "--features", "height")
    assert said.returncode == 1
    assert "there is no feature 'height'; there are: age, name, weight" in said.stderr.decode()
    assert not (tmp_path / "none.csv").exists()


@pytest.mark.parametrize(
    ("kind", "target"),
    [("tfrecord", "tfrecord"), ("tfrecord.gz", "arrayrecord"), ("parquet", "tfrecord"), ("csv", "jsonl")],
)
def test_a_global_shuffle(kind: str, target: str, tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 300)
    source = tmp_path / f"source.{kind}"
    output("convert", path, source)
    for name in ("a", "b"):
        output("convert", source, tmp_path / f"{name}.{target}", "--seed", 7, "--shards", 3)
    found = [[row["id"] for row in rows(tmp_path / f"{name}-*.{target}")] for name in "ab"]
    assert found[0] == found[1]
    assert sorted(found[0]) == list(range(300))
    assert found[0] != list(range(300))
    assert sum(np.diff(found[0]) == 1) < 10
    said = json.loads(output("convert", "--json", "--shuffle", source, tmp_path / f"c.{target}"))
    assert isinstance(said["seed"], int)
    assert [row["id"] for row in rows(tmp_path / f"c.{target}")] != found[0]


def test_lists_missing_values_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "varied.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(a=1, b=[1, 2], c=b"\xff\x00"))
        writer.write(example(a=2, b=[3], d=0.5))
    output("convert", path, tmp_path / "varied.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "varied.jsonl").read_text().splitlines()]
    assert lines == [{"a": 1, "b": [1, 2], "c": {"base64": "/wA="}}, {"a": 2, "b": [3], "d": 0.5}]
    output("convert", path, tmp_path / "varied.parquet")
    table = pq.read_table(tmp_path / "varied.parquet").to_pydict()
    assert table == {"a": [1, 2], "b": [[1, 2], [3]], "c": [b"\xff\x00", None], "d": [None, 0.5]}
    for back in ("varied.jsonl", "varied.parquet"):
        output("convert", tmp_path / back, tmp_path / "back.tfrecord", "--force")
        assert rows(tmp_path / "back.tfrecord") == [
            {"a": 1, "b": [1, 2], "c": {"base64": "/wA="}},
            {"a": 2, "b": [3], "d": 0.5},
        ]
    said = run("convert", path, tmp_path / "varied.csv")
    assert said.returncode == 1
    assert "'c' is not text" in said.stderr.decode()
    assert not (tmp_path / "varied.csv").exists()


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text('{"x": 0.1, "big": 9007199254740993}\n{"x": 1e300, "big": -1}\n')
    for target in ("parquet", "csv", "arrow", "jsonl"):
        output("convert", tmp_path / "n.jsonl", tmp_path / f"m.{target}", "--seed", 1)
        assert sorted((row["x"], row["big"]) for row in rows(tmp_path / f"m.{target}")) == [
            (0.1, 9007199254740993),
            (1e300, -1),
        ]


def test_csv_types_are_those_of_the_whole_file(tmp_path: Path) -> None:
    lines = ["a,b,c", *(f"{i},{i}.50,{i}" for i in range(20_000)), "x,1,1.5"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    output("convert", tmp_path / "t.csv", tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    assert [str(kind) for kind in table.schema.types] == ["large_string", "double", "double"]
    assert table["a"][0].as_py() == "0"


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 1000)
    damage(path, 30_000)
    (tmp_path / "out").mkdir()
    for target in ("a.tfrecord", "a.parquet", "a.csv"):
        said = run("convert", path, tmp_path / "out" / target)
        assert said.returncode == 1
        assert said.stderr.decode().count("\n") == 1
        assert "is corrupt" in said.stderr.decode()
    assert os.listdir(tmp_path / "out") == []


def test_files_are_not_replaced_by_accident(pets: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("mine")
    said = run("convert", pets["jsonl"], path)
    assert (said.returncode, path.read_text()) == (1, "mine")
    assert "exists already; --force replaces it" in said.stderr.decode()
    output("convert", pets["jsonl"], path, "--force")
    assert path.read_text().startswith("name,age,weight\n")
    said = run("convert", path, path, "--force")
    assert "is to be read and written" in said.stderr.decode()


def test_usage(pets: dict[str, Path]) -> None:
    assert run("convert", pets["csv"]).returncode == 2
    said = run("convert", pets["csv"], "there")
    assert (said.returncode, "give it with --to" in said.stderr.decode()) == (2, True)
    for command in (("convert", "--to", "jsonl"), ("repair",)):
        said = run(*command, pets["csv"], "-")
        assert (said.returncode, b"feedline cat writes to standard output" in said.stderr) == (2, True)


# cat


@pytest.mark.parametrize("target", ["jsonl", "csv", "tfrecord", "tar", "arrow", "parquet"])
def test_cat(target: str, pets: dict[str, Path]) -> None:
    said = run("cat", pets["tfrecord"], pets["parquet"], "--to", target)
    assert (said.returncode, said.stderr) == (0, b"")
    found = output("head", "--json", "-n", 9, "-", stdin=said.stdout).splitlines()
    assert [json.loads(line)["name"] for line in found] == [row["name"] for row in ROWS] * 2


def test_cat_selects(pets: dict[str, Path]) -> None:
    assert output("cat", pets["csv"], "--features", "age") == '{"age": 3}\n{"age": 5}\n{"age": 7}\n'
    assert output("cat", "--json", pets["csv"], "--features", "age") == '{"age": 3}\n{"age": 5}\n{"age": 7}\n'


# repair


def test_repair(tmp_path: Path) -> None:
    path = tmp_path / "examples.tfrecord"
    records = [example(i=i) for i in range(100)]
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([*records[:50], b"\x0a\x7fnot an example", *records[50:]])
    size = path.stat().st_size
    damage(path, 8)
    damage(path, 2000)
    path.write_bytes(path.read_bytes()[:-1])
    said = run("repair", path, tmp_path / "sound.tfrecord")
    assert said.returncode == 0
    assert said.stdout.decode().startswith(f"97 records in {tmp_path}/sound.tfrecord; left out: 4 places")
    assert said.stderr.decode().count("\n") == 4
    found = [row["i"] for row in rows(tmp_path / "sound.tfrecord")]
    assert len(found) == 97
    assert found == sorted(set(found))
    assert json.loads(output("verify", "--json", tmp_path / "sound.tfrecord"))["bad_records"] == 0
    assert path.stat().st_size == size - 1
    assert run("repair", path, tmp_path / "sound.tfrecord").returncode == 1
    told = json.loads(output("repair", "--json", "--force", path, tmp_path / "sound.tfrecord"))
    assert (told["records"], told["left_out"]) == (97, 4)


def test_repair_of_a_compressed_and_a_text_file(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 2000)
    packed = tmp_path / "cut.tfrecord.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-2000])
    run("repair", packed, tmp_path / "sound.tfrecord.gz")
    found = rows(tmp_path / "sound.tfrecord.gz")
    assert 1000 < len(found) < 2000
    (tmp_path / "cut.jsonl").write_text('{"a": 1}\n{"a": 2}\n{broken\n{"a": 4}\n')
    run("repair", tmp_path / "cut.jsonl", tmp_path / "sound.jsonl")
    assert [row["a"] for row in rows(tmp_path / "sound.jsonl")] == [1, 2, 4]


# index


def test_index(tmp_path: Path, pets: dict[str, Path]) -> None:
    paths = many(tmp_path, 2, 10)
    said = json.loads(output("index", "--json", *paths))
    assert said["records"] == 20
    made = sorted(tmp_path.glob(".many-*.feedline-index"))
    assert len(made) == 2
    assert "many-00001-of-00002.tfrecord" in output("index", "--anew", tmp_path)
    output("index", "--remove", *paths)
    assert not any(path.exists() for path in made)
    said = run("index", pets["csv"], paths[0])
    assert said.returncode == 1
    assert "only TFRecord files have an index" in said.stderr.decode()
    assert b"many-00000" in said.stdout
    said = run("index", "-", stdin=paths[0].read_bytes())
    assert (said.returncode, b"standard input has no index" in said.stderr) == (1, True)


def test_shards_hold_consecutive_records(pets: dict[str, Path], tmp_path: Path) -> None:
    for kind in ("tfrecord", "csv", "parquet", "arrayrecord"):
        for target in ("tfrecord", "jsonl", "parquet", "tfrecord.gz"):
            output("convert", pets[kind], tmp_path / f"{kind}.{target}", "--shards", 2)
            assert "no differences" in output("diff", pets["jsonl"], tmp_path / f"{kind}-*.{target}")


@pytest.mark.parametrize(
    ("name", "shards", "first"),
    [
        ("a@2.parquet", (), "a-00000-of-00002.parquet"),
        ("a@2.jsonl.gz", (), "a-00000-of-00002.jsonl.gz"),
        ("a.csv@2", (), "a-00000-of-00002.csv"),
        ("v1.5.tfrecord", ("--shards", 2), "v1.5-00000-of-00002.tfrecord"),
        ("a-{shard}-b.csv", ("--shards", 2), "a-00000-of-00002-b.csv"),
        ("you@home.csv", (), "you@home.csv"),
        ("photo@2x.csv", (), "photo@2x.csv"),
    ],
)
def test_names_of_shards(
    name: str, shards: tuple[object, ...], first: str, pets: dict[str, Path], tmp_path: Path
) -> None:
    made = json.loads(output("convert", pets["csv"], tmp_path / "in@3" / name, *shards, "--json"))["files"]
    assert made[0] == str(tmp_path / "in@3" / first)
    assert len(made) == (1 if first == name else 2)
    assert "no differences" in output("diff", pets["jsonl"], *[tmp_path / "in@3"])


def test_samples_of_tar_files_may_have_other_files_than_the_first(tmp_path: Path) -> None:
    rows = [{"a": "1"}, {"a": "2", "b": "x"}, {"b": ""}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.tar")
    found = [json.loads(line) for line in output("cat", tmp_path / "out.tar").splitlines()]
    assert found == [{"__key__": f"{i:08}", **row} for i, row in enumerate(rows)]
    code = output("schema", tmp_path / "out.tar", "--python")
    assert "['a', 'b'], missing=b''" in code
    held: dict[str, Any] = {}
    exec(code, held)
    assert [row["b"] for row in held["ds"].as_numpy_iterator()] == [b"", b"x", b""]


def test_a_column_of_two_types_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\none,1\n")
    (tmp_path / "b.jsonl").write_text('{"x": 2, "y": 2}\n')
    said = run("convert", tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "out.parquet")
    assert said.returncode == 1
    assert said.stderr.count(b"\n") == 1 and b"'x' holds int and text" in said.stderr
    output("convert", tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "out.parquet", "--features", "y")
    assert output("cat", tmp_path / "out.parquet") == '{"y": 1}\n{"y": 2}\n'


def test_numbers_of_uint64_are_shuffled(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": 18446744073709551615}\n{"x": 3}\n')
    output("convert", tmp_path / "in.jsonl", tmp_path / "out.parquet", "--seed", 1)
    found = [json.loads(line)["x"] for line in output("cat", tmp_path / "out.parquet").splitlines()]
    assert sorted(found) == [3, 18446744073709551615]


@pytest.mark.parametrize("names", [("a.tfrecord", "b.tfrecord"), ("a.jsonl", "b.csv"), ("a.parquet", "b.arrow")])
def test_large_records_are_shuffled_a_few_at_a_time(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = many(tmp_path, 1, 60)
    source, target = (tmp_path / name for name in names)
    assert main(["convert", str(path), str(source)]) == 0
    made = []
    for most in (conversion.BYTES_AT_ONCE, 1, 500):
        monkeypatch.setattr(conversion, "BYTES_AT_ONCE", most)
        assert main(["convert", str(source), str(target), "--seed", "5", "--force"]) == 0
        made.append([row["id"] for row in rows(target)])
    assert made[0] == made[1] == made[2] and sorted(made[0]) == list(range(60)) != made[0]


def test_repair_takes_one_file(tmp_path: Path) -> None:
    many(tmp_path, 2, 3)
    said = run("repair", tmp_path / "*.tfrecord", tmp_path / "out.tfrecord")
    assert said.returncode == 1 and "stands for 2 files; repair takes one at a time" in said.stderr.decode()
