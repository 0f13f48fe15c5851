"""Files at URLs: memory, a slow S3 server, a server that fails, HTTP without ranges."""

from __future__ import annotations

import gc
import gzip
import http.server
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from tests.harness import check
from tests.s3 import CUT, Server, overlap, serving

import feedline as fl
from feedline.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
    UnimplementedError,
)
from feedline.io import remote
from feedline.io.remote import RemoteFile, RemoteWriter
from feedline.io.stream import Stream

MB = 1 << 20
DATA = np.random.default_rng(0).integers(0, 256, 20 * MB, np.uint8).tobytes()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def s3(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(remote, "PAUSES_S", (0.01, 0.02))
    server.again()
    yield server
    server.again()


@pytest.fixture
def mortal(s3: Server) -> Iterator[Server]:
    """A server that a test may stop."""
    with serving() as server:
        yield server


@pytest.fixture
def memory() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


def put(url: str, data: bytes) -> bytes:
    fs, path = fsspec.core.url_to_fs(url)
    fs.pipe_file(path, data)
    return url.encode()


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if "read-ahead" in t.name]


# Reading.


@pytest.mark.parametrize("url", ["memory://folder/file", "s3://bucket/file"])
def test_every_byte_from_every_place(url: str, s3: Server, memory: Any) -> None:
    name = put(url, DATA)
    file = RemoteFile(name)
    assert file.size() == len(DATA)
    assert file.read_all() == DATA and file.read(10) == b""
    for at in (0, 19 * MB, 5 * MB + 3, 5 * MB, 4 * MB - 1, len(DATA) - 1, 7):
        assert file.seek(at) == at and file.read(5) == DATA[at : at + 5]
        assert file.tell() == min(at + 5, len(DATA))
    file.seek(len(DATA) + 5)
    assert file.read(5) == b""
    file.close()


def test_ranges_are_large_and_few_and_overlap(s3: Server) -> None:
    name = put("s3://bucket/large", DATA)
    s3.again()
    s3.delay_s = 0.02
    file = RemoteFile(name)
    pieces = []
    while piece := file.read(64 << 10):
        pieces.append(piece)
    file.close()
    assert b"".join(pieces) == DATA
    gets = s3.gets()
    sizes = sorted(_length(r.span) for r in gets)
    assert sum(sizes) == len(DATA) and len(gets) <= 4 and sizes[-1] <= 12 * MB
    assert overlap(gets) >= 2


def _length(span: str) -> int:
    first, _, last = span.removeprefix("bytes=").partition("-")
    return int(last) - int(first) + 1


def test_reading_in_places_reads_no_more_than_is_near(s3: Server) -> None:
    name = put("s3://bucket/large", DATA)
    s3.again()
    file = RemoteFile(name)
    for at in (12 * MB, 2 * MB, 16 * MB):
        file.seek(at)
        assert file.read(100) == DATA[at : at + 100]
    file.close()
    first = [r for r in s3.gets() if _length(r.span) == MB]
    assert len(first) == 3


