"""gzip, zlib and zstd: whole, in many pieces, cut and damaged at every byte."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import feedline as fl
from feedline.io import compressed
from feedline.io.compressed import DECODERS, OUTPUT, Damaged, detect_compression
from feedline.io.tfrecord.framing import frame

_rng = np.random.default_rng(0)
DATA = np.repeat(_rng.integers(0, 99, 400, np.uint8), _rng.integers(1, 9, 400)).tobytes()
BIG = _rng.integers(0, 64, 900_000, np.uint8).tobytes()


class Memory:
    """Bytes as a file, that gives at most `most` at a time."""

    def __init__(self, data: bytes, most: int = 1 << 30, seekable: bool = True) -> None:
        self._file, self._most, self.seekable = io.BytesIO(data), most, seekable

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, self._most))

    def seek(self, position: int) -> int:
        assert self.seekable
        return self._file.seek(position)

    def tell(self) -> int:
        assert self.seekable
        return self._file.tell()


def named(data: bytes) -> bytes:
    """A gzip member with every field that a header may have."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff" + b"\x03\0abc" + b"a name\0" + b"a comment\0"
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    tail = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return head + deflate.compress(data) + deflate.flush() + tail


def members(data: bytes) -> bytes:
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(b"") + named(data[half:])


def frames(data: bytes) -> bytes:
    """Several zstd frames: with a checksum and without, with an unknown size, and one that is to be passed over."""
    third = len(data) // 3
    plain = zstandard.ZstdCompressor(write_checksum=False, write_content_size=True)
    open_ended = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    last = open_ended.compress(data[2 * third :]) + open_ended.flush()
    skipped = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    return zstandard.compress(data[:third]) + skipped + plain.compress(data[third : 2 * third]) + last


Pack = Callable[[bytes], bytes]
KINDS: dict[str, tuple[str, Pack]] = {
    "gzip": ("GZIP", gzip.compress),
    "stored": ("GZIP", lambda data: gzip.compress(data, 0)),
    "named": ("GZIP", named),
    "members": ("GZIP", members),
    "zlib": ("ZLIB", zlib.compress),
    "zstd": ("ZSTD", zstandard.compress),
    "frames": ("ZSTD", frames),
}
EACH = pytest.mark.parametrize(("kind", "pack"), KINDS.values(), ids=KINDS.keys())


