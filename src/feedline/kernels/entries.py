"""Parsing of `Example` and `SequenceExample` on the wire: where each feature lies, and its values.

This reads as TensorFlow's own fast parser does, which differs from protobuf on odd input: of duplicate keys the last
entry counts, of a list in pieces only the first piece is read, a length that is too long is cut to the bytes there are,
and unknown fields are an error inside an entry and skipped outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.wire import DELIMITED, FIXED32, FIXED64, VARINT, WireError, read_packed, read_varint

Array = np.ndarray[Any, Any]
Span = tuple[int, int]

CONTEXT, LISTS = 0x0A, 0x12
"""The tags of the two fields of a SequenceExample."""

_ENTRY = 0x0A
_KEY, _VALUE = 0x0A, 0x12
_PACKED, _PLAIN_INT, _PLAIN_FLOAT = 0x0A, 0x08, 0x0D


def entries(data: bytes) -> list[tuple[bytes, Span]]:
    """The features of an Example in wire order: key, and span of the Feature message."""
    found: list[tuple[bytes, Span]] = []
    at, end = 0, len(data)
    while at < end:
        if data[at] != _ENTRY:
            at = skip(data, at, end)
        else:
            length, at = read_varint(data, at + 1, end)
            inner = min(at + length, end)
            at = read_entries(data, at, inner, found)
    return found


def sequence_entries(data: bytes) -> tuple[dict[bytes, Span], dict[bytes, Span]]:
    """The spans of the context features and of the feature lists of a SequenceExample; of duplicate keys, the last."""
    context: list[tuple[bytes, Span]] = []
    lists: list[tuple[bytes, Span]] = []
    at, end = 0, len(data)
    while at < end:
        if data[at] in (CONTEXT, LISTS):
            found = context if data[at] == CONTEXT else lists
            length, at = read_varint(data, at + 1, end)
            at = read_entries(data, at, min(at + length, end), found, ordered=True)
        else:
            at = skip(data, at, end)
    return dict(context), dict(lists)


def read_entries(data: bytes, at: int, end: int, found: list[tuple[bytes, Span]], ordered: bool = False) -> int:
    """Adds the entries of a feature map to `found`; returns the position after the map. If `ordered`, as in the maps of
    a SequenceExample, each key must come before its value.
    """
    while at < end:
        if data[at] != _ENTRY:
            raise WireError("an unknown field among the features")
        length, at = read_varint(data, at + 1, end)
        stop = min(at + length, end)
        key, value = b"", (at, at)
        for expected in (_KEY, _VALUE):
            tag = data[at] if at < stop else 0
            if tag not in ((expected,) if ordered else (_KEY, _VALUE)):
                raise WireError("a feature without a name or without a value")
            size, at = read_varint(data, at + 1, stop)
            if size > stop - at:
                raise WireError("a truncated feature")
            if tag == _KEY:
                key = data[at : at + size]
            else:
                value = at, at + size
            at += size
        if at != stop:
            raise WireError("an unknown field beside a feature")
        found.append((key, value))
    return at


def skip(data: bytes, at: int, end: int) -> int:
    """The position after an unknown field."""
    tag, at = read_varint(data, at, end)
    kind = tag & 7
    if kind == VARINT:
        return read_varint(data, at, end)[1]
    if kind == DELIMITED:
        length, at = read_varint(data, at, end)
        return min(at + length, end)
    if kind in (FIXED32, FIXED64):
        at += 4 if kind == FIXED32 else 8
        if at <= end:
            return at
    raise WireError(f"a truncated field, or one of wire type {kind}")


def spans(data: bytes, at: int, end: int) -> list[Span]:
    """The spans of the Feature messages of a FeatureList."""
    found = []
    while at < end:
        if data[at] != _ENTRY:
            raise WireError("an unknown field among the steps")
        length, at = read_varint(data, at + 1, end)
        if length > end - at:
            raise WireError("a truncated step")
        found.append((at, at + length))
        at += length
    return found


def kind_of(data: bytes, span: Span) -> int | None:
    """The field number of the list in a Feature (1 strings, 2 floats, 3 integers); None if it holds no list."""
    at, end = span
    if at == end:
        return None
    number, kind = data[at] >> 3, data[at] & 7
    if kind != DELIMITED or not 1 <= number <= 3:
        raise WireError("a list of an unknown type")
    return number


def holds_more(data: bytes, span: Span) -> bool:
    """Whether anything follows the list in a Feature, or the first piece of its packed numbers."""
    length, at = read_varint(data, span[0] + 1, span[1])
    end = min(at + length, span[1])
    if end == span[1] and at < end and data[at] == _PACKED and data[span[0]] >> 3 != 1:
        length, at = read_varint(data, at + 1, end)
        return at + length < end
    return end < span[1]


def values(data: bytes, span: Span, strict: bool = False) -> Any:
    """The values of a Feature that holds a list: an array, or a list of `bytes`. Stray bytes after the last float are
    ignored, or an error if `strict`, as for the features of a SequenceExample.
    """
    number = data[span[0]] >> 3
    length, at = read_varint(data, span[0] + 1, span[1])
    end = min(at + length, span[1])
    if number == 2:
        return _floats(data, at, end, strict)
    return _bytes(data, at, end) if number == 1 else _ints(data, at, end)


def _bytes(data: bytes, at: int, end: int) -> list[bytes]:
    found = []
    while at < end:
        if data[at] != _PACKED:
            raise WireError("an unknown field among strings")
        length, at = read_varint(data, at + 1, end)
        if length > end - at:
            raise WireError("a truncated string")
        found.append(data[at : at + length])
        at += length
    return found


def _floats(data: bytes, at: int, end: int, strict: bool) -> Array:
    if at < end and data[at] == _PACKED:
        length, at = read_varint(data, at + 1, end)
        if length > end - at or (strict and length % 4):
            raise WireError("truncated floats")
        return np.frombuffer(data, "<f4", length // 4, at).astype(np.float32)
    found = bytearray()
    while at < end:
        if data[at] != _PLAIN_FLOAT or end - at < 5:
            raise WireError("an unknown field among floats")
        found += data[at + 1 : at + 5]
        at += 5
    return np.frombuffer(bytes(found), "<f4").astype(np.float32)


def _ints(data: bytes, at: int, end: int) -> Array:
    if at < end and data[at] == _PACKED:
        length, at = read_varint(data, at + 1, end)
        return read_packed(data, at, min(at + length, end))
    found = []
    while at < end:
        if data[at] != _PLAIN_INT:
            raise WireError("an unknown field among integers")
        number, at = read_varint(data, at + 1, end)
        found.append(number)
    return np.array(found, np.uint64).view(np.int64)
