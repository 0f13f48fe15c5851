"""Writing TFRecord files: the very bytes TensorFlow writes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

import feedline as fl
from feedline.io.tfrecord.framing import frame

RECORDS = [b"", b"a", b"hello world"]
BYTES = (
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
    b"\x01\x00\x00\x00\x00\x00\x00\x00\x01u\xdeAaxn\xe4("
    b"\x0b\x00\x00\x00\x00\x00\x00\x00\x86\x15\xf5\x04hello world\x00~\xd8m"
)


def written(path: Path, options: object = None) -> bytes:
    with fl.io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    return path.read_bytes()


def test_the_bytes(tmp_path: Path) -> None:
    assert written(tmp_path / "a") == BYTES == b"".join(map(frame, RECORDS))


def test_compressed(tmp_path: Path) -> None:
    assert gzip.decompress(written(tmp_path / "a", "GZIP")) == BYTES
    assert gzip.decompress(written(tmp_path / "a", fl.io.TFRecordOptions(2))) == BYTES
    assert zlib.decompress(written(tmp_path / "a", fl.io.TFRecordOptions("ZLIB", compression_level=0))) == BYTES
    options = fl.io.TFRecordOptions("ZLIB", window_bits=9, mem_level=1, compression_strategy=zlib.Z_HUFFMAN_ONLY)
    assert zlib.decompress(written(tmp_path / "a", options)) == BYTES


def test_text_is_written_as_utf8(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write("hé")
        writer.write(memoryview(b"view"))
    assert (tmp_path / "a").read_bytes() == frame("hé".encode()) + frame(b"view")
    with fl.io.TFRecordWriter(tmp_path / "a") as writer, pytest.raises(TypeError, match="bytes or str, got 3"):
        writer.write(3)


@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB"])
def test_flush_makes_records_readable(tmp_path: Path, options: str | None) -> None:
    writer = fl.io.TFRecordWriter(tmp_path / "a", options)
    writer.write(b"first")
    writer.flush()
    reading = iter(fl.TFRecordDataset(tmp_path / "a", compression_type=options))
    assert next(reading) == b"first"
    reading.close()
    writer.close()


def test_after_close(tmp_path: Path) -> None:
    writer = fl.io.TFRecordWriter(tmp_path / "a")
    writer.close()
    writer.close()
    for action in (lambda: writer.write(b""), writer.flush):
        with pytest.raises(fl.errors.FailedPreconditionError, match="the TFRecordWriter is closed"):
            action()


def test_a_writer_that_is_dropped_completes_its_file(tmp_path: Path) -> None:
    writer = fl.io.TFRecordWriter(tmp_path / "a", "GZIP")
    writer.write(b"x")
    del writer
    assert list(fl.TFRecordDataset(tmp_path / "a", "GZIP")) == [b"x"]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.NotFoundError, match="No such file"):
        fl.io.TFRecordWriter(tmp_path / "no" / "folder")
    for bad in ("SNAPPY", 3, ["GZIP"]):
        with pytest.raises(ValueError, match='compression_type must be "GZIP", "ZLIB", "ZSTD" or ""'):
            fl.io.TFRecordOptions(bad)
