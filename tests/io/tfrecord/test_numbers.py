"""`TFRecordDataset`: records by number."""

from __future__ import annotations

import gzip
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check, compare

import feedline as fl
from feedline import kernels
from feedline.engine.run import blocks
from feedline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    UnimplementedError,
)

COUNTS = (9, 0, 10, 4)
RECORDS = [b"%d" % i for i in range(sum(COUNTS))]


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    made, number = [], 0
    for i, count in enumerate(COUNTS):
        (tmp_path / f"f{i}").write_bytes(kernels.tfrecord_framed(RECORDS[number : number + count]))
        made.append(str(tmp_path / f"f{i}"))
        number += count
    return made


def test_length_and_any_record(names: list[str]) -> None:
    ds = fl.TFRecordDataset(names)
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert len(ds) == 23
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert [ds.at(i) for i in range(23)] == RECORDS
    assert ds.at(np.int64(3)) == b"3" and fl.experimental.at(ds, 20) == b"20"
    for index in (23, -1, 10**12):
        with pytest.raises(OutOfRangeError, match="out of range for a dataset of 23 elements"):
            ds.at(index)


@pytest.mark.parametrize("reads", range(1, 7))
def test_the_order_of_files_in_turn(names: list[str], reads: int) -> None:
    ds = fl.TFRecordDataset(names, num_parallel_reads=reads)
    expect = list(ds)
    assert [ds.at(i) for i in range(len(ds))] == expect
    assert sorted(ds.global_shuffle(seed=1)) == sorted(expect)


@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds.map(lambda x: x + b"!"),
        lambda ds: ds.batch(4),
        lambda ds: ds.batch(4, drop_remainder=True).skip(1).enumerate(),
        lambda ds: ds.take(12).skip(3).shard(2, 1).repeat(2),
        lambda ds: fl.Dataset.zip(ds, fl.Dataset.range(30)).prefetch(2),
        lambda ds: ds.skip(20).concatenate(ds.take(3)).cache(),
        lambda ds: ds.with_options(fl.Options()),
    ],
)
def test_through_steps_that_keep_track(names: list[str], make: Any) -> None:
    ds = make(fl.TFRecordDataset(names))
    elements = list(ds)
    assert len(ds) == len(elements)
    for i, element in enumerate(elements):
        compare(ds.at(i), element)


def test_global_shuffle(names: list[str]) -> None:
    def make() -> Any:
        return fl.TFRecordDataset(names).global_shuffle(seed=5)

    numbers = fl.Dataset.range(23).global_shuffle(seed=5)
    first, second = ([b"%d" % i for i in numbers] for _ in range(2))
    check(make, first, second=second)
    batches = fl.TFRecordDataset(names).batch(5, drop_remainder=True).global_shuffle(seed=5).unbatch()
    assert sorted(batches, key=int) == RECORDS[:20]
    assert len(make()) == 23 and make().cardinality() == fl.UNKNOWN_CARDINALITY
    twice = [int(x) for x in fl.Dataset.range(23).global_shuffle(seed=5).take(9).global_shuffle(seed=6)]
    assert [int(x) for x in make().take(9).global_shuffle(seed=6)] == twice


def test_global_shuffle_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert list(fl.TFRecordDataset(tmp_path / "a").global_shuffle(seed=1)) == []
    assert len(fl.TFRecordDataset([tmp_path / "a"])) == 0 and len(fl.TFRecordDataset([])) == 0
    with pytest.raises(OutOfRangeError):
        fl.TFRecordDataset(tmp_path / "a").at(0)


def test_the_order_of_a_shuffle_is_that_of_numbers(names: list[str]) -> None:
    """Which the conformance tests compare with TensorFlow's."""
    for size in (1, 7, 23, 100, fl.UNKNOWN_CARDINALITY):
        expect = [int(i) for i in fl.Dataset.range(23).shuffle(size, seed=3)]
        assert [int(x) for x in fl.TFRecordDataset(names).shuffle(size, seed=3)] == expect
        fl.io.tfrecord_index(names)
        assert [int(x) for x in fl.TFRecordDataset(names).shuffle(size, seed=3)] == expect


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_files(tmp_path: Path, compression: str) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a", compression) as writer:
        writer.write(b"one")
    ds = fl.TFRecordDataset(tmp_path / "a", compression)
    why = f"a is {compression}-compressed, and compressed files can only be read from the beginning; write"
    with pytest.raises(UnimplementedError, match=why):
        ds.map(lambda x: x).at(0)
    with pytest.raises(FailedPreconditionError, match=why):
        ds.batch(1, drop_remainder=True).global_shuffle()
    with pytest.raises(TypeError, match="length is unknown"):
        len(ds)
    assert list(ds.shuffle(3).skip(0)) == [b"one"]


def test_compressed_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(kernels.tfrecord_framed([b"one"])))
    with pytest.raises(FailedPreconditionError, match="looks GZIP-compressed"):
        fl.TFRecordDataset(tmp_path / "a").at(0)


