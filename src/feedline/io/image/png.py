"""PNG files, from one bit per pixel to sixteen per channel."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from isal import isal_zlib

from feedline import kernels
from feedline.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]

MAGIC = b"\x89PNG\r\n\x1a\n"

_NO_ZLIB: Any = isal_zlib.error  # a class, though its stub declares an instance
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_DEPTHS = {_GRAY: (1, 2, 4, 8, 16), _RGB: (8, 16), _PALETTE: (1, 2, 4, 8), _GRAY_ALPHA: (8, 16), _RGB_ALPHA: (8, 16)}
_SAMPLES = {_GRAY: 1, _RGB: 3, _PALETTE: 1, _GRAY_ALPHA: 2, _RGB_ALPHA: 4}
_MOST_BYTES = 1 << 31
# First column and row, and the steps between columns and rows, of each pass of an interlaced image.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


class _Damaged(Exception):
    """The error in a file."""


class _Picture(NamedTuple):
    """A decoded file."""

    kind: int
    bits: int
    samples: Array
    """[height, width, samples per pixel] of uint8 or uint16."""
    palette: Array
    transparency: bytes | None
    gamma: float
    """0 if the file does not specify it."""


def decode(data: bytes, channels: int, sixteen: bool) -> Array:
    """The pixels [height, width, channels] of uint8, or of uint16; 0 channels means the number in the file."""
    try:
        picture = _read(data)
    except (_Damaged, struct.error, _NO_ZLIB) as e:
        raise InvalidArgumentError(f"not a valid PNG file, of {len(data)} bytes: {e}") from None
    colour, alpha = _colours(picture)
    if channels == 0:
        channels = 4 if picture.kind == _PALETTE and alpha is not None else _channels(picture)
    if channels < 3 and colour.shape[2] == 3:
        colour = _gray(colour, picture.gamma)
    if colour.dtype == np.uint16 and not sixteen:
        colour, alpha = (colour >> 8).astype(np.uint8), None if alpha is None else (alpha >> 8).astype(np.uint8)
    out = np.empty((*colour.shape[:2], channels), colour.dtype)
    out[..., : 3 if channels > 2 else 1] = colour
    if channels in (2, 4):
        out[..., -1] = np.iinfo(out.dtype).max if alpha is None else alpha
    return out.astype(np.uint16) * np.uint16(257) if sixteen and out.dtype == np.uint8 else out


def _channels(picture: _Picture) -> int:
    return 3 if picture.kind == _PALETTE else _SAMPLES[picture.kind]


def _read(data: bytes) -> _Picture:
    header, palette, transparency, gamma, packed = b"", b"", None, 0.0, []
    for name, body in _chunks(data):
        if name == b"IHDR":
            header = header or body
        elif name == b"PLTE":
            palette = body
        elif name == b"tRNS":
            transparency = body
        elif name == b"gAMA" and len(body) == 4:
            number = struct.unpack(">I", body)[0]
            gamma = 0.0 if 95000 < number <= 105000 else number / 100000  # libpng sums near-linear values as they are
        elif name == b"sRGB":
            gamma = 0.45455
        elif name == b"IDAT":
            packed.append(body)
    width, height, bits, kind, method, filters, interlaced = struct.unpack(">IIBBBBB", header)
    if bits not in _DEPTHS.get(kind, ()):
        raise _Damaged(f"unknown colour type {kind} with {bits} bits")
    if method or filters or interlaced > 1:
        raise _Damaged("unknown compression, filter or interlacing")
    if not width or not height or (kind == _PALETTE and not palette):
        raise _Damaged("no size, or no palette")
    passes = _PASSES if interlaced else ((0, 0, 1, 1),)
    bits_each = bits * _SAMPLES[kind]
    samples = _samples(b"".join(packed), width, height, bits_each, bits, passes)
    table = np.frombuffer(palette[: len(palette) // 3 * 3], np.uint8).reshape(-1, 3)
    return _Picture(kind, bits, samples, table, transparency, gamma)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each chunk up to the end; chunks not needed to show the image may be damaged."""
    at, first = len(MAGIC), True
    while True:
        if at + 12 > len(data):
            raise _Damaged(f"it is truncated at byte {len(data)}, inside a chunk")
        size, name = struct.unpack_from(">I4s", data, at)
        if at + 12 + size > len(data):
            raise _Damaged(f"it is truncated at byte {len(data)}, inside the chunk {name!r}")
        if first != (name == b"IHDR"):
            raise _Damaged(f"the chunk {name!r} at byte {at} is out of place")
        (crc,) = struct.unpack_from(">I", data, at + 8 + size)
        if zlib.crc32(data[at + 4 : at + 8 + size]) == crc:
            yield name, data[at + 8 : at + 8 + size]
        elif not name[0] & 0x20:
            raise _Damaged(f"the checksum of the chunk {name!r} at byte {at} is wrong")
        if name == b"IEND":
            return
        at, first = at + 12 + size, False


