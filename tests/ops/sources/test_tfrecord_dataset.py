"""`TFRecordDataset`: compressed, cut and hostile files."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError
from feedline.io.tfrecord.framing import frame, masked_crc

RECORDS = [b"", b"a", b"hello world", b"\x00\xff" * 10, b"x" * 3000]
PLAIN = b"".join(map(frame, RECORDS))


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
@pytest.mark.parametrize("buffer_size", [None, 0, 1, 64])
def test_what_was_written(tmp_path: Path, compression: str | None, buffer_size: int | None) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a", compression) as writer:
        for record in RECORDS:
            writer.write(record)
    check(fl.TFRecordDataset(tmp_path / "a", compression, buffer_size), RECORDS, sizes=(1, 7, None))


def test_several_gzip_members(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(PLAIN[:30]) + gzip.compress(PLAIN[30:]))
    check(fl.TFRecordDataset(tmp_path / "a", "GZIP"), RECORDS)


@pytest.mark.parametrize("cut", [1, 7, 8, 11, 12, 13, 16, 17])
def test_a_cut_file_is_an_error(tmp_path: Path, cut: int) -> None:
    (tmp_path / "a").write_bytes(frame(b"one") + frame(b"abc")[:cut])
    cut_there = Raises(DataLossError, r"record 1 \(byte 19\) is cut")
    check_errors(fl.TFRecordDataset(tmp_path / "a"), [b"one", cut_there])


@pytest.mark.parametrize(("compression", "pack"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_a_cut_compressed_file_is_an_error(tmp_path: Path, compression: str, pack: object) -> None:
    packed = pack(PLAIN)  # type: ignore[operator]
    (tmp_path / "b").write_bytes(pack(frame(b"next")))  # type: ignore[operator]
    lost = Raises(DataLossError, f"a: the {compression} data cannot be decompressed")
    for cut in (1, 4):
        (tmp_path / "a").write_bytes(packed[:-cut])
        ds = fl.TFRecordDataset([str(tmp_path / "a"), str(tmp_path / "b")], compression)
        check_errors(ds, [*RECORDS, lost, b"next"], sizes=(1, None))


def test_the_wrong_compression(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(PLAIN)
    (tmp_path / "packed").write_bytes(gzip.compress(PLAIN))
    for file, compression in (("plain", "GZIP"), ("plain", "ZLIB"), ("packed", ""), ("packed", "ZLIB")):
        check_errors(fl.TFRecordDataset(tmp_path / file, compression), [DataLossError], sizes=(1, None))


@pytest.mark.parametrize("length", [1 << 50, (1 << 64) - 1])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_hostile_length(tmp_path: Path, length: int, compression: str) -> None:
    head = struct.pack("<Q", length)
    data = frame(b"good") + head + struct.pack("<I", masked_crc(head)) + b"x" * 100
    (tmp_path / "a").write_bytes(gzip.compress(data) if compression else data)
    lies = Raises(DataLossError, f"it says it has {length} bytes, more than the file holds")
    check_errors(fl.TFRecordDataset(tmp_path / "a", compression), [b"good", lies], sizes=(1, None))


def test_shuffled_and_batched(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        for i in range(6):
            writer.write(b"%d" % i)

    def make() -> fl.Dataset[object]:
        return fl.TFRecordDataset(tmp_path / "a").shuffle(6, seed=4).repeat(2).batch(5)

    assert [b.tolist() for b in make()] == [
        [b"1", b"2", b"0", b"4", b"3"], [b"5", b"1", b"3", b"4", b"0"], [b"5", b"2"],
    ]  # fmt: skip
