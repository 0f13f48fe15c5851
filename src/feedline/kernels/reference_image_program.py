"""Programs for images, in NumPy: simplejpeg decodes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline.kernels.reference_image import resize_bilinear

Array = np.ndarray[Any, Any]
Steps = list[tuple[int, Array]]
Windows = list[tuple[slice, slice]]

TO_BYTES = 6
_STEPS = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: y - x,
    lambda x, y: y / x,
)
_MOST_BYTES = 1 << 27
_PIXELS_PER_BYTE = 4096
_USUAL = ("444", "422", "420", "440", "411", "Gray")


def load_jpeg(file: str) -> bool:
    """Uses the library in this file for `decode_images` from now on; an empty name stands for one that is linked.
    Returns False, and uses none, if it is not libjpeg-turbo with the interface of libjpeg 6.2.

    In NumPy there is none: simplejpeg has its own.
    """
    return False


def jpeg_channels(file: bytes, decode: tuple[int, int, bool, bool]) -> int:
    """The number of channels that `decode_images` makes of a JPEG file: 1 or 3, or 0 if it refuses the file."""
    found = _header(file)
    return 0 if found is None else decode[0] or (1 if found[2] == "Gray" else 3)


def decode_images(
    files: Any,
    decode: tuple[int, int, bool, bool],
    windows: list[tuple[slice, slice]],
    before: Steps,
    after: Steps,
    out: Array,
    threads: int = 1,
    size: tuple[int, int] | None = None,
    parts: Windows = [],  # noqa: B006  (only read)
) -> int:
    """Makes an image of each JPEG file, in `threads` threads, and writes them to `out`, uint8 or float32 [files,
    height, width, channels]. Returns the number of files before the first that it refuses.

    `files` are `bytes`, or strings in one buffer: its data, their offsets, and the bytes between them. `decode` are the
    channels (0: those of the file), the ratio, whether colours are interpolated, and whether the fast method is used.
    `windows` are slices of rows and columns. Images are scaled to `size`, that of `out` if it is None; `parts` are
    slices of rows and columns of the scaled images. `before` and `after` the bilinear scaling come steps of float32
    arithmetic: codes for + - * /, for the last two with the operands swapped, and for a cast to uint8; and an operand,
    one number or one for each channel. If `out` is uint8, a cast must be last.

    Refused are files that are not complete JPEG files of 8 bits in gray or in the usual layouts of colour, and values
    outside the range of uint8.
    """
    if isinstance(files, tuple):
        data, offsets, gap = files
        files = [bytes(data[i : j - gap]) for i, j in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    if len(files) != len(out) or out.ndim != 4:
        raise ValueError("out must have an image for each file")
    if out.dtype == np.uint8 and (not after or after[-1][0] != TO_BYTES):
        raise ValueError("bytes must be cast to")
    for i, file in enumerate(files):
        made = _image(file, decode, windows, before, after, size or out.shape[1:3], parts)
        if made is None or made.shape != out.shape[1:]:
            return i
        out[i] = made
    return len(files)


def _image(
    file: bytes,
    decode: tuple[int, int, bool, bool],
    windows: Windows,
    before: Steps,
    after: Steps,
    size: Sequence[int],
    parts: Windows,
) -> Array | None:
    pixels = _decoded(file, *decode)
    if pixels is None:
        return None
    for rows, columns in windows:
        pixels = pixels[rows, columns]
    if not pixels.size:
        return None
    made = _computed(np.ascontiguousarray(pixels, np.float32), before)
    if made is None:
        return None
    scaled = resize_bilinear(np.ascontiguousarray(made), *size)
    for rows, columns in parts:
        scaled = scaled[rows, columns]
    return _computed(scaled, after)


def _computed(pixels: Array, steps: Steps) -> Array | None:
    for code, operand in steps:
        if code != TO_BYTES:
            if len(operand) not in (1, pixels.shape[2]):
                return None
            pixels = _STEPS[code](pixels, operand)
            continue
        if not ((pixels > -1) & (pixels < 256)).all():
            return None
        pixels = np.trunc(pixels)
    return pixels


def _decoded(file: bytes, channels: int, ratio: int, fancy: bool, fast: bool) -> Array | None:
    found = _header(file)
    if found is None or (ratio > 1 and min(found[:2]) < 16):
        return None
    height, width, space, _ = found
    if height * width > len(file) * _PIXELS_PER_BYTE or height * width * 3 > _MOST_BYTES:
        return None
    options: dict[str, Any] = {"fastdct": fast, "fastupsample": not fancy}
    if ratio > 1:
        options |= {"min_factor": ratio, "min_height": -(-height // ratio), "min_width": -(-width // ratio)}
    gray = channels == 1 or (channels == 0 and space == "Gray")
    try:
        pixels: Array = importlib.import_module("simplejpeg").decode_jpeg(file, "GRAY" if gray else "RGB", **options)
    except ValueError:
        return None
    return pixels


def _header(file: bytes) -> tuple[int, int, str, str] | None:
    """Height, width, colour space and layout; None if the file is refused."""
    try:
        found: tuple[int, int, str, str] = importlib.import_module("simplejpeg").decode_jpeg_header(file)
    except (ValueError, KeyError):
        return None
    return found if found[2] in ("Gray", "YCbCr") and found[3] in _USUAL else None
