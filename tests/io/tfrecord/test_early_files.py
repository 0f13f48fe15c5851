"""Compressed files of which the next ones are begun while one is read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.reading import gone

import feedline as fl
from feedline.io import read_ahead
from feedline.ops.sources import files as sources

RECORDS = 3_000


@pytest.fixture(autouse=True, params=[2, 16])
def places(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Places for threads, however many processors there are."""
    monkeypatch.setattr(read_ahead._places, "left", threading.Semaphore(request.param))
    monkeypatch.setattr(sources, "processors", lambda: request.param)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder, rng, names = tmp_path_factory.mktemp("early"), np.random.default_rng(0), []
    for i in range(4):
        names.append(str(folder / f"{i}.tfrecord"))
        with fl.io.TFRecordWriter(names[-1], "GZIP") as writer:
            for k in range(RECORDS):
                writer.write(b"%d %d " % (i, k) + rng.bytes(500) * 2)
    return names


def labels(rows: Any) -> list[bytes]:
    return [b" ".join(r.split(b" ", 2)[:2]) for r in rows]


WANT = [b"%d %d" % (i, k) for i in range(4) for k in range(RECORDS)]


def test_the_order_is_that_of_the_files(files: list[str]) -> None:
    assert labels(fl.TFRecordDataset(files, "GZIP")) == WANT
    assert labels(r for b in fl.TFRecordDataset(files, "GZIP").batch(100).prefetch(2) for r in b) == WANT
    assert labels(fl.TFRecordDataset([files[0]] * 3, "GZIP").take(7_000)) == (WANT[:RECORDS] * 3)[:7_000]
    assert gone()


def test_the_next_file_is_begun_early_and_everything_is_closed(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, begun, begin = len(os.listdir("/proc/self/fd")), [], read_ahead.ReadAheadStream.begin
    monkeypatch.setattr(read_ahead.ReadAheadStream, "begin", lambda self: (begun.append(self), begin(self)))
    with iter(fl.TFRecordDataset(files, "GZIP")) as it:
        for k in range(3 * RECORDS):
            next(it)
            assert len(begun) <= k // RECORDS + sources.files_ahead()
    assert len(begun) == 3
    assert gone() and len(os.listdir("/proc/self/fd")) == before


def test_a_few_records_begin_no_other_file(files: list[str]) -> None:
    names = [files[0], files[0] + ".nowhere"]
    assert labels(fl.TFRecordDataset(names, "GZIP").take(500)) == WANT[:500]


def test_a_file_that_is_not_there_is_told_when_its_turn_comes(files: list[str]) -> None:
    it = iter(fl.TFRecordDataset([files[0], files[0] + ".nowhere", files[1]], "GZIP"))
    assert labels(next(it) for _ in range(RECORDS)) == WANT[:RECORDS]
    with pytest.raises(fl.errors.NotFoundError, match="nowhere"):
        next(it)
    it.close()


def test_damage_is_told_where_it_is(files: list[str], tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(Path(files[1]).read_bytes()[:900_000])
    it, got = iter(fl.TFRecordDataset([files[0], str(cut), files[2]], "GZIP")), []
    with pytest.raises(fl.errors.DataLossError, match="truncated"):
        while True:
            got.append(next(it))
    found = labels(got)
    assert found == WANT[: len(found)] and len(found) > RECORDS + 100
    assert labels(it) == WANT[2 * RECORDS : 3 * RECORDS]


@pytest.mark.parametrize("at", [0, 100, 2_500, RECORDS - 1, RECORDS, RECORDS + 1, 4 * RECORDS - 1])
def test_a_checkpoint_goes_on_where_it_was_taken(files: list[str], at: int) -> None:
    ds = fl.TFRecordDataset(files, "GZIP")
    it = iter(ds)
    assert labels(next(it) for _ in range(at)) == WANT[:at]
    state = it.save()
    it.close()
    other = iter(ds)
    other.restore(state)
    assert labels(other) == WANT[at:]
