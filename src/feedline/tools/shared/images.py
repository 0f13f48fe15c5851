"""Images in terminals: their size in words, and a thumbnail of coloured half blocks."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from rich.style import Style
from rich.text import Text

from feedline.errors import OpError
from feedline.io.image.decode import decode_image, extract_jpeg_shape
from feedline.structure.block import Array
from feedline.tools.shared.text import size_of

LINES = 12
MOST_PIXELS = 1 << 26
"""Larger images are not decoded for a thumbnail: a header may state a false size."""


class Picture(NamedTuple):
    """An encoded image: its format, height and width."""

    data: bytes
    format: str
    height: int
    width: int

    @property
    def text(self) -> str:
        """The image in words."""
        return f"{self.format} image, {self.width} x {self.height}, {size_of(len(self.data))}"

    def thumbnail(self, width: int, indent: str) -> Text | None:
        """The image in characters of two pixels each; None if it cannot be decoded."""
        if self.height * self.width > MOST_PIXELS:
            return None
        try:
            pixels = np.asarray(decode_image(self.data, channels=3, expand_animations=False))
        except (OpError, ImportError, ValueError, MemoryError):
            return None
        lines = min(LINES, max(1, -(-width * self.height // (2 * max(1, self.width)))))
        columns = max(1, min(width, 2 * lines * self.width // max(1, self.height)))
        small = shrunk(pixels, 2 * lines, columns)
        drawn = Text()
        for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
            drawn.append(indent)
            for above, below in zip(upper, lower, strict=True):
                drawn.append("▀", Style(color=_colour(above), bgcolor=_colour(below)))
            drawn.append("\n")
        drawn.right_crop(1)
        return drawn


def _colour(pixel: list[int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*pixel)


def shrunk(pixels: Array, height: int, width: int) -> Array:
    """The image in another size: each pixel the mean of the area it stands for."""
    for axis, size in ((0, height), (1, width)):
        n = pixels.shape[axis]
        starts = np.arange(size) * n // size
        if n >= size:
            counts = np.diff([*starts, n]).reshape([-1 if a == axis else 1 for a in range(3)])
            pixels = np.add.reduceat(pixels.astype(np.int64), starts, axis) // counts
        else:
            pixels = pixels.take(starts, axis)
    return pixels


def image_of(value: Any) -> Picture | None:
    """The image in a value, if it is a string that begins like one.

    >>> from feedline.tools.shared.images import image_of
    >>> image_of(fl.io.encode_png(np.zeros((4, 6, 3), np.uint8))).text
    'PNG image, 6 x 4, 69 B'
    >>> image_of(b"text")
    """
    if not isinstance(value, bytes):
        return None
    with suppress(OpError, ImportError, ValueError, struct.error):
        if value.startswith(b"\xff\xd8\xff"):
            height, width, _ = extract_jpeg_shape(value).tolist()
            return Picture(value, "JPEG", height, width)
        if value.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", value, 16)
            return Picture(value, "PNG", height, width)
        if value[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack_from("<HH", value, 6)
            return Picture(value, "GIF", height, width)
        if value.startswith(b"BM") and value[14:18] == b"\x28\0\0\0":
            width, height = struct.unpack_from("<ii", value, 18)
            return Picture(value, "BMP", abs(height), width)
    return None
