"""Protobuf's wire format: numbers, fields, and input that is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline import wire
from feedline.wire import DELIMITED, FIXED32, FIXED64, GROUP, VARINT, WireError

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(INT64)
def test_a_varint_comes_back(number: int) -> None:
    data = wire.varint(number)
    value, end = wire.read_varint(data, 0, len(data))
    assert (wire.signed(value), end) == (number, len(data))


@given(st.lists(INT64, max_size=40))
def test_packed_numbers_come_back(numbers: list[int]) -> None:
    data = b"x" + wire.packed(numbers) + b"y"
    found = wire.read_packed(data, 1, len(data) - 1)
    assert found.dtype == np.int64 and found.tolist() == numbers


def test_read_packed_gives_memory_of_its_own() -> None:
    data = wire.packed([1, 2, 3])
    found = wire.read_packed(data, 0, len(data))
    found[0] = 9
    assert data == b"\x01\x02\x03"


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 10, b"\xff" * 10 + b"\x01"])
def test_numbers_that_do_not_end(data: bytes) -> None:
    with pytest.raises(WireError, match="truncated varint"):
        wire.read_varint(data, 0, len(data))
    if data:
        with pytest.raises(WireError, match="truncated varint"):
            wire.read_packed(data, 0, len(data))


def test_fields() -> None:
    data = (
        wire.tag(1, VARINT) + wire.varint(7)
        + wire.delimited(2, b"abc")
        + wire.tag(3, FIXED32) + b"1234"
        + wire.tag(4, FIXED64) + b"12345678"
        + wire.tag(5, GROUP) + wire.tag(1, VARINT) + b"\x01" + wire.tag(5, GROUP + 1)
    )
    found = [(number, kind, value) for number, kind, value, _, _ in wire.fields(data, 0, len(data))]
    assert found == [(1, 0, 7), (2, 2, (4, 7)), (3, 5, (8, 12)), (4, 1, (13, 21)), (5, 3, (22, 25))]
    ends = [(begin, end) for *_, begin, end in wire.fields(data, 0, len(data))]
    assert [a for a, _ in ends] == [0, *[b for _, b in ends[:-1]]]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01",  # field number 0
        b"\x0a\x05abc",  # a length beyond the end
        b"\x0a\xff\xff\xff\xff\x7f",
        b"\x0d\x01\x02",  # a cut float
        b"\x0b\x08\x01",  # a group without an end
        b"\x0b\x14",  # a group that ends another one
        b"\x0c",  # an end without a group
        b"\x0e",  # a kind that does not exist
    ],
)
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(WireError):
        list(wire.fields(data, 0, len(data)))


def test_deep_groups_do_not_exhaust_the_stack() -> None:
    data = wire.tag(1, GROUP) * 5000
    with pytest.raises(WireError):
        list(wire.fields(data, 0, len(data)))


def test_delimited_is_what_protobuf_writes() -> None:
    assert wire.delimited(1, b"hi") == b"\x0a\x02hi"
    assert DELIMITED == 2
