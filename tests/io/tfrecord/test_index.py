"""Indexes of TFRecord files: made, kept, and never believed when they should not be."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline import kernels
from feedline.errors import DataLossError, FailedPreconditionError, NotFoundError
from feedline.io.tfrecord import index as indexing
from feedline.io.tfrecord import sidecar
from feedline.io.tfrecord.framing import frame, masked_crc

RECORDS = [b"", b"a", b"hello world", b"x" * 3000, b"", b"end"]


def write(path: Path, records: list[bytes] = RECORDS) -> bytes:
    path.write_bytes(b"".join(map(frame, records)))
    return os.fsencode(path)


def lengths(path: bytes, **how: Any) -> list[int]:
    (index,) = indexing.indexes([path], **how)
    return (np.diff(index.starts).astype(int) - 16).tolist()


@pytest.mark.parametrize(
    "sizes",
    [[], [0], [5] * 100, [70_000] * 3, [200_000, 3, 4, 5, 300_000, 70_000, 0], list(range(0, 4000, 7)) * 5, [2**20, 1]],
)
def test_where_records_lie(tmp_path: Path, sizes: list[int]) -> None:
    path = write(tmp_path / "a", [bytes(n) for n in sizes])
    assert lengths(path) == sizes
    assert indexing.found(path) is not None


def test_built_ahead_it_is_kept_beside_the_file(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", [b"one"])
    counts = fl.io.tfrecord_index([str(tmp_path / "a"), tmp_path / "b"])
    assert counts.dtype == np.int64 and counts.tolist() == [6, 1]
    assert sorted(os.listdir(tmp_path)) == [".a.feedline-index", ".b.feedline-index", "a", "b"]
    assert fl.io.tfrecord_index([]).tolist() == []


def test_unasked_only_that_of_a_large_file_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a")
    assert len(fl.TFRecordDataset(tmp_path / "a")) == 6
    assert os.listdir(tmp_path) == ["a"]
    monkeypatch.setattr(indexing, "STORE_FROM", 10)
    write(tmp_path / "b")
    assert len(fl.TFRecordDataset(tmp_path / "b")) == 6
    assert sorted(os.listdir(tmp_path)) == [".b.feedline-index", "a", "b"]
    fl.io.tfrecord_index(tmp_path / "a")  # in memory already, and kept now
    assert (tmp_path / ".a.feedline-index").exists()


def test_no_more_than_sixteen_bytes_per_record(tmp_path: Path) -> None:
    write(tmp_path / "a", [bytes(n % 5000) for n in range(2000)])
    fl.io.tfrecord_index(tmp_path / "a")
    assert (tmp_path / ".a.feedline-index").stat().st_size <= 16 * 2000 / 7


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays in memory."""
    monkeypatch.setattr(indexing, "KEEP", -1)
    monkeypatch.setattr(indexing._Memory, "get", lambda *_: None)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The files that an index was made of."""
    made: list[bytes] = []
    scanned = indexing._scanned

    def noted(path: bytes, *rest: Any) -> Any:
        made.append(os.path.basename(path))
        return scanned(path, *rest)

    monkeypatch.setattr(indexing, "_scanned", noted)
    return made


@pytest.mark.usefixtures("forgetful")
def test_the_kept_one_is_used(tmp_path: Path, builds: list[bytes]) -> None:
    path = write(tmp_path / "a")
    fl.io.tfrecord_index(path)
    assert lengths(path) == [len(r) for r in RECORDS]
    assert builds == [b"a"]


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("wrong", ["cut", "damaged", "empty", "another file's", "another kind of file", "a folder"])
def test_a_kept_one_that_is_not_right_is_made_anew(tmp_path: Path, builds: list[bytes], wrong: str) -> None:
    path, other = write(tmp_path / "a"), write(tmp_path / "b", [b"", b"b", b"hello World", b"y" * 3000, b"", b"end"])
    os.utime(path, ns=(1, 1)), os.utime(other, ns=(1, 1))
    fl.io.tfrecord_index([path, other])
    place = tmp_path / ".a.feedline-index"
    whole = place.read_bytes()
    if wrong == "a folder":
        place.unlink()
        place.mkdir()
    else:
        place.write_bytes(
            {
                "cut": whole[:-1],
                "damaged": whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:],
                "empty": b"",
                "another file's": (tmp_path / ".b.feedline-index").read_bytes(),
                "another kind of file": b"\x00" * 500,
            }[wrong]
        )
    builds.clear()
    assert indexing.found(path) is None
    assert fl.TFRecordDataset(tmp_path / "a").at(2) == b"hello world"
    assert builds == [b"a"]
    fl.io.tfrecord_index(path)
    assert place.is_dir() or place.read_bytes() == whole


@pytest.mark.parametrize("change", ["longer", "another time", "replaced"])
def test_a_file_that_has_changed_is_counted_anew(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "a")
    fl.io.tfrecord_index(path)
    if change == "longer":
        with open(path, "ab") as file:
            file.write(frame(b"more"))
    elif change == "another time":
        os.utime(path, ns=(5, 5))
    else:
        os.replace(write(tmp_path / "b", [b"b"] * 4), path)
    assert indexing.found(path) is None
    assert fl.io.tfrecord_index(path).tolist() == [{"longer": 7, "another time": 6, "replaced": 4}[change]]


@pytest.mark.parametrize("cut", [1, 7, 8, 11, 12, 13, 16, 17])
def test_a_cut_file(tmp_path: Path, cut: int) -> None:
    (tmp_path / "a").write_bytes(frame(b"one") + frame(b"abc")[:cut])
    with pytest.raises(DataLossError, match=r"a, record 1 \(byte 19\) is truncated"):
        fl.io.tfrecord_index(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("length", [1 << 50, (1 << 64) - 1])
def test_a_length_that_lies(tmp_path: Path, length: int) -> None:
    head = length.to_bytes(8, "little")
    sum_ = masked_crc(head).to_bytes(4, "little")
    (tmp_path / "a").write_bytes(frame(b"x" * 100_000) + head + sum_ + b"x" * 100)
    with pytest.raises(DataLossError, match=rf"record 1 \(byte 100016\) is truncated: its length is {length} bytes"):
        fl.io.tfrecord_index(tmp_path / "a")


def test_damage_names_the_first_bad_record_of_the_first_bad_file(tmp_path: Path) -> None:
    bad = bytearray(b"".join(map(frame, RECORDS)))
    bad[16 + 17 + 3] ^= 1
    for name in "bcd":
        (tmp_path / name).write_bytes(bad)
    write(tmp_path / "a")
    with pytest.raises(DataLossError, match=r"b, record 2 \(byte 33\) is corrupt: the checksum of its length"):
        fl.io.tfrecord_index([tmp_path / name for name in "abcd"])


def test_files_that_cannot_have_one(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="none"):
        fl.io.tfrecord_index(tmp_path / "none")
    with pytest.raises(FailedPreconditionError, match="not a regular file"):
        fl.io.tfrecord_index(tmp_path)
    with pytest.raises(FailedPreconditionError, match="only in local files"):
        fl.io.tfrecord_index("s3://bucket/file")
    for kind, data in (
        ("GZIP", gzip.compress(frame(b"one"))),
        ("ZLIB", zlib.compress(frame(b"one"))),
        ("ZSTD", b"\x28\xb5\x2f\xfd and more"),
    ):
        (tmp_path / "packed").write_bytes(data)
        with pytest.raises(FailedPreconditionError, match=f"packed looks {kind}-compressed"):
            fl.io.tfrecord_index(tmp_path / "packed")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FailedPreconditionError, match="not a regular file"):
        fl.io.tfrecord_index(tmp_path / "pipe")


def test_a_file_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, scan_headers = write(tmp_path / "a"), indexing.scan_headers
    times = 0

    def growing(*arguments: Any) -> Any:
        nonlocal times
        times += 1
        if times < 3:
            with open(path, "ab") as file:
                file.write(frame(b"more"))
        return scan_headers(*arguments)

    monkeypatch.setattr(indexing, "scan_headers", growing)
    assert fl.io.tfrecord_index(path).tolist() == [8]
    times = -10
    os.utime(path, ns=(7, 7))
    with pytest.raises(FailedPreconditionError, match="a is being written"):
        fl.io.tfrecord_index(path)


def test_many_files_at_once_leave_no_thread(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i:03}", [b"r"] * i) for i in range(60)]
    before = threading.active_count()
    assert fl.io.tfrecord_index(paths).tolist() == list(range(60))
    assert threading.active_count() == before


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = indexing._Memory()
    monkeypatch.setattr(indexing, "_memory", memory)
    monkeypatch.setattr(indexing, "KEEP", 3000)
    paths = [write(tmp_path / f"{i}", [b""] * 200) for i in range(10)]
    indexing.indexes(paths)
    assert 0 < memory._bytes <= 3000 and [p in memory._held for p in paths] == [False] * 7 + [True] * 3


CODE = """
import sys, time
from feedline.io.tfrecord.index import indexes
while time.time() < float(sys.argv[2]):
    pass
for _ in range(50):
    (index,) = indexes([sys.argv[1].encode()], store=True, anew=True)
    assert len(index) == 3000
print("well")
"""


def test_two_processes_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a", [b"r" * (i % 100) for i in range(3000)])
    command = [sys.executable, "-c", CODE, str(tmp_path / "a")]
    start = str(time.time() + 1)
    running = [subprocess.Popen([*command, start], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in running] == ["well\n"] * 2
    assert sorted(os.listdir(tmp_path)) == [".a.feedline-index", "a"]
    path = os.fsencode(tmp_path / "a")
    with indexing.OpenFile(path) as fd:
        edges = sidecar.edges(fd, os.path.getsize(path))
    assert sidecar.read(path, indexing.stamp_of(path), edges) is not None


def test_a_scan_holds_no_more_than_a_chunk_and_the_lengths(tmp_path: Path) -> None:
    import tracemalloc

    with open(tmp_path / "a", "wb") as file:
        piece = kernels.tfrecord_framed([bytes(1000)] * 1000)
        for _ in range(50):
            file.write(piece)
    tracemalloc.start()
    assert fl.io.tfrecord_index(tmp_path / "a").tolist() == [50_000]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * indexing.CHUNK + 64 * 50_000 < 50_000_000 / 5
