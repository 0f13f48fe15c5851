"""Names at URLs: patterns, plain paths with a scheme, servers that know less."""

from __future__ import annotations

import contextlib
import http.server
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.s3 import Server, put

import feedline as fl
from feedline.errors import (
    NotFoundError,
    UnimplementedError,
)
from feedline.io.remote import RemoteFile


def test_patterns(s3: Server, memory: Any) -> None:
    for root in ("memory://tree", "s3://bucket/tree"):
        for file in ("b.txt", "a.txt", "c.log", "sub/x1", "sub/deep/x2", "other/x3"):
            put(f"{root}/{file}", b"")

        def found(pattern: str, root: str = root) -> list[str]:
            return [p.decode().removeprefix(f"{root}/") for p in fl.io.matching_files(f"{root}/{pattern}")]

        assert found("*.txt") == ["a.txt", "b.txt"]
        assert found("[!a].*") == ["b.txt", "c.log"]
        assert found("*/x*") == ["other/x3", "sub/x1"]
        assert found("*/*/x?") == ["sub/deep/x2"]
        assert found("s*") == ["sub"] and found("a.txt") == ["a.txt"] and found("nope*") == []
        assert found("sub") == ["sub"] and found("nope") == [] and found("nope/*") == []
        put(f"{root}/late.txt", b"")
        assert found("*.txt") == ["a.txt", "b.txt", "late.txt"]
    assert fl.io.matching_files("s3://buck*/tree/a.txt").tolist() == [b"s3://bucket/tree/a.txt"]


def test_list_files_shuffles_as_tensorflow_does(memory: Any) -> None:
    for i in range(6):
        put(f"memory://order/f{i}", b"")
    ds = fl.Dataset.list_files("memory://order/f*", seed=1)
    assert [x[-2:].decode() for x in ds] == ["f4", "f5", "f1", "f2", "f3", "f0"]
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"no files matched the pattern memory://order/\*.nope"):
        fl.Dataset.list_files("memory://order/*.nope")


def test_file_urls_are_paths(tmp_path: Path) -> None:
    url = f"file://{tmp_path}"
    with fl.io.TFRecordWriter(f"{url}/a") as writer:
        writer.write(b"one")
    assert list(fl.TFRecordDataset(f"{url}/a")) == list(fl.TFRecordDataset(tmp_path / "a")) == [b"one"]
    assert fl.io.matching_files(f"{url}/*").tolist() == [f"{url}/a".encode()]
    fl.io.write_file(f"{url}/sub/b", b"text")
    assert fl.io.read_file(f"{url}/sub/b") == b"text" == (tmp_path / "sub" / "b").read_bytes()
    fl.Dataset.range(3).save(f"{url}/saved")
    assert len(list(fl.Dataset.load(f"{url}/saved"))) == 3
    cached = fl.Dataset.range(3).cache(f"{url}/cached")
    assert len(list(cached)) == len(list(cached)) == 3 and (tmp_path / "cached.elements").exists()
    fl.experimental.TFRecordWriter(f"{url}/c").write(fl.Dataset.from_tensor_slices(["x"]))
    assert list(fl.TFRecordDataset(f"{url}/c")) == [b"x"]
    with pytest.raises(NotFoundError, match=f"{url}/nope"):
        fl.io.read_file(f"{url}/nope")


def test_a_server_that_knows_no_ranges(tmp_path: Path, s3: Server) -> None:
    (tmp_path / "lines").write_bytes(b"a\nb\nc\n")
    large = bytes(range(256)) * 20_000
    (tmp_path / "large").write_bytes(large)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    def handler(*args: Any) -> Quiet:
        return Quiet(*args, directory=str(tmp_path))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{web.server_port}"
        try:
            ds = fl.TextLineDataset(f"{url}/lines")
            assert list(ds) == [b"a", b"b", b"c"]
            with iter(ds) as it:
                next(it)
                state = it.save()
            with iter(ds) as it:
                it.restore(state)
                assert list(it) == [b"b", b"c"]
            assert fl.io.read_file(f"{url}/large") == large
            assert fl.io.gfile.GFile(f"{url}/large", "rb").read() == large
            with contextlib.closing(RemoteFile(f"{url}/large".encode())) as file:
                assert file.ahead(5) == large[:5] == file.ahead(3) and not file.seekable
                assert file.read(2) + file.read(2) + file.read_all() == large
            with pytest.raises(UnimplementedError, match=r"/large: its server does not support range requests"):
                RemoteFile(f"{url}/large".encode()).seek(100)
            with pytest.raises(NotFoundError, match=f"{url}/nope"):
                list(fl.TextLineDataset(f"{url}/nope"))
            with pytest.raises(UnimplementedError, match=url):
                fl.io.write_file(f"{url}/new", b"")
        finally:
            web.shutdown()
            thread.join()


def test_sql_is_for_files_here() -> None:
    with pytest.raises(UnimplementedError, match=r"s3://bucket/x.db.*copy"):
        fl.experimental.SqlDataset("sqlite", "s3://bucket/x.db", "select 1", (fl.int32,))
