"""BMP files: uncompressed pixels of one, three or four bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]

_HEADER = 32


def decode(data: bytes, channels: int) -> Array:
    """The pixels [height, width, channels]; 0 channels means the number in the file."""
    if channels not in (0, 3, 4):
        raise InvalidArgumentError(f"channels must be 0, 3 or 4 for a BMP file, got {channels}")
    if len(data) < _HEADER:
        raise InvalidArgumentError(f"a BMP file of {len(data)} bytes is truncated: the header alone has {_HEADER}")
    start, width, height = struct.unpack_from("<I4xii", data, 10)
    (bits,) = struct.unpack_from("<H", data, 28)
    if bits not in (8, 24, 32):
        raise InvalidArgumentError(f"a BMP file must have 8, 24 or 32 bits per pixel, this one has {bits}")
    found, tall = bits // 8, abs(height)
    if width <= 0 or height == 0:
        raise InvalidArgumentError(f"a BMP file must have a width and a height, this one has {width} and {height}")
    stride = (found * width + 3) // 4 * 4
    if start + stride * tall > len(data):
        raise InvalidArgumentError(
            f"a BMP file of {width} x {tall} pixels is truncated: it has {len(data)} bytes instead of "
            f"{start + stride * tall}"
        )
    rows = np.frombuffer(data, np.uint8, stride * tall, start).reshape(tall, stride)
    pixels = rows[:: -1 if height > 0 else 1, : found * width].reshape(tall, width, found)
    wanted = channels or found
    out = np.empty((tall, width, wanted), np.uint8)
    if found == 1:
        out[..., :3] = pixels
    else:
        out[..., :3] = pixels[..., 2::-1]
    if wanted == 4:
        out[..., 3] = pixels[..., 3] if found == 4 else 255
    return out
