"""Writing TFRecord files: the very bytes TensorFlow writes."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import feedline as fl
from feedline.io.tfrecord.framing import frame

RECORDS = [b"", b"a", b"hello world"]
BYTES = (
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
    b"\x01\x00\x00\x00\x00\x00\x00\x00\x01u\xdeAaxn\xe4("
    b"\x0b\x00\x00\x00\x00\x00\x00\x00\x86\x15\xf5\x04hello world\x00~\xd8m"
)


MANY = [bytes([i % 251]) * (i * i % 3001) for i in range(500)]
MANY_DIGEST = "d50e9f957e4a1ee5d9f08c962f5ba91c19ff1c89ffd8e925dc603a1e9c060655"
"""Of the file that TensorFlow 2.21 writes of these records."""
THEIR_GZIP = bytes.fromhex(
    "1f8b0800000000000003636080004de619ec375e352d6284f2194bef392656e43dd1e0860ab4897e65c948cdc9c95728cf2fca4961a8bb910b00"
    "5648c18e3c000000"
)
THEIR_ZLIB = bytes.fromhex(
    "789c636080004de619ec375e352d6284f2194bef392656e43dd1e0860ab4897e65c948cdc9c95728cf2fca4961a8bb910b0077980f59"
)


def written(path: Path, options: object = None) -> bytes:
    with fl.io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    return path.read_bytes()


def test_a_message_is_not_its_bytes(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        with pytest.raises(TypeError, match=r"of type Example; write example.SerializeToString\(\)$") as caught:
            writer.write(fl.train.example({"x": [1] * 1000}))  # type: ignore[arg-type]
        assert len(str(caught.value)) < 300
        assert "\n" not in str(caught.value)


def test_the_bytes(tmp_path: Path) -> None:
    assert written(tmp_path / "a") == BYTES == b"".join(map(frame, RECORDS))


@pytest.mark.parametrize("way", ["write", "write_many", "a list", "an array", "a generator"])
def test_many_records_are_the_bytes_of_tensorflow(tmp_path: Path, way: str) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        if way == "write":
            for record in MANY:
                writer.write(record)
        elif way == "an array":
            writer.write_many(np.array(MANY, object))
        else:
            writer.write_many(iter(MANY) if way == "a generator" else MANY)
    data = (tmp_path / "a").read_bytes()
    assert len(data) == 724_146 and hashlib.sha256(data).hexdigest() == MANY_DIGEST
    assert list(fl.TFRecordDataset(tmp_path / "a")) == MANY


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_what_tensorflow_has_compressed(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_bytes(THEIR_GZIP if kind == "GZIP" else THEIR_ZLIB)
    assert list(fl.TFRecordDataset(tmp_path / "a", kind)) == RECORDS
    assert list(fl.TFRecordDataset(tmp_path / "a", "AUTO")) == RECORDS


def test_compressed(tmp_path: Path) -> None:
    assert gzip.decompress(written(tmp_path / "a", "GZIP")) == BYTES
    assert gzip.decompress(written(tmp_path / "a", fl.io.TFRecordOptions(2))) == BYTES
    assert zlib.decompress(written(tmp_path / "a", fl.io.TFRecordOptions("ZLIB", compression_level=0))) == BYTES
    options = fl.io.TFRecordOptions("ZLIB", window_bits=9, mem_level=1, compression_strategy=zlib.Z_HUFFMAN_ONLY)
    assert zlib.decompress(written(tmp_path / "a", options)) == BYTES


@pytest.mark.parametrize("level", [None, 1, 19])
def test_zstd(tmp_path: Path, level: int | None) -> None:
    options = fl.io.TFRecordOptions("ZSTD", compression_level=level, input_buffer_size=100, output_buffer_size=2)
    with fl.io.TFRecordWriter(tmp_path / "a", options) as writer:
        writer.write_many(MANY)
    packed = (tmp_path / "a").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == b"".join(map(frame, MANY))
    assert list(fl.TFRecordDataset(tmp_path / "a", "ZSTD")) == MANY


def test_every_option_acts(tmp_path: Path) -> None:
    def size(**given: int) -> int:
        with fl.io.TFRecordWriter(tmp_path / "a", fl.io.TFRecordOptions("GZIP", **given)) as writer:  # type: ignore[arg-type]
            writer.write_many(MANY)
        assert list(fl.TFRecordDataset(tmp_path / "a", "GZIP")) == MANY
        return (tmp_path / "a").stat().st_size

    usual = size()
    assert size(compression_method=8, output_buffer_size=2) == usual
    for given in (
        {"compression_level": 0}, {"window_bits": 25}, {"mem_level": 1}, {"compression_strategy": zlib.Z_HUFFMAN_ONLY},
        {"flush_mode": zlib.Z_FULL_FLUSH, "input_buffer_size": 1000},
    ):  # fmt: skip
        assert size(**given) != usual


BAD_OPTIONS: list[tuple[str, str, Any, str]] = [
    ("GZIP", "compression_level", 10, "from -1 to 9"),
    ("GZIP", "compression_method", 7, "8, the only one"),
    ("GZIP", "window_bits", 15, "from 24 to 31 for GZIP"),
    ("ZLIB", "window_bits", 31, "from 8 to 15 for ZLIB"),
    ("ZLIB", "mem_level", 0, "from 1 to 9"),
    ("ZLIB", "compression_strategy", 5, "one of"),
    ("ZLIB", "flush_mode", zlib.Z_FINISH, "would end the stream"),
    ("GZIP", "input_buffer_size", -1, "zero or more"),
    ("GZIP", "output_buffer_size", 1, "greater than one"),
    ("ZSTD", "compression_level", 23, "from -7 to 22"),
    ("ZSTD", "mem_level", 8, "no such setting"),
    ("", "mem_level", "8", "an int"),
]


@pytest.mark.parametrize(("kind", "name", "value", "text"), BAD_OPTIONS)
def test_options_that_no_compressor_takes(tmp_path: Path, kind: str, name: str, value: Any, text: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"{name} must be .*{text}.*got {value!r}"):
        fl.io.TFRecordOptions(kind, **{name: value})
    options = fl.io.TFRecordOptions(kind)
    setattr(options, name, value)
    with pytest.raises(fl.errors.InvalidArgumentError, match=text):
        fl.io.TFRecordWriter(tmp_path / "a", options)
    assert not (tmp_path / "a").exists()


def test_without_compression_the_options_mean_nothing(tmp_path: Path) -> None:
    assert written(tmp_path / "a", fl.io.TFRecordOptions(window_bits=40, compression_level=99)) == BYTES


def test_text_is_written_as_utf8(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write("hé")
        writer.write(memoryview(b"view"))
    assert (tmp_path / "a").read_bytes() == frame("hé".encode()) + frame(b"view")
    with fl.io.TFRecordWriter(tmp_path / "a") as writer, pytest.raises(TypeError, match="bytes or str, got 3"):
        writer.write(3)


def test_write_many_takes_several(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        for one in (b"record", "record"):
            with pytest.raises(TypeError, match="pass a single one to write"):
                writer.write_many(one)
        with pytest.raises(TypeError, match="bytes or str, got 3"):
            writer.write_many([b"a", 3])
        writer.write_many([])
        writer.write_many(["é", b"b"])
    assert list(fl.TFRecordDataset(tmp_path / "a")) == ["é".encode(), b"b"]


def test_many_threads_write_whole_records(tmp_path: Path) -> None:
    records = [b"%d" % i * 2000 for i in range(200)]
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        threads = [threading.Thread(target=lambda: [writer.write(r) for r in records]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(fl.TFRecordDataset(tmp_path / "a")) == sorted(4 * records)


@pytest.mark.parametrize("options", [None, "GZIP", "ZSTD"])
def test_an_atomic_file_is_there_when_it_is_complete(tmp_path: Path, options: str | None) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with fl.io.TFRecordWriter(path, options, atomic=True) as writer:
        writer.write_many(MANY)
        writer.flush()
        assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 2
    assert list(fl.TFRecordDataset(path, options)) == MANY
    assert list(tmp_path.iterdir()) == [path]


def failing() -> Iterator[bytes]:
    yield from MANY
    raise KeyError("a record")


def test_an_atomic_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with pytest.raises(KeyError), fl.io.TFRecordWriter(path, atomic=True) as writer:
        writer.write_many(failing())
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        writer.write(b"more")
    dropped = fl.io.TFRecordWriter(path, atomic=True)
    dropped.write(b"x")
    del dropped
    (tmp_path / "folder").mkdir()
    with pytest.raises(fl.errors.FailedPreconditionError, match="folder: Is a directory"):
        fl.io.TFRecordWriter(tmp_path / "folder", atomic=True)
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 2


def test_a_plain_file_that_fails_keeps_what_was_written(tmp_path: Path) -> None:
    with pytest.raises(KeyError), fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_many(failing())
    assert list(fl.TFRecordDataset(tmp_path / "a")) == MANY[: 500 // 256 * 256]


@pytest.mark.parametrize("action", ["flush", "close", "write"])
def test_a_full_disk_is_reported_once(action: str) -> None:
    writer = fl.io.TFRecordWriter("/dev/full")
    with pytest.raises(fl.errors.ResourceExhaustedError, match="/dev/full: No space left"):
        for _ in range(3000):
            writer.write(bytes(1000 if action == "write" else 10))
        writer.flush() if action == "flush" else writer.close()
    writer.close()
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        writer.write(b"")


def test_an_atomic_write_that_fails_removes_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = fl.io.TFRecordWriter(tmp_path / "a", atomic=True)
    writer.write(b"x")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(fl.errors.ResourceExhaustedError, match="a: No space left"):
        writer.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB", "ZSTD"])
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


def test_options_of_options(tmp_path: Path) -> None:
    """As in TensorFlow, what options hold of others is the kind of compression alone."""
    inner = fl.io.TFRecordOptions("GZIP", compression_level=0)
    outer = fl.io.TFRecordOptions(fl.io.TFRecordOptions(inner), compression_level=9)
    assert fl.io.TFRecordOptions.get_compression_type_string(outer) == "GZIP"
    assert (outer.compression_level, fl.io.TFRecordOptions(inner).compression_level) == (9, None)
    path = str(tmp_path / "file")
    with fl.io.TFRecordWriter(path, outer) as writer:
        writer.write(b"a" * 1000)
    assert list(fl.TFRecordDataset(path, "GZIP")) == [b"a" * 1000]
    assert os.path.getsize(path) < 100
    with pytest.raises(fl.errors.InvalidArgumentError, match="compression_level must be from -1 to 9"):
        fl.io.TFRecordOptions(inner, compression_level=10)
