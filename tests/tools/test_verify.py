from __future__ import annotations

import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.tools.data import NAMES, damage, example, many, output, run

import feedline as fl
from feedline import kernels
from feedline.io.tfrecord.framing import mask, masked_crc


@pytest.mark.parametrize("kind", NAMES)
def test_sound_files(kind: str, pets: dict[str, Path]) -> None:
    said = output("verify", pets[kind])
    assert said.startswith("sound  3 good ")
    assert json.loads(output("verify", "--json", pets[kind]))["records"] == 3
    assert output("verify", "--quiet", pets[kind]) == ""


def test_every_damaged_byte_is_found(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 4)
    whole = path.read_bytes()
    for at in (0, 9, 14, 60, 68, 69, len(whole) - 1):
        said = run("verify", "--json", damage(path, at, tmp_path / "bad.tfrecord"))
        found = json.loads(said.stdout)
        assert said.returncode == 1, at
        assert (found["records"], found["bad_records"]) == (3, 1), at
        (bad,) = found["bad"]
        assert bad["offset"] <= at < bad["offset"] + bad["lost"]


def test_the_places(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 1000)
    size = path.stat().st_size
    for at in (10_000, 40_000):
        damage(path, at)
    path.write_bytes(path.read_bytes()[:-5])
    said = run("verify", path)
    lines = said.stdout.decode().splitlines()
    assert said.returncode == 1
    assert [line.partition(", record ")[0] for line in lines[:3]] == [f"bad  {path}"] * 3
    assert "is truncated" in lines[2]
    assert lines[3].startswith("3 bad places in 1 file, 997 good Examples in 1 file")
    assert size > 50_000


@pytest.mark.parametrize("keep", [0, 5, 12, 30])
def test_truncated_after_a_few_bytes(keep: int, tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 1)
    path.write_bytes(path.read_bytes()[:keep])
    assert run("verify", path).returncode == (1 if keep else 0)


def test_a_record_that_is_no_example(tmp_path: Path) -> None:
    path = tmp_path / "examples.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write_many([example(i=i) for i in range(50)])
        writer.write(b"\x0a\x7fnot an example")
        writer.write(example(i=50))
    said = run("verify", "--json", path)
    found = json.loads(said.stdout)
    assert (said.returncode, found["records"]) == (1, 51)
    (bad,) = found["bad"]
    assert bad["record"] == 50
    assert "record 50 is not a valid Example" in bad["error"]
    data = path.read_bytes()
    assert data[bad["offset"] + 12 :].startswith(b"\x0a\x7fnot")


def test_one_bad_file_among_a_thousand(tmp_path: Path) -> None:
    (one,) = many(tmp_path, 1, 2, "one")
    for i in range(1000):
        (tmp_path / f"copy-{i:04}.tfrecord").write_bytes(one.read_bytes())
    damage(tmp_path / "copy-0617.tfrecord", 20)
    said = run("verify", tmp_path / "copy-*")
    assert said.returncode == 1
    lines = said.stdout.decode().splitlines()
    assert len(lines) == 3
    assert f"{tmp_path}/copy-0617.tfrecord, record 0 (byte 0) is corrupt" in lines[0]
    assert lines[1].startswith("1 bad place in 1 file, 1,999 good Examples in 1,000 files")
    assert lines[2] == "feedline repair writes what is sound in a file to a new one"


@pytest.mark.parametrize("kind", ["tar", "parquet", "arrow", "csv", "jsonl", "arrayrecord"])
def test_damage_in_other_formats(kind: str, pets: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / NAMES[kind]
    data = pets[kind].read_bytes()
    path.write_bytes({"csv": data + b'8,"9\n', "jsonl": data + b"{broken\n"}.get(kind, data[: len(data) * 2 // 3]))
    said = run("verify", path)
    assert said.returncode == 1
    assert said.stdout.startswith(b"bad  ")
    assert said.stderr == b""


def test_lines_that_are_no_json(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a" 2}\n')
    said = run("verify", path)
    assert said.returncode == 1
    assert b"a.jsonl, line 2 is not a JSON object: Expecting ':' delimiter at column 6" in said.stdout
    assert b"1 bad place in 1 file, 1 good record in 1 file" in said.stdout
    assert json.loads(run("verify", "--json", path).stdout)["bytes"] == 8


def test_unreadable_files(tmp_path: Path) -> None:
    said = run("verify", "--json", tmp_path / "none.tfrecord", tmp_path / "folder without files")
    found = json.loads(said.stdout)
    assert said.returncode == 1
    assert [bad["record"] for bad in found["bad"]] == [None, None]
    assert "No such file" in found["bad"][0]["error"]


def test_a_huge_record(tmp_path: Path) -> None:
    path = tmp_path / "huge.tfrecord"
    size = 500 << 20
    crc = 0
    for _ in range(500):
        crc = kernels.crc32c(bytes(1 << 20), crc)
    with open(path, "wb") as file:
        length = struct.pack("<Q", size)
        file.write(length + struct.pack("<I", masked_crc(length)))
        file.truncate(12 + size)
        file.seek(12 + size)
        file.write(struct.pack("<I", mask(crc)))
    assert path.stat().st_size == size + 16
    assert os.stat(path).st_blocks * 512 < 1 << 20
    found = json.loads(output("verify", "--json", path))
    assert (found["records"], found["bytes"]) == (1, size)
    shown = output("head", path)
    assert "524.3 MB: 00 00" in shown
    assert output("count", path) == "1\n"


def test_checksums_of_parquet_files(pets: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "pets.parquet"
    output("convert", pets["jsonl"], path)
    assert "3 good" in output("verify", path)
    at = path.read_bytes().index(b"Bob, the") + 5
    said = run("verify", damage(path, at))
    assert said.returncode == 1 and b"CRC checksum verification failed" in said.stdout


def test_pipes(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 500)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        for command, expected in (("count", "500"), ("verify", "500 good Examples"), ("schema", f"'{pipe}'")):
            writing = pool.submit(pipe.write_bytes, path.read_bytes())
            assert expected in output(command, pipe)
            writing.result()
