"""Protobuf's wire format: a message is a sequence of fields, each a tag (number and kind) and a value.

It is used by `train`, whose messages are protobuf's, and by `io`, which reads them without making objects. Input is
untrusted: every length is checked against the bytes that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

VARINT, FIXED64, DELIMITED, GROUP, GROUP_END, FIXED32 = range(6)
_BITS64 = (1 << 64) - 1


class WireError(ValueError):
    """Bytes that are not a valid message."""


def varint(number: int) -> bytes:
    """A number in groups of seven bits, lowest first; negative ones as their 64-bit complement.

    >>> from feedline.wire import varint
    >>> varint(300), len(varint(-1))
    (b'\\xac\\x02', 10)
    """
    if 0 <= number < 0x80:
        return _BYTES[number]
    number &= _BITS64
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_BYTES = [bytes([i]) for i in range(0x80)]


def tag(field: int, kind: int) -> bytes:
    """The tag before a value: field number and kind."""
    return varint(field << 3 | kind)


def delimited(field: int, value: bytes) -> bytes:
    """A field whose value is a string of bytes: a string, a message, or packed numbers."""
    return b"".join((tag(field, DELIMITED), varint(len(value)), value))


def packed(numbers: Iterable[int]) -> bytes:
    """Numbers as varints, one after another."""
    return b"".join(map(varint, numbers))


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned number at `at`, and the position after it."""
    number = shift = 0
    while True:
        if at >= end or shift > 63:
            raise WireError("truncated varint")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _BITS64, at
        shift += 7


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The span of a value whose length is at `at`."""
    length, at = read_varint(data, at, end)
    if length > end - at:
        raise WireError(f"a length of {length} with {end - at} bytes left")
    return at, at + length


def signed(number: int) -> int:
    """An unsigned 64-bit number as a signed one."""
    return number - (1 << 64) if number >> 63 else number


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, Any, int, int]]:
    """The fields of a message: number, kind, value, begin and end of the field.

    The value of a varint is the unsigned number; that of any other field is the span of its bytes.
    """
    while at < end:
        begin = at
        head, at = read_varint(data, at, end)
        number, kind = head >> 3, head & 7
        if not 0 < number < 1 << 29:
            raise WireError(f"invalid field number {number}")
        value: Any
        if kind == VARINT:
            value, at = read_varint(data, at, end)
        elif kind == DELIMITED:
            value = read_length(data, at, end)
            at = value[1]
        elif kind in (FIXED32, FIXED64):
            value = at, at + (4 if kind == FIXED32 else 8)
            at = value[1]
        elif kind == GROUP:
            inside = at
            at = _group_end(data, at, end, number)
            value = inside, at
        else:
            raise WireError(f"unknown wire type {kind}")
        if at > end:
            raise WireError("truncated value")
        yield number, kind, value, begin, at


def _group_end(data: bytes, at: int, end: int, number: int) -> int:
    """The position after a group, a deprecated kind of field that is always skipped."""
    depth = [number]
    while depth:
        head, at = read_varint(data, at, end)
        inner, kind = head >> 3, head & 7
        if kind == GROUP:
            depth.append(inner)
        elif kind == GROUP_END:
            if depth.pop() != inner:
                raise WireError("mismatched group tags")
        elif kind == VARINT:
            _, at = read_varint(data, at, end)
        elif kind == DELIMITED:
            _, at = read_length(data, at, end)
        elif kind in (FIXED32, FIXED64):
            at += 4 if kind == FIXED32 else 8
        else:
            raise WireError(f"unknown wire type {kind}")
        if at > end or len(depth) > 100:
            raise WireError("truncated group")
    return at


def read_packed(data: bytes, at: int, end: int) -> Array:
    """The varints between two positions, as int64."""
    raw = np.frombuffer(data, np.uint8, end - at, at)
    last = raw < 0x80
    if not len(raw) or last.all():
        return raw.astype(np.int64)
    if not last[-1]:
        raise WireError("truncated varint")
    ends = np.flatnonzero(last)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if int(lengths.max()) > 10:
        raise WireError("truncated varint")
    # Byte k of a number adds its seven bits at bit 7 k; the tenth adds only the top one.
    place = np.arange(len(raw)) - np.repeat(starts, lengths)
    parts = (raw & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(parts, starts).view(np.int64)
