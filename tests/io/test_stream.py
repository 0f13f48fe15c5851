"""Bytes of files by position, plain and compressed, whole and damaged."""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.io.stream import Stream, checked_compression

DATA = np.random.default_rng(0).integers(0, 64, 5000, np.uint8).tobytes()


def two_members(data: bytes) -> bytes:
    return gzip.compress(data[:2000]) + gzip.compress(data[2000:])


Pack = Callable[[bytes], bytes]
PACKERS: list[tuple[str, Pack]] = [
    ("", bytes),
    ("GZIP", gzip.compress),
    ("GZIP", two_members),
    ("ZLIB", zlib.compress),
    ("ZSTD", zstandard.compress),
]
KINDS = ["plain", "gzip", "members", "zlib", "zstd"]
EACH = pytest.mark.parametrize(("compression", "pack"), PACKERS, ids=KINDS)
PACKED = pytest.mark.parametrize(("compression", "pack"), PACKERS[1:], ids=KINDS[1:])


@pytest.fixture
def path(tmp_path: Path) -> bytes:
    return os.fsencode(tmp_path / "data")


def write(path: bytes, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def read_all(stream: Stream, step: int) -> bytes:
    out, at = b"", 0
    while view := stream.view(at, step)[:step]:
        out += view
        at += len(view)
    return out


@EACH
@pytest.mark.parametrize("buffer_size", [None, 0, 1, 7, 4096])
def test_reading_through(path: bytes, compression: str, pack: Pack, buffer_size: int | None) -> None:
    write(path, pack(DATA))
    stream = Stream(path, compression, buffer_size)
    for step in (1, 13, 1000, 10_000) if buffer_size != 1 else (13,):
        assert read_all(stream, step) == DATA
    assert stream.failure is None
    stream.close()


@EACH
def test_any_position_can_be_asked_for(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(DATA))
    stream = Stream(path, compression, 64)
    for at in (0, 4000, 10, 4999, 2500, 0, 5000, 1):
        assert bytes(stream.view(at, 50)[:50]) == DATA[at : at + 50]
    assert bytes(stream.view(6000, 5)) == b""
    assert bytes(stream.view(3, 5)[:5]) == DATA[3:8]
    stream.close()


@EACH
def test_at_most_never_says_too_little(path: bytes, compression: str, pack: Pack) -> None:
    data = bytes(300_000)  # as compressible as can be
    write(path, pack(data))
    stream = Stream(path, compression, 64)
    for at in (0, 1000, 250_000, 300_000):
        stream.view(at, 10)
        assert len(data) - at <= stream.at_most(at) < 1 << 36
    stream.close()


@EACH
def test_an_empty_file_has_nothing_and_no_fault(path: bytes, compression: str, pack: Pack) -> None:
    write(path, b"")
    stream = Stream(path, compression)
    assert bytes(stream.view(0, 10)) == b"" and stream.failure is None
    stream.close()


@PACKED
@pytest.mark.parametrize("cut", [1, 2, 5, 11, 100])
def test_what_is_before_a_cut_comes_out_first(path: bytes, compression: str, pack: Pack, cut: int) -> None:
    packed = pack(DATA)
    write(path, packed[:-cut])
    stream = Stream(path, compression, 256)
    got = read_all(stream, 100)
    assert got == DATA[: len(got)] and (len(got) > len(DATA) - 2 * cut - 50 or compression == "ZSTD")
    assert isinstance(stream.failure, DataLossError)
    assert "cannot be decompressed" in str(stream.failure) and "it is truncated" in str(stream.failure)
    stream.close()


@PACKED
@pytest.mark.parametrize("garbage", [b"garbage", b"\x1f", b"\x00\x01\x02\x03\x04"])
def test_what_comes_after_the_end_is_a_fault(path: bytes, compression: str, pack: Pack, garbage: bytes) -> None:
    write(path, pack(DATA) + garbage)
    stream = Stream(path, compression)
    assert read_all(stream, 1000) == DATA
    assert isinstance(stream.failure, DataLossError)
    stream.close()


@PACKED
def test_a_wrong_checksum_is_found_after_the_data(path: bytes, compression: str, pack: Pack) -> None:
    packed = bytearray(pack(DATA))
    packed[-5 if compression == "GZIP" else -1] ^= 1
    write(path, bytes(packed))
    stream = Stream(path, compression)
    assert read_all(stream, 1000) == (DATA if compression != "ZSTD" else b"")
    assert isinstance(stream.failure, DataLossError)
    stream.close()


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", "ZSTD"])
@pytest.mark.parametrize("data", [b"plain text", b"\x1f", b"\x78", b"x\x9c\xff\xff\xff\xff"])
def test_what_is_not_compressed_at_all(path: bytes, compression: str, data: bytes) -> None:
    write(path, data)
    stream = Stream(path, compression)
    assert bytes(stream.view(0, 10)) == b""
    assert isinstance(stream.failure, DataLossError)
    stream.close()


@EACH
def test_how_a_file_is_compressed_can_be_seen(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(DATA))
    stream = Stream(path, "AUTO")
    assert stream.compression == compression and read_all(stream, 1000) == DATA
    stream.close()
    stream = Stream(path, "AUTO", plain=lambda head: head == pack(DATA))
    assert stream.compression == "" and read_all(stream, 1000) == pack(DATA)
    stream.close()


@pytest.mark.parametrize("data", [b"", b"\x1f", b"x^2 + y^2\n", b"1,2\n"])
def test_what_is_not_compressed_is_plain(path: bytes, data: bytes) -> None:
    write(path, data)
    stream = Stream(path, "AUTO")
    assert read_all(stream, 3) == data and stream.failure is None
    stream.close()


@EACH
def test_a_pipe_can_be_read_once(path: bytes, compression: str, pack: Pack) -> None:
    os.mkfifo(path)
    writing = threading.Thread(target=write, args=(path, pack(DATA)))
    writing.start()
    stream = Stream(path, "AUTO")
    writing.join()
    assert stream.compression == compression and not stream.direct
    assert stream.at_most(0) > len(DATA) and stream.size() is None
    assert read_all(stream, 1000)[:10] == DATA[:10]
    stream.close()


@EACH
def test_a_glimpse_leaves_everything_where_it_is(path: bytes, compression: str, pack: Pack) -> None:
    write(path, pack(DATA))
    stream = Stream(path, compression, 64)
    assert bytes(stream.view(10, 20)[:20]) == DATA[10:30]
    assert stream.peek(4000, 30) == DATA[4000:4030]
    assert stream.peek(4990, 30) == DATA[4990:]
    assert stream.peek(9000, 30) == b""
    assert stream.peek(12, 3) == DATA[12:15]
    data, start = stream.window(10, 20)
    assert data[start : start + 20] == DATA[10:30]
    stream.close()


def test_a_missing_file(path: bytes) -> None:
    with pytest.raises(NotFoundError):
        Stream(path)


def test_compression_types() -> None:
    assert [checked_compression(c) for c in (None, "", "GZIP", b"ZLIB", "AUTO")] == ["", "", "GZIP", "ZLIB", "AUTO"]
    with pytest.raises(InvalidArgumentError, match=r'must be "GZIP", "ZLIB", .* or "" for none, got \'LZ4\''):
        checked_compression("LZ4")
