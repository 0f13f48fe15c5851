"""Encodes arrays of pixels to image files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.image import jpeg, png
from feedline.structure.arguments import boolean_attribute, integer_attribute, text_attribute
from feedline.structure.dense import dense

Array = np.ndarray[Any, Any]

_CHANNELS_OF = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}
_LARGEST = 65535


def encode_jpeg(
    image: object,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> bytes:
    """Encodes pixels uint8 [height, width, 1 or 3] as JPEG.

    >>> data = fl.io.encode_jpeg(np.zeros((2, 3, 3), np.uint8), quality=80)
    >>> fl.io.decode_jpeg(data).shape
    (2, 3, 3)

    `quality` goes from 0 to 100; `format` may be "grayscale" or "rgb". Needs `feedline[images]`.
    """
    op = "encode_jpeg"
    pixels = _pixels(image, op, (np.uint8,))
    format = text_attribute(format, "", "format", op)
    quality = integer_attribute(quality, 95, "quality", op)
    density_unit = text_attribute(density_unit, "in", "density_unit", op)
    x_density = integer_attribute(x_density, 300, "x_density", op)
    y_density = integer_attribute(y_density, 300, "y_density", op)
    flags = (
        boolean_attribute(progressive, False, "progressive", op),
        boolean_attribute(optimize_size, False, "optimize_size", op),
        boolean_attribute(chroma_downsampling, True, "chroma_downsampling", op),
    )
    xmp = os.fsencode(text_attribute(xmp_metadata, "", "xmp_metadata", op))
    if format not in _CHANNELS_OF:
        raise InvalidArgumentError(f"encode_jpeg: format must be '', 'grayscale' or 'rgb', got {format!r}")
    if pixels.shape[2] not in _CHANNELS_OF[format]:
        raise InvalidArgumentError(
            f"encode_jpeg: an image of format {format!r} has {' or '.join(map(str, _CHANNELS_OF[format]))} channels, "
            f"got shape {list(pixels.shape)}"
        )
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"encode_jpeg: quality must be from 0 to 100, got {quality}")
    if density_unit not in ("in", "cm"):
        raise InvalidArgumentError(f"encode_jpeg: density_unit must be 'in' or 'cm', got {density_unit!r}")
    if not all(0 <= n <= _LARGEST for n in (x_density, y_density)):
        raise InvalidArgumentError(
            f"encode_jpeg: densities must be from 0 to {_LARGEST}, got {x_density} and {y_density}"
        )
    if max(pixels.shape) > _LARGEST:
        raise InvalidArgumentError(
            f"encode_jpeg: a side may have at most {_LARGEST} pixels, got shape {list(pixels.shape)}"
        )
    density = (1 if density_unit == "in" else 2, x_density, y_density)
    return jpeg.encode(pixels, quality, *flags, density, xmp)


def encode_png(image: object, compression: int = -1, name: str | None = None) -> Any:
    """Encodes pixels uint8 or uint16 [height, width, 1 to 4] as PNG; with more dimensions, one file for each image.

    >>> data = fl.io.encode_png(np.array([[[1, 2, 3]]], np.uint16))
    >>> fl.io.decode_png(data, dtype=fl.uint16)
    array([[[1, 2, 3]]], dtype=uint16)

    `compression` goes from 0 (none) to 9 (smallest); -1 is in between.
    """
    pixels = _pixels(image, "encode_png", (np.uint8, np.uint16), more=True)
    if not 1 <= pixels.shape[-1] <= 4:
        raise InvalidArgumentError(f"encode_png: the image must have 1 to 4 channels, got shape {list(pixels.shape)}")
    compression = integer_attribute(compression, -1, "compression", "encode_png")
    if not -1 <= compression <= 9:
        raise InvalidArgumentError(f"encode_png: compression must be from -1 to 9, got {compression}")
    if pixels.ndim == 3:
        return png.encode(pixels, compression)
    out = np.empty(pixels.shape[:-3], object)
    for at in np.ndindex(out.shape):
        out[at] = png.encode(pixels[at], compression)
    return out


def _pixels(image: object, op: str, dtypes: tuple[type[Any], ...], more: bool = False) -> Array:
    pixels = dense(image)
    if pixels.dtype not in dtypes:
        names = " or ".join(np.dtype(d).name for d in dtypes)
        raise InvalidTypeError(f"{op}: the image must be {names}, got {pixels.dtype}; see convert_image_dtype")
    if pixels.ndim < 3 or (pixels.ndim > 3 and not more):
        raise InvalidArgumentError(f"{op}: the image must be [height, width, channels], got shape {list(pixels.shape)}")
    if 0 in pixels.shape[-3:] and 0 not in pixels.shape[:-3]:  # an empty batch needs no pixels
        raise InvalidArgumentError(f"{op}: the image has no pixels: shape {list(pixels.shape)}")
    return pixels
