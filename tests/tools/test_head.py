from __future__ import annotations

import gzip
import io
import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.data import NAMES, ROWS, damage, example, many, output, plain_rows, run
from tests.tools.terminal import in_terminal

import feedline as fl


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("kind", NAMES)
def test_every_format(kind: str, pets: dict[str, Path]) -> None:
    assert objects(output("head", "--json", pets[kind])) == plain_rows(kind)
    shown = output("head", pets[kind], "-n", 2)
    assert f"{pets[kind]}, record 1\n" in shown
    assert "Bob, the <b>cat</b>" in shown
    assert "Çelik" not in shown


@pytest.mark.parametrize("kind", ["tfrecord", "csv", "jsonl", "tar"])
def test_content_tells_format_and_compression(kind: str, pets: dict[str, Path], tmp_path: Path) -> None:
    odd = tmp_path / "data with spaces and ümläuts ☃"
    odd.write_bytes(gzip.compress(pets[kind].read_bytes()))
    assert objects(output("head", "--json", odd)) == plain_rows(kind)


@pytest.mark.parametrize("inside", ["[%s]", '{"b": [%s]}'])
def test_deeply_nested_objects_are_errors(inside: str, tmp_path: Path) -> None:
    path, other = tmp_path / "a.jsonl", tmp_path / "data"
    deep = "1"
    for _ in range(400):
        deep = inside % deep
    path.write_text(f'{{"a": 1}}\n{{"a": {deep}}}\n{{"a": [[1], [2]]}}\n')
    for command in (["head"], ["head", "--json"], ["stats"], ["diff", path]):
        said = run(*command, path)
        assert said.returncode == 1
        assert b"a.jsonl, line 2 is not a JSON object: it has more than 100 levels" in said.stderr
    other.write_text(path.read_text().splitlines()[1].replace("1", "[" * 50_000))
    assert b"neither its content" in run("head", other).stderr


@pytest.mark.parametrize("kind", NAMES)
def test_standard_input(kind: str, pets: dict[str, Path]) -> None:
    said = output("head", "--json", "-", stdin=pets[kind].read_bytes())
    assert objects(said) == plain_rows(kind)


def test_standard_input_is_named_in_errors() -> None:
    said = run("head", "-", stdin=b"no format at all\n")
    assert said.returncode == 1
    assert said.stderr.startswith(b"feedline head: standard input: neither its content")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('a,b\n1,"x, y"\n', {"a", "b"}),
        ('a;b\n"1;2";"two\nlines"\n3;4\n', {"a", "b"}),
        ("a\tb\n", set()),
        ("Dear all, this is a letter.\nIt is no table.\n", None),
    ],
)
def test_csv_is_recognised_by_its_fields(text: str, columns: set[str] | None) -> None:
    said = run("head", "-n", 1, "--json", "-", stdin=text.encode())
    assert said.returncode == (columns is None)
    assert {key for row in objects(said.stdout.decode()) for key in row} == (columns or set())


def test_rows_features_and_skip(pets: dict[str, Path]) -> None:
    said = output("head", "--json", "-n", 1, "--skip", 1, "--features", "age, name", pets["parquet"])
    assert objects(said) == [{"age": 5, "name": ROWS[1]["name"]}]
    assert output("head", "-n", 0, pets["csv"]) == ""


@pytest.mark.parametrize("command", ["head", "stats", "diff"])
def test_a_feature_that_no_record_has_is_an_error(command: str, pets: dict[str, Path]) -> None:
    files = [pets["parquet"]] * (2 if command == "diff" else 1)
    said = run(command, "--features", "name,aeg", *files)
    assert said.returncode == 1
    assert said.stderr.decode() == f"feedline {command}: there is no feature 'aeg'; there are: age, name, weight\n"


def test_without_any_of_the_features_no_records_are_shown(pets: dict[str, Path]) -> None:
    said = run("head", "--features", "aeg", pets["parquet"])
    assert (said.returncode, said.stdout) == (1, b"")
    assert b"no feature 'aeg'" in said.stderr


def test_patterns_folders_and_urls(tmp_path: Path) -> None:
    paths = many(tmp_path, 3, 2)
    for given in (tmp_path / "many-*.tfrecord", tmp_path, f"file://{tmp_path}/many-0000[012]-of-*"):
        found = objects(output("head", "--json", "-n", 10, given))
        assert [row["id"] for row in found] == list(range(6))
    said = run("head", tmp_path / "none-*")
    assert (said.returncode, said.stderr.decode()) == (
        1,
        f"feedline head: {tmp_path}/none-*: no file matches this pattern\n",
    )
    assert len(paths) == 3


