"""Compressed blocks."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest

from feedline.errors import InvalidArgumentError
from feedline.io.elements.compression import checked, compressed, decompressed


@pytest.mark.parametrize(
    ("name", "kind"), [(None, ""), ("", ""), ("NONE", ""), ("AUTO", ""), ("GZIP", "GZIP"), ("SNAPPY", "SNAPPY")]
)
def test_names(name: str | None, kind: str) -> None:
    assert checked(name, "save") == kind
    for data in (b"", b"abc", bytes(100_000)):
        assert decompressed(memoryview(b"".join(compressed([data[:2], data[2:]], kind))), kind) == data


@pytest.mark.parametrize("name", ["LZ4", "gzip", 1, b"GZIP", ["GZIP"]])
def test_unknown_names(name: object) -> None:
    with pytest.raises(InvalidArgumentError, match="save: compression must be"):
        checked(name, "save")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("<Q", 3) + gzip.compress(b"abcd", mtime=0),
        struct.pack("<Q", 5) + gzip.compress(b"abcd", mtime=0),
        struct.pack("<Q", 1 << 60) + gzip.compress(b"abcd", mtime=0),
        struct.pack("<Q", 4) + gzip.compress(b"abcd", mtime=0)[:-1],
        struct.pack("<Q", 4) + gzip.compress(b"abcd", mtime=0) + b"!",
        struct.pack("<Q", 4) + b"no gzip at all",
    ],
)
def test_damage(data: bytes) -> None:
    with pytest.raises((ValueError, struct.error, zlib.error)):
        decompressed(memoryview(data), "GZIP")


def test_a_kind_from_the_future() -> None:
    with pytest.raises(ValueError, match="unknown compression"):
        decompressed(memoryview(bytes(64)), "ZSTD")
