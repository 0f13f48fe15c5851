"""How blocks are compressed. The names are TensorFlow's."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.compressed import MOST_INFLATED

_NAMES = {None: "", "": "", "NONE": "", "AUTO": "", "GZIP": "GZIP", "SNAPPY": "SNAPPY"}
_LEVEL = {"GZIP": 6, "SNAPPY": 1}
"""gzip levels: its fastest one stands in for snappy."""

_GZIP = zlib.MAX_WBITS + 16
_SIZE = struct.Struct("<Q")


def checked(compression: object, op: str) -> str:
    """`compression` as "", "GZIP" or "SNAPPY". AUTO means none, which is the fastest to read."""
    if not isinstance(compression, (str, type(None))) or compression not in _NAMES:
        kind = InvalidArgumentError if isinstance(compression, str) else InvalidTypeError
        raise kind(
            f'{op}: compression must be "GZIP", "SNAPPY", "AUTO" or "NONE" or None for none, got {compression!r}'
        )
    return _NAMES[compression]


def compressed(pieces: Sequence[Any], compression: str) -> list[Any]:
    """The pieces compressed together, preceded by their size; unchanged without a compression."""
    if not compression:
        return list(pieces)
    compressor = zlib.compressobj(_LEVEL[compression], wbits=_GZIP)
    size = sum(memoryview(p).nbytes for p in pieces)
    return [_SIZE.pack(size), *(compressor.compress(p) for p in pieces), compressor.flush()]


def decompressed(data: memoryview, compression: str) -> memoryview:
    """The data given to `compressed`, in one piece. Raises ValueError or zlib.error for any other data."""
    if not compression:
        return data
    if compression not in _LEVEL:
        raise ValueError(f"unknown compression {compression!r}")
    (size,) = _SIZE.unpack_from(data)
    packed = data[_SIZE.size :]
    if size > len(packed) * MOST_INFLATED:
        raise ValueError(f"{len(packed)} bytes cannot decompress to {size}")
    decompressor = zlib.decompressobj(_GZIP)
    made = decompressor.decompress(packed, size + 1)
    if len(made) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"the data does not decompress to {size} bytes")
    return memoryview(made)
