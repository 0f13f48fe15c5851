from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.tools.data import damage, example, many, output, run

import feedline as fl


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_same_in_other_formats(kind: str, pets: dict[str, Path]) -> None:
    assert output("diff", pets["arrow"], pets[kind]) == "no differences in 3 and 3 records\n"


def test_differences(tmp_path: Path) -> None:
    paths = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    for k, path in enumerate(paths):
        with fl.io.TFRecordWriter(str(path)) as writer:
            writer.write(example(x=1.0, y=[1, 2], z="same"))
            writer.write(example(x=1.0 + 0.25 * k, y=[1, 2 + k], z="same"))
            if k:
                writer.write(example(x=3.0))
    said = run("diff", *paths)
    assert said.returncode == 1
    shown = said.stdout.decode()
    assert "record 1  x\n  - 1\n  + 1.25\n" in shown
    assert "record 1  y\n  - [1, 2]\n  + [1, 3]\n" in shown
    assert "record 2  only in the second" in shown
    assert shown.endswith("3 differences in 2 and 3 records\n")
    told = json.loads(run("diff", "--json", "-n", 1, *paths).stdout)
    assert (told["differences"], told["records"], len(told["listed"])) == (3, [2, 3], 1)
    loose = json.loads(run("diff", "--json", "--features", "x", "--tolerance", 0.5, *paths).stdout)
    assert loose["differences"] == 1


def test_damage_is_a_difference(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    bad = damage(path, 100, tmp_path / "bad.tfrecord")
    said = run("diff", path, bad)
    assert said.returncode == 1
    assert "is corrupt" in said.stderr.decode()
    assert run("diff", path, tmp_path / "none").returncode == 1


def test_a_file_that_is_missing_is_an_error_before_anything_is_compared(pets: dict[str, Path]) -> None:
    said = run("diff", pets["csv"], "nowhere.csv")
    assert (said.returncode, said.stdout) == (1, b"")
    assert b"nowhere.csv: No such file" in said.stderr


def test_the_steps_of_feature_lists_are_compared(tmp_path: Path) -> None:
    train = fl.train
    paths = []
    for name, steps in (("a", [[1, 2], [3]]), ("b", [[1], [2, 3]])):
        values = [train.Feature(int64_list=train.Int64List(value=step)) for step in steps]
        lists = train.FeatureLists(feature_list={"x": train.FeatureList(feature=values)})
        paths.append(tmp_path / f"{name}.tfrecord")
        with fl.io.TFRecordWriter(str(paths[-1])) as writer:
            writer.write(train.SequenceExample(feature_lists=lists).SerializeToString())
    shown = run("diff", *paths).stdout.decode()
    assert "- [[1, 2], [3]]\n  + [[1], [2, 3]]" in shown and "1 difference in" in shown
    assert run("diff", paths[0], paths[0]).returncode == 0


def test_values_of_two_types_are_shown_with_their_types(tmp_path: Path) -> None:
    for name, value in (("a", 0), ("b", "0")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"x": value}) + "\n")
    said = run("diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl").stdout.decode()
    assert "- 0 (int)" in said and "+ 0 (string)" in said


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (0.1234567, 0.12345671, "- 0.1234567\n  + 0.12345671"),
        ([*range(9), 0.1], [*range(9), 0.2], "- value 9: 0.1\n  + value 9: 0.2"),
        ("é" * 99 + "à", "é" * 99 + "è", "- from byte 198: à\n  + from byte 198: è"),
        ("x" * 99, "x" * 100, "- from byte 99: \n  + from byte 99: x"),
        (["x" * 99], ["x" * 99, "y"], "- 1 value\n  + 2 values"),
        ([{"a": "x" * 99, "b": 1}], [{"a": "x" * 99, "b": 2}], "- value 0: b: 1\n  + value 0: b: 2"),
    ],
)
def test_values_that_begin_alike_are_shown_where_they_differ(one: Any, other: Any, shown: str, tmp_path: Path) -> None:
    for name, value in (("a", one), ("b", other)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"x": value}) + "\n")
    assert shown in run("diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl").stdout.decode()


@pytest.mark.parametrize("kind", ["csv", "tar"])
def test_json_in_files_of_text_is_the_value(kind: str, tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        for i in range(4):
            writer.write(example(__key__=f"k{i}", x=i, y=[0.1 * i, 2.5], z=["a", "b"][: i % 3], s="text, 5"))
    output("convert", tmp_path / "a.tfrecord", tmp_path / f"b.{kind}")
    assert output("diff", tmp_path / "a.tfrecord", tmp_path / f"b.{kind}") == "no differences in 4 and 4 records\n"
    output("convert", tmp_path / "a.tfrecord", tmp_path / "c.jsonl")
    text = (tmp_path / "c.jsonl").read_text().replace("2.5", "2.75", 1)
    (tmp_path / "c.jsonl").write_text(text)
    for pair in ((f"b.{kind}", "c.jsonl"), ("c.jsonl", f"b.{kind}")):
        said = run("diff", *(tmp_path / name for name in pair)).stdout.decode()
        assert "record 0  y" in said and said.endswith("1 difference in 4 and 4 records\n")
        assert run("diff", "--tolerance", 0.25, *(tmp_path / name for name in pair)).returncode == 0


def test_files_are_divided_in_any_way(tmp_path: Path) -> None:
    values = [float("nan") if i == 7 else i / 3 for i in range(30)]
    rows = [example(**{"x": value, **({} if i % 5 else {"rare": [i] * (i % 3)})}) for i, value in enumerate(values)]
    for name, cuts in (("a", [0, 11, 30]), ("b", [0, 2, 3, 29, 30]), ("c", [0, 28])):
        for k, (start, stop) in enumerate(pairwise(cuts)):
            with fl.io.TFRecordWriter(str(tmp_path / f"{name}-{k}.tfrecord")) as writer:
                writer.write_many(rows[start:stop])
    assert "no differences in 30 and 30 records" in output("diff", tmp_path / "a-*", tmp_path / "b-*")
    said = run("diff", tmp_path / "c-*", tmp_path / "b-*").stdout.decode()
    assert "record 28  only in the second" in said and said.endswith("2 differences in 28 and 30 records\n")
    said = run("diff", tmp_path / "b-*", tmp_path / "c-*").stdout.decode()
    assert "record 29  only in the first" in said
