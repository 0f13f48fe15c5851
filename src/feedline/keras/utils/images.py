"""`image_dataset_from_directory`: images in folders, one per class."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.image.resize import resize
from feedline.io.files import read_file
from feedline.io.image.decode import decode_image
from feedline.keras.utils.directories import Arguments, only_datasets
from feedline.plan import arguments

Array = np.ndarray[Any, Any]

FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
CROPPING_METHODS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic", "area")
DATA_FORMATS = ("channels_last", "channels_first")


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Any = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    format: str = "tf",
    verbose: bool = True,
) -> Any:
    """Images in folders, one per class, resized and batched, with Keras's files, order and pixels.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for i, name in enumerate(["cat/0.png", "cat/1.png", "dog/0.png"]):
    ...     fl.io.write_file(f"{folder}/{name}", fl.io.encode_png(np.full((8, 6, 3), i, np.uint8)))
    >>> ds = fl.keras.utils.image_dataset_from_directory(folder, image_size=(4, 4), shuffle=False)
    Found 3 files belonging to 2 classes.
    >>> images, labels = next(iter(ds))
    >>> images.shape, images.dtype, labels, ds.class_names
    ((3, 4, 4, 3), dtype('float32'), array([0, 0, 1], dtype=int32), ['cat', 'dog'])

    labels            "inferred" from the folders, a list with one per file in the order of their names, or None
    label_mode        "int", "binary" (floats 0 and 1), "categorical" (one-hot vectors), or None for images alone
    class_names       the folders to read, in the order of their numbers; by default all, sorted
    color_mode        "rgb", "rgba" or "grayscale"
    batch_size        None for single images
    shuffle, seed     shuffles the files at once, and within 8 batches in each epoch
    validation_split  the fraction of files that `subset` "validation" reads, "training" the others; "both" gives a list
    interpolation     how images are resized: "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5",
                      "gaussian" or "mitchellcubic"
    crop_to_aspect_ratio, pad_to_aspect_ratio  keep the proportions: cut off what is too long, or fill with zeros
    data_format       "channels_last" or "channels_first"

    The dataset has the attributes `class_names` and `file_paths`. Pass it to Keras with `to_keras()`.
    """
    op = "image_dataset_from_directory"
    only_datasets(op, format)
    if color_mode not in CHANNELS:
        raise InvalidArgumentError(f"{op}: color_mode must be one of {tuple(CHANNELS)}, got {color_mode!r}")
    method = str(interpolation).lower()
    allowed = CROPPING_METHODS if crop_to_aspect_ratio else METHODS
    if method not in allowed:
        raise InvalidArgumentError(f"{op}: interpolation must be one of {allowed}, got {interpolation!r}")
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise InvalidArgumentError(f"{op}: crop_to_aspect_ratio and pad_to_aspect_ratio exclude each other")
    if data_format not in (*DATA_FORMATS, None):
        raise InvalidArgumentError(f"{op}: data_format must be one of {DATA_FORMATS}, got {data_format!r}")
    load = functools.partial(
        _loaded,
        size=_size(image_size, op),
        channels=CHANNELS[color_mode],
        method=method,
        fit="crop" if crop_to_aspect_ratio else "pad" if pad_to_aspect_ratio else "stretch",
        first=data_format == "channels_first",
    )
    given = Arguments(
        *(op, directory, labels, label_mode, class_names, batch_size, shuffle, seed, validation_split, subset),
        *(follow_links, verbose),
    )
    return given.datasets(FORMATS, "images", load, given.batched)


def _size(image_size: Any, op: str) -> tuple[int, int]:
    if isinstance(image_size, int) and not isinstance(image_size, bool):
        image_size = (image_size, image_size)
    if not isinstance(image_size, (list, tuple)) or len(image_size) != 2:
        raise InvalidArgumentError(f"{op}: image_size must be a pair of numbers, got {image_size!r}")
    height, width = (arguments.positive(n, "image_size", op) for n in image_size)
    return height, width


def _loaded(path: bytes, size: tuple[int, int], channels: int, method: str, fit: str, first: bool) -> Array:
    pixels = decode_image(read_file(path), channels=channels, expand_animations=False)
    if fit == "crop":
        made = resize(cropped(pixels, size), size, method)
    elif fit == "pad":
        made = padded(pixels, size, method)
    else:
        made = resize(pixels, size, method)
    return np.ascontiguousarray(made.transpose(2, 0, 1)) if first else made


def cropped(pixels: Array, size: tuple[int, int]) -> Array:
    """The middle of an image with the proportions of `size`, as large as possible."""
    (height, width), (wanted_height, wanted_width) = pixels.shape[:2], size
    tall = _whole(np.float32(width * wanted_height) / np.float32(wanted_width), height)
    wide = _whole(np.float32(height * wanted_width) / np.float32(wanted_height), width)
    top, left = (height - tall) // 2, (width - wide) // 2
    return pixels[top : top + tall, left : left + wide]


def _whole(wanted: np.float32, most: int) -> int:
    return max(1, min(most, int(wanted)))


def padded(pixels: Array, size: tuple[int, int], method: str) -> Array:
    """The image, resized so that it fits into `size` with its proportions, and zeros around it."""
    real = np.array(pixels.shape[:2], np.float32)
    wanted = np.array(size, np.float32)
    sizes = real / np.max(real / wanted)
    height, width = np.floor(sizes).astype(int)
    top, left = np.maximum(0, np.floor((wanted - sizes) / np.float32(2)).astype(int))
    resized = resize(pixels, (int(height), int(width)), method)
    made = np.zeros((*size, pixels.shape[2]), resized.dtype)
    made[top : top + height, left : left + width] = resized
    return made
