"""Tensors as messages: TensorFlow's bytes, both ways."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.harness import compare

import feedline as fl
from feedline import wire

DTYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "?", ml_dtypes.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 1), (2, 3)])
def test_arrays_come_back(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    back = fl.io.parse_tensor(fl.io.serialize_tensor(array), dtype)
    assert back.dtype == array.dtype and np.shape(back) == shape and (back == array).all()


def test_strings_come_back() -> None:
    words = [["a", b"\xff"], ["", "é"]]
    compare(fl.io.parse_tensor(fl.io.serialize_tensor(words), fl.string), words)
    assert fl.io.parse_tensor(fl.io.serialize_tensor("x"), fl.string) == b"x"


def test_the_bytes() -> None:
    assert fl.io.serialize_tensor([1, 2]) == b'\x08\x03\x12\x04\x12\x02\x08\x02"\x08\x01\x00\x00\x00\x02\x00\x00\x00'
    assert fl.io.serialize_tensor(np.int64(5)) == b'\x08\t\x12\x00"\x08\x05\x00\x00\x00\x00\x00\x00\x00'
    assert fl.io.serialize_tensor([b"a", b""]) == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x00"


def message(number: int, shape: list[int], *more: bytes) -> bytes:
    dims = b"".join(wire.delimited(2, b"\x08" + wire.varint(n)) for n in shape)
    return b"\x08" + wire.varint(number) + wire.delimited(2, dims) + b"".join(more)


def test_values_in_fields_of_their_own() -> None:
    floats = wire.delimited(5, struct.pack("<ff", 1.5, 2.5))
    compare(fl.io.parse_tensor(message(1, [2], floats), fl.float32), np.array([1.5, 2.5], np.float32))
    compare(fl.io.parse_tensor(message(1, [4], floats), fl.float32), np.array([1.5, 2.5, 2.5, 2.5], np.float32))
    compare(fl.io.parse_tensor(message(1, [2]), fl.float32), np.zeros(2, np.float32))
    one = wire.tag(5, wire.FIXED32) + struct.pack("<f", 7)
    compare(fl.io.parse_tensor(message(1, [], one), fl.float32), np.float32(7))
    ints = wire.delimited(7, wire.packed([1, -2]))
    compare(fl.io.parse_tensor(message(6, [2], ints), fl.int8), np.array([1, -2], np.int8))
    compare(fl.io.parse_tensor(message(9, [1], wire.tag(10, 0) + wire.varint(-5)), fl.int64), np.array([-5]))
    halves = wire.delimited(13, wire.packed([0x3C00, 0xC000]))
    compare(fl.io.parse_tensor(message(19, [2], halves), fl.float16), np.array([1, -2], np.float16))
    pair = wire.delimited(9, struct.pack("<ff", 1, 2))
    compare(fl.io.parse_tensor(message(8, [], pair), fl.complex64), np.complex64(1 + 2j))
    compare(fl.io.parse_tensor(message(10, [2], wire.delimited(11, b"\x01\x00")), fl.bool), np.array([True, False]))


def test_strings_and_truth_values_as_raw_bytes() -> None:
    strings = message(7, [2], wire.delimited(4, b"\x03\x01abcd"))
    assert fl.io.parse_tensor(strings, fl.string).tolist() == [b"abc", b"d"]
    assert fl.io.parse_tensor(message(7, [], wire.delimited(4, b"\x01a"), wire.delimited(8, b"x")), fl.string) == b"a"
    assert fl.io.parse_tensor(message(7, [0], wire.delimited(4, b"a")), fl.string).shape == (0,)
    for content in (b"abcd", b"\x03\x01abc", b"\x03\x01abcde", b"\x80", b"\xff" * 9 + b"\x01"):
        with pytest.raises(fl.errors.InvalidArgumentError, match="not a serialized tensor"):
            fl.io.parse_tensor(message(7, [2], wire.delimited(4, content)), fl.string)
    truths = message(10, [2], wire.delimited(4, b"\x01\x00"))
    compare(fl.io.parse_tensor(truths, fl.bool), np.array([True, False]))
    with pytest.raises(fl.errors.InvalidArgumentError, match="neither 0 nor 1"):
        fl.io.parse_tensor(message(10, [1], wire.delimited(4, b"\x05")), fl.bool)
    assert fl.io.parse_tensor(message(3, [0], wire.delimited(4, b"\x05")), fl.int32).shape == (0,)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\xff\xffgarbage", "not a serialized tensor"),
        (fl.io.serialize_tensor(np.array([1])), "the tensor has type int64, expected int32"),
        (message(3, [2], wire.delimited(4, b"\x01\x00\x00\x00")), "4 bytes for 2 values of 4 bytes"),
        (message(3, [1 << 50]), "a shape of 1125899906842624 values with only 0 given"),
        (message(3, [1 << 27]), "with only 0 given; at most 268435456 bytes are filled in"),
        (message(3, [1] * 70), "dimension"),
        (message(3, [0, 1 << 62, 4]), "too big"),
        (message(3, [-1]), "a dimension of unknown size"),
    ],
)
def test_what_is_no_tensor(data: bytes, match: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=match):
        fl.io.parse_tensor(data, fl.int32)


def test_cut_floats() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="truncated numbers"):
        fl.io.parse_tensor(message(1, [1], wire.delimited(5, b"\x00\x00\x00")), fl.float32)
    for field in (wire.delimited(9, struct.pack("<fff", 1, 2, 3)), wire.tag(9, 5) + struct.pack("<f", 1)):
        with pytest.raises(fl.errors.InvalidArgumentError, match="not a serialized tensor"):
            fl.io.parse_tensor(message(8, [1], field), fl.complex64)
    with pytest.raises(fl.errors.InvalidArgumentError, match="takes one string"):
        fl.io.parse_tensor([b""], fl.int32)
