"""GIF files: frames of indices into a colour table, each painted over the one before."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]

# Limits for frames: a small file can claim a lot of memory.
_MOST_BYTES = 1 << 31
_LONGEST = 4096
"""The most pixels that one code of a frame expands to."""


class _Frame(NamedTuple):
    left: int
    top: int
    pixels: Array
    """Indices [height, width]."""
    colours: Array
    transparent: int


class _Cut(Exception):
    """The data end prematurely."""


def decode(data: bytes) -> Array:
    """All frames [frames, height, width, 3], as large as the largest of them. Pixels that no frame covers are black."""
    frames: list[_Frame] = []
    total = 0
    for frame in _frames(data):
        total += frame.pixels.size * 3
        if total > _MOST_BYTES:
            raise InvalidArgumentError(f"a GIF file with {total // 3} pixels in {len(frames) + 1} frames is too large")
        frames.append(frame)
    if not frames:
        raise InvalidArgumentError(f"a GIF file of {len(data)} bytes has no complete frame")
    height = max(len(f.pixels) for f in frames)
    width = max(f.pixels.shape[1] for f in frames)
    if len(frames) * height * width * 3 > _MOST_BYTES:
        raise InvalidArgumentError(f"a GIF file of {len(frames)} frames of {width} x {height} pixels is too large")
    out = np.zeros((len(frames), height, width, 3), np.uint8)
    for i, frame in enumerate(frames):
        if i:
            out[i] = out[i - 1]
        place = out[i, frame.top : frame.top + len(frame.pixels), frame.left : frame.left + frame.pixels.shape[1]]
        pixels = frame.pixels[: place.shape[0], : place.shape[1]]
        seen = pixels != frame.transparent
        if (pixels[seen] >= len(frame.colours)).any():
            raise InvalidArgumentError(
                f"frame {i} of a GIF file uses colour {pixels[seen].max()}, but its table has {len(frame.colours)}"
            )
        place[seen] = frame.colours[pixels[seen]]
    return out


def _frames(data: bytes) -> Iterator[_Frame]:
    """The frames, up to the end of the file or the first one that is incomplete."""
    try:
        flags = _take(data, 10, 1)[0]
        common, at = _colours(data, 13, flags)
        transparent = -1
        while (mark := _take(data, at, 1)) != b";":
            if mark == b"!":
                kind = _take(data, at + 1, 1)[0]
                body, at = _blocks(data, at + 2)
                if kind == 0xF9 and len(body) >= 4:
                    transparent = body[3] if body[0] & 1 else -1
            elif mark == b",":
                left, top, width, height, flags = struct.unpack("<HHHHB", _take(data, at + 1, 9))
                colours, at = _colours(data, at + 10, flags)
                bits = _take(data, at, 1)[0]
                body, at = _blocks(data, at + 1)
                if colours is None:
                    colours = common
                if colours is None:
                    raise InvalidArgumentError("a frame of a GIF file has no colour table")
                yield _Frame(left, top, _pixels(body, bits, width, height, bool(flags & 0x40)), colours, transparent)
                transparent = -1
            else:
                return
    except _Cut:
        return


def _pixels(body: bytes, bits: int, width: int, height: int, interlaced: bool) -> Array:
    if not 1 <= bits <= 8:
        raise InvalidArgumentError(f"a frame of a GIF file has indices of {bits} bits, expected 1 to 8")
    codes = len(body) * 8 // (bits + 1)
    if width * height > codes * min(codes, _LONGEST):  # nothing is allocated for pixels that cannot exist
        raise _Cut
    if width * height * 3 > _MOST_BYTES:
        raise InvalidArgumentError(f"a frame of a GIF file of {width} x {height} pixels is too large")
    flat, count = kernels.gif_pixels(body, bits, width * height)
    if count < width * height:
        raise _Cut
    pixels = flat.reshape(height, width)
    if interlaced:
        order = [*range(0, height, 8), *range(4, height, 8), *range(2, height, 4), *range(1, height, 2)]
        straight = np.empty_like(pixels)
        straight[order] = pixels
        return straight
    return pixels


def _colours(data: bytes, at: int, flags: int) -> tuple[Array | None, int]:
    """The colour table at an offset, if there is one, and the offset after it."""
    if not flags & 0x80:
        return None, at
    size = 3 << (flags & 7) + 1
    return np.frombuffer(_take(data, at, size), np.uint8).reshape(-1, 3), at + size


def _blocks(data: bytes, at: int) -> tuple[bytes, int]:
    """Blocks of up to 255 bytes, joined, and the offset after the empty block that ends them."""
    parts = []
    while size := _take(data, at, 1)[0]:
        parts.append(_take(data, at + 1, size))
        at += 1 + size
    return b"".join(parts), at + 1


def _take(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise _Cut
    return data[at : at + size]
