"""TFRecord files, good and bad, at the level of one reader."""

from __future__ import annotations

import gzip
import os
import random
import struct
import time
from pathlib import Path

import pytest

from feedline import kernels
from feedline.errors import DataLossError, ResourceExhaustedError
from feedline.io.reader import END, FilePosition
from feedline.io.tfrecord.framing import frame, mask, masked_crc
from feedline.io.tfrecord.reader import TFRecordReader

SCALE = 1 if kernels.NATIVE else 100  # the reference kernels need a microsecond for every few bytes
RECORDS = [b"", b"a", b"hello world", b"\x00\xff" * 10, b"x" * 3000, b"", b"end"]


def opened(
    tmp_path: Path, data: bytes, buffer_size: int | None = None, compression: str = "", resync: bool = False
) -> TFRecordReader:
    path = tmp_path / "records"
    path.write_bytes(gzip.compress(data, 1) if compression else data)
    return TFRecordReader(os.fsencode(path), compression, buffer_size, resync)


@pytest.mark.parametrize("buffer_size", [None, 1, 5, 64])
@pytest.mark.parametrize("want", [1, 2, 100])
def test_records_and_places(tmp_path: Path, buffer_size: int | None, want: int) -> None:
    reader = opened(tmp_path, b"".join(map(frame, RECORDS)), buffer_size)
    place, rows = FilePosition(), []
    while (got := reader.read(place, want)) != END:
        assert got.rows is not None and got.place is not None and 1 <= got.rows.n <= want
        rows += got.rows.rows()
        place = got.place
        assert place.number == len(rows)
        assert place.offset == sum(len(r) + 16 for r in RECORDS[: len(rows)])
    assert rows == RECORDS
    assert reader.read(FilePosition(16 + 17, 2), 1).rows.rows() == [b"hello world"]  # type: ignore[union-attr]
    reader.close()


def damaged(tmp_path: Path, data: bytes) -> Exception:
    """What is raised after a first good record."""
    reader = opened(tmp_path, frame(b"good") + data)
    first = reader.read(FilePosition(), 10)
    assert first.rows is not None and first.rows.rows() == [b"good"] and first.place == FilePosition(20, 1)
    got = reader.read(first.place, 10)
    assert got.rows is None and got.place is None and isinstance(got.error, DataLossError)
    reader.close()
    return got.error


@pytest.mark.parametrize("cut", range(1, 19))
def test_every_cut_is_an_error(tmp_path: Path, cut: int) -> None:
    text = str(damaged(tmp_path, frame(b"abc")[:cut]))
    assert "records, record 1 (byte 20) is truncated: " in text


def test_damage_is_named(tmp_path: Path) -> None:
    good = frame(b"abc")
    bad_length = good[:8] + b"\0\0\0\0" + good[12:]
    assert "record 1 (byte 20) is corrupt: the checksum of its length is wrong" in str(damaged(tmp_path, bad_length))
    bad_data = good[:13] + b"X" + good[14:]
    assert "record 1 (byte 20) is corrupt: the checksum of its data is wrong" in str(damaged(tmp_path, bad_data))


@pytest.mark.parametrize("length", [1 << 50, (1 << 64) - 1, (1 << 63) - 8, 100])
def test_a_length_that_lies_costs_nothing(tmp_path: Path, length: int) -> None:
    head = struct.pack("<Q", length)
    text = str(damaged(tmp_path, head + struct.pack("<I", masked_crc(head)) + b"some data"))
    assert f"its length is {length} bytes, more than the file holds" in text


def header(length: int) -> bytes:
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", masked_crc(head))


def all_of(reader: TFRecordReader, want: int = 100) -> tuple[list[bytes], list[tuple[int, int | None]]]:
    """The records, and the place and size of what was lost."""
    place, rows, lost = FilePosition(), [], []
    for _ in range(100_000):
        got = reader.read(place, want)
        if got.error is not None:
            assert isinstance(got.error, DataLossError) and f"(byte {place.offset})" in str(got.error)
            assert reader.read(place, want) == got
            lost.append((place.offset, got.lost))
        if got.rows is not None:
            rows += got.rows.rows()
        if got.place is None:
            reader.close()
            return rows, lost
        assert got.place.offset > place.offset
        place = got.place
    raise AssertionError("it does not end")


