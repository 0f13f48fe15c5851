"""Messages on the wire, written byte by byte."""

from __future__ import annotations

import struct
from typing import Any

from feedline.wire import delimited, packed, tag, varint

STRING, FLOAT, INT = 1, 2, 3


def feature(kind: int, values: Any, plain: bool = False) -> bytes:
    """A Feature message with one list, packed unless `plain`."""
    if kind == STRING:
        inside = b"".join(delimited(1, v) for v in values)
    elif kind == FLOAT:
        raw = [struct.pack("<f", v) for v in values]
        inside = b"".join(tag(1, 5) + v for v in raw) if plain else delimited(1, b"".join(raw))
    else:
        inside = b"".join(tag(1, 0) + varint(v) for v in values) if plain else delimited(1, packed(values))
    return delimited(kind, inside)


def entry(key: bytes, value: bytes) -> bytes:
    return delimited(1, delimited(1, key) + delimited(2, value))


def example(*entries: bytes) -> bytes:
    return delimited(1, b"".join(entries))
