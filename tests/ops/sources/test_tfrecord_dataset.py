"""`TFRecordDataset`: compressed, cut and hostile files."""

from __future__ import annotations

import gzip
import logging
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
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
    cut_there = Raises(DataLossError, r"record 1 \(byte 19\) is truncated")
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
    lies = Raises(DataLossError, f"its length is {length} bytes, more than the file holds")
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


PACKERS = {
    "": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress, "ZSTD": zstandard.compress,
}  # fmt: skip


@pytest.mark.parametrize("kind", PACKERS)
def test_the_compression_can_be_seen(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_bytes(PACKERS[kind](PLAIN))
    (tmp_path / "b").write_bytes(PLAIN)
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    check(fl.TFRecordDataset(files, "AUTO"), 2 * RECORDS, sizes=(1, 7, None))


def test_a_plain_file_that_begins_like_a_compressed_one(tmp_path: Path) -> None:
    """35615 is 0x8b1f: the first two bytes are those of gzip."""
    (tmp_path / "a").write_bytes(frame(b"x" * 0x8B1F) + frame(b"y"))
    assert list(fl.TFRecordDataset(tmp_path / "a", "AUTO")) == [b"x" * 0x8B1F, b"y"]


def test_zstd_is_written_and_read(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a", "ZSTD") as writer:
        writer.write_many(RECORDS)
    check(fl.TFRecordDataset(tmp_path / "a", "ZSTD"), RECORDS, sizes=(1, 7, None))


def test_the_wrong_compression_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(PLAIN)
    (tmp_path / "packed").write_bytes(gzip.compress(PLAIN))
    with pytest.raises(DataLossError, match=r'plain: the GZIP data .* does not begin with a gzip header; .*"AUTO"'):
        list(fl.TFRecordDataset(tmp_path / "plain", "GZIP"))
    with pytest.raises(DataLossError, match=r'packed, record 0 \(byte 0\) is corrupt: .* looks GZIP-compressed'):
        list(fl.TFRecordDataset(tmp_path / "packed"))


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "AUTO"])
def test_what_is_no_file(tmp_path: Path, compression: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    check(fl.TFRecordDataset(tmp_path / "empty", compression), [])
    check_errors(fl.TFRecordDataset(tmp_path / "folder", compression), [Raises(FailedPreconditionError, "directory")])
    with pytest.raises(NotFoundError, match="nowhere: No such file"):
        list(fl.TFRecordDataset(tmp_path / "nowhere", compression))


FLIPPED = {"length": 2, "checksum of the length": 9, "data": 13, "checksum of the data": -2}


def damaged(at: int) -> bytes:
    """Five records, of which the third has a flipped bit."""
    frames = [bytearray(frame(b"record %d" % i)) for i in range(5)]
    frames[2][at] ^= 1
    return b"".join(frames)


GOOD = [b"record 0", b"record 1", b"record 3", b"record 4"]


@pytest.mark.parametrize("at", FLIPPED.values(), ids=FLIPPED.keys())
@pytest.mark.parametrize("kind", PACKERS)
def test_a_flipped_bit_ends_the_file(tmp_path: Path, at: int, kind: str) -> None:
    (tmp_path / "a").write_bytes(PACKERS[kind](damaged(at)))
    (tmp_path / "b").write_bytes(PACKERS[kind](frame(b"next")))
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    lost = Raises(DataLossError, r"a, record 2 \(byte 48\) is corrupt: the checksum of its (length|data) is wrong")
    check_errors(fl.TFRecordDataset(files, kind), [*GOOD[:2], lost, b"next"], sizes=(1, 2, None))
    check(fl.TFRecordDataset(files, kind).ignore_errors(), [*GOOD[:2], b"next"], sizes=(1, None))


@pytest.mark.parametrize("at", FLIPPED.values(), ids=FLIPPED.keys())
@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("cycle", [None, 2])
def test_a_flipped_bit_can_be_skipped(tmp_path: Path, at: int, kind: str, cycle: int | None) -> None:
    (tmp_path / "a").write_bytes(PACKERS[kind](damaged(at)))
    (tmp_path / "b").write_bytes(PACKERS[kind](frame(b"next") + frame(b"end")))
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    expected = [*GOOD, b"next", b"end"] if cycle is None else [GOOD[0], b"next", GOOD[1], b"end", *GOOD[2:]]
    dataset = fl.TFRecordDataset(files, kind, num_parallel_reads=cycle, on_corrupt="skip")
    check(dataset, expected, sizes=(1, 2, None))
    check(dataset.batch(4), [np.array(expected[:4], object), np.array(expected[4:], object)], sizes=(1, None))


def test_what_is_lost_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a"
    path.write_bytes(damaged(13) + b"tail")
    with caplog.at_level(logging.WARNING, "feedline"):
        assert list(fl.TFRecordDataset(path, on_corrupt="skip")) == GOOD
    first, second = caplog.messages
    assert first.startswith("TFRecordDataset skipped 24 bytes: ") and "a, record 2 (byte 48) is corrupt" in first
    assert second.startswith("TFRecordDataset skipped 4 bytes: ") and "record 5 (byte 120) is truncated" in second
    lost: list[Any] = []
    assert list(fl.TFRecordDataset(path, on_corrupt=lost.append)) == GOOD
    assert [x[:4] for x in lost] == [(str(path), 48, 2, 24), (str(path), 120, 5, 4)]
    assert all(isinstance(x.error, DataLossError) for x in lost)
    path.write_bytes(gzip.compress(damaged(13))[:-3])
    lost.clear()
    assert list(fl.TFRecordDataset(path, "GZIP", on_corrupt=lost.append)) == GOOD
    assert [(x.offset, x.bytes_lost) for x in lost] == [(48, 24), (120, None)]


def test_nothing_is_told_to_find_out_what_elements_are_like(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(damaged(13)[48:])
    lost: list[Any] = []
    dataset = fl.TFRecordDataset(tmp_path / "a", on_corrupt=lost.append).map(len)
    assert dataset.element_spec == fl.TensorSpec((), fl.int32) and not lost
    assert list(dataset) == [8, 8] and len(lost) == 1


def test_what_the_function_raises_is_raised(tmp_path: Path) -> None:
    def strict(lost: Any) -> None:
        raise KeyError(f"{lost.bytes_lost} bytes")

    (tmp_path / "a").write_bytes(damaged(9))
    failed = Raises(KeyError, "on_corrupt failed: '24 bytes'")
    check_errors(fl.TFRecordDataset(tmp_path / "a", on_corrupt=strict), [*GOOD[:2], failed, *GOOD[2:]], sizes=(1, None))


def test_only_damage_is_skipped(tmp_path: Path) -> None:
    dataset = fl.TFRecordDataset(tmp_path / "nowhere", on_corrupt="skip")
    with pytest.raises(NotFoundError):
        list(dataset)
    with pytest.raises(InvalidArgumentError, match='on_corrupt must be "raise", "skip" or a function, got \'ignore\''):
        fl.TFRecordDataset(tmp_path / "a", on_corrupt="ignore")


def test_records_that_may_be_left_out_have_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(PLAIN)
    assert len(fl.TFRecordDataset(tmp_path / "a")) == len(RECORDS)
    skipping = fl.TFRecordDataset(tmp_path / "a", on_corrupt="skip")
    with pytest.raises(TypeError, match="length is unknown"):
        len(skipping)
    with pytest.raises(UnimplementedError, match="it is not known which records will be skipped"):
        skipping.at(1)
    with pytest.raises(UnimplementedError, match='with compression_type="AUTO" a file may be compressed'):
        fl.TFRecordDataset(tmp_path / "a", "AUTO").at(1)


@pytest.mark.parametrize("kind", PACKERS)
def test_text_and_other_files_are_told_apart_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(PACKERS[kind](b"x^2,1\nb,2\n"))
    check(fl.TextLineDataset(path, "AUTO"), [b"x^2,1", b"b,2"], sizes=(1, None))
    check(fl.FixedLengthRecordDataset(path, 5, compression_type="AUTO"), [b"x^2,1", b"\nb,2\n"], sizes=(1, None))
    columns = [fl.string, fl.int32]
    rows = [(b"x^2", np.int32(1)), (b"b", np.int32(2))]
    check(fl.experimental.CsvDataset(path, columns, compression_type="AUTO"), rows, sizes=(1, None))
    made = fl.experimental.make_csv_dataset(
        str(path), 2, column_names=["k", "v"], header=False, num_epochs=1, shuffle=False, compression_type="AUTO"
    )
    assert next(iter(made))["v"].tolist() == [1, 2]


def test_the_spec_of_a_function_is_inferred_from_records(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with fl.io.TFRecordWriter(path) as writer:
        writer.write(fl.train.example({"image": b"\x01\x02\x03"}).SerializeToString())

    def decode(record: bytes) -> Any:
        found = fl.io.parse_single_example(record, {"image": fl.io.FixedLenFeature([], fl.string)})
        return fl.io.decode_raw(found["image"], fl.uint8)

    for on_corrupt in ("raise", "skip"):
        ds = fl.TFRecordDataset(path, on_corrupt=on_corrupt).map(decode)
        assert ds.element_spec == fl.TensorSpec([None], fl.uint8)
