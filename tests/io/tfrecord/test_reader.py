"""TFRecord files, good and bad, at the level of one reader."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from feedline.errors import DataLossError
from feedline.io.reader import END, Place
from feedline.io.tfrecord.framing import frame, masked_crc
from feedline.io.tfrecord.reader import TFRecordReader

RECORDS = [b"", b"a", b"hello world", b"\x00\xff" * 10, b"x" * 3000, b"", b"end"]


def opened(tmp_path: Path, data: bytes, buffer_size: int | None = None) -> TFRecordReader:
    path = tmp_path / "records"
    path.write_bytes(data)
    return TFRecordReader(os.fsencode(path), "", buffer_size)


@pytest.mark.parametrize("buffer_size", [None, 1, 5, 64])
@pytest.mark.parametrize("want", [1, 2, 100])
def test_records_and_places(tmp_path: Path, buffer_size: int | None, want: int) -> None:
    reader = opened(tmp_path, b"".join(map(frame, RECORDS)), buffer_size)
    place, rows = Place(), []
    while (got := reader.read(place, want)) != END:
        assert got.rows is not None and got.place is not None and 1 <= got.rows.n <= want
        rows += got.rows.rows()
        place = got.place
        assert place.number == len(rows)
        assert place.offset == sum(len(r) + 16 for r in RECORDS[: len(rows)])
    assert rows == RECORDS
    assert reader.read(Place(16 + 17, 2), 1).rows.rows() == [b"hello world"]  # type: ignore[union-attr]
    reader.close()


def damaged(tmp_path: Path, data: bytes) -> Exception:
    """What is raised after a first good record."""
    reader = opened(tmp_path, frame(b"good") + data)
    first = reader.read(Place(), 10)
    assert first.rows is not None and first.rows.rows() == [b"good"] and first.place == Place(20, 1)
    got = reader.read(first.place, 10)
    assert got.rows is None and got.place is None and isinstance(got.error, DataLossError)
    reader.close()
    return got.error


@pytest.mark.parametrize("cut", range(1, 19))
def test_every_cut_is_an_error(tmp_path: Path, cut: int) -> None:
    text = str(damaged(tmp_path, frame(b"abc")[:cut]))
    assert "records, record 1 (byte 20) is cut: " in text


def test_damage_is_named(tmp_path: Path) -> None:
    good = frame(b"abc")
    bad_length = good[:8] + b"\0\0\0\0" + good[12:]
    assert "record 1 (byte 20) is damaged: the checksum of its length is wrong" in str(damaged(tmp_path, bad_length))
    bad_data = good[:13] + b"X" + good[14:]
    assert "record 1 (byte 20) is damaged: the checksum of its data is wrong" in str(damaged(tmp_path, bad_data))


@pytest.mark.parametrize("length", [1 << 50, (1 << 64) - 1, (1 << 63) - 8, 100])
def test_a_length_that_lies_costs_nothing(tmp_path: Path, length: int) -> None:
    head = struct.pack("<Q", length)
    text = str(damaged(tmp_path, head + struct.pack("<I", masked_crc(head)) + b"some data"))
    assert f"it says it has {length} bytes, more than the file holds" in text
