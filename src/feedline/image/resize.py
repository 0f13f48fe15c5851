"""Images of another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.structure.dense import dense

Array = np.ndarray[Any, Any]


class ResizeMethod:
    """The names of the methods of `resize`.

    >>> fl.image.ResizeMethod.NEAREST_NEIGHBOR
    'nearest'
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Array:
    """Images scaled to a size, a height and a width: one [height, width, channels] or several with one more dimension.

    >>> image = np.array([[[0], [8]]], np.uint8)
    >>> fl.image.resize(image, [1, 4])[0, :, 0]
    array([0., 2., 6., 8.], dtype=float32)

    The result is float32; only "nearest" keeps the dtype. `preserve_aspect_ratio` gives the largest size of the same
    proportions that fits. `antialias` takes all pixels into account when the image becomes smaller.

    >>> fl.image.resize(image, [1, 4], method="nearest")[0, :, 0]
    array([0, 0, 8, 8], dtype=uint8)

    Without `antialias`, "bilinear" and "nearest" are fast and give TensorFlow's numbers exactly. The other methods are
    "bicubic", "area", "lanczos3", "lanczos5", "gaussian" and "mitchellcubic"; these agree with it up to rounding.
    """
    given = dense(images)
    if given.ndim not in (3, 4):
        raise InvalidArgumentError(
            f"resize: images must be [height, width, channels], or several of these, got shape {list(given.shape)}"
        )
    if given.dtype.kind not in "iufV":
        raise InvalidArgumentError(f"resize: images must be numbers, got {given.dtype}")
    *many, tall, wide, channels = given.shape
    if not (tall and wide and channels):
        raise InvalidArgumentError(f"resize: images without pixels cannot be scaled, got shape {list(given.shape)}")
    height, width = _size(size, tall, wide, preserve_aspect_ratio)
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        return given.take(_nearest(tall, height), axis=-3).take(_nearest(wide, width), axis=-2)
    if method == ResizeMethod.BILINEAR and not antialias:
        plain = given if given.dtype in (np.uint8, np.float32) else given.astype(np.float32)
        return kernels.resize_bilinear(np.ascontiguousarray(plain), height, width)
    down, across = _weights(method, tall, height, antialias), _weights(method, wide, width, antialias)
    rows = down @ given.reshape(*many, tall, wide * channels).astype(np.float32)
    out: Array = across @ rows.reshape(*many, height, wide, channels)
    return out


def _size(size: Any, height: int, width: int, keep: bool) -> tuple[int, int]:
    if type(size) in (tuple, list) and len(size) == 2 and type(size[0]) is type(size[1]) is int:
        new = (size[0], size[1])
    else:
        wanted = dense(size)
        if wanted.shape != (2,) or wanted.dtype.kind not in "iu":
            raise InvalidArgumentError(f"resize: size must be two integers, a height and a width; got {size!r}")
        new = (int(wanted[0]), int(wanted[1]))
    if min(new) < 1:
        raise InvalidArgumentError(f"resize: size must be positive, got {list(new)}")
    if keep:
        scale = min(np.float32(new[0]) / np.float32(height), np.float32(new[1]) / np.float32(width))
        new = (max(round(float(scale * np.float32(height))), 1), max(round(float(scale * np.float32(width))), 1))
    return new


def _nearest(size: int, out: int) -> Array:
    """The number of the input pixel in which the middle of each output pixel lies."""
    scale = np.float32(size) / np.float32(out)
    at = np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * scale).astype(np.int64)
    nearest: Array = np.minimum(at, size - 1)
    return nearest


def _weights(method: str, size: int, out: int, antialias: bool) -> Array:
    """How much of each input pixel is in each output pixel: a matrix [out, size]."""
    if method == ResizeMethod.AREA:
        edges = np.arange(out + 1) * (size / out)
        pixel = np.arange(size)
        shared = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
        covered: Array = (np.maximum(shared, 0) * (out / size)).astype(np.float32)
        return covered
    found = _KERNELS.get(method)
    if found is None:
        raise InvalidArgumentError(
            f"resize: there is no method {method!r}; there are nearest, area, {', '.join(sorted(_KERNELS))}"
        )
    radius, kernel = found
    one, half = np.float32(1), np.float32(0.5)
    # Single precision decides, as in TensorFlow, whether a pixel that lies on the edge of a kernel is in it.
    middle = (np.arange(out, dtype=np.float32) + half) * (one / (np.float32(out) / np.float32(size)))
    if method == ResizeMethod.BICUBIC and not antialias:
        # TensorFlow looks this one up in a table with 1024 places from pixel to pixel.
        start = np.floor(middle - half)
        middle = start + half + np.rint((middle - half - start) * 1024) / 1024
    wide = max(one / (np.float32(out) / np.float32(size)), one) if antialias else one
    distance = np.abs(np.arange(size, dtype=np.float32) + half - middle[:, None]) * (one / wide)
    weight = np.where(distance < radius, kernel(np.minimum(distance, radius)), 0)
    total = weight.sum(axis=1, keepdims=True)
    shares: Array = np.divide(weight, total, out=np.zeros_like(weight), where=total != 0).astype(np.float32)
    return shares


def _lanczos(radius: float) -> Callable[[Array], Array]:
    return lambda x: np.sinc(x) * np.sinc(x / radius)


def _cubic(b: float, c: float) -> Callable[[Array], Array]:
    """Mitchell and Netravali's family of cubic splines."""

    def kernel(x: Array) -> Array:
        near = (12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)
        far = (-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)
        return np.where(x < 1, near, far) / 6

    return kernel


_KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "bilinear": (1, lambda x: 1 - x),
    "bicubic": (2, _cubic(0, 0.5)),
    "mitchellcubic": (2, _cubic(1 / 3, 1 / 3)),
    "gaussian": (1.5, lambda x: np.exp(-2 * x * x)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
}
