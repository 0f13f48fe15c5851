"""Projective transforms of images, which augmentations call as `tf.raw_ops`, with keyword arguments only."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.dense import Array
from feedline.tf.tensor import Tensor, as_tensor, ints, tensor_of


def ImageProjectiveTransformV3(
    *,
    images: object,
    transforms: object,
    output_shape: object,
    fill_value: object,
    interpolation: Any,
    fill_mode: Any = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """Images [n, height, width, channels] under projective transforms [n or 1, 8], from places of the output to places
    of the input.

    >>> import feedline.tf as tf
    >>> shift = [[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> made = tf.raw_ops.ImageProjectiveTransformV3(
    ...     images=[[[[1.0], [2.0]]]], transforms=shift, output_shape=[1, 2], fill_value=0.0, interpolation="NEAREST"
    ... )
    >>> made.numpy().ravel()
    array([2., 0.], dtype=float32)
    """
    pictures, matrices = as_tensor(images)._array, as_tensor(transforms, np.float32)._array
    height, width = ints(output_shape, "output_shape")
    if pictures.ndim != 4:
        raise InvalidArgumentError(f"input images must have 4 dimensions, got the shape {list(pictures.shape)}")
    if matrices.ndim != 2 or matrices.shape[1] != 8 or matrices.shape[0] not in (1, len(pictures)):
        raise InvalidArgumentError(f"transforms must have the shape [1 or {len(pictures)}, 8], got {matrices.shape}")
    modes = {"CONSTANT": _as_it_is, "REFLECT": _reflected, "WRAP": _wrapped, "NEAREST": _clamped}
    how, edges = _word(interpolation), _word(fill_mode)
    if how not in ("NEAREST", "BILINEAR") or edges not in modes:
        raise InvalidArgumentError(f"unknown interpolation {how} or fill_mode {edges}")
    fill = np.asarray(as_tensor(fill_value, np.float32)._array).astype(pictures.dtype)
    out = np.empty((len(pictures), height, width, pictures.shape[3]), pictures.dtype)
    for i, picture in enumerate(pictures):
        x, y, there = _places(matrices[i % len(matrices)], height, width)
        x, y = modes[edges](x, picture.shape[1]), modes[edges](y, picture.shape[0])
        made = _nearest(picture, x, y, fill) if how == "NEAREST" else _bilinear(picture, x, y, fill)
        out[i] = np.where(there[..., None], made, fill)
    return tensor_of(out)


def ImageProjectiveTransformV2(
    *,
    images: object,
    transforms: object,
    output_shape: object,
    interpolation: Any,
    fill_mode: Any = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """As `ImageProjectiveTransformV3`, with 0 outside of the images.

    >>> import feedline.tf as tf
    >>> same = [[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> made = tf.raw_ops.ImageProjectiveTransformV2(
    ...     images=[[[[1.0], [2.0]]]], transforms=same, output_shape=[1, 3], interpolation="BILINEAR"
    ... )
    >>> made.numpy().ravel()
    array([1., 2., 0.], dtype=float32)
    """
    return ImageProjectiveTransformV3(
        images=images,
        transforms=transforms,
        output_shape=output_shape,
        fill_value=0.0,
        interpolation=interpolation,
        fill_mode=fill_mode,
    )


def _word(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _places(matrix: Array, height: int, width: int) -> tuple[Array, Array, Array]:
    """The place in the input for each place of the output, and whether there is one."""
    y, x = np.meshgrid(np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32), indexing="ij")
    scale = matrix[6] * x + matrix[7] * y + np.float32(1)
    with np.errstate(all="ignore"):
        across = (matrix[0] * x + matrix[1] * y + matrix[2]) / scale
        down = (matrix[3] * x + matrix[4] * y + matrix[5]) / scale
    there = scale != 0
    return np.where(there, across, np.float32(0)), np.where(there, down, np.float32(0)), there


def _as_it_is(at: Array, size: int) -> Array:
    return at


def _clamped(at: Array, size: int) -> Array:
    return np.clip(at, np.float32(0), np.float32(size - 1))


def _reflected(at: Array, size: int) -> Array:
    """Mirrored at the edges of the pixels: d c b a | a b c d | d c b a."""
    if size <= 1:
        return np.zeros_like(at)
    twice = np.float32(2 * size)
    low = np.where(at < twice, twice * np.trunc(-at / twice) + at, at)
    low = np.where(low < -size, low + twice, -low - np.float32(1))
    high = at - twice * np.trunc(at / twice)
    high = np.where(high >= size, twice - high - np.float32(1), high)
    return _clamped(np.where(at < 0, low, np.where(at > size - 1, high, at)), size)


def _wrapped(at: Array, size: int) -> Array:
    """Repeated: a b c d | a b c d | a b c d."""
    if size <= 1:
        return np.zeros_like(at)
    last = np.float32(size - 1)
    low = at + np.float32(size) * (np.trunc(-at / last) + np.float32(1))
    high = at - np.float32(size) * np.trunc(at / last)
    return _clamped(np.where(at < 0, low, np.where(at > last, high, at)), size)


def _read(picture: Array, x: Array, y: Array, fill: Array) -> Array:
    inside = (x >= 0) & (x < picture.shape[1]) & (y >= 0) & (y < picture.shape[0])
    i, j = (np.where(inside, v, 0).astype(np.int64) for v in (y, x))
    return np.where(inside[..., None], picture[i, j], fill)


def _nearest(picture: Array, x: Array, y: Array, fill: Array) -> Array:
    def rounded(v: Array) -> Array:
        return np.copysign(np.floor(np.abs(v) + np.float32(0.5)), v)

    return _read(picture, rounded(x), rounded(y), fill)


def _bilinear(picture: Array, x: Array, y: Array, fill: Array) -> Array:
    left, top = np.floor(x), np.floor(y)
    right, bottom = left + np.float32(1), top + np.float32(1)

    def across(row: Array) -> Array:
        a, b = (_read(picture, column, row, fill).astype(np.float32) for column in (left, right))
        return (right - x)[..., None] * a + (x - left)[..., None] * b

    mixed = (bottom - y)[..., None] * across(top) + (y - top)[..., None] * across(bottom)
    with np.errstate(all="ignore"):
        return np.asarray(mixed, picture.dtype)
