"""Files that change: while they are read, and between a checkpoint and its restore."""

from __future__ import annotations

import gzip
import io
import os
import resource
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_record.python import array_record_module

import feedline as fl
from feedline.errors import DataLossError, FailedPreconditionError, ResourceExhaustedError

COUNT = 100_000


def records(tag: str = "old", count: int = COUNT) -> bytes:
    path = "memory://made"
    with fl.io.TFRecordWriter(path) as writer:
        writer.write_many([b"%s %06d" % (tag.encode(), i) for i in range(count)])
    return fl.io.read_file(path)


def columns(tag: str, count: int) -> Any:
    return pa.table({"x": [f"{tag} {i:06d}" for i in range(count)]}).replace_schema_metadata({"tag": tag})


def parquet(tag: str = "old", count: int = COUNT) -> bytes:
    out = io.BytesIO()
    pq.write_table(columns(tag, count), out, row_group_size=5000, compression="none", use_dictionary=False)
    return out.getvalue()


def arrow(tag: str = "old", count: int = COUNT) -> bytes:
    table, out = columns(tag, count), io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, 5000)
    return out.getvalue()


def arrow_stream(tag: str = "old", count: int = COUNT) -> bytes:
    """Without the mark at its end, as a writer leaves it that was not closed: it may end after any batch."""
    table, out = columns(tag, count), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, 5000)
        return out.getvalue()


def tar(tag: str = "old", count: int = COUNT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for i in range(100 + count // 5):
            member, data = tarfile.TarInfo(f"{i:06d}.txt"), f"{tag} {i:06d}".encode()
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    return out.getvalue()


def array_records(tag: str = "old", count: int = COUNT) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        writer = array_record_module.ArrayRecordWriter(f"{folder}/file", "group_size:10,uncompressed")
        for i in range(count):
            writer.write(b"%s %06d" % (tag.encode(), i))
        writer.close()
        return Path(f"{folder}/file").read_bytes()


def lines(tag: str = "old", count: int = COUNT) -> bytes:
    return b"".join(b"%s %06d\n" % (tag.encode(), i) for i in range(count))


def members(data: bytes) -> bytes:
    """In several members, between any of which the file may be cut."""
    return b"".join(gzip.compress(data[i : i + 100_000], 0) for i in range(0, len(data), 100_000))


Kind = tuple[Callable[..., bytes], Callable[[str], Any]]
KINDS: dict[str, Kind] = {
    "tfrecord": (records, fl.TFRecordDataset),
    "text": (lines, fl.TextLineDataset),
    "fixed": (lines, lambda path: fl.FixedLengthRecordDataset(path, 11)),
    "csv": (lines, lambda path: fl.experimental.CsvDataset(path, [fl.string])),
    "parquet": (parquet, fl.ParquetDataset),
    "arrow": (arrow, fl.ArrowDataset),
    "arrow_stream": (arrow_stream, fl.ArrowDataset),
    "tar": (tar, lambda path: fl.TarDataset(path, ["txt"])),
    "array_record": (array_records, fl.ArrayRecordDataset),
    "zipped": (lambda *a: members(lines(*a)), lambda path: fl.TextLineDataset(path, "GZIP")),
}


@pytest.fixture(scope="module", autouse=True)
def _memory() -> Iterator[None]:
    yield
    fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_while_it_is_read(kind: str, tmp_path: Path) -> None:
    make, read = KINDS[kind]
    path = tmp_path / "file"
    data = make()
    path.write_bytes(data)
    cut = len(data) // 2
    if kind == "zipped":
        cut = data.index(gzip.compress(b"", 0)[:3], cut)  # where a member begins
    with iter(read(str(path))) as it:
        next(it)
        os.truncate(path, cut)
        with pytest.raises(DataLossError, match=str(path)):
            for _ in it:
                pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_written_anew_in_its_place_while_it_is_read(kind: str, tmp_path: Path) -> None:
    make, read = KINDS[kind]
    path = tmp_path / "file"
    path.write_bytes(make())
    with iter(read(str(path))) as it:
        next(it)
        new = make("new")
        path.write_bytes(new)
        os.utime(path, (1, 1))
        with pytest.raises(DataLossError, match=str(path)):
            for _ in it:
                pass


def test_a_file_that_grows_or_is_moved_away_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(lines())
    with iter(fl.TextLineDataset(str(path))) as it:
        next(it)
        with open(path, "ab") as file:
            file.write(b"more\n")
        os.rename(path, tmp_path / "elsewhere")
        path.write_bytes(b"another")
        assert list(it)[-1] == b"more"


@pytest.mark.parametrize("same_time", [True, False])
@pytest.mark.parametrize("root", ["", "file://"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_local_file_that_is_another_when_it_is_restored(
    kind: str, root: str, same_time: bool, tmp_path: Path
) -> None:
    make, read = KINDS[kind]
    path = tmp_path / "file"
    path.write_bytes(make("old", 200))
    ds = read(f"{root}{path}")
    with iter(ds) as it:
        next(it)
        state = it.save()
        rest = list(it)
    with iter(ds) as it:
        it.restore(state)
        assert list(it) == rest
    before = os.stat(path)
    path.write_bytes(make("new", 200))
    if same_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with iter(ds) as it, pytest.raises(FailedPreconditionError, match=r"file has changed since the state was saved"):
        it.restore(state)


@pytest.mark.parametrize("kind", ["tfrecord", "parquet", "arrow", "array_record"])
def test_the_files_of_a_global_shuffle(kind: str, tmp_path: Path) -> None:
    make, read = KINDS[kind]
    path = tmp_path / "file"
    path.write_bytes(make("old", 200))
    ds = read(str(path)).global_shuffle(seed=1)
    with iter(ds) as it:
        next(it)
        state = it.save()
        rest = list(it)
    os.utime(path, (5, 5))
    with iter(ds) as it:
        it.restore(state)
        assert list(it) == rest
    path.write_bytes(make("new", 200))
    for fresh in (False, True):
        if fresh:
            ds = read(str(path)).global_shuffle(seed=1)
        with iter(ds) as it, pytest.raises(FailedPreconditionError, match="changed"):
            it.restore(state)


def test_too_many_open_files(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{i}") for i in range(60)]
    for name in names:
        Path(name).write_bytes(b"a\nb\nc\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 64
    ds = fl.Dataset.from_tensor_slices(np.array(names)).interleave(fl.TextLineDataset, cycle_length=60)
    with iter(ds) as it:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(used + 10, 32), hard))
        try:
            with pytest.raises(ResourceExhaustedError, match=r"Too many open files; .*cycle_length"):
                for _ in it:
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
