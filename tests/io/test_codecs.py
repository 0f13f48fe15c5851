"""What is wanted here is what TensorFlow gives."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import feedline as fl

TEXT = b"hello world" * 30
PACKED = {"": TEXT, "GZIP": gzip.compress(TEXT), "ZLIB": zlib.compress(TEXT), "ZSTD": zstandard.compress(TEXT)}


@pytest.mark.parametrize("kind", PACKED)
def test_decompressed(kind: str) -> None:
    data = PACKED[kind]
    assert fl.io.decode_compressed(data, kind) == TEXT
    assert fl.io.decode_compressed(b"", kind) == b""
    many = fl.io.decode_compressed([[data, b""], [data, data]], compression_type=kind)
    assert many.tolist() == [[TEXT, b""], [TEXT, TEXT]] and many.dtype == object
    assert fl.io.decode_compressed(np.zeros((0, 2), object), kind).shape == (0, 2)


def test_several_one_after_another() -> None:
    assert fl.io.decode_compressed(PACKED["GZIP"] * 2, "GZIP") == TEXT * 2
    assert fl.io.decode_compressed(PACKED["ZLIB"] + b"more", "ZLIB") == TEXT


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "ZSTD"])
def test_damage_is_noticed(kind: str) -> None:
    data = PACKED[kind]
    for bad in (data[:-1], data[:15], data[:3], b"junk" + data, TEXT):
        with pytest.raises(fl.errors.DataLossError, match=f"decode_compressed: .*{kind} data"):
            fl.io.decode_compressed(bad, kind)
    with pytest.raises(fl.errors.DataLossError, match="decode_compressed: string 1: "):
        fl.io.decode_compressed([data, data[:-1]], kind)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_wrong_checksum_is_noticed(kind: str) -> None:
    data = bytearray(PACKED[kind])
    data[-6 if kind == "GZIP" else -1] ^= 1
    with pytest.raises(fl.errors.DataLossError):
        fl.io.decode_compressed(bytes(data), kind)
    with pytest.raises(fl.errors.DataLossError):
        fl.io.decode_compressed(PACKED["GZIP"] + b"junk", "GZIP")


def test_what_is_refused() -> None:
    for kind in ("SNAPPY", "gzip"):
        with pytest.raises(fl.errors.InvalidArgumentError, match='"GZIP", "ZLIB", "ZSTD" or ""'):
            fl.io.decode_compressed(TEXT, kind)
    for call in (fl.io.decode_compressed, fl.io.decode_base64, fl.io.encode_base64):
        with pytest.raises(TypeError, match="takes strings, got int32"):
            call(3)


@pytest.mark.parametrize(
    ("plain", "coded", "padded"),
    [(b"", b"", b""), (b"a", b"YQ", b"YQ=="), (b"ab", b"YWI", b"YWI="), (b"\xff\xfe\xfb", b"__77", b"__77")],
)
def test_base64(plain: bytes, coded: bytes, padded: bytes) -> None:
    assert fl.io.encode_base64(plain) == coded
    assert fl.io.encode_base64(plain, pad=True) == padded
    assert fl.io.decode_base64([[coded], [padded]]).tolist() == [[plain], [plain]]


@given(st.binary())
def test_base64_comes_back(data: bytes) -> None:
    assert fl.io.decode_base64(fl.io.encode_base64(data)) == data
    assert fl.io.decode_base64(fl.io.encode_base64(data, pad=True)) == data


def test_unused_bits_are_passed_over() -> None:
    assert fl.io.decode_base64(b"YR") == b"a"


BAD = [b"YQ=", b"Y", b"//79", b"Y Q", b"YQ==YQ==", b"====", b"YQ==\n", b"Y=Q=", "é", b"YWJjZA=", b"YWJjZA===", b"YQ\n"]


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_base64(text: Any) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"decode_base64: .*base64"):
        fl.io.decode_base64(text)


def test_in_a_pipeline() -> None:
    ds = fl.Dataset.from_tensor_slices([PACKED["GZIP"]] * 3).map(lambda s: fl.io.decode_compressed(s, "GZIP"))
    assert list(ds) == [TEXT] * 3


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB", "ZSTD"])
def test_a_string_that_stands_for_too_much(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pack = {"GZIP": gzip.compress, "ZLIB": zlib.compress, "ZSTD": zstandard.compress}[kind]
    monkeypatch.setattr("feedline.io.codecs.MOST_INFLATED", 1 << 20)
    assert len(fl.io.decode_compressed(pack(bytes(1 << 20)), kind)) == 1 << 20
    with pytest.raises(fl.errors.ResourceExhaustedError, match=rf"decode_compressed: string 1: \d+ bytes of {kind}"):
        fl.io.decode_compressed([pack(b"small"), pack(bytes((1 << 20) + 1))], kind)


@pytest.mark.parametrize("empty", [[], (), [[]], np.zeros((0, 3), object), np.zeros(0, np.int32)], ids=repr)
def test_no_strings_give_an_empty_result(empty: Any) -> None:
    shape = np.shape(empty)
    calls = [
        fl.io.encode_base64,
        fl.io.decode_base64,
        fl.io.decode_json_example,
        *(lambda v, kind=kind: fl.io.decode_compressed(v, kind) for kind in ("", *PACKED)),
        lambda v: fl.io.decode_csv(v, [[1], [""]])[1],
    ]
    for call in calls:
        got = call(empty)
        assert (got.shape, got.dtype) == (shape, object)
    numbers = fl.io.decode_csv(empty, [[1], [""]])[0]
    assert (numbers.shape, numbers.dtype) == (shape, np.int32)
    for fixed, width in ((None, 0), (8, 2)):
        raw = fl.io.decode_raw(empty, fl.int32, fixed_length=fixed)
        assert (raw.shape, raw.dtype) == ((*shape, width), np.int32)
    looked_at = fl.io.is_jpeg(empty)
    assert (looked_at.shape, looked_at.dtype) == (shape, bool)
