"""Resizing images."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.image.spans import METHODS, Spans, aligned_bicubic_spans, area_scale, area_spans, spans
from feedline.kernels.memory import keep_freed_memory
from feedline.structure.arguments import boolean_attribute, truth
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
    images: object,
    size: object,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Array:
    """Resizes images to `size`, a height and a width: one image [height, width, channels], or a batch.

    >>> image = np.array([[[0], [8]]], np.uint8)
    >>> fl.image.resize(image, [1, 4])[0, :, 0]
    array([0., 2., 6., 8.], dtype=float32)

    The result is float32; only "nearest" keeps the dtype. `preserve_aspect_ratio` chooses the largest size of the same
    proportions that fits. `antialias` takes all pixels into account when the image is shrunk.

    >>> fl.image.resize(image, [1, 4], method="nearest")[0, :, 0]
    array([0, 0, 8, 8], dtype=uint8)

    The other methods are "bicubic", "area", "lanczos3", "lanczos5", "gaussian" and "mitchellcubic". All of them equal
    TensorFlow bit by bit; without `antialias`, "bilinear" and "nearest" are the fastest.
    """
    keep_freed_memory()
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
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidArgumentError(f"resize: method must be one of {', '.join(sorted(METHODS))}, got {method!r}")
    antialias = boolean_attribute(antialias, False, "antialias", "resize")
    keep = truth(preserve_aspect_ratio, "preserve_aspect_ratio", "resize")
    height, width = _size(size, tall, wide, keep)
    _check_memory(many, height, width, channels)
    if method == ResizeMethod.NEAREST_NEIGHBOR:
        return given.take(_nearest(tall, height), axis=-3).take(_nearest(wide, width), axis=-2)
    if method == ResizeMethod.BILINEAR and not antialias:
        plain = given if given.dtype in (np.uint8, np.float32) else given.astype(np.float32)
        return kernels.resize_bilinear(np.ascontiguousarray(plain), height, width)
    data = np.ascontiguousarray(given, np.float32).reshape(-1, tall, wide, channels)
    if method == ResizeMethod.AREA:  # here TensorFlow sums rows first, elsewhere columns
        out = _by_area(data, height, width, False)
    else:
        down, across = spans(method, tall, height, antialias), spans(method, wide, width, antialias)
        out = _across(_down(data, down), across)
    resized: Array = out.reshape(*many, height, width, channels)
    return resized


def resize_aligned(images: Array, height: int, width: int, method: str, align_corners: bool) -> Array:
    """Images as TensorFlow 1 resizes them with the methods "area" and "bicubic": pixels are measured at their corners.

    With `align_corners`, the first and the last pixel of the result are those of the images.
    """
    *many, tall, wide, channels = images.shape
    data = np.ascontiguousarray(images, np.float32).reshape(-1, tall, wide, channels)
    if method == ResizeMethod.AREA:
        out = _by_area(data, height, width, align_corners)
    else:
        data = np.pad(data, ((0, 0), (1, 2), (1, 2), (0, 0)), "edge")
        down, across = (aligned_bicubic_spans(n, m, align_corners) for n, m in ((tall, height), (wide, width)))
        out = _across(_down(data, down), across)
    resized: Array = out.reshape(*many, height, width, channels)
    return resized


def _by_area(data: Array, height: int, width: int, align_corners: bool) -> Array:
    tall, wide = data.shape[1:3]
    down, across = area_spans(tall, height, align_corners), area_spans(wide, width, align_corners)
    below, beside = (max(int((s.starts + s.counts).max()) - n, 0) for s, n in ((down, tall), (across, wide)))
    if below or beside:
        data = np.pad(data, ((0, 0), (0, below), (0, beside), (0, 0)), "edge")
    made: Array = _down(_across(data, across), down) * area_scale(tall, height, wide, width, align_corners)
    return made


def _down(images: Array, down: Spans) -> Array:
    n, tall, wide, channels = images.shape
    out = kernels.weighted_sums(images.reshape(n, tall, wide * channels), *down)
    return out.reshape(n, len(down.starts), wide, channels)


def _across(images: Array, across: Spans) -> Array:
    n, tall, wide, channels = images.shape
    out = kernels.weighted_sums(images.reshape(n * tall, wide, channels), *across)
    return out.reshape(n, tall, len(across.starts), channels)


def _memory_size() -> int:
    """The bytes of memory of this machine; if unknown, the address space."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def _check_memory(many: Sequence[int], height: int, width: int, channels: int) -> None:
    """Rejects a size that does not fit in the memory of this machine, before anything is allocated."""
    needed = math.prod((*many, height, width, channels)) * np.dtype(np.float32).itemsize
    if needed > _memory_size():
        raise InvalidArgumentError(
            f"resize: size {[height, width]} takes {needed >> 20} MB, more memory than this machine has; "
            "give a smaller size"
        )


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
    """The index of the input pixel that contains the centre of each output pixel."""
    scale = np.float32(size) / np.float32(out)
    at = np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * scale).astype(np.int64)
    nearest: Array = np.minimum(at, size - 1)
    return nearest