def test_names_from_a_dataset(names: list[str]) -> None:
    assert fl.TFRecordDataset(fl.Dataset.from_tensor_slices(names)).at(11) == b"11"
    assert len(fl.TFRecordDataset(fl.Dataset.list_files(names, shuffle=False))) == 23
    ds = fl.TFRecordDataset(fl.Dataset.list_files(names, shuffle=True))
    with pytest.raises(UnimplementedError, match=r"TFRecordDataset \(step 3\): its file names come from a"):
        ds.at(0)
    with pytest.raises(TypeError, match="length is unknown"):
        len(ds)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    ds = fl.TFRecordDataset(tmp_path / "none")
    with pytest.raises(NotFoundError, match="none"):
        ds.at(0)
    with pytest.raises(TypeError, match=r"length cannot be determined: .*none"):
        len(ds)
    with pytest.raises(NotFoundError, match="none"):
        list(ds)  # which asks for the length, too
    it = iter(ds.global_shuffle())
    with pytest.raises(NotFoundError, match="none"):
        next(it)


def test_a_pipe_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ds = fl.TFRecordDataset(tmp_path / "pipe")
    with pytest.raises(TypeError, match="not a regular file"):
        len(ds)
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(kernels.tfrecord_framed([b"one"]),))
    writer.start()
    assert list(ds) == [b"one"]
    writer.join()


def test_a_cut_file(names: list[str]) -> None:
    os.truncate(names[2], os.path.getsize(names[2]) - 1)
    ds = fl.TFRecordDataset(names)
    with pytest.raises(DataLossError, match=r"f2, record 9 \(byte \d+\) is truncated"):
        ds.at(0)
    with pytest.raises(TypeError, match="record 9"):
        len(ds)
    with pytest.raises(DataLossError, match="record 9"):
        list(ds)
    assert list(ds.ignore_errors()) == [*RECORDS[:18], *RECORDS[19:]]


def test_a_damaged_record(names: list[str]) -> None:
    data = bytearray(Path(names[0]).read_bytes())
    data[17 * 3 + 12] ^= 1
    Path(names[0]).write_bytes(data)
    ds = fl.TFRecordDataset(names)
    assert len(ds) == 23 and ds.at(2) == b"2" and ds.at(4) == b"4"
    with pytest.raises(DataLossError, match=r"f0, record 3 \(byte 51\) is corrupt: the checksum of its data"):
        ds.at(3)
    for size in (None, 1, 5):
        with blocks(size):
            shuffled = ds.global_shuffle(seed=1)
            it, got = iter(shuffled), []
            while True:
                try:
                    got.append(next(it))
                except StopIteration:
                    break
                except DataLossError:
                    got.append(b"3")
            assert got == [b"%d" % i for i in fl.Dataset.range(23).global_shuffle(seed=1)]


def test_a_file_that_changes(names: list[str]) -> None:
    ds, shuffled = fl.TFRecordDataset(names), fl.TFRecordDataset(names).global_shuffle(seed=1)
    assert len(ds) == 23 and ds.at(22) == b"22"
    with blocks(1), iter(shuffled) as it:
        state = it.save()
        next(it)
        later = it.save()
        with open(names[3], "ab") as file:
            file.write(kernels.tfrecord_framed([b"23"]))
        assert ds.at(23) == b"23" and len(ds) == 24 and ds.at(22) == b"22"
        with pytest.raises(FailedPreconditionError, match="f3 has changed since its records were counted"):
            list(it)
        with pytest.raises(FailedPreconditionError, match="has 24 elements, but had 23 when the iteration began"):
            it.restore(later)
        it.restore(state)
        assert len(list(it)) == 24
    assert sorted(map(int, shuffled)) == list(range(24))
    os.replace(names[0], names[3])
    Path(names[0]).write_bytes(b"")
    assert len(ds) == 19 and ds.at(0) == b"9" and ds.at(10) == b"0"


def test_it_pickles(names: list[str]) -> None:
    ds = fl.TFRecordDataset(names)
    len(ds), ds.at(0)
    again = pickle.loads(pickle.dumps(ds.map(str)))
    assert again.at(5) == b"b'5'"
    shuffled = pickle.loads(pickle.dumps(ds.global_shuffle(seed=2)))
    assert list(shuffled) == list(fl.TFRecordDataset(names).global_shuffle(seed=2))


def test_one_look_at_a_time_from_many_threads(names: list[str]) -> None:
    ds, wrong = fl.TFRecordDataset(names), []

    def read(seed: int) -> None:
        for i in np.random.default_rng(seed).integers(0, 23, 200).tolist():
            if ds.at(i) != RECORDS[i]:
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_file_stays_open(names: list[str]) -> None:
    def open_files() -> int:
        return sum("/f" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _there(fd))

    def _there(fd: str) -> bool:
        return os.path.lexists(f"/proc/self/fd/{fd}")

    before = open_files()
    ds = fl.TFRecordDataset(names)
    assert ds.at(0) == b"0" and ds.at(22) == b"22" and open_files() == before + 2
    del ds
    assert open_files() == before


def test_nothing_to_shuffle(names: list[str]) -> None:
    with pytest.raises(FailedPreconditionError, match="infinitely many"):
        fl.TFRecordDataset(names).repeat().global_shuffle()
    with pytest.raises(InvalidArgumentError, match="none"):
        fl.TFRecordDataset(names).take(0).global_shuffle()
    with pytest.raises(FailedPreconditionError, match="which filter"):
        fl.TFRecordDataset(names).filter(bool).global_shuffle()