def test_values_of_all_kinds(tmp_path: Path) -> None:
    path = tmp_path / "kinds.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(raw=b"\xff\x00", text="é\x1b[31m", many=list(range(20)), tenth=0.1, none=[]))
        writer.write(example(raw=5))
    rows = objects(output("head", "--json", path))
    assert rows[0]["raw"] == {"base64": "/wA="}
    assert rows[0]["text"] == "é\x1b[31m"
    assert rows[0]["tenth"] == 0.1
    assert rows[1] == {"raw": 5}
    shown = output("head", path)
    assert "é\\x1b[31m" in shown
    assert "\x1b" not in shown
    assert "2 B: ff 00" in shown
    assert "[0, 1, 2, 3, 4, 5, 6, 7, … 20 values]" in shown


def test_sounds(tmp_path: Path) -> None:
    sound = io.BytesIO()
    with wave.open(sound, "wb") as out:
        out.setparams((2, 2, 8000, 0, "NONE", "not compressed"))
        out.writeframes(bytes(4 * 4000))
    path = tmp_path / "sounds.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(example(wav=sound.getvalue(), flac=b"fLaC\0\xff", short=sound.getvalue()[:20] + b"\xff"))
        writer.write(example(wav="RIFF"))
    shown = output("head", path)
    assert "WAV sound, 0.50 s, 8,000 Hz, stereo, 16.0 kB\n" in shown
    assert "FLAC sound, 6 B\n" in shown and "WAV sound, 21 B\n" in shown and "wav  RIFF\n" in shown


def test_records_that_are_no_examples(tmp_path: Path) -> None:
    path = tmp_path / "words.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([b"one", b"two"])
    assert objects(output("head", "--json", path)) == [{"record": "one"}, {"record": "two"}]


def test_feature_lists(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    train = fl.train
    steps = [train.Feature(int64_list=train.Int64List(value=[k, k])) for k in range(3)]
    message = train.SequenceExample(
        context=train.Features(feature={"id": train.Feature(int64_list=train.Int64List(value=[9]))}),
        feature_lists=train.FeatureLists(feature_list={"steps": train.FeatureList(feature=steps)}),
    )
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(message.SerializeToString())
    assert objects(output("head", "--json", path)) == [{"id": 9, "steps": [[0, 0], [1, 1], [2, 2]]}]


def test_images(tmp_path: Path) -> None:
    path = tmp_path / "images.tfrecord"
    pixels = np.zeros((6, 8, 3), np.uint8)
    pixels[:, :4] = (255, 0, 0)
    files = [fl.io.encode_png(pixels), fl.io.encode_jpeg(pixels), b"\x89PNG\r\n\x1a\nbroken"]
    fl.io.write_examples(path, {"image": files})
    shown = output("head", path)
    assert "PNG image, 8 x 6" in shown
    assert "JPEG image, 8 x 6" in shown
    assert "▀" not in shown
    status, drawn = in_terminal("head", path)
    assert status == 0
    assert "▀" in drawn
    assert "38;2;255;0;0" in drawn
    assert "▀" not in in_terminal("head", "--no-images", path)[1]
    assert "▀" not in in_terminal("head", path, NO_COLOR="1")[1]


def test_markup_and_colours(pets: dict[str, Path]) -> None:
    status, drawn = in_terminal("head", pets["jsonl"])
    assert status == 0
    assert "\x1b[" in drawn
    assert "Çelik [red]" in drawn
    plain = in_terminal("head", pets["jsonl"], TERM="dumb")[1]
    assert "\x1b[" not in plain


def test_damage_is_told_and_passed_over(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 5)
    damage(path, 70)
    said = run("head", "--json", path)
    assert said.returncode == 1
    assert [row["id"] for row in objects(said.stdout.decode())] == [0, 2, 3, 4]
    assert said.stderr.decode().startswith(f"feedline head: {path}, record 1 (byte 69) is corrupt")


@pytest.mark.parametrize("content", [bytes(range(256)) * 8, b"\x1f\x8bnonsense", b"just words\nwithout a format\n"])
def test_junk(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "junk"
    path.write_bytes(content)
    said = run("head", path)
    assert said.returncode == 1
    assert said.stdout == b""
    assert said.stderr.decode().count("\n") == 1
    assert "give it with --format" in said.stderr.decode()


@pytest.mark.parametrize("kind", NAMES)
def test_junk_with_a_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[kind]
    path.write_bytes(b"\x00\xff\x80junk" * 40)
    said = run("head", "--json", path)
    assert said.returncode == 1 or kind == "csv"
    assert b"Traceback" not in said.stderr
    assert b"error inside" not in said.stderr


@pytest.mark.parametrize("kind", NAMES)
def test_empty_and_missing_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / NAMES[kind]
    said = run("head", path)
    assert said.returncode == 1
    assert str(path) in said.stderr.decode()
    path.write_bytes(b"")
    said = run("head", path)
    assert b"error inside" not in said.stderr
    assert said.stdout == b""
    assert said.returncode == (1 if kind in ("parquet", "arrow", "arrayrecord", "tar") else 0), said


def test_usage() -> None:
    said = run("head")
    assert (said.returncode, said.stderr.decode()) == (
        2,
        "feedline head: Missing argument 'FILES...'; see feedline head --help\n",
    )
    assert run("head", "-n", "x", "a").returncode == 2
    assert run("head", "--format", "doc", "a").returncode == 2
