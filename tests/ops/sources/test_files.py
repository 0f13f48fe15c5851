"""What all file sources share: names, turns, errors in the middle, states, and that files are closed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.tfrecord.framing import frame


def write(path: Path, *records: bytes, damage: bytes = b"") -> str:
    path.write_bytes(b"".join(map(frame, records)) + damage)
    return str(path)


BAD = frame(b"bad")[:-1] + b"\x00"


@pytest.fixture
def three(tmp_path: Path) -> list[str]:
    return [write(tmp_path / f"{i}", *(b"%d%d" % (i, j) for j in range(n))) for i, n in enumerate((3, 1, 4))]


def test_names_in_every_form(three: list[str]) -> None:
    expect = [b"00", b"01", b"02", b"10", b"20", b"21", b"22", b"23"]
    check(fl.TFRecordDataset(three), expect)
    check(fl.TFRecordDataset(Path(three[0])), expect[:3])
    check(fl.TFRecordDataset([[three[0]], [os.fsencode(three[1])]]), expect[:4])
    check(fl.TFRecordDataset(fl.Dataset.from_tensor_slices(three)), expect)
    check(fl.TFRecordDataset(fl.Dataset.range(2).map(lambda i: three[i])), expect[:4])
    check(fl.TFRecordDataset([]), [])


@pytest.mark.parametrize(
    ("cycle", "order"),
    [
        (1, "00 01 02 10 20 21 22 23"),
        (2, "00 10 01 02 20 21 22 23"),
        (3, "00 10 20 01 21 02 22 23"),
        (9, "00 10 20 01 21 02 22 23"),
        (fl.AUTOTUNE, "00 01 02 10 20 21 22 23"),
    ],
)
def test_turns(three: list[str], cycle: int, order: str) -> None:
    check(fl.TFRecordDataset(three, num_parallel_reads=cycle), [x.encode() for x in order.split()])


def test_an_empty_file_uses_its_turn(tmp_path: Path) -> None:
    files = [write(tmp_path / "a"), write(tmp_path / "b", b"1", b"2"), write(tmp_path / "c", b"3", b"4")]
    check(fl.TFRecordDataset(files, num_parallel_reads=2), [b"1", b"3", b"2", b"4"])


def test_it_is_a_dataset_of_strings_of_unknown_number(three: list[str]) -> None:
    ds = fl.TFRecordDataset(three)
    assert isinstance(ds, fl.Dataset) and type(ds) is fl.TFRecordDataset
    assert type(ds.map(lambda x: x)) is fl.Dataset
    assert ds.element_spec == fl.TensorSpec([], fl.string) and ds.cardinality() == fl.UNKNOWN_CARDINALITY


def test_a_missing_file_is_missing_every_time(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", b"1", b"2"), str(tmp_path / "nope"), write(tmp_path / "b", b"3")]
    missing = Raises(NotFoundError, "nope: No such file")
    check_errors(fl.TFRecordDataset(files), [b"1", b"2", missing, missing, missing], endless=True)
    in_turn = [b"1", missing, b"2", missing, missing, b"3", missing, missing]
    check_errors(fl.TFRecordDataset(files, num_parallel_reads=2), in_turn, endless=True)


def test_a_file_that_appears_is_read(tmp_path: Path) -> None:
    it = iter(fl.TFRecordDataset(tmp_path / "late"))
    with pytest.raises(NotFoundError):
        next(it)
    write(tmp_path / "late", b"x")
    assert next(it) == b"x"
    it.close()


def test_after_damage_the_next_file_is_read(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", b"1", b"2", damage=BAD + frame(b"lost")), write(tmp_path / "b", b"3", b"4")]
    lost = Raises(DataLossError, r"a, record 2 \(byte 34\) is corrupt: the checksum of its data is wrong")
    check_errors(fl.TFRecordDataset(files), [b"1", b"2", lost, b"3", b"4"])
    check_errors(fl.TFRecordDataset(files, num_parallel_reads=2), [b"1", b"3", b"2", b"4", lost])
    check(fl.TFRecordDataset(files).ignore_errors(), [b"1", b"2", b"3", b"4"])


def test_a_damaged_file_ends_when_its_turn_comes(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a", damage=BAD),
        write(tmp_path / "b", b"1", b"2"),
        write(tmp_path / "c", b"3", b"4"),
    ]
    expect = [DataLossError, b"1", b"2", b"3", b"4"]
    check_errors(fl.TFRecordDataset(files, num_parallel_reads=2), expect)


def test_an_error_in_the_names(three: list[str]) -> None:
    def name(i: Any) -> str:
        if i == 1:
            raise ValueError("no such number")
        return three[i]

    names = fl.Dataset.range(3).map(name)
    expect = [b"00", b"01", b"02", Raises(ValueError, "no such number"), b"20", b"21", b"22", b"23"]
    check_errors(lambda: fl.TFRecordDataset(names), expect)


def test_no_file_is_opened_before_it_is_needed(three: list[str]) -> None:
    def files_open() -> int:
        links = [os.path.join("/proc/self/fd", n) for n in os.listdir("/proc/self/fd")]
        return sum(os.path.islink(link) and os.readlink(link) in three for link in links)

    with blocks(1):
        it = iter(fl.TFRecordDataset(three))
        assert files_open() == 0
        next(it)
        assert files_open() == 1
        for _ in range(3):
            next(it)
        assert files_open() == 1
        it.close()
    assert files_open() == 0
    it = iter(fl.TFRecordDataset(three, num_parallel_reads=3))
    next(it), next(it), next(it)
    assert files_open() == 3
    assert len(list(it)) == 5 and files_open() == 0


def test_files_are_read_anew_in_each_iteration(tmp_path: Path) -> None:
    ds = fl.TFRecordDataset(write(tmp_path / "a", b"1"))
    assert list(ds) == [b"1"]
    write(tmp_path / "a", b"2", b"3")
    assert list(ds.repeat(2)) == [b"2", b"3", b"2", b"3"]


def test_reading_goes_on_by_itself_in_large_blocks(tmp_path: Path) -> None:
    records = [b"%d" % i for i in range(20_000)]
    ds = fl.TFRecordDataset(write(tmp_path / "a", *records), buffer_size=1000)
    assert list(ds) == records
    assert [x.tolist() for x in ds.batch(7000)] == [records[:7000], records[7000:14000], records[14000:]]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"filenames": [1, 2]}, TypeError, "a file name must be a str, bytes or path"),
        ({"filenames": fl.Dataset.range(2)}, TypeError, "a dataset of filenames must be strings"),
        ({"filenames": fl.Dataset.from_tensors(["a"])}, TypeError, "must be strings, got"),
        ({"filenames": "a", "num_parallel_reads": 0}, InvalidArgumentError, "num_parallel_reads must be greater than"),
        ({"filenames": "a", "num_parallel_reads": 2**40}, InvalidArgumentError, "num_parallel_reads must be at most"),
        ({"filenames": "a", "num_parallel_reads": 1.5}, TypeError, "num_parallel_reads must be an integer"),
        ({"filenames": "a", "buffer_size": "x"}, TypeError, "buffer_size must be an integer"),
    ],
)
def test_arguments(arguments: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        fl.TFRecordDataset(**arguments)


def test_a_compression_that_does_not_exist_is_an_error_of_each_file(three: list[str]) -> None:
    for kind in (fl.TFRecordDataset, fl.TextLineDataset):
        bad = Raises(InvalidArgumentError, "compression_type must be")
        check_errors(kind(three[:2], compression_type="LZ4"), [bad, bad])
