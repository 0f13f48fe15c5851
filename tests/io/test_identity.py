"""Files that change: while they are read, and between a checkpoint and its restore."""

from __future__ import annotations

import gzip
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import feedline as fl
from feedline.errors import DataLossError, FailedPreconditionError, ResourceExhaustedError

COUNT = 100_000


def records(tag: str = "old", count: int = COUNT) -> bytes:
    path = "memory://made"
    with fl.io.TFRecordWriter(path) as writer:
        writer.write_many([b"%s %06d" % (tag.encode(), i) for i in range(count)])
    return fl.io.read_file(path)


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
        with pytest.raises(DataLossError, match=f"{path} was changed while it was read: it had {len(data)} bytes"):
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
    with iter(ds) as it, pytest.raises(FailedPreconditionError, match=r"file as it was, and the file has changed"):
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