def _samples(
    packed: bytes, width: int, height: int, bits_each: int, bits: int, passes: tuple[tuple[int, int, int, int], ...]
) -> Array:
    sizes = [(-(-(height - y) // dy), -(-(width - x) // dx)) for x, y, dx, dy in passes]
    sizes = [(h, w) if h > 0 and w > 0 else (0, 0) for h, w in sizes]
    total = sum(h * (1 + (w * bits_each + 7) // 8) for h, w in sizes)
    if total > _MOST_BYTES:
        raise _Damaged(f"{width} x {height} pixels are too many")
    raw = memoryview(isal_zlib.decompressobj().decompress(packed, total))
    if len(raw) < total:
        raise _Damaged(f"{len(raw)} bytes of pixels instead of {total}")
    dtype = np.uint16 if bits == 16 else np.uint8
    out: Array | None = None
    for (x, y, dx, dy), (h, w) in zip(passes, sizes, strict=True):
        if not h:
            continue
        size = (w * bits_each + 7) // 8
        try:
            rows = kernels.png_rows(raw[: h * (1 + size)], h, size, max(bits_each // 8, 1))
        except ValueError as e:
            raise _Damaged(str(e)) from None
        raw = raw[h * (1 + size) :]
        part = _unpacked(rows, bits).reshape(h, -1)[:, : w * bits_each // bits].reshape(h, w, -1)
        if len(passes) == 1:
            return part
        if out is None:
            out = np.empty((height, width, part.shape[2]), dtype)
        out[y::dy, x::dx] = part
    if out is None:
        raise _Damaged("no pixels")
    return out


def _unpacked(rows: Array, bits: int) -> Array:
    """Unpacks samples to one number each."""
    if bits == 8:
        return rows
    if bits == 16:
        return rows.view(">u2").astype(np.uint16)
    ones = np.unpackbits(rows, axis=1).reshape(len(rows), -1, bits)
    return ones @ (1 << np.arange(bits - 1, -1, -1, dtype=np.uint8))


def _colours(picture: _Picture) -> tuple[Array, Array | None]:
    """Gray or RGB in full depth, and the opacity of each pixel, if given."""
    samples, transparent = picture.samples, picture.transparency
    if picture.kind in (_GRAY_ALPHA, _RGB_ALPHA):
        return samples[..., :-1], samples[..., -1]
    if picture.kind == _PALETTE:
        table = np.zeros((256, 3), np.uint8)
        table[: len(picture.palette)] = picture.palette[:256]
        index = samples[..., 0]
        if transparent is None:
            return table[index], None
        opaque = np.full(256, 255, np.uint8)
        opaque[: len(transparent)] = np.frombuffer(transparent, np.uint8)[:256]
        return table[index], opaque[index]
    alpha = None
    if transparent is not None and len(transparent) >= 2 * samples.shape[2]:
        colour = np.frombuffer(transparent, ">u2", samples.shape[2]) & ((1 << picture.bits) - 1)
        most = np.iinfo(samples.dtype).max
        alpha = np.where((samples == colour).all(axis=2), 0, most).astype(samples.dtype)
    if picture.bits < 8:
        samples = samples * np.uint8(255 // ((1 << picture.bits) - 1))
    return samples, alpha


def _gray(colour: Array, gamma: float) -> Array:
    """libpng's weighted sum of the three. If the file specifies its gamma, linear light is summed."""
    red, green = 29900 * 32768 // 100000, 58700 * 32768 // 100000
    weights = np.array([red, green, 32768 - red - green], np.int64)
    rounding = 16384 if gamma or colour.dtype == np.uint16 else 0
    light = _power(np.arange(np.iinfo(colour.dtype).max + 1), colour.dtype, 1 / gamma) if gamma else None
    summed = (colour if light is None else light[colour]).astype(np.int64) @ weights + rounding >> 15
    if gamma:
        even = (colour == colour[..., :1]).all(axis=2)
        summed = np.where(even, colour[..., 0], _power(summed, colour.dtype, gamma))
    return summed.astype(colour.dtype)[..., None]


def _power(values: Array, dtype: np.dtype[Any], exponent: float) -> Array:
    most = np.iinfo(dtype).max
    raised: Array = np.floor(most * (values / most) ** exponent + 0.5).astype(np.int64)
    return raised


def encode(pixels: Array, compression: int) -> bytes:
    """Encodes pixels [height, width, 1 to 4] of uint8 or uint16; `compression` is zlib's level."""
    height, width, channels = pixels.shape
    kind = (_GRAY, _GRAY_ALPHA, _RGB, _RGB_ALPHA)[channels - 1]
    big = pixels.astype(pixels.dtype.newbyteorder(">"), copy=False)
    rows = np.ascontiguousarray(big).view(np.uint8).reshape(height, -1)
    bits = 8 * pixels.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    body = zlib.compress(_filtered(rows, channels * bits // 8), compression)
    return MAGIC + b"".join(_chunk(*c) for c in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")))


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _filtered(rows: Array, step: int) -> bytes:
    """Each row with the filter that leaves the smallest numbers, which usually compresses best."""
    above = np.zeros_like(rows)
    above[1:] = rows[:-1]
    left, corner = np.zeros_like(rows), np.zeros_like(rows)
    left[:, step:], corner[:, step:] = rows[:, :-step], above[:, :-step]
    a, b, c = left.astype(np.int16), above.astype(np.int16), corner.astype(np.int16)
    to_left, to_above, to_corner = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    near = np.where((to_left <= to_above) & (to_left <= to_corner), a, np.where(to_above <= to_corner, b, c))
    guesses = (np.uint8(0), left, above, ((a + b) >> 1).astype(np.uint8), near.astype(np.uint8))
    tries = np.stack([rows - guess for guess in guesses])
    cost = np.abs(tries.view(np.int8).astype(np.int16)).sum(axis=2, dtype=np.int64)
    best = cost.argmin(axis=0)
    out = np.empty((len(rows), rows.shape[1] + 1), np.uint8)
    out[:, 0] = best
    out[:, 1:] = tries[best, np.arange(len(rows))]
    return out.tobytes()
