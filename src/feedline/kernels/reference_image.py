"""The kernels for images, in plain NumPy (see `reference`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.kernels.reference import Buffer

Float32 = NDArray[np.float32]


def resize_bilinear(images: NDArray[Any], height: int, width: int) -> Float32:
    """An image [h, w, channels] of uint8 or float32, or several [n, h, w, channels], scaled to height x width, as
    float32.

    Values lie at pixel centres. An output pixel is interpolated from the four input pixels around its position: first
    across, then down, in single precision, which gives TensorFlow's numbers bit for bit.

    >>> fl.kernels.resize_bilinear(np.array([[[0], [8]]], np.uint8), 1, 4).ravel()
    array([0., 2., 6., 8.], dtype=float32)
    """
    if images.dtype not in (np.uint8, np.float32):
        raise TypeError("images must be uint8 or float32")
    if images.ndim not in (3, 4) or not images.flags.c_contiguous:
        raise TypeError("images must be a C-contiguous array of 3 or 4 dimensions")
    if height < 1 or width < 1:
        raise ValueError("height and width must be positive")
    if not images.shape[-3] or not images.shape[-2]:
        raise ValueError("an image without pixels cannot be scaled")
    low, high, weight = _taps(images.shape[-2], width)
    left, right = (images[..., i, :].astype(np.float32) for i in (low, high))
    lines = left + (right - left) * weight[:, None]
    low, high, weight = _taps(images.shape[-3], height)
    top, bottom = lines[..., low, :, :], lines[..., high, :, :]
    mixed: Float32 = top + (bottom - top) * weight[:, None, None]
    return mixed


def weighted_sums(data: Float32, starts: NDArray[np.int64], counts: NDArray[np.int64], weights: Float32) -> Float32:
    """Weighted sums of neighbouring rows: row o of the result is the sum of `counts[o]` rows of `data` [n, rows,
    values] from `starts[o]` on, each times its weight in `weights` [out, taps], added in order in single precision.

    >>> rows = np.array([[[1], [2], [4]]], np.float32)
    >>> half = np.full((2, 2), 0.5, np.float32)
    >>> fl.kernels.weighted_sums(rows, np.array([0, 1]), np.array([2, 2]), half).ravel()
    array([1.5, 3. ], dtype=float32)
    """
    if data.dtype != np.float32 or data.ndim != 3 or not data.flags.c_contiguous:
        raise TypeError("data must be a C-contiguous array of float32 with 3 dimensions")
    if not len(starts) == len(counts) == len(weights):
        raise ValueError("starts, counts and weights must have one entry per output row")
    inside = (starts >= 0) & (counts >= 0) & (counts <= weights.shape[1]) & (starts + counts <= data.shape[1])
    if not inside.all():
        raise ValueError("a span is outside the rows")
    out: Float32 = np.zeros((len(data), len(starts), data.shape[2]), np.float32)
    for tap in range(weights.shape[1]):
        (rows,) = np.nonzero(counts > tap)
        part = data[:, starts[rows] + tap] * weights[rows, tap, None]
        out[:, rows] = out[:, rows] + part if tap else part
    return out


def lanczos(places: Float32, radius: float) -> Float32:
    """The Lanczos kernel of the given radius at the distances `places`, in single precision.

    >>> fl.kernels.lanczos(np.array([[0, 0.5, 3.5]], np.float32), 3)
    array([[1.       , 0.6079271, 0.       ]], dtype=float32)
    """
    r, pi = np.float32(radius), np.float32(np.pi)
    x = np.maximum(places, np.float32(1e-3))
    up, down = (np.sin(v.astype(np.float64)).astype(np.float32) for v in (pi * x, pi * x / r))
    wave = r * up * down / (pi * pi * x * x)
    weights: Float32 = np.where(places > r, np.float32(0), np.where(places <= np.float32(1e-3), np.float32(1), wave))
    return weights


def _taps(size: int, out: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Float32]:
    """The two input positions around each output position, and its fractional distance from the first."""
    half = np.float32(0.5)
    at = (np.arange(out, dtype=np.float32) + half) * (np.float32(size) / np.float32(out)) - half
    floor = np.floor(at)
    low, high = (np.clip(x.astype(np.int64), 0, size - 1) for x in (floor, np.ceil(at)))
    return low, high, at - floor


def png_rows(data: Buffer, rows: int, size: int, step: int) -> NDArray[np.uint8]:
    """The rows of `size` bytes of a PNG image, from decompressed data in which each row begins with its filter number.

    A filter says what was subtracted from each byte: 0 nothing, 1 the byte to the left, 2 the one above, 3 the mean of
    these, 4 the one of left, above and above left that is nearest to left + above - above left. "Left" is `step` bytes
    back, at the same channel of the previous pixel.

    >>> fl.kernels.png_rows(b"\\1\\5\\1\\1" + b"\\2\\1\\1\\1", 2, 3, 1)
    array([[5, 6, 7],
           [6, 7, 8]], dtype=uint8)
    """
    for name, n in (("rows", rows), ("size", size), ("step", step)):
        if n < 0:
            raise ValueError(f"{name} must not be negative, got {n}")
    if not step:
        raise ValueError("step must be positive")
    raw: Any = data
    view = memoryview(raw).cast("B")
    if len(view) < rows * (size + 1):
        raise ValueError("the data is shorter than its rows")
    out = np.zeros((rows + 1, size + step), np.uint8)  # with zeros above and to the left
    for y in range(rows):
        at = y * (size + 1)
        kind, line, above = view[at], out[y + 1], out[y]
        line[step:] = np.frombuffer(view[at + 1 : at + 1 + size], np.uint8)
        if kind == 1:
            for part in range(step):
                line[part::step] = np.add.accumulate(line[part::step], dtype=np.uint8)
        elif kind == 2:
            line += above
        elif kind in (3, 4):
            _mix(line, above, step, kind)
        elif kind:
            raise ValueError(f"unknown filter {kind}")
    return out[1:, step:].copy()


def _mix(line: NDArray[np.uint8], above: NDArray[np.uint8], step: int, kind: int) -> None:
    values, up = line.tolist(), above.tolist()
    for i in range(step, len(values)):
        left, top, corner = values[i - step], up[i], up[i - step]
        far = abs(left + top - 2 * corner)
        _, _, near = min((abs(top - corner), 0, left), (abs(left - corner), 1, top), (far, 2, corner))
        values[i] = (values[i] + ((left + top) // 2 if kind == 3 else near)) & 0xFF
    line[:] = values


def gif_pixels(data: Buffer, bits: int, size: int) -> tuple[NDArray[np.uint8], int]:
    """The colour indices of a GIF frame, from LZW-compressed data whose codes begin with bits + 1 bits.

    Returns `size` indices and the number that the data had; the rest are 0.

    >>> fl.kernels.gif_pixels(b"\\x4c\\x01", 2, 1)
    (array([1], dtype=uint8), 1)
    """
    if not 1 <= bits <= 11:
        raise ValueError("bits must be from 1 to 11")
    if size < 0:
        raise ValueError(f"size must not be negative, got {size}")
    raw: Any = data
    packed = bytes(memoryview(raw).cast("B"))
    clear = 1 << bits
    strings: list[bytes] = []
    out = bytearray()
    previous = b""
    buffer = held = at = 0
    width = bits + 1
    while len(out) < size:
        while held < width and at < len(packed):
            buffer |= packed[at] << held
            held, at = held + 8, at + 1
        if held < width:
            break
        code = buffer & ((1 << width) - 1)
        buffer, held = buffer >> width, held - width
        if code == clear:
            strings = [bytes([i & 0xFF]) for i in range(clear)] + [b"", b""]
            previous, width = b"", bits + 1
            continue
        if not strings:  # no code to clear the table at the start
            strings = [bytes([i & 0xFF]) for i in range(clear)] + [b"", b""]
        if code == clear + 1 or code > len(strings) or (not previous and code > clear):
            break
        if previous and len(strings) < 4096:
            first = (previous if code == len(strings) else strings[code])[:1]
            strings.append(previous + first)
            if len(strings) == 1 << width and width < 12:
                width += 1
        previous = strings[code]
        out += previous
    count = min(len(out), size)
    pixels = np.zeros(size, np.uint8)
    pixels[:count] = np.frombuffer(bytes(out[:count]), np.uint8)
    return pixels, count
