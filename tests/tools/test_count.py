from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.tools.data import NAMES, many, output, run


@pytest.mark.parametrize("kind", NAMES)
def test_every_format(kind: str, pets: dict[str, Path]) -> None:
    assert output("count", pets[kind]) == "3\n"


def test_many_files(tmp_path: Path, pets: dict[str, Path]) -> None:
    paths = many(tmp_path, 3, 10)
    (tmp_path / "packed").write_bytes(gzip.compress(paths[0].read_bytes()))
    said = json.loads(output("count", "--json", tmp_path, pets["csv"]))
    assert said["records"] == 43
    assert [file["records"] for file in said["files"]] == [10, 10, 10, 10, 3]
    shown = output("count", tmp_path / "many-*")
    assert shown.splitlines()[-1].split() == ["total", "30"]


def test_one_bad_file_among_many(tmp_path: Path) -> None:
    paths = many(tmp_path, 40, 3)
    paths[17].write_bytes(paths[17].read_bytes()[:-3])
    said = run("count", tmp_path / "many-*")
    assert said.returncode == 1
    assert said.stdout.decode().splitlines()[-1].split() == ["total", "117"]
    assert said.stderr.decode().count("\n") == 1
    assert f"{paths[17]}, record 2 (byte" in said.stderr.decode()
