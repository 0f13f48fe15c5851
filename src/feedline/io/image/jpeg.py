"""JPEG files, through libjpeg-turbo, which is also what TensorFlow uses."""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, ResourceExhaustedError
from feedline.io.image import cropped, layouts
from feedline.io.image.extra import needed

Array = np.ndarray[Any, Any]

MAGIC = b"\xff\xd8\xff"

MOST_PIXELS = 4096
"""The most pixels per byte of a file: each block of 64 takes at least a bit."""

METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
"""The names of the methods of the discrete cosine transform."""

_ODD = "odd "  # prefix of colour spaces whose layout the main decoder does not support
_CHANNELS = {"Gray": 1, "CMYK": 4, "YCCK": 4, _ODD + "CMYK": 4, _ODD + "YCCK": 4}
_ADOBE = b"\xff\xee\x00\x0eAdobe"


def decode(
    data: bytes, channels: int, ratio: int = 1, fancy: bool = True, recover: bool = False, dct: str = ""
) -> Array:
    """The pixels [height, width, channels]; 0 channels means 1 for a gray file, otherwise 3. See `io.decode_jpeg`."""
    if channels not in (0, 1, 3):
        raise InvalidArgumentError(f"channels must be 0, 1 or 3 for a JPEG file, got {channels}")
    height, width, space = _header(data)
    if height * width > len(data) * MOST_PIXELS and not recover:
        raise InvalidArgumentError(
            f"not a valid JPEG file: {len(data)} bytes cannot hold the {height} x {width} pixels of its header"
        )
    four = _CHANNELS.get(space) == 4
    if four and channels == 1:
        raise InvalidArgumentError("a CMYK JPEG file cannot be decoded to grayscale; decode it with 3 channels")
    target = "CMYK" if four else "GRAY" if channels == 1 or (channels == 0 and space == "Gray") else "RGB"
    try:
        if space.startswith(_ODD):
            pixels = layouts.decode(data, target, ratio, fancy, dct != "INTEGER_ACCURATE")
        else:
            pixels = _pixels(data, target, recover, _options(height, width, ratio, fancy, dct))
    except MemoryError:
        raise ResourceExhaustedError(
            f"a JPEG file of {len(data)} bytes has {height} x {width} pixels, which do not fit in memory"
        ) from None
    return _from_cmyk(pixels, _ADOBE in data) if four else pixels


def crop(
    data: bytes, pixels: Array, window: tuple[int, int, int, int], ratio: int, fancy: bool, recover: bool, dct: str
) -> Array:
    """The window of the pixels returned by `decode`, with its edges as if the window alone had been decoded."""
    top, left, height, width = window
    part = pixels[top : top + height, left : left + width].copy()
    kept = cropped.layout(data, ratio) if fancy and ratio < 8 and pixels.shape[2] == 3 else None
    if kept is not None and cropped.edge_columns(kept, window, pixels.shape[1]):
        full_height, full_width, space = _header(data)
        if space == "YCbCr":
            options = _options(full_height, full_width, ratio, False, dct)
            planes = _pixels(cropped.unconverted(data), "RGB", recover, options)
            if planes.shape != pixels.shape:
                raise InvalidArgumentError(f"not a valid JPEG file, of {len(data)} bytes: its header is ambiguous")
            for column, colours in cropped.sides(planes, kept, window):
                part[:, column] = colours
    return part


def _options(height: int, width: int, ratio: int, fancy: bool, dct: str) -> dict[str, Any]:
    options: dict[str, Any] = {"fastdct": dct != "INTEGER_ACCURATE", "fastupsample": not fancy}
    if ratio > 1:
        options |= {"min_factor": ratio, "min_height": -(-height // ratio), "min_width": -(-width // ratio)}
    return options


def shape(data: bytes) -> tuple[int, int, int]:
    """Height, width and number of channels, from the header alone."""
    height, width, space = _header(data)
    if not cropped.header_complete(data):
        raise InvalidArgumentError(f"not a valid JPEG file: its {len(data)} bytes end inside its header")
    return height, width, _CHANNELS.get(space, 3)


def _header(data: bytes) -> tuple[int, int, str]:
    try:
        height, width, space, _ = needed("simplejpeg").decode_jpeg_header(data)
    except (ValueError, KeyError) as e:  # a KeyError for a layout that the library does not know
        found, kept = cropped.frame(data), layouts.space(data)
        if found is None or kept is None:
            raise InvalidArgumentError(f"not a valid JPEG file, of {len(data)} bytes: {e}") from None
        return found.height, found.width, _ODD + kept
    return height, width, space


def _pixels(data: bytes, space: str, recover: bool, options: dict[str, Any]) -> Array:
    decode_jpeg = needed("simplejpeg").decode_jpeg
    try:
        pixels: Array = decode_jpeg(data, space, **options)
        return pixels
    except ValueError as e:
        # As in TensorFlow, damage that leaves wrong pixels is ignored and a missing end is not.
        if not recover and data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
            raise InvalidArgumentError(
                f"a JPEG file of {len(data)} bytes is truncated ({e}); try_recover_truncated=True decodes what there is"
            ) from None
    try:
        pixels = decode_jpeg(data, space, strict=False, **options)
        # Damage that ends the decoding leaves the rest of the buffer unwritten: decoding over other content shows it.
        again = decode_jpeg(data, space, strict=False, buffer=~pixels, **options)
    except ValueError as e:
        raise InvalidArgumentError(f"not a valid JPEG file, of {len(data)} bytes: {e}") from None
    if not np.array_equal(pixels, again):
        raise InvalidArgumentError(f"a JPEG file of {len(data)} bytes is corrupt: pixels are missing")
    return pixels


def _from_cmyk(pixels: Array, inverted: bool) -> Array:
    """Converts cyan, magenta, yellow and black, which Adobe's programs store inverted, to red, green and blue."""
    ink = pixels.astype(np.uint16) if inverted else 255 - pixels.astype(np.uint16)
    return (ink[..., :3] * ink[..., 3:] // 255).astype(np.uint8)


def encode(
    pixels: Array,
    quality: int,
    progressive: bool,
    optimize: bool,
    subsample: bool,
    density: tuple[int, int, int],
    xmp: bytes,
) -> bytes:
    """Encodes pixels [height, width, 1 or 3]; density is its unit, 1 inches or 2 centimetres, and two numbers."""
    image = needed("PIL.Image", "pillow").fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    file = BytesIO()
    image.save(
        file, "JPEG", quality=quality, progressive=progressive, optimize=optimize, subsampling=2 if subsample else 0
    )
    data = file.getvalue()
    # The first segment is always JFIF's, at this offset: marker, length, name, version, then the density.
    head = data[:13] + struct.pack(">BHH", *density) + data[18:20]
    note = b"http://ns.adobe.com/xap/1.0/\0" + xmp
    return head + (b"\xff\xe1" + struct.pack(">H", len(note) + 2) + note if xmp else b"") + data[20:]
