"""Pixel values in other dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.structure.dense import dense, integers
from feedline.structure.types import DType, as_dtype

Array = np.ndarray[Any, Any]


def convert_image_dtype(image: object, dtype: object, saturate: bool = False, name: str | None = None) -> Array:
    """Converts pixel values to another dtype, scaled to its range: 0 to 1 for floats, 0 to the maximum for integers.

    >>> fl.image.convert_image_dtype(np.array([0, 128, 255], np.uint8), fl.float32)
    array([0.       , 0.5019608, 1.       ], dtype=float32)
    >>> fl.image.convert_image_dtype(np.array([0.0, 0.5, 1.0], np.float32), fl.uint8)
    array([  0, 127, 255], dtype=uint8)

    `saturate` clips values that are out of range.

    >>> fl.image.convert_image_dtype(np.array([-0.5, 1.5], np.float32), fl.uint8, saturate=True)
    array([  0, 255], dtype=uint8)
    """
    pixels, target = dense(image), as_dtype(dtype)
    source = as_dtype(pixels.dtype)
    for what, kind in (("dtype", target), ("the image's dtype", source)):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"convert_image_dtype: {what} must be of floats or integers, got {kind.name}")
    if source == target:
        return pixels
    if source.is_integer and target.is_integer:
        if source.max > target.max:
            return _cast(pixels // pixels.dtype.type((source.max + 1) // (target.max + 1)), target, saturate)
        larger: Array = _cast(pixels, target, saturate) * target.dtype.type((target.max + 1) // (source.max + 1))
        return larger
    if target.is_floating:
        cast = pixels.astype(target.dtype)
        return cast if source.is_floating else cast * target.dtype.type(1.0 / source.max)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled: Array = pixels * pixels.dtype.type(target.max + 0.5)
    return _cast(scaled, target, saturate)


def _cast(pixels: Array, target: DType, saturate: bool) -> Array:
    if saturate:
        pixels = pixels.astype(np.float32) if pixels.dtype.kind == "V" else pixels
        own = as_dtype(pixels.dtype)
        low, high = (pixels.dtype.type(n) for n in (max(target.min, own.min), min(target.max, own.max)))
        if float(high) > target.max:  # rounded up: a float32 cannot hold 2**31 - 1
            high = np.nextafter(high, pixels.dtype.type(0))
        pixels = np.clip(pixels, low, high)
    return integers(pixels, target.dtype) if pixels.dtype.kind in "fV" else pixels.astype(target.dtype)