@pytest.fixture(params=["isal", "zlib"])
def library(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "zlib":
        monkeypatch.setattr(compressed, "_isal", None)


def read(kind: str, raw: Memory, size: int) -> tuple[bytes, str]:
    """All that comes out, in pieces of at most `size`, and what stops it."""
    decoder = DECODERS[kind](raw)
    out = b""
    try:
        while piece := decoder.read(size):
            assert len(piece) <= size
            out += piece
    except Damaged as e:
        with pytest.raises(Damaged):
            decoder.read(size)
        return out, str(e)
    assert decoder.read(size) == b""
    return out, ""


@pytest.mark.usefixtures("library")
@EACH
@pytest.mark.parametrize("seekable", [True, False], ids=["file", "pipe"])
def test_whole(kind: str, pack: Pack, seekable: bool) -> None:
    for most in (1, 5, 100, 1 << 20):
        for size in (1, 7, 1000, 1 << 20):
            assert read(kind, Memory(pack(DATA), most, seekable), size) == (DATA, "")
    assert read(kind, Memory(pack(BIG), 1 << 20, seekable), 1 << 17) == (BIG, "")
    assert read(kind, Memory(b"", 1, seekable), 10) == (b"", "")
    assert read(kind, Memory(pack(b""), 1, seekable), 10) == (b"", "")


@pytest.mark.usefixtures("library")
@EACH
def test_a_cut_is_noticed_at_every_byte(kind: str, pack: Pack) -> None:
    packed = pack(DATA)
    ends = {len(packed)}
    if pack is members:
        ends = {len(gzip.compress(DATA[: len(DATA) // 2])), len(packed) - len(named(DATA[len(DATA) // 2 :])), *ends}
    if pack is frames:
        first = len(zstandard.compress(DATA[: len(DATA) // 3]))
        second = zstandard.ZstdCompressor(write_checksum=False, write_content_size=True)
        third = len(DATA) // 3
        middle = len(second.compress(DATA[third : 2 * third]))
        ends = {first, first + 13, first + 13 + middle, *ends}
    for end in range(1, len(packed)):
        got, problem = read(kind, Memory(packed[:end]), 100)
        assert DATA.startswith(got)
        assert (problem == "") == (end in ends), end
        assert problem in ("", "it is truncated")


@pytest.mark.usefixtures("library")
@EACH
def test_damage_is_met_at_the_same_byte_whatever_the_pieces(kind: str, pack: Pack) -> None:
    packed = pack(DATA)
    for at in range(0, len(packed), 3):
        damaged = bytearray(packed)
        damaged[at] ^= 0x10
        met = {read(kind, Memory(bytes(damaged), most), size) for most, size in ((1 << 20, 1 << 20), (7, 64), (100, 1))}
        assert len(met) == 1, at
        got, problem = met.pop()
        assert problem or got == DATA or kind == "ZSTD", at  # a zstd frame may have no checksum


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_what_is_before_the_damage_comes_out(kind: str) -> None:
    packed = bytearray(KINDS[kind.lower()][1](BIG))
    packed[len(packed) // 2] ^= 0xFF
    got, problem = read(kind, Memory(bytes(packed)), OUTPUT)
    good = next((i for i, (a, b) in enumerate(zip(got, BIG, strict=False)) if a != b), len(got))
    assert problem and good > len(BIG) * 0.48


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        ("GZIP", b"plain text", "does not begin with a gzip"),
        ("GZIP", b"\x1f\x8b\x07" + bytes(20), "unknown compression method or flag"),
        ("GZIP", b"\x1f\x8b\x08\xe0" + bytes(20), "unknown compression method or flag"),
        ("GZIP", gzip.compress(DATA) + b"more", "data after its end"),
        ("GZIP", gzip.compress(DATA) + bytes(20), "data after its end"),
        ("GZIP", named(DATA).replace(b"a name", b"b name"), "checksum of its header is wrong"),
        ("GZIP", gzip.compress(DATA)[:-5] + b"\0" + gzip.compress(DATA)[-4:], "checksum is wrong"),
        ("GZIP", gzip.compress(DATA)[:-1] + b"\1", "length is wrong"),
        ("ZLIB", b"plain text", "does not begin with a zlib"),
        ("ZLIB", zlib.compress(DATA) + zlib.compress(DATA), "data after its end"),
        ("ZLIB", zlib.compress(DATA)[:-1] + b"\0", "checksum is wrong"),
        ("ZSTD", b"plain text", "does not begin with a zstd"),
        ("ZSTD", zstandard.compress(DATA) + b"more", "data after its end"),
        ("ZSTD", zstandard.compress(b"")[:5] + b"\0" + b"\xff\xff\xff", "an invalid block"),
    ],
)
def test_problems_are_named(kind: str, data: bytes, problem: str) -> None:
    assert problem in read(kind, Memory(data), 10_000)[1]


@EACH
def test_a_bomb_comes_out_in_small_pieces(kind: str, pack: Pack) -> None:
    decoder = DECODERS[kind](Memory(pack(bytes(1 << 24))))
    seen = 0
    while piece := decoder.read(1 << 30):
        assert len(piece) <= OUTPUT
        seen += len(piece)
    assert seen == 1 << 24


@pytest.mark.parametrize(("kind", "pack"), KINDS.values(), ids=KINDS.keys())
def test_it_is_seen_how_data_are_compressed(kind: str, pack: Pack) -> None:
    assert detect_compression(pack(DATA), True) == kind
    assert detect_compression(pack(BIG)[:1000], False) == kind


@pytest.mark.parametrize(
    "text", [b"", b"x", b"x^", b"x^2 + y^2 = r^2\n", b"x^2" + b" and so on, long" * 9000, b"H\x0b", b"name,age\n"]
)
def test_what_is_not_compressed(text: bytes) -> None:
    for whole in (True, False):
        assert detect_compression(text, whole) == ""


def test_zstd_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"pip install 'feedline\[zstd\]'"):
        DECODERS["ZSTD"](Memory(b""))


FLUSHES = {"sync": zlib.Z_SYNC_FLUSH, "full": zlib.Z_FULL_FLUSH, "partial": zlib.Z_PARTIAL_FLUSH}


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("flush", FLUSHES)
def test_a_file_that_was_flushed_and_not_closed_ends_there(tmp_path: Path, kind: str, flush: str) -> None:
    """TensorFlow's writer leaves a partial flush behind, feedline's a sync flush. A cut anywhere else is damage."""
    random = np.random.default_rng(1)
    path = str(tmp_path / "file")
    for records in ([b"A" * 50, b"B" * 50, b"C" * 50], [random.bytes(200) for _ in range(3)]):
        deflate = zlib.compressobj(6, zlib.DEFLATED, 31 if kind == "GZIP" else 15)
        data, ends = b"", []
        for record in records:
            data += deflate.compress(frame(record)) + deflate.flush(FLUSHES[flush])
            ends.append(len(data))
        data += deflate.flush()
        for size in range(1, len(data)):
            (tmp_path / "file").write_bytes(data[:size])
            got: list[bytes] = []
            lost = False
            try:
                got.extend(fl.TFRecordDataset(path, kind))
            except fl.errors.DataLossError:
                lost = True
            assert got == records[: len(got)]
            assert not lost or size not in ends
            # The byte after a partial flush may look like the end of another one.
            assert lost or size - ends[len(got) - 1] in ((0, 1) if flush == "partial" else (0,)), size


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_large_file_that_was_flushed_and_not_closed(tmp_path: Path, kind: str) -> None:
    random = np.random.default_rng(2)
    records = [bytes(1 << 20), random.bytes(600_000), b"x" * 3_000_000]
    writer = fl.io.TFRecordWriter(str(tmp_path / "file"), kind)
    for record in records:
        writer.write(record)
    writer.flush()
    assert list(fl.TFRecordDataset(str(tmp_path / "file"), kind)) == records
    whole = (tmp_path / "file").read_bytes()
    writer.write(b"more")
    writer.close()
    (tmp_path / "cut").write_bytes(whole[:-1])
    with pytest.raises(fl.errors.DataLossError, match="it is truncated"):
        list(fl.TFRecordDataset(str(tmp_path / "cut"), kind))
