"""Images and sounds in values: made smaller, drawn as waveforms, and in a form that browsers show."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from feedline.data.preview import images_in, png
from feedline.errors import OpError
from feedline.io.image.decode import decode_image
from feedline.structure.block import Array
from feedline.tools.shared.images import MOST_PIXELS, image_of, shrunk
from feedline.tools.shared.sounds import stored_sound

THUMBNAIL = 160
"""The longer side of a small image."""
SMALL_FILE = 1 << 15
"""Smaller files are their own thumbnails."""
LARGEST_FILE = 1 << 28
SOUND_FROM = 400
"""A list of at least so many numbers may be a sound."""
RATE = 16_000
"""Samples per second where none are stated."""
_IMAGE_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "BMP": "image/bmp", "WEBP": "image/webp"}
_SOUND_TYPES = {"WAV": "audio/wav", "FLAC": "audio/flac", "OGG": "audio/ogg", "MP3": "audio/mpeg"}


class StoredImage(NamedTuple):
    """An encoded image: its format and, where they are known, its width and height."""

    format: str
    width: int
    height: int


class Served(NamedTuple):
    """Bytes for the browser, and their type."""

    content: bytes
    kind: str


def stored_image(data: bytes) -> StoredImage | None:
    """The image in a string, if it begins like one.

    >>> from feedline.tools.view.media import stored_image
    >>> stored_image(fl.io.encode_png(np.zeros((4, 6, 3), np.uint8)))
    StoredImage(format='PNG', width=6, height=4)
    """
    found = image_of(data)
    if found is not None:
        return StoredImage(found.format, found.width, found.height)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return StoredImage("WEBP", 0, 0)
    return None


def outline(values: Array, columns: int) -> list[list[float]]:
    """The least and the greatest number in each of so many parts, from -1 to 1 if they lie around zero, else 0 to 1.

    >>> from feedline.tools.view.media import outline
    >>> outline(np.array([0, 2, 4, 2]), 2)
    [[0.0, 0.5], [0.5, 1.0]]
    """
    numbers = values.astype(np.float64).ravel()
    numbers = np.where(np.isfinite(numbers), numbers, 0.0)
    if not len(numbers):
        return []
    columns = min(columns, len(numbers))
    starts = np.arange(columns) * len(numbers) // columns
    least, greatest = np.minimum.reduceat(numbers, starts), np.maximum.reduceat(numbers, starts)
    low, high = float(least.min()), float(greatest.max())
    if low < 0 < high:
        base, scale = 0.0, max(-low, high)
    else:
        base, scale = low, high - low
    scale = scale or 1.0
    pairs = np.stack([(least - base) / scale, (greatest - base) / scale], 1)
    return [[round(a, 3), round(b, 3)] for a, b in pairs.tolist()]


def signed(values: Array) -> bool:
    """Whether the outline has zero in its middle."""
    numbers = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return bool(len(numbers)) and bool(numbers.min() < 0 < numbers.max())


def image_served(value: Any, small: bool) -> Served | None:
    """An image for the browser: a stored one, or an array that looks like one; None if it is neither."""
    if isinstance(value, np.ndarray):
        pixels = images_in(value) if value.dtype.kind in "uf" else []
        if not pixels:
            return None
        return Served(png(_beside(pixels)), "image/png")
    if not isinstance(value, bytes) or len(value) > LARGEST_FILE:
        return None
    found = stored_image(value)
    if found is None:
        return None
    as_it_is = Served(value, _IMAGE_TYPES[found.format])
    if not small or len(value) <= SMALL_FILE or found.width * found.height > MOST_PIXELS or not found.width:
        return as_it_is
    return _thumbnail(value, found) or as_it_is


def _beside(images: list[Array]) -> Array:
    """Images of one size side by side, with a gap between them."""
    height, _, channels = images[0].shape
    gap = np.full((height, 2, channels), 128, np.uint8)
    return np.concatenate([part for image in images for part in (image, gap)][:-1], 1)


def _thumbnail(data: bytes, found: StoredImage) -> Served | None:
    share = THUMBNAIL / max(found.width, found.height)
    if share >= 1:
        return None
    try:
        pixels = np.asarray(decode_image(data, channels=3, expand_animations=False))
    except (OpError, ImportError, ValueError, MemoryError):
        return None
    height, width = max(1, round(pixels.shape[0] * share)), max(1, round(pixels.shape[1] * share))
    return Served(png(shrunk(pixels, height, width).astype(np.uint8)), "image/png")


def sound_served(value: Any, rate: int = RATE) -> Served | None:
    """A sound for the browser: a stored one, or numbers as samples; None if it is neither."""
    if isinstance(value, bytes):
        found = stored_sound(value, decode=False)
        return None if found is None else Served(value, _SOUND_TYPES[found.format])
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or value.size < SOUND_FROM:
        return None
    numbers = np.nan_to_num(value.astype(np.float64)).ravel()
    top = float(np.abs(numbers).max()) or 1.0
    full = 1.0 if top <= 1 else 2.0**15 if top <= 2**15 and value.dtype.kind in "iu" else top
    data = (numbers / full * 32767).clip(-32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", len(data))  # fmt: skip
    return Served(head + data, "audio/wav")
