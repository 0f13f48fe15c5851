"""Plain files that a thread reads ahead."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.io.reading import gone, threads

import feedline as fl
from feedline.io import read_ahead, stream
from feedline.io.stream import CHUNK, OVERLAP, SEQUENTIAL_CHUNKS, Stream

LARGE = np.random.default_rng(0).integers(0, 256, 12 << 20, np.uint8).tobytes()


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors to spare, whatever the machine has."""
    monkeypatch.setattr(read_ahead, "processors", lambda: 8)
    monkeypatch.setattr(read_ahead._places, "left", threading.Semaphore(2))


@pytest.fixture
def path(tmp_path: Path) -> bytes:
    name = os.fsencode(tmp_path / "data")
    with open(name, "wb") as file:
        file.write(LARGE)
    return name


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def read_on(source: Stream, at: int, step: int, need: int = 12) -> bytes:
    """The rest of a file, `step` bytes at a time, as a reader of records takes them."""
    pieces = []
    while view := source.view(at, need)[:step]:
        pieces.append(bytes(view))
        at += len(view)
    return b"".join(pieces)


@pytest.mark.parametrize("step", [700, 5_001, OVERLAP - 12, OVERLAP, CHUNK - 1, CHUNK, 3 * CHUNK])
def test_everything_comes_in_order(path: bytes, step: int) -> None:
    before = descriptors()
    source = Stream(path)
    assert read_on(source, 0, step) == LARGE
    assert source.ended and source.failure is None and gone()
    source.close()
    assert descriptors() == before


def test_a_steady_reader_gets_a_thread_and_a_small_file_none(path: bytes, tmp_path: Path) -> None:
    source, at = Stream(path), 0
    for _ in range(SEQUENTIAL_CHUNKS + 3):
        assert bytes(source.view(at, 12)[:12]) == LARGE[at : at + 12]
        at = source.end - 5
    assert threads() == 1
    source.close()
    assert gone()
    small = tmp_path / "small"
    small.write_bytes(LARGE[: 2 << 20])
    source = Stream(os.fsencode(small))
    assert read_on(source, 0, 1000) == LARGE[: 2 << 20] and not threads()
    source.close()


def test_jumps_end_the_thread(path: bytes) -> None:
    before = descriptors()
    source = Stream(path)
    for start in (0, 6 << 20, 3, 11 << 20, 2 << 20):
        at = start
        for _ in range(SEQUENTIAL_CHUNKS + 3):
            assert bytes(source.view(at, 12)[:12]) == LARGE[at : at + 12]
            assert source.at_most(at) == len(LARGE) - at
            at = min(source.end - 5, len(LARGE) - 20)
    source.close()
    assert gone() and descriptors() == before


def test_records_larger_than_the_overlap_do_without(path: bytes) -> None:
    source = Stream(path)
    assert read_on(source, 0, CHUNK // 2, need=CHUNK // 2) == LARGE
    assert not threads()
    source.close()


def test_a_dropped_stream_ends_its_thread(path: bytes) -> None:
    before = descriptors()
    source, at = Stream(path), 0
    for _ in range(SEQUENTIAL_CHUNKS + 3):
        source.view(at, 1)
        at = source.end
    assert threads() == 1
    del source
    gc.collect()
    assert gone()
    assert descriptors() == before


def test_none_where_all_processors_have_something_to_do(path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "spare_processors", lambda: 0)
    source = Stream(path)
    assert read_on(source, 0, 1000) == LARGE and not threads()
    source.close()


def test_a_file_that_is_cut_meanwhile_ends_there(path: bytes) -> None:
    source, at = Stream(path), 0
    for _ in range(SEQUENTIAL_CHUNKS + 3):
        source.view(at, 1)
        at = source.end
    with open(path, "r+b") as file:
        file.truncate(source.end)
    got = read_on(source, at, 1000, need=1)
    assert LARGE[at:].startswith(got)
    source.close()


@pytest.mark.parametrize("size", [100, 1_000, 40_000])
def test_records_of_all_sizes(tmp_path: Path, size: int) -> None:
    rng = np.random.default_rng(size)
    records = [rng.bytes(int(n)) for n in rng.integers(0, 2 * size, (10 << 20) // size)]
    name = str(tmp_path / "records")
    with fl.io.TFRecordWriter(name) as writer:
        for record in records:
            writer.write(record)
    assert list(fl.TFRecordDataset(name)) == records
    assert [r for batch in fl.TFRecordDataset(name).batch(64).prefetch(2) for r in batch] == records
    it = iter(fl.TFRecordDataset(name))
    half = [next(it) for _ in range(len(records) // 2)]
    state = it.save()
    it.close()
    other = iter(fl.TFRecordDataset(name))
    other.restore(state)
    assert half + list(other) == records
    other.close()
    assert gone()


def test_a_fork_goes_on_by_itself(path: bytes) -> None:
    source, at = Stream(path), 0
    for _ in range(SEQUENTIAL_CHUNKS + 3):
        source.view(at, 1)
        at = source.end
    assert threads() == 1
    child = os.fork()
    if not child:
        good = read_on(source, at, 1000, need=1) == LARGE[at:]
        source.close()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert read_on(source, at, 1000, need=1) == LARGE[at:]
    source.close()