def test_what_is_read_ahead_is_bounded(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = put("s3://bucket/large", DATA)
    monkeypatch.setattr(remote, "_allowance", remote._Allowance(6 * MB))
    files = [RemoteFile(name) for _ in range(3)]
    for file in files:
        file.read(10)
    assert sum(len(file._window) for file in files) <= 4  # each has what it needs, and one has the next range
    assert all(file.read_all() == DATA[10:] for file in files)
    for file in files:
        file.close()
    assert remote._allowance._left == 6 * MB


def test_eight_objects_in_few_requests(s3: Server) -> None:
    records = [[b"%d-%d" % (i, j) * 5000 for j in range(100)] for i in range(8)]
    for i, rows in enumerate(records):
        with fl.io.TFRecordWriter(f"s3://bucket/set/{i}.tfrecord") as writer:
            for row in rows:
                writer.write(row)
    s3.again()
    s3.delay_s = 0.02
    files = fl.Dataset.list_files("s3://bucket/set/*.tfrecord", shuffle=False)
    assert list(files) == [b"s3://bucket/set/%d.tfrecord" % i for i in range(8)]
    ds = fl.TFRecordDataset(files)
    assert list(ds) == [row for rows in records for row in rows]
    total = sum(len(row) + 16 for rows in records for row in rows)
    assert total > 8 * MB
    assert len(s3.gets()) <= 3 * 8
    assert overlap(s3.gets()) >= 2


@pytest.mark.parametrize("url", ["memory://set", "s3://bucket/check"])
def test_the_same_elements_and_checkpoints_as_from_files_here(url: str, s3: Server, memory: Any) -> None:
    rows = [b"%d" % i * 50 for i in range(12)]
    for i in range(2):
        with fl.io.TFRecordWriter(f"{url}/{i}", options="GZIP" if i else "") as writer:
            for row in rows[i * 6 : i * 6 + 6]:
                writer.write(row)
    check(fl.TFRecordDataset(f"{url}/0"), rows[:6], sizes=(1, None), optimizer=[True])
    check(fl.TFRecordDataset(f"{url}/1", "GZIP"), rows[6:], sizes=(2, None), optimizer=[True])
    put(f"{url}/lines", b"a\nb\nc")
    check(fl.TextLineDataset(f"{url}/lines"), [b"a", b"b", b"c"], sizes=(1, None), optimizer=[True])


def test_restoring_in_the_middle_of_a_large_object_reads_from_there(s3: Server) -> None:
    rows = [bytes([i]) * MB for i in range(16)]
    with fl.io.TFRecordWriter("s3://bucket/middle") as writer:
        for row in rows:
            writer.write(row)
    ds = fl.TFRecordDataset("s3://bucket/middle")
    with iter(ds) as it:
        for _ in range(12):
            next(it)
        state = it.save()
    s3.again()
    with iter(ds) as it:
        it.restore(state)
        assert list(it) == rows[12:]
    starts = [int(r.span.removeprefix("bytes=").partition("-")[0]) for r in s3.gets()]
    assert min(starts) > 8 * MB


def test_compressed_objects(s3: Server) -> None:
    name = put("s3://bucket/zipped", gzip.compress(DATA[: 3 * MB]))
    stream = Stream(name, "GZIP")
    assert bytes(stream.view(0, 4 * MB)) == DATA[: 3 * MB]
    stream.close()


# Errors.


def test_what_is_missing_or_no_file(s3: Server, memory: Any) -> None:
    put("memory://folder/file", b"")
    for url, error in [
        ("memory://nope", NotFoundError),
        ("memory://folder", FailedPreconditionError),
        ("s3://bucket/nope", NotFoundError),
        ("s3://no-such-bucket/nope", NotFoundError),
        ("strange://x", UnimplementedError),
    ]:
        with pytest.raises(error, match=url):
            next(iter(fl.TFRecordDataset(url)))
        with pytest.raises(error, match=url):
            fl.io.read_file(url)


def test_what_may_not_be_read(s3: Server) -> None:
    put("s3://bucket/secret", b"x")
    s3.fail = lambda environ: 403 if environ["PATH_INFO"].endswith("secret") else 0
    with pytest.raises(PermissionDeniedError, match=r"s3://bucket/secret: "):
        fl.io.read_file("s3://bucket/secret")
    with pytest.raises(PermissionDeniedError, match=r"s3://bucket/secret: "):
        fl.io.write_file("s3://bucket/secret", b"y")
    it = iter(fl.TFRecordDataset("s3://bucket/secret"))
    with pytest.raises(PermissionError):
        next(it)
    it.close()


def test_no_server_is_an_error_soon(mortal: Server) -> None:
    mortal.stop()
    began = time.monotonic()
    with pytest.raises(UnavailableError, match=r"s3://bucket/file: .*connect"):
        next(iter(fl.TFRecordDataset("s3://bucket/file")))
    with pytest.raises(UnavailableError, match=r"s3://bucket/x"):
        fl.Dataset.list_files("s3://bucket/x/*")
    assert time.monotonic() - began < 60


def test_a_server_that_dies_in_the_middle(mortal: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "RANGE", MB)  # so that it cannot all have been read ahead
    rows = [bytes([i]) * MB for i in range(20)]
    with fl.io.TFRecordWriter("s3://bucket/dies") as writer:
        for row in rows:
            writer.write(row)
    it = iter(fl.TFRecordDataset("s3://bucket/dies"))
    got = [next(it)]
    mortal.stop()
    with pytest.raises(UnavailableError, match="s3://bucket/dies"):
        while True:
            got.append(next(it))
    assert got == rows[: len(got)] and len(got) < 20
    it.close()


@pytest.mark.parametrize("failure", [500, CUT])
def test_errors_that_pass_are_not_seen(s3: Server, failure: int) -> None:
    name = put("s3://bucket/large", DATA)
    s3.again()
    failed: list[str] = []

    def fail(environ: dict[str, Any]) -> int:
        span = environ.get("HTTP_RANGE", "")
        if environ["REQUEST_METHOD"] == "GET" and span and failed.count(span) < 1:
            failed.append(span)
            return failure
        return 0

    s3.fail = fail
    assert remote.read(name) == DATA
    assert failed


def test_errors_that_do_not_pass_are_tried_so_many_times(s3: Server) -> None:
    name = put("s3://bucket/down", b"x" * 100)
    s3.again()
    s3.fail = lambda environ: 500 if environ.get("HTTP_RANGE") else 0
    with pytest.raises(UnavailableError, match="s3://bucket/down"):
        remote.read(name)
    assert len(s3.gets()) == 3


def test_a_file_that_shrinks_while_it_is_read(memory: Any) -> None:
    name = put("memory://shrinks", DATA[: 4 * MB])
    file = RemoteFile(name)
    put("memory://shrinks", b"short")
    with pytest.raises(fl.errors.DataLossError, match=r"memory://shrinks: .*was it changed"):
        file.read_all()
    file.close()


# Threads.


def test_threads_end_when_a_reader_is_closed_dropped_or_fails(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put("memory://slow", DATA)
    slow = threading.Event()
    plain = type(memory).cat_file

    def cat_file(self: Any, path: str, start: int = 0, end: int = 0, **kwargs: Any) -> Any:
        if start >= MB:
            slow.wait(10)
        return plain(self, path, start=start, end=end, **kwargs)

    monkeypatch.setattr(type(memory), "cat_file", cat_file)
    file = RemoteFile(b"memory://slow")
    assert file.read(10) == DATA[:10] and threads()
    file.close()
    dropped = RemoteFile(b"memory://slow")
    assert dropped.read(10) == DATA[:10]
    del dropped
    gc.collect()
    slow.set()
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not threads()
    assert remote._allowance._left == remote.AHEAD_BYTES


def test_requests_are_called_off(s3: Server) -> None:
    name = put("s3://bucket/large", DATA)
    file = RemoteFile(name)
    file.read(10)
    s3.delay_s = 30.0
    file.seek(10 * MB)
    window = file._window
    file._send_for(10 * MB, must=True)
    futures = [r._future for r in window if r._future is not None]
    file.close()
    assert all(f.cancelled() or f.done() for f in futures)
    s3.delay_s = 0.0


# Writing.


def test_an_object_appears_when_it_is_complete(s3: Server, memory: Any) -> None:
    for url in ("memory://new/file", "s3://bucket/new"):
        writer = fl.io.TFRecordWriter(url)
        writer.write(b"one")
        writer.flush()
        assert not remote.exists(url.encode())
        writer.close()
        writer.close()
        assert list(fl.TFRecordDataset(url)) == [b"one"]
        with pytest.raises(ZeroDivisionError), fl.io.TFRecordWriter(url) as writer:
            writer.write(b"two")
            raise ZeroDivisionError
        assert list(fl.TFRecordDataset(url)) == [b"one"]
        with pytest.raises(FailedPreconditionError):
            writer.write(b"three")


def test_a_writer_that_is_not_closed_says_so(memory: Any) -> None:
    writer = fl.io.TFRecordWriter("memory://forgotten")
    writer.write(b"one")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del writer
        gc.collect()
    assert [str(w.message) for w in said] == ["memory://forgotten was not closed, so nothing was written to it"]
    assert not remote.exists(b"memory://forgotten")


def test_an_upload_that_fails_leaves_nothing(s3: Server) -> None:
    writer = fl.io.TFRecordWriter("s3://bucket/never")
    writer.write(b"one")
    s3.fail = lambda environ: 500 if environ["REQUEST_METHOD"] == "PUT" else 0
    with pytest.raises(UnavailableError, match="s3://bucket/never"):
        writer.close()
    s3.again()
    assert not remote.exists(b"s3://bucket/never")
    writer.close()


def test_an_upload_is_tried_again(s3: Server) -> None:
    failed: list[int] = []

    def fail(environ: dict[str, Any]) -> int:
        if environ["REQUEST_METHOD"] == "PUT" and not failed:
            failed.append(1)
            return 503
        return 0

    s3.fail = fail
    with RemoteWriter(b"s3://bucket/again") as writer:
        writer.write(b"data")
    assert failed and fl.io.read_file("s3://bucket/again") == b"data"


def test_datasets_written_to_urls(s3: Server) -> None:
    fl.experimental.TFRecordWriter("s3://bucket/words").write(fl.Dataset.from_tensor_slices(["a", "b"]))
    assert list(fl.TFRecordDataset("s3://bucket/words")) == [b"a", b"b"]
    bad = fl.Dataset.from_tensor_slices(["a", "b"]).map(lambda x: {b"a": b"ok"}[x])
    with pytest.raises(KeyError):
        fl.experimental.TFRecordWriter("s3://bucket/words").write(bad)
    assert list(fl.TFRecordDataset("s3://bucket/words")) == [b"a", b"b"]


@pytest.mark.parametrize("url", ["memory://saved", "s3://bucket/saved"])
def test_save_and_load(url: str, s3: Server, memory: Any) -> None:
    ds = fl.Dataset.range(30).map(lambda x: {"x": x, "text": str(x)})
    for _ in range(2):  # the second replaces the first
        ds.save(url, shard_func=lambda element: np.int64(element["x"] % 3))
    assert len(remote.children(url.encode())) == 2
    loaded = fl.Dataset.load(url)
    assert sorted(int(e["x"]) for e in loaded) == list(range(30))
    assert [int(e["x"]) for e in loaded.global_shuffle(seed=1)] == [
        int(e["x"]) for e in fl.Dataset.load(url).global_shuffle(seed=1)
    ]
    with pytest.raises(ZeroDivisionError):
        fl.Dataset.range(3).map(lambda x: 1 // int(x)).save(url)
    assert len(list(fl.Dataset.load(url))) == 30
    with pytest.raises(NotFoundError, match="nothing"):
        fl.Dataset.load(f"{url}/nothing")


def test_a_save_that_cannot_be_sent_leaves_nothing(s3: Server) -> None:
    s3.fail = lambda environ: 500 if environ["PATH_INFO"].endswith("manifest") else 0  # there is none, and cannot be
    with pytest.raises(UnavailableError):
        fl.Dataset.range(3).save("s3://bucket/unsent")
    s3.again()
    put_of_manifest = ("PUT", "/bucket/unsent/manifest")
    s3.fail = lambda environ: 500 if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == put_of_manifest else 0
    with pytest.raises(UnavailableError):
        fl.Dataset.range(3).save("s3://bucket/unsent")
    s3.again()
    assert not remote.children(b"s3://bucket/unsent")


def test_cache_and_snapshot(s3: Server, memory: Any) -> None:
    for folder in ("memory://kept", "s3://bucket/kept"):
        calls: list[int] = []

        def slow(x: Any, calls: list[int] = calls) -> Any:
            calls.append(int(x))
            return x * x

        cached = fl.Dataset.range(4).map(slow).cache(f"{folder}/cache")
        snapped = fl.Dataset.range(4).map(slow).snapshot(f"{folder}/snapshot")
        for ds in (cached, snapped):
            calls.clear()
            assert [int(x) for x in ds] == [int(x) for x in ds] == [0, 1, 4, 9]
            assert calls == [0, 1, 2, 3]


# Names.


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