LARGE = [b"a" * 20, b"b" * 33_000, b"c" * 70_000, b"d" * 40_000, b"e" * 1_500_000, b"f" * 40_000, b"", b"g" * 20_000]


@pytest.mark.parametrize("want", [1, 3, 100])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_large_records(tmp_path: Path, want: int, compression: str) -> None:
    assert all_of(opened(tmp_path, b"".join(map(frame, 3 * LARGE)), None, compression), want) == (3 * LARGE, [])


@pytest.mark.parametrize("bad", range(1, 8))
@pytest.mark.parametrize("at", [3, 9, 12, -1])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_reading_on_after_a_bad_record(tmp_path: Path, bad: int, at: int, compression: str) -> None:
    for records in (RECORDS, LARGE):
        frames = [bytearray(frame(r)) for r in records]
        number = bad % len(frames)
        frames[number][at] ^= 4
        start, size = sum(map(len, frames[:number])), len(frames[number])
        got = all_of(opened(tmp_path, b"".join(frames), None, compression, resync=True))
        assert got == (records[:number] + records[number + 1 :], [(start, size)])


def test_two_bad_records_in_a_row_are_two(tmp_path: Path) -> None:
    frames = [bytearray(frame(b"%d" % i * 50)) for i in range(5)]
    frames[1][20] ^= 1  # its data, so that its length still tells where it ends
    frames[2][3] ^= 1
    rows, lost = all_of(opened(tmp_path, b"".join(frames), resync=True))
    assert rows == [b"%d" % i * 50 for i in (0, 3, 4)]
    assert sum(size for _, size in lost if size) == 2 * 66 and lost[0][0] == 66


def test_a_good_record_between_two_bad_lengths(tmp_path: Path) -> None:
    """Nothing follows it that could vouch for it but its own checksum."""
    frames = [bytearray(frame(r)) for r in (b"zero", b"twelve bytes", b"two" * 3000, b"three", b"four")]
    frames[1][1] ^= 1
    frames[3][1] ^= 1
    rows, lost = all_of(opened(tmp_path, b"".join(frames), resync=True))
    assert rows == [b"zero", b"two" * 3000, b"four"]
    assert lost == [(20, 28), (20 + 28 + 9016, 21)]


def test_data_that_look_like_a_length(tmp_path: Path) -> None:
    """Eight bytes of data and their checksum are a length and its checksum."""
    frames = [bytearray(frame(r)) for r in (b"12345678", b"a" * 500, b"b" * 500, b"c")]
    frames[0][2] ^= 1
    frames[2][2] ^= 1
    assert all_of(opened(tmp_path, b"".join(frames), resync=True)) == ([b"a" * 500, b"c"], [(0, 24), (24 + 516, 516)])


def test_a_record_that_holds_records_is_passed_over_whole(tmp_path: Path) -> None:
    frames = [bytearray(frame(r)) for r in (b"one", frame(b"inner") * 3, b"two")]
    frames[1][-1] ^= 1
    assert all_of(opened(tmp_path, b"".join(frames), resync=True))[0] == [b"one", b"two"]


@pytest.mark.parametrize("tail", [b"x", b"not a record", bytes(5000), header(50), header(1 << 60), frame(b"cut")[:-1]])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_bad_end(tmp_path: Path, tail: bytes, compression: str) -> None:
    good = frame(b"good")
    got = all_of(opened(tmp_path, good + tail, None, compression, resync=True))
    assert got == ([b"good"], [(len(good), len(tail))])


