"""Reading files at URLs: in ranges, ahead, from servers that are slow, refuse, or die."""

from __future__ import annotations

import gc
import gzip
import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.harness import check
from tests.s3 import CUT, Server, overlap, put

import feedline as fl
from feedline.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
    UnimplementedError,
)
from feedline.io import remote
from feedline.io.remote import RemoteFile, reader
from feedline.io.stream import Stream

MB = 1 << 20
DATA = np.random.default_rng(0).integers(0, 256, 20 * MB, np.uint8).tobytes()


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


def test_a_look_at_another_place(s3: Server) -> None:
    name = put("s3://bucket/large", DATA)
    file = RemoteFile(name)
    assert file.seekable and file.ahead(10) == DATA[:10] and file.tell() == 0
    assert file.read(5) == DATA[:5]
    assert file.read_at(3, 100) == DATA[3:103] and file.read_at(15 * MB, 7) == DATA[15 * MB : 15 * MB + 7]
    assert [_length(r.span) for r in s3.gets() if _length(r.span) < MB] == [7]  # the others were there already
    assert file.read_at(len(DATA) - 3, 100) == DATA[-3:] and file.read_at(len(DATA), 5) == b""
    assert file.tell() == 5 and file.read(5) == DATA[5:10]
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
    monkeypatch.setattr(reader, "AHEAD_BYTES", 6 * MB)
    files = [RemoteFile(name) for _ in range(3)]
    for file in files:
        file.read(10)
    assert sum(len(file._window) for file in files) <= 4  # each has what it needs, and one has the next range
    assert all(file.read_all() == DATA[10:] for file in files)
    for file in files:
        file.close()
    assert not reader._held


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
    monkeypatch.setattr(reader, "RANGE", MB)  # so that it cannot all have been read ahead
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
    assert not reader._held


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
