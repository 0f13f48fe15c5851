"""Rows that travel to worker processes as addresses, and are read there (io/addresses.py, engine/transport.py)."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine import transport
from feedline.errors import DataLossError, FailedPreconditionError
from feedline.io.addresses import Addresses, AddressReader
from feedline.io.reader import FilePosition
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.ops.shared import record_numbers
from feedline.structure.block import Block, Unread, concat
from feedline.structure.round_robin import round_robin

pytestmark = pytest.mark.usefixtures("nothing_left")


def written(path: Path, count: int, size: int = 3000, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    with fl.io.TFRecordWriter(path) as writer:
        for i in range(count):
            writer.write(b"%06d" % i + rng.bytes(int(rng.integers(0, size))))
    return str(path)


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> list[str]:
    return [written(tmp_path / f"part-{i}", 30 + i, seed=i) for i in range(4)]


class Sent:
    """What the parent sends: how many rows, and how many of them as addresses."""

    def __init__(self) -> None:
        self.rows = self.addresses = 0


@pytest.fixture(name="sent")
def _sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    seen = Sent()
    usual = transport.without_lineage

    def counted(block: Block) -> Block:
        seen.rows += block.n
        seen.addresses += block.n * isinstance(block.columns[0], Addresses)
        return usual(block)

    monkeypatch.setattr(transport, "without_lineage", counted)
    return seen


def told(record: bytes) -> tuple[bytes, np.int64]:
    return record[:6], np.int64(zlib.crc32(record))


def in_processes(ds: Any, f: Callable[[Any], Any] = told, calls: int = 2) -> Any:
    return ds.map(f, num_parallel_calls=calls, workers="process")


def outcomes(ds: Any) -> list[str]:
    """All elements and errors."""
    got = []
    with iter(ds) as it:
        while len(got) < 1000:
            try:
                got.append(str(next(it)))
            except StopIteration:
                return got
            except Exception as e:
                got.append(f"{type(e).__name__}: {e}")
    raise AssertionError("no end")


# Columns of addresses.


def located(name: str, want: int) -> Block:
    reader = TFRecordReader(os.fsencode(name))
    try:
        rows = reader.locate(FilePosition(), want).rows
    finally:
        reader.close()
    assert rows is not None and isinstance(rows.columns[0], Unread)
    return rows


def test_a_column_is_read_when_it_is_looked_at(files: list[str]) -> None:
    expected = list(fl.TFRecordDataset(files[0]))
    rows = located(files[0], 20)
    assert rows.n == 20 and rows.nbytes < 1000
    some = concat([rows.slice(3, 5), rows.take(np.array([19, 0, 0]))])
    assert isinstance(some.columns[0], Unread)
    assert some.rows() == [expected[i] for i in (3, 4, 19, 0, 0)]
    both = round_robin([rows, located(files[1], 20)])
    assert isinstance(both.columns[0], Unread)
    others = list(fl.TFRecordDataset(files[1]))
    assert both.rows() == [r for pair in zip(expected[:20], others[:20], strict=True) for r in pair]
    mixed = concat([rows, Block.of_elements([b"in memory"])])
    assert mixed.rows() == [*expected[:20], b"in memory"]


def test_addresses_hold_in_a_file_that_grows_and_not_in_another(files: list[str]) -> None:
    rows = located(files[0], 20)
    addresses, reader = Addresses.of(rows.columns[0]), AddressReader()
    expected = rows.rows()
    with open(files[0], "ab") as file:
        file.write(b"more")
    assert reader.read(addresses).rows() == AddressReader().read(addresses).rows() == expected
    written(Path(f"{files[0]}-new"), 30, seed=9)
    os.replace(f"{files[0]}-new", files[0])
    assert reader.read(addresses).rows() == expected  # it is still open
    with pytest.raises(FailedPreconditionError, match="part-0 has no record at byte 0, where it had one before"):
        AddressReader().read(addresses)


@pytest.mark.parametrize("at", [0, 9, 12, 500])
def test_damage_since_a_record_was_located(files: list[str], at: int) -> None:
    rows = located(files[0], 20)
    addresses = Addresses.of(rows.columns[0])
    start = int(addresses.starts[7])
    with open(files[0], "r+b") as file:
        file.seek(start + at)
        old = file.read(1)
        file.seek(start + at)
        file.write(bytes([old[0] ^ 1]))
    with pytest.raises(FailedPreconditionError, match=f"has no record at byte {start}"):
        AddressReader().read(addresses)


def test_a_record_with_the_same_place_and_size(tmp_path: Path) -> None:
    name = str(tmp_path / "a")
    for text in (b"one", b"two"):
        with fl.io.TFRecordWriter(name) as writer:
            writer.write(b"same")
            writer.write(text)
        if text == b"one":
            addresses = Addresses.of(located(name, 2).columns[0])
    with pytest.raises(FailedPreconditionError, match="has no record at byte 20"):
        AddressReader().read(addresses)


# Runs.


def test_what_is_sent_are_addresses(files: list[str], sent: Sent) -> None:
    ds = (
        fl.TFRecordDataset(files, num_parallel_reads=3)
        .repeat(2)
        .shuffle(40, seed=1, reshuffle_each_iteration=False)
        .skip(3)
        .take(200)
        .prefetch(2)
    )
    assert list(in_processes(ds)) == list(ds.map(told))
    assert sent.addresses == sent.rows > 150


def test_records_by_number_are_sent_as_addresses(files: list[str], sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_numbers, "HOLD_BYTES", 100)
    fl.io.tfrecord_index(files)
    ds = fl.TFRecordDataset(files, num_parallel_reads=2).shuffle(50, seed=1, reshuffle_each_iteration=False)
    assert outcomes(in_processes(ds)) == outcomes(ds.map(told))
    assert sent.addresses == sent.rows > 100
    stamp = os.stat(files[1])
    with open(files[1], "r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    os.utime(files[1], ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    expected = outcomes(ds.map(told))
    assert sum(o.startswith(DataLossError.__name__) for o in expected) >= 1
    assert outcomes(in_processes(ds)) == expected


@pytest.mark.parametrize("looks", ["filter", "unique", "batch", "compressed", "generator"])
def test_what_looks_at_rows_gets_them(files: list[str], tmp_path: Path, sent: Sent, looks: str) -> None:
    ds: Any = fl.TFRecordDataset(files)
    f: Any = told
    if looks == "filter":
        ds = ds.filter(lambda r: len(r) % 3 > 0)
    elif looks == "unique":
        ds = ds.unique()
    elif looks == "batch":
        ds, f = ds.batch(7), len
    elif looks == "compressed":
        with fl.io.TFRecordWriter(tmp_path / "c", "GZIP") as writer:
            for record in ds:
                writer.write(record)
        ds = fl.TFRecordDataset(tmp_path / "c", "GZIP")
    else:
        ds = fl.Dataset.from_generator(
            lambda: iter([b"000001", b"000002"]), output_signature=fl.TensorSpec((), fl.string)
        )
    assert list(in_processes(ds, f)) == list(ds.map(f))
    assert sent.addresses == 0 < sent.rows


def test_damage_is_met_where_it_is(files: list[str]) -> None:
    with open(files[1], "r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    for reads in (1, 3):
        for shuffled in (False, True):
            ds = fl.TFRecordDataset(files, num_parallel_reads=reads)
            ds = ds.shuffle(20, seed=5, reshuffle_each_iteration=False) if shuffled else ds
            expected = outcomes(ds.map(told))
            assert sum(o.startswith(DataLossError.__name__) for o in expected) == 1
            assert outcomes(in_processes(ds)) == expected


def test_damage_is_skipped(files: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with open(files[1], "r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    ds = fl.TFRecordDataset(files, on_corrupt="skip").shuffle(20, seed=5, reshuffle_each_iteration=False)
    with caplog.at_level(logging.ERROR, "feedline"):
        assert list(in_processes(ds)) == list(ds.map(told))


def test_errors_name_the_record(files: list[str]) -> None:
    def picky(record: bytes) -> int:
        if record.startswith(b"000017"):
            raise ValueError("no")
        return len(record)

    ds = fl.TFRecordDataset(files).shuffle(10, seed=1, reshuffle_each_iteration=False)
    found = outcomes(in_processes(ds, picky))
    assert found == outcomes(ds.map(picky))
    assert sum("record 17, byte" in o for o in found) == 4


def test_checkpoints_are_those_of_one_process(files: list[str], sent: Sent) -> None:
    def made(process: bool) -> Any:
        ds = fl.TFRecordDataset(files, num_parallel_reads=2).shuffle(40, seed=1, reshuffle_each_iteration=False)
        return (in_processes(ds) if process else ds.map(told)).batch(3)

    with iter(made(False)) as it:
        rest = [str(x) for x in it]
    with iter(made(True)) as it:
        first = [str(next(it)) for _ in range(9)]
        state = it.save()
    assert first == rest[:9]
    for process in (False, True):
        sent.rows = sent.addresses = 0
        with iter(made(process)) as it:
            it.restore(state)
            assert [str(x) for x in it] == rest[9:]
        assert not process or sent.addresses > 0.5 * sent.rows


def test_a_file_that_is_replaced_raises(files: list[str], tmp_path: Path) -> None:
    ds = fl.TFRecordDataset(files[0]).shuffle(100, seed=1, reshuffle_each_iteration=False)
    with iter(in_processes(ds)) as it:
        next(it)
        os.replace(written(tmp_path / "other", 30, seed=8), files[0])
        errors, rows = [], 1
        for _ in range(40):
            try:
                next(it)
                rows += 1
            except StopIteration:
                break
            except FailedPreconditionError as e:
                errors.append(str(e))
    assert rows + len(errors) == 30 and (not errors or "part-0 has no record at byte" in errors[0])


def test_workers_that_cannot_read_get_rows(files: list[str], sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        @staticmethod
        def of(column: Unread) -> Addresses:
            addresses = Addresses.of(column)
            missing = tuple(file._replace(name=file.name + b"-missing") for file in addresses.files)
            return addresses._replace(files=missing)

    monkeypatch.setattr(transport, "Addresses", Elsewhere)
    ds = fl.TFRecordDataset(files).shuffle(10, seed=1, reshuffle_each_iteration=False)
    assert list(in_processes(ds)) == list(ds.map(told))
    assert 0 < sent.addresses < sent.rows


def test_a_worker_that_dies_changes_nothing(files: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flag = tmp_path / "once"

    def deadly(record: bytes) -> int:
        if record.startswith(b"000020") and not flag.exists():
            flag.touch()
            os._exit(3)
        return len(record)

    ds = fl.TFRecordDataset(files).shuffle(10, seed=1, reshuffle_each_iteration=False)
    with caplog.at_level(logging.ERROR, "feedline"):
        assert list(in_processes(ds, deadly)) == [len(r) for r in ds]


@pytest.mark.parametrize("shuffled", [False, True])
def test_relative_names_mean_the_folder_where_the_file_was_opened(
    tmp_path: Path, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "records", 300)
    records = fl.TFRecordDataset("records")
    if shuffled:
        records = records.shuffle(50, seed=1)
    expect = outcomes(records.map(told))
    (tmp_path / "elsewhere").mkdir()
    with iter(in_processes(records)) as it:
        got = [str(next(it)) for _ in range(3)]
        monkeypatch.chdir(tmp_path / "elsewhere")
        got += map(str, it)
    assert sorted(got) == sorted(map(str, expect))