def test_any_damage_costs_only_what_it_hits(tmp_path: Path) -> None:
    numbers = random.Random(5)
    for _ in range(60):
        records = [b"%d:" % i + numbers.randbytes(numbers.choice([0, 5, 6, 50, 3000])) for i in range(12)]
        frames = [frame(r) for r in records]
        data = bytearray(b"".join(frames))
        for _ in range(numbers.randint(1, 4)):
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        at, good = 0, []
        for record, framed in zip(records, frames, strict=True):
            if data[at : at + len(framed)] == framed:
                good.append(record)
            at += len(framed)
        for buffer_size in (None, 100):
            rows, lost = all_of(opened(tmp_path, bytes(data), buffer_size, resync=True), numbers.choice([1, 2, 100]))
            assert rows == good
            assert sum(size or 0 for _, size in lost) == len(data) - sum(len(r) + 16 for r in good)


HOSTILE = {
    "noise": random.Random(1).randbytes(300_000 // SCALE),
    "lengths of half the file": header(150_000 // SCALE) * (25_000 // SCALE),
    "lengths that all end in one place": b"".join(header(12 * i) for i in range(25_000 // SCALE, 0, -1)) + frame(b"x"),
    "lengths between records": (header(100_000 // SCALE) + frame(b"ok")) * (10_000 // SCALE),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_file_cannot_make_it_take_for_ever(tmp_path: Path, data: bytes, compression: str) -> None:
    began = time.monotonic()
    rows, lost = all_of(opened(tmp_path, b"\0" + data, None, compression, resync=True))
    assert sum(len(r) + 16 for r in rows) + sum(size or 0 for _, size in lost) == len(data) + 1
    assert time.monotonic() - began < 60


def test_compressed_data_that_break_are_lost_to_the_end(tmp_path: Path) -> None:
    reader = opened(tmp_path, b"".join(map(frame, RECORDS)), None, "GZIP", resync=True)
    reader.close()
    path = tmp_path / "records"
    path.write_bytes(path.read_bytes()[:-20])
    reader = TFRecordReader(os.fsencode(path), "GZIP", None, True)
    place, got = FilePosition(), reader.read(FilePosition(), 100)
    while got.place is not None:
        place, got = got.place, reader.read(got.place, 100)
    assert place.number >= 4 and isinstance(got.error, DataLossError) and got.lost is None
    reader.close()


def sparse(path: Path, length: int, crc: int) -> None:
    """A file with a record of zeros between two short ones, that takes no room on the disk."""
    with open(path, "wb") as file:
        file.write(frame(b"first") + header(length))
        file.seek(length, os.SEEK_CUR)
        file.write(struct.pack("<I", mask(crc)) + frame(b"last"))


def test_a_damaged_record_of_two_gigabytes(tmp_path: Path) -> None:
    length = (1 << 31) + 5 if kernels.NATIVE else 1 << 17
    sparse(tmp_path / "a", length, 0)
    got = all_of(TFRecordReader(os.fsencode(tmp_path / "a"), "", None, True))
    assert got == ([b"first", b"last"], [(21, length + 16)])


def test_a_record_of_many_megabytes(tmp_path: Path) -> None:
    length = (1 << 26) // SCALE + 5
    crc = kernels.crc32c(bytes(length))
    sparse(tmp_path / "a", length, crc)
    rows, lost = all_of(TFRecordReader(os.fsencode(tmp_path / "a")))
    assert [len(r) for r in rows] == [5, length, 4] and not any(rows[1]) and not lost


def test_a_record_that_fits_no_memory(tmp_path: Path) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.write(frame(b"first") + header(1 << 43))
        file.truncate(1 << 43 | 1 << 20)
    reader = TFRecordReader(os.fsencode(tmp_path / "a"))
    assert reader.read(FilePosition(), 10).rows is not None
    got = reader.read(FilePosition(21, 1), 10)
    assert isinstance(got.error, ResourceExhaustedError)
    assert "a, record 1 (byte 21) does not fit in memory" in str(got.error)
    reader.close()


def test_what_is_no_tfrecord_file_at_all(tmp_path: Path) -> None:
    for data, hint in ((b"some text, not records", "is it a TFRecord file"), (gzip.compress(b"x" * 50), '"GZIP"')):
        got = opened(tmp_path, data).read(FilePosition(), 1)
        assert isinstance(got.error, DataLossError) and hint in str(got.error)
