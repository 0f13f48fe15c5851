"""Files at other places: web servers, S3, and the memory of the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import s3, web
from tests.tools.data import ROWS, many, output, run

import feedline as fl
from feedline.tools.cli import main


@pytest.fixture(scope="module")
def site() -> Iterator[web.Site]:
    with web.serving() as server:
        yield server


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, str]]:
    """An S3 server; the variables with which a process finds it."""
    with s3.serving() as server:
        yield {
            "FSSPEC_S3_KEY": s3.KEYS["key"],
            "FSSPEC_S3_SECRET": s3.KEYS["secret"],
            "FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{server.port}",
        }


@pytest.mark.parametrize("kind", ["tfrecord", "parquet", "csv"])
def test_files_of_a_web_server(kind: str, site: web.Site, pets: dict[str, Path]) -> None:
    url = site.put(f"pets.{kind}", pets[kind].read_bytes())
    assert output("count", url) == "3\n"
    assert [json.loads(line) for line in output("cat", url).splitlines()] == ROWS
    said = output("verify", url)
    assert "3 good" in said and "(0 B" not in said


def test_a_file_that_a_web_server_does_not_have(site: web.Site) -> None:
    said = run("count", site.url("none.tfrecord"))
    assert said.returncode == 1 and said.stderr.count(b"none.tfrecord") == 1
    assert b"/none.tfrecord: the server answers 404 " in said.stderr


def test_a_table_of_a_web_server_without_ranges(site: web.Site, pets: dict[str, Path]) -> None:
    urls = {kind: site.put(f"whole.{kind}", pets[kind].read_bytes()) for kind in ("parquet", "arrow", "tfrecord")}
    site.ranges = False
    try:
        for kind in ("parquet", "arrow"):
            said = run("count", urls[kind])
            assert said.returncode == 1 and said.stderr.count(b"\n") == 1
            assert b"its server does not support range requests" in said.stderr and b"copy it" in said.stderr
        assert output("count", urls["tfrecord"]) == "3\n"
    finally:
        site.ranges = True


def test_a_folder_and_a_pattern_on_s3(bucket: dict[str, str], tmp_path: Path) -> None:
    for path in many(tmp_path, 3, 5):
        s3.put(f"s3://bucket/ein Ördner/{path.name}", path.read_bytes())
    for given in ("s3://bucket/ein Ördner", "s3://bucket/ein Ördner/many-*"):
        assert json.loads(output("count", given, "--json", **bucket))["records"] == 15
    output("convert", "s3://bucket/ein Ördner/", "s3://bucket/all.parquet", **bucket)
    assert "no differences in 15" in output("diff", "s3://bucket/all.parquet", tmp_path, **bucket)


def test_files_in_memory(pets: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(pets["csv"]), "memory://tools/pets.tfrecord.gz"]) == 0
    assert main(["cat", "memory://tools"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]] == ROWS
    fl.io.gfile.rmtree("memory://tools")
    assert main(["count", "memory://tools/pets.tfrecord.gz"]) == 1
    assert "No such file" in capsys.readouterr().err
