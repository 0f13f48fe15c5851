"""The input pixels and weights of each output pixel, for each method of `resize`.

Everything is single precision in the order of TensorFlow's kernels, so that the weights are the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels

Array = np.ndarray[Any, Any]

f32 = np.float32
ONE, HALF = f32(1), f32(0.5)
TINY = f32(1000) * np.finfo(f32).tiny
"""Weights with a smaller sum are not normalized."""
TABLE = 1024
"""The resolution, per pixel, of the table in which TensorFlow looks up bicubic weights."""


class Spans(NamedTuple):
    """For each output pixel the first input pixel, the number of input pixels, and their weights [out, taps]."""

    starts: Array
    counts: Array
    weights: Array


def spans(method: str, size: int, out: int, antialias: bool) -> Spans:
    """The spans along an axis of `size` pixels that becomes `out`."""
    if method == "bicubic" and not antialias:
        return _bicubic_spans(size, out)
    radius, kernel = _KERNELS[method]
    inverse = ONE / (f32(out) / f32(size))
    wide = max(inverse, ONE) if antialias else ONE
    middle = (np.arange(out, dtype=f32) + HALF) * inverse
    reach = f32(radius) * wide
    first = np.ceil(middle - reach - HALF).clip(0, size - 1).astype(np.int64)
    last = np.floor(middle + reach - HALF).clip(0, size - 1).astype(np.int64)
    counts = last - first + 1
    taps = np.arange(counts.max())
    place = (first[:, None] + taps).astype(f32) + HALF - middle[:, None]
    weights = np.where(taps < counts[:, None], kernel(np.abs(place * (ONE / wide))), f32(0))
    return Spans(first, counts, _normalised(weights))


def area_spans(size: int, out: int, align_corners: bool = False) -> Spans:
    """The coverage of input pixels by each output pixel; sums must be multiplied by `area_scale`.

    With aligned corners the last output pixel begins at the last input pixel, so its span goes beyond it.
    """
    scale = _step(size, out, align_corners)
    number = np.arange(out, dtype=f32)
    low, high = number * scale, (number + ONE) * scale
    starts, ends = np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)
    if not align_corners:
        ends = np.minimum(ends, size)
    counts = np.maximum(ends - starts, 1)
    pixel = (starts[:, None] + np.arange(counts.max())).astype(f32)
    over = pixel + ONE > high[:, None]
    begun = np.where(over, scale, pixel + ONE - low[:, None])
    weights = np.where(pixel < low[:, None], begun, np.where(over, high[:, None] - pixel, ONE))
    return Spans(starts, counts, weights.astype(f32))


def area_scale(tall: int, height: int, wide: int, width: int, align_corners: bool = False) -> Any:
    """The share of one input pixel in an output pixel."""
    return ONE / (_step(tall, height, align_corners) * _step(wide, width, align_corners))


def _step(size: int, out: int, align_corners: bool) -> Any:
    return f32(size - 1) / f32(out - 1) if align_corners and out > 1 else f32(size) / f32(out)


def _normalised(weights: Array) -> Array:
    total = np.cumsum(weights, axis=1, dtype=f32)[:, -1:]
    share = np.divide(ONE, total, out=np.ones_like(total), where=np.abs(total) >= TINY)
    shares: Array = weights * share
    return shares


def _bicubic_spans(size: int, out: int) -> Spans:
    at = (np.arange(out, dtype=f32) + HALF) * (f32(size) / f32(out)) - HALF
    floor = np.floor(at)
    place = np.rint((at - floor) * f32(TABLE)).astype(np.int64)
    near, far = _bicubic_table()
    weights = np.stack([far[place], near[place], near[TABLE - place], far[TABLE - place]], axis=1)
    pixel = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    inside = (pixel >= 0) & (pixel < size)
    weights = _normalised(np.where(inside, weights, f32(0)))
    # Pixels outside are at either end; those inside move to the front.
    order = np.argsort(~inside, axis=1, kind="stable")
    starts = np.maximum(pixel[:, 0], 0)
    return Spans(starts, inside.sum(axis=1), np.take_along_axis(weights, order, axis=1))


def aligned_bicubic_spans(size: int, out: int, align_corners: bool) -> Spans:
    """The spans of TensorFlow 1, which measures pixels at their corners; pixels outside are those at the ends, so the
    first one lies one pixel, and the last one two pixels, beyond the image.
    """
    at = np.arange(out, dtype=f32) * _step(size, out, align_corners)
    floor = np.floor(at)
    place = np.rint((at - floor) * f32(TABLE)).astype(np.int64)
    near, far = _bicubic_table(-0.75)
    weights = np.stack([far[place], near[place], near[TABLE - place], far[TABLE - place]], axis=1)
    return Spans(floor.astype(np.int64), np.full(out, 4), weights)


def _bicubic_table(a: float = -0.5) -> tuple[Array, Array]:
    """The weights of the two nearer and the two farther pixels; the polynomials are computed in double precision."""
    near = (np.arange(TABLE + 1) / TABLE).astype(f32)
    far = near + ONE
    x, y = near.astype(np.float64), far.astype(np.float64)
    return (((a + 2) * x - (a + 3)) * x * x + 1).astype(f32), (((a * y - 5 * a) * y + 8 * a) * y - 4 * a).astype(f32)


def _triangle(x: Array) -> Array:
    return np.where(x < ONE, ONE - x, f32(0))


def _gaussian(x: Array) -> Array:
    return np.where(x >= f32(1.5), f32(0), np.exp((-x * x).astype(np.float64) / 0.5)).astype(f32)


def _keys(x: Array) -> Array:
    far = ((f32(-0.5) * x + f32(2.5)) * x - f32(4)) * x + f32(2)
    near = ((f32(1.5) * x - f32(2.5)) * x) * x + ONE
    return np.where(x >= f32(2), f32(0), np.where(x >= ONE, far, near))


def _mitchell(x: Array) -> Array:
    far = ((f32(-7 / 18) * x + f32(2)) * x - f32(10 / 3)) * x + f32(16 / 9)
    near = ((f32(7 / 6) * x - f32(2)) * x) * x + f32(8 / 9)
    return np.where(x >= f32(2), f32(0), np.where(x >= ONE, far, near))


_KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "bilinear": (1, _triangle),
    "bicubic": (2, _keys),
    "mitchellcubic": (2, _mitchell),
    "gaussian": (1.5, _gaussian),
    "lanczos3": (3, partial(kernels.lanczos, radius=3)),
    "lanczos5": (5, partial(kernels.lanczos, radius=5)),
}
METHODS = frozenset(("nearest", "area", *_KERNELS))
