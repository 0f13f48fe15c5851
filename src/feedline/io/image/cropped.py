"""Part of a JPEG file, with the pixels that libjpeg-turbo gives when it decodes that part alone.

Where colours are kept for every second column, each pixel's colour is mixed from the two nearest. At the sides of what
is decoded there is only one of them: in the first column of the blocks that are decoded, and in the window's last one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

_PLAIN = b"\xff\xee\x00\x0eAdobe\x00\x64" + bytes(5)  # says that colours are not to be converted
_NO_FRAMES = (0xC4, 0xC8, 0xCC)


class JpegHeader(NamedTuple):
    """What the header of a picture says: its size, how often each component is kept across and down, and the names of
    the components.
    """

    height: int
    width: int
    factors: list[tuple[int, int]]
    names: bytes


class Layout(NamedTuple):
    """How colours are kept: for how many columns and rows one, and how many columns are decoded together."""

    across: int
    down: int
    together: int


def layout(data: bytes, ratio: int) -> Layout | None:
    """The layout of a picture of three colours that is shrunk by `ratio`; None where colours differ in it."""
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
    """For how many columns and rows each component of a picture that is shrunk by `ratio` stands."""
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
    """The same file, whose brightness and two colour differences are taken for red, green and blue."""
    kept = [part for marker, part in _segments(data) if marker not in (0xE0, 0xEE)]
    return b"\xff\xd8" + _PLAIN + b"".join(kept)


def conversion(data: bytes) -> int | None:
    """What a file says of its colours: 0 that they are not converted, 1 or 2 that three of them are; None: nothing."""
    parts = dict(reversed(_segments(data)))
    adobe = parts.get(0xEE, b"")
    if 0xE0 in parts and parts[0xE0][4:8] == b"JFIF":
        return 1
    return adobe[15] if adobe[4:9] == b"Adobe" and len(adobe) > 15 else None


def at_sides(kept: Layout, window: tuple[int, int, int, int], full: int) -> dict[int, int]:
    """The columns that are not those of the whole picture, `full` columns wide, and how numbers are rounded there."""
    _, left, _, width = window
    if kept.across != 2 or kept.down > 2 or full <= 4:  # else nothing is mixed across
        return {}
    begin, end = left // kept.together * kept.together, left + width
    if end - begin <= 2:  # nothing is mixed there, in no direction
        return dict.fromkeys(range(left, end), 0)
    changed = {left: 8} if begin and left == begin else {}
    if end < full and (end - begin) % 2 == 0:
        changed[end - 1] = 7
    return changed


def sides(planes: Array, kept: Layout, window: tuple[int, int, int, int]) -> list[tuple[int, Array]]:
    """The pixels of the columns `at_sides`, which are counted from the window's first. `planes` are the pixels of
    `unconverted`, where the colours of neighbours are not mixed.
    """
    top, left, height, _ = window
    colours = planes[:: kept.down, :: kept.across, 1:]
    rows = np.arange(top, top + height)
    own = rows // kept.down
    found = []
    for column, rounding in at_sides(kept, window, planes.shape[1]).items():
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
    """What a file is made of after its first two bytes, with the marker of each part; the picture is all one part."""
    parts, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        size = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:
            break
        parts.append((marker, data[at : at + size]))
        at += size
    return [*parts, (0xDA, data[at:])]


def frame(data: bytes) -> JpegHeader | None:
    """The header of the picture; None where there is none."""
    for marker, part in _segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES and len(part) > 9:
            height, width = (int.from_bytes(part[i : i + 2], "big") for i in (5, 7))
            fields = part[11 : 10 + 3 * part[9] : 3]
            names = part[10 : 10 + 3 * part[9] : 3]
            return JpegHeader(height, width, [(field >> 4, field & 15) for field in fields], names)
    return None
