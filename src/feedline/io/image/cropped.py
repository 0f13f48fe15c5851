"""A window of a JPEG file, with the pixels that libjpeg-turbo returns when it decodes that window alone.

If colours are stored for every second column, each pixel's colour is interpolated from the two nearest. At the edges of
the decoded region there is only one of them: in the first column of the decoded blocks, and in the window's last one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

_PLAIN = b"\xff\xee\x00\x0eAdobe\x00\x64" + bytes(5)  # declares that colours are not converted
_NO_FRAMES = (0xC4, 0xC8, 0xCC)


class JpegHeader(NamedTuple):
    """The header of an image: its size, and the sampling factors (horizontal, vertical) and names of the components."""

    height: int
    width: int
    factors: list[tuple[int, int]]
    names: bytes


class Layout(NamedTuple):
    """The chroma subsampling: columns and rows per colour sample, and the number of columns decoded together."""

    across: int
    down: int
    together: int


def layout(data: bytes, ratio: int) -> Layout | None:
    """The layout of a three-component image shrunk by `ratio`; None if the two colour components differ in it."""
    found = frame(data)
    factors = [] if found is None else found.factors
    if len(factors) != 3 or factors[1] != factors[2] or not all(h and v for h, v in factors):
        return None
    assert found is not None
    most, size = _most(factors), 8 // ratio
    if factors[0] != most:
        return None
    return Layout(*repeats(found, ratio)[1], most[0] * size)


def repeats(found: JpegHeader, ratio: int) -> list[tuple[int, int]]:
    """The columns and rows per sample of each component of an image shrunk by `ratio`."""
    most, size = _most(found.factors), 8 // ratio
    made = []
    for h, v in found.factors:
        whole = size
        while whole < 8 and not most[0] * size % (h * whole * 2) and not most[1] * size % (v * whole * 2):
            whole *= 2
        made.append((most[0] * size // (h * whole), most[1] * size // (v * whole)))
    return made


def _most(factors: list[tuple[int, int]]) -> tuple[int, int]:
    return max(h for h, _ in factors), max(v for _, v in factors)


def unconverted(data: bytes) -> bytes:
    """The same file, marked so that its luma and two chroma components are decoded as red, green and blue."""
    kept = [part for marker, part in _segments(data) if marker not in (0xE0, 0xEE)]
    return b"\xff\xd8" + _PLAIN + b"".join(kept)


def conversion(data: bytes) -> int | None:
    """The colour transform a file declares: 0 for none, 1 or 2 for one of three components; None if undeclared."""
    parts = dict(reversed(_segments(data)))
    adobe = parts.get(0xEE, b"")
    if 0xE0 in parts and parts[0xE0][4:8] == b"JFIF":
        return 1
    return adobe[15] if adobe[4:9] == b"Adobe" and len(adobe) > 15 else None


def edge_columns(kept: Layout, window: tuple[int, int, int, int], full: int) -> dict[int, int]:
    """The columns that differ from those of the whole image, `full` columns wide, and their rounding terms."""
    _, left, _, width = window
    if kept.across != 2 or kept.down > 2 or full <= 4:  # otherwise nothing is interpolated horizontally
        return {}
    begin, end = left // kept.together * kept.together, left + width
    if end - begin <= 2:  # nothing is interpolated there, in either direction
        return dict.fromkeys(range(left, end), 0)
    changed = {left: 8} if begin and left == begin else {}
    if end < full and (end - begin) % 2 == 0:
        changed[end - 1] = 7
    return changed


def sides(planes: Array, kept: Layout, window: tuple[int, int, int, int]) -> list[tuple[int, Array]]:
    """The pixels of the `edge_columns`, counted from the window's first. `planes` are the pixels of `unconverted`,
    without interpolation of colours.
    """
    top, left, height, _ = window
    colours = planes[:: kept.down, :: kept.across, 1:]
    rows = np.arange(top, top + height)
    own = rows // kept.down
    found = []
    for column, rounding in edge_columns(kept, window, planes.shape[1]).items():
        mixed = colours[own, column // 2].astype(np.int32)
        if kept.down == 2 and rounding:
            nearest = np.clip(own + np.where(rows % 2, 1, -1), 0, len(colours) - 1)
            mixed = (4 * (3 * mixed + colours[nearest, column // 2]) + rounding) >> 4
        found.append((column - left, rgb(planes[rows, column, 0].astype(np.int32), mixed - 128)))
    return found


def rgb(light: Array, colours: Array) -> Array:
    """Red, green and blue, in the arithmetic of libjpeg."""
    blue, red = colours[..., 0], colours[..., 1]
    half = 1 << 15
    parts = [91881 * red + half, -22554 * blue - 46802 * red + half, 116130 * blue + half]
    return np.stack([np.clip(light + (part >> 16), 0, 255) for part in parts], -1).astype(np.uint8)


def _segments(data: bytes) -> list[tuple[int, bytes]]:
    """The segments of a file after its first two bytes, with their markers; the image data are one segment."""
    parts, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        size = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:
            break
        parts.append((marker, data[at : at + size]))
        at += size
    return [*parts, (0xDA, data[at:])]


def header_complete(data: bytes) -> bool:
    """Whether nothing of the header is cut off: it ends with the segment in front of the image data."""
    rest = _segments(data)[-1][1]
    size = 2 + int.from_bytes(rest[2:4], "big") if rest[:2] == b"\xff\xda" else 0  # libjpeg skips other bytes
    return len(rest) >= max(4, size)


def frame(data: bytes) -> JpegHeader | None:
    """The header of the image; None if there is none."""
    for marker, part in _segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES and len(part) > 9:
            height, width = (int.from_bytes(part[i : i + 2], "big") for i in (5, 7))
            fields = part[11 : 10 + 3 * part[9] : 3]
            names = part[10 : 10 + 3 * part[9] : 3]
            return JpegHeader(height, width, [(field >> 4, field & 15) for field in fields], names)
    return None
