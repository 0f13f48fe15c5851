"""`tf.image`: flips, crops, pads, colours, boxes. Decoding and resizing are in `io_ops`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, OutOfRangeError
from feedline.image.resize import ResizeMethod as ResizeMethod
from feedline.image.resize import resize_aligned
from feedline.naming import own_functions
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import DType, as_dtype
from feedline.tf import random_ops
from feedline.tf.array_ops import cast
from feedline.tf.io_ops import convert_image_dtype, decode_jpeg, encode_jpeg, resize
from feedline.tf.math_ops import reduce_mean, reduce_std
from feedline.tf.parameters import StaticArgumentError
from feedline.tf.signatures import documented
from feedline.tf.tensor import Op, Tensor, TensorBase, as_tensor, integer, ints, op, tensor_of


def _pixels(image: object, what: str) -> Array:
    """An image [height, width, channels], or several of these."""
    array = as_tensor(image)._array
    if array.ndim not in (3, 4):
        raise InvalidArgumentError(f"{what}: 'image' must have either 3 or 4 dimensions, got shape {list(array.shape)}")
    return array


# Flips and rotations


def flip_left_right(image: object) -> Tensor:
    """The image mirrored.

    >>> import feedline.tf as tf
    >>> tf.image.flip_left_right([[[1], [2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return tensor_of(_pixels(image, "flip_left_right")[..., ::-1, :])


def flip_up_down(image: object) -> Tensor:
    """The image upside down.

    >>> import feedline.tf as tf
    >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return tensor_of(_pixels(image, "flip_up_down")[..., ::-1, :, :])


def transpose(image: object, name: str | None = None) -> Tensor:
    """Height and width exchanged.

    >>> import feedline.tf as tf
    >>> tf.image.transpose(tf.zeros([2, 3, 1])).shape
    fl.TensorShape([3, 2, 1])
    """
    return tensor_of(np.swapaxes(_pixels(image, "transpose"), -3, -2))


def rot90(image: object, k: object = 1, name: str | None = None) -> Tensor:
    """The image turned by 90 degrees to the left, k times.

    >>> import feedline.tf as tf
    >>> tf.image.rot90([[[1], [2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return tensor_of(np.rot90(_pixels(image, "rot90"), integer(k, "k") % 4, (-3, -2)))


Draw = Callable[[list[int]], Array]


def _flipped(image: object, draw: Draw, flip: Callable[[object], Tensor], what: str) -> Tensor:
    array = _pixels(image, what)
    if array.ndim == 3:
        return flip(array) if draw([])[()] < 0.5 else tensor_of(array)
    turn = np.round(draw([len(array)])).astype(bool)
    return tensor_of(np.where(turn[:, None, None, None], flip(array)._array, array))


def _random(seed: object) -> Draw:
    return lambda shape: random_ops.uniform(shape, seed=seed)._array


def _seeded(seed: object) -> Draw:
    return lambda shape: random_ops.stateless_uniform(shape, seed)._array


def random_flip_left_right(image: object, seed: object = None) -> Tensor:
    """The image, mirrored or not.

    >>> import feedline.tf as tf
    >>> tf.image.random_flip_left_right(tf.zeros([2, 3, 1])).shape
    fl.TensorShape([2, 3, 1])
    """
    return _flipped(image, _random(seed), flip_left_right, "random_flip_left_right")


def random_flip_up_down(image: object, seed: object = None) -> Tensor:
    """The image, upside down or not.

    >>> import feedline.tf as tf
    >>> tf.image.random_flip_up_down(tf.zeros([2, 3, 1])).shape
    fl.TensorShape([2, 3, 1])
    """
    return _flipped(image, _random(seed), flip_up_down, "random_flip_up_down")


def stateless_random_flip_left_right(image: object, seed: object) -> Tensor:
    """The image, mirrored or not: the seed decides.

    >>> import feedline.tf as tf
    >>> tf.image.stateless_random_flip_left_right([[[1], [2]]], seed=[1, 2]).numpy().ravel()
    array([1, 2], dtype=int32)
    """
    return _flipped(image, _seeded(seed), flip_left_right, "stateless_random_flip_left_right")


def stateless_random_flip_up_down(image: object, seed: object) -> Tensor:
    """The image, upside down or not: the seed decides.

    >>> import feedline.tf as tf
    >>> tf.image.stateless_random_flip_up_down([[[1]], [[2]]], seed=[1, 2]).numpy().ravel()
    array([1, 2], dtype=int32)
    """
    return _flipped(image, _seeded(seed), flip_up_down, "stateless_random_flip_up_down")


# Crops and pads


def crop_to_bounding_box(
    image: object, offset_height: object, offset_width: object, target_height: object, target_width: object
) -> Tensor:
    """A part of the image.

    >>> import feedline.tf as tf
    >>> tf.image.crop_to_bounding_box(tf.zeros([4, 4, 1]), 1, 1, 2, 3).shape
    fl.TensorShape([2, 3, 1])
    """
    array = _pixels(image, "crop_to_bounding_box")
    top, left, tall, wide = (
        integer(v, n)
        for v, n in (
            (offset_height, "offset_height"),
            (offset_width, "offset_width"),
            (target_height, "target_height"),
            (target_width, "target_width"),
        )
    )
    if top < 0 or left < 0 or tall <= 0 or wide <= 0 or top + tall > array.shape[-3] or left + wide > array.shape[-2]:
        raise InvalidArgumentError(
            f"crop_to_bounding_box: the box at {top}, {left} of {tall} x {wide} is not inside the image {array.shape}"
        )
    return tensor_of(array[..., top : top + tall, left : left + wide, :])


def pad_to_bounding_box(
    image: object, offset_height: object, offset_width: object, target_height: object, target_width: object
) -> Tensor:
    """The image in a larger one of zeros.

    >>> import feedline.tf as tf
    >>> tf.image.pad_to_bounding_box(tf.ones([1, 1, 1]), 1, 0, 2, 2).numpy()[..., 0].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    array = _pixels(image, "pad_to_bounding_box")
    top, left = integer(offset_height, "offset_height"), integer(offset_width, "offset_width")
    below = integer(target_height, "target_height") - top - array.shape[-3]
    right = integer(target_width, "target_width") - left - array.shape[-2]
    if min(top, left, below, right) < 0:
        raise InvalidArgumentError(f"pad_to_bounding_box: the image {array.shape} does not fit the target")
    widths = [(0, 0)] * (array.ndim - 3) + [(top, below), (left, right), (0, 0)]
    return tensor_of(np.pad(array, widths))


def resize_with_crop_or_pad(image: object, target_height: object, target_width: object) -> Tensor:
    """The middle of the image, with zeros around it where the target is larger.

    >>> import feedline.tf as tf
    >>> tf.image.resize_with_crop_or_pad(tf.zeros([5, 2, 1]), 3, 4).shape
    fl.TensorShape([3, 4, 1])
    """
    array = _pixels(image, "resize_with_crop_or_pad")
    tall, wide = integer(target_height, "target_height"), integer(target_width, "target_width")
    if tall <= 0 or wide <= 0:
        raise InvalidArgumentError(f"target_height and target_width must be > 0, got {tall} and {wide}")
    more, wider = array.shape[-3] - tall, array.shape[-2] - wide
    cropped = crop_to_bounding_box(
        array, max(more // 2, 0), max(wider // 2, 0), min(tall, array.shape[-3]), min(wide, array.shape[-2])
    )
    return pad_to_bounding_box(cropped, max(-more // 2, 0), max(-wider // 2, 0), tall, wide)


def central_crop(image: object, central_fraction: object) -> Tensor:
    """The middle part of the image.

    >>> import feedline.tf as tf
    >>> tf.image.central_crop(tf.zeros([4, 4, 1]), 0.5).shape
    fl.TensorShape([2, 2, 1])
    """
    part = float(as_tensor(central_fraction))
    if not 0 < part <= 1:
        raise InvalidArgumentError(f"central_fraction must be in (0, 1], got {part}")
    array = _pixels(image, "central_crop")
    if part == 1:
        return tensor_of(array)
    keys = []
    for size in array.shape[-3:-1]:
        start = int((size - size * part) / 2)
        keys.append(slice(start, size - start))
    return tensor_of(array[..., keys[0], keys[1], :])


def resize_with_pad(
    image: object, target_height: object, target_width: object, method: str = "bilinear", antialias: bool = False
) -> Tensor:
    """The image scaled to fit into the target, with zeros around it.

    >>> import feedline.tf as tf
    >>> tf.image.resize_with_pad(tf.ones([2, 4, 1]), 4, 4).numpy()[:, 0, 0]
    array([0., 1., 1., 0.], dtype=float32)
    """
    return _into(image, target_height, target_width, lambda x, size: resize(x, size, method, antialias=antialias))


def _into(
    image: object, target_height: object, target_width: object, scaled: Callable[[Array, list[int]], Tensor]
) -> Tensor:
    """The image scaled to fit into the target, with zeros around it."""
    array = _pixels(image, "resize_with_pad")
    tall, wide = integer(target_height, "target_height"), integer(target_width, "target_width")
    if tall <= 0 or wide <= 0:
        raise InvalidArgumentError(f"target_height and target_width must be > 0, got {tall} and {wide}")
    height, width = np.float32(array.shape[-3]), np.float32(array.shape[-2])
    ratio = max(width / np.float32(wide), height / np.float32(tall))
    new_tall, new_wide = math.floor(height / ratio), math.floor(width / ratio)
    top = max(0, math.floor((np.float32(tall) - np.float32(height / ratio)) / 2))
    left = max(0, math.floor((np.float32(wide) - np.float32(width / ratio)) / 2))
    return pad_to_bounding_box(scaled(array, [new_tall, new_wide]), top, left, tall, wide)


# Colours


def _as_float(image: object) -> tuple[Array, DType]:
    """The image as floats, and its dtype; half and float32 stay as they are."""
    given = as_tensor(image)
    if given.dtype in (types.float16, types.float32):
        return given._array, given.dtype
    made: Tensor = convert_image_dtype(given, types.float32)
    return made._array, given.dtype


def _back(pixels: Array, dtype: DType) -> Tensor:
    made: Tensor = convert_image_dtype(tensor_of(pixels), dtype, saturate=True)
    return made


def rgb_to_grayscale(images: object, name: str | None = None) -> Tensor:
    """Grey images from RGB.

    >>> import feedline.tf as tf
    >>> tf.image.rgb_to_grayscale(tf.ones([1, 1, 3], tf.uint8)).numpy().ravel()
    array([1], dtype=uint8)
    """
    pixels, dtype = _as_float(images)
    if not pixels.ndim or pixels.shape[-1] != 3:
        raise InvalidArgumentError(f"rgb_to_grayscale: the last dimension must be 3, got shape {list(pixels.shape)}")
    weights = np.array([0.2989, 0.587, 0.114], pixels.dtype)
    grey = (pixels[..., :1] * weights[0] + pixels[..., 1:2] * weights[1]) + pixels[..., 2:] * weights[2]
    return _unsaturated(grey, dtype)


def _unsaturated(pixels: Array, dtype: DType) -> Tensor:
    made: Tensor = convert_image_dtype(tensor_of(pixels), dtype)
    return made


def grayscale_to_rgb(images: object, name: str | None = None) -> Tensor:
    """RGB images from grey ones.

    >>> import feedline.tf as tf
    >>> tf.image.grayscale_to_rgb(tf.ones([1, 1, 1])).shape
    fl.TensorShape([1, 1, 3])
    """
    array = as_tensor(images)._array
    if array.ndim < 1 or array.shape[-1] != 1:
        raise InvalidArgumentError(f"grayscale_to_rgb: the last dimension must be 1, got shape {list(array.shape)}")
    return tensor_of(np.repeat(array, 3, -1))


def adjust_brightness(image: object, delta: object) -> Tensor:
    """The image with `delta` added, as a fraction of full brightness.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_brightness(tf.constant([[[100]]], tf.uint8), 0.1).numpy().item()
    125
    """
    pixels, dtype = _as_float(image)
    return _back(pixels + cast(delta, pixels.dtype)._array, dtype)


def adjust_contrast(images: object, contrast_factor: object) -> Tensor:
    """The image with the distance of each value from its channel's mean scaled.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel()
    array([0., 4.], dtype=float32)
    """
    pixels, dtype = _as_float(images)
    _not_half(pixels, "AdjustContrastv2")
    wide = pixels.astype(np.float32, copy=False)
    if wide.ndim < 3:
        raise InvalidArgumentError(f"adjust_contrast: images must be at least 3-D, got shape {list(wide.shape)}")
    mean = _channel_means(wide)
    made = (wide - mean) * as_tensor(contrast_factor, np.float32)._array + mean
    return _back(made.astype(pixels.dtype, copy=False), dtype)


def _channel_means(pixels: Array) -> Array:
    """The mean of each channel, added in the order of TensorFlow's kernel: the second half to the first, again and
    again. Where the number of pixels is odd, the one in the middle waits.
    """
    *outer, height, width, channels = pixels.shape
    left = count = height * width
    many = pixels.reshape(math.prod(outer), count, channels)
    while left > 1:
        half = left // 2
        many = np.concatenate([many[:, :half] + many[:, left - half : left], many[:, half : left - half]], 1)
        left -= half
    if not count:
        return np.zeros((*outer, 1, 1, channels), np.float32)
    return (many * np.float32(1 / count)).reshape(*outer, 1, 1, channels)


def adjust_gamma(image: object, gamma: object = 1, gain: object = 1) -> Tensor:
    """`gain * image ** gamma`.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_gamma([[[0.25]]], 0.5).numpy().item()
    0.5
    """
    pixels, dtype = _as_float(image)
    power = as_tensor(gamma)._array
    if power < 0:
        raise InvalidArgumentError("Gamma should be a non-negative real number.")
    made = np.asarray(gain, pixels.dtype) * np.power(pixels, power.astype(pixels.dtype))
    return _back(np.asarray(made, pixels.dtype), dtype)


def _hue_ranges(pixels: Array) -> tuple[Array, Array, Array]:
    """The hue from 0 to 6, and the smallest and largest channel of each pixel."""
    r, g, b = (pixels[..., i] for i in range(3))
    low, high = pixels.min(-1), pixels.max(-1)
    middle = np.maximum(np.minimum(r, g), np.minimum(np.maximum(r, g), b))
    first = r < g
    kind = np.where(
        first,
        np.where(b < r, 1, np.where(b > g, 3, 2)),
        np.where(b < g, 0, np.where(b > r, 4, 5)),
    )
    one = np.float32(1)
    with np.errstate(all="ignore"):
        ratio = (middle - low) / (high - low)
    hue = kind.astype(np.float32) + np.where(kind % 2 == 0, ratio, one - ratio)
    return np.where(high == low, np.float32(0), hue), low, high


@op("AdjustHue")
def _adjust_hue(pixels: Array, delta: Array) -> Array:
    hue, low, high = _hue_ranges(pixels)
    six = np.float32(6)
    hue = hue + delta * six
    for _ in range(2):
        hue = np.where(hue < 0, hue + six, hue)
        hue = np.where(hue >= six, hue - six, hue)
    kind = hue.astype(np.int32)
    ratio = hue - kind.astype(np.float32)
    ratio = np.where(kind % 2 == 0, ratio, np.float32(1) - ratio)
    middle = low + ratio * (high - low)
    parts = [
        (high, middle, low),
        (middle, high, low),
        (low, high, middle),
        (low, middle, high),
        (middle, low, high),
        (high, low, middle),
    ]
    return np.stack([np.choose(np.minimum(kind, 5), [p[c] for p in parts]) for c in range(3)], -1)


def adjust_hue(image: object, delta: object, name: str | None = None) -> Tensor:
    """The image with its hue turned by `delta`, between -1 and 1.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(5).ravel()
    array([0., 1., 0.], dtype=float32)
    """
    pixels, dtype = _rgb_floats(image, "adjust_hue")
    turn = as_tensor(delta, np.float32)
    if not -1 <= float(turn) <= 1:
        raise InvalidArgumentError("delta must be in the interval [-1, 1]")
    return _back(_adjust_hue(tensor_of(pixels.astype(np.float32)), turn)._array.astype(pixels.dtype), dtype)


def _not_half(pixels: Array, name: str) -> None:
    if pixels.dtype.itemsize == 2:
        raise InvalidTypeError(f"{name} does not take {as_dtype(pixels.dtype).name}; cast the image to tf.float32")


def _rgb_floats(image: object, what: str) -> tuple[Array, DType]:
    pixels, dtype = _as_float(image)
    _not_half(pixels, what)
    if pixels.ndim < 3 or pixels.shape[-1] != 3:
        raise InvalidArgumentError(f"{what}: the image must be [..., height, width, 3], got shape {list(pixels.shape)}")
    return pixels, dtype


@op("AdjustSaturation")
def _adjust_saturation(pixels: Array, factor: Array) -> Array:
    r, g, b = (pixels[..., i] for i in range(3))
    high = pixels.max(-1)
    span = high - pixels.min(-1)
    with np.errstate(all="ignore"):
        saturation = np.where(high > 0, span / high, np.float32(0))
        norm = np.float32(1) / (np.float32(6) * span)
    sixth = np.float32(1.0 / 6.0)
    with np.errstate(all="ignore"):
        hue = np.where(
            r == high,
            norm * (g - b),
            np.where(g == high, norm * (b - r) + np.float32(2.0 / 6.0), norm * (r - g) + np.float32(4.0 / 6.0)),
        )
    hue = np.where(span <= 0, np.float32(0), hue)
    hue = np.where(hue < 0, hue + np.float32(1), hue)
    del sixth
    saturation = np.minimum(np.float32(1), np.maximum(np.float32(0), saturation * factor))
    c = saturation * high
    m = high - c
    dh = hue * np.float32(6)
    kind = dh.astype(np.int32)
    part = np.where(dh <= 0, dh + np.float32(2), dh)
    for _ in range(3):
        part = np.where(part >= 2, part - np.float32(2), part)
    x = c * (np.float32(1) - np.abs(part - np.float32(1)))
    zero = np.zeros_like(c)
    parts = [(c, x, zero), (x, c, zero), (zero, c, x), (zero, x, c), (x, zero, c), (c, zero, x), (zero, zero, zero)]
    return np.stack([np.choose(np.minimum(kind, 6), [p[i] for p in parts]) + m for i in range(3)], -1)


def adjust_saturation(image: object, saturation_factor: object, name: str | None = None) -> Tensor:
    """The image with its saturation scaled.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_saturation([[[1.0, 0.0, 0.0]]], 0.5).numpy().ravel()
    array([1. , 0.5, 0.5], dtype=float32)
    """
    pixels, dtype = _rgb_floats(image, "adjust_saturation")
    made = _adjust_saturation(tensor_of(pixels.astype(np.float32)), as_tensor(saturation_factor, np.float32))
    return _back(made._array.astype(pixels.dtype), dtype)


def _rgb_to_hsv(pixels: Array) -> Array:
    r, g, b = (pixels[..., i] for i in range(3))
    one = pixels.dtype.type
    high = pixels.max(-1)
    span = high - pixels.min(-1)
    saturation = np.where(high > 0, span / high, one(0))
    norm = (one(1) / span) * one(1.0 / 6.0)
    hue = np.where(
        r == high, norm * (g - b), np.where(g == high, norm * (b - r) + one(2.0 / 6.0), norm * (r - g) + one(4.0 / 6.0))
    )
    hue = np.where(span > 0, hue, one(0))
    return np.stack([np.where(hue < 0, hue + one(1), hue), saturation, high], -1)


def _hsv_to_rgb(pixels: Array) -> Array:
    h, s, v = (pixels[..., i] for i in range(3))
    one = pixels.dtype.type
    dh = h * one(6)
    parts = np.abs(dh - one(3)) - one(1), one(2) - np.abs(dh - one(2)), one(2) - np.abs(dh - one(4))
    return np.stack([((one(1) - s) + s * np.clip(p, one(0), one(1))) * v for p in parts], -1)


def _colour(name: str, kernel: Callable[[Array], Array]) -> Callable[..., Tensor]:
    made = Op(name, kernel, "f")

    def function(images: object, name: str | None = None) -> Tensor:
        given = as_tensor(images)
        if not given.ndim or given._array.shape[-1] != 3:
            raise InvalidArgumentError(f"the last dimension must be 3, got shape {given.shape}")
        found: Tensor = made(given)
        return found

    before, after = name.split("To")
    shown = f"tf.image.{before.lower()}_to_{after.lower()}"
    text = f"Float images with the channels {after} in place of {before}."
    return documented(function, text, f">>> {shown}([[[0.0, 0.0, 0.0]]]).numpy().tolist()", "[[[0.0, 0.0, 0.0]]]")


def _times(matrix: list[list[float]]) -> Callable[[Array], Array]:
    def kernel(pixels: Array) -> Array:
        made: Array = np.tensordot(pixels, np.array(matrix, pixels.dtype), 1)
        return made

    return kernel


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
rgb_to_hsv = _colour("RGBToHSV", _rgb_to_hsv)
hsv_to_rgb = _colour("HSVToRGB", _hsv_to_rgb)
rgb_to_yiq = _colour("RGBToYIQ", _times(_YIQ))
yiq_to_rgb = _colour(
    "YIQToRGB", _times([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
)
rgb_to_yuv = _colour("RGBToYUV", _times(_YUV))
yuv_to_rgb = _colour("YUVToRGB", _times([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]))


def per_image_standardization(image: object) -> Tensor:
    """Each image scaled to mean 0 and variance 1.

    >>> import feedline.tf as tf
    >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()
    array([-1.,  1.], dtype=float32)
    """
    given = as_tensor(image)
    if given.ndim < 3:
        raise InvalidArgumentError(
            f"per_image_standardization: expected [..., height, width, channels], got {given.shape}"
        )
    pixels = given._array
    pixels = pixels.astype(np.float32, copy=False)
    count = math.prod(pixels.shape[-3:])
    mean = reduce_mean(pixels, (-3, -2, -1), True)._array
    deviation = reduce_std(pixels, (-3, -2, -1), True)._array
    least = np.asarray(1 / math.sqrt(count), pixels.dtype)
    return tensor_of((pixels - mean) / np.maximum(deviation, least))


def _between(low: object, high: object, draw: Callable[..., Tensor]) -> Tensor:
    return draw([], minval=low, maxval=high)


def _check_range(lower: Any, upper: Any) -> None:
    if upper <= lower:
        raise StaticArgumentError("upper must be > lower.")
    if lower < 0:
        raise StaticArgumentError("lower must be non-negative.")


def _jittered(
    name: str, adjust: Callable[..., Tensor], symmetric: bool, most: float | None
) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """The stateful and the stateless form of a random adjustment."""

    def limits(args: tuple[Any, ...]) -> tuple[Any, Any]:
        if symmetric:
            (delta,) = args
            if delta < 0 or (most is not None and delta > most):
                raise StaticArgumentError(
                    f"max_delta must be non-negative{'' if most is None else f' and at most {most}'}."
                )
            return -delta, delta
        _check_range(*args)
        return args

    if symmetric:

        def stateful(image: object, max_delta: Any, seed: object = None) -> Tensor:
            low, high = limits((max_delta,))
            return adjust(image, random_ops.uniform([], low, high, seed=seed))

        def stateless(image: object, max_delta: Any, seed: object) -> Tensor:
            low, high = limits((max_delta,))
            return adjust(image, random_ops.stateless_uniform([], seed, low, high))
    else:

        def stateful(image: object, lower: Any, upper: Any = None, seed: object = None) -> Tensor:  # type: ignore[misc]
            low, high = limits((lower, upper))
            return adjust(image, random_ops.uniform([], low, high, seed=seed))

        def stateless(image: object, lower: Any, upper: Any = None, seed: object = None) -> Tensor:  # type: ignore[misc]
            low, high = limits((lower, upper))
            return adjust(image, random_ops.stateless_uniform([], seed, low, high))

    limit = "0.2" if symmetric else "0.5, 1.5"
    text = f"The image with its {name} changed by a random number."
    example = f">>> tf.image.random_{name}(tf.ones([2, 2, 3]), {limit}, seed=1).shape"
    documented(stateful, text, example, "fl.TensorShape([2, 2, 3])")
    text = f"The image with its {name} changed by a random number that depends on the seed alone."
    example = f">>> tf.image.stateless_random_{name}(tf.ones([2, 2, 3]), {limit}, seed=(1, 2)).shape"
    documented(stateless, text, example, "fl.TensorShape([2, 2, 3])")
    return stateful, stateless


random_brightness, stateless_random_brightness = _jittered("brightness", adjust_brightness, True, None)
random_contrast, stateless_random_contrast = _jittered("contrast", adjust_contrast, False, None)
random_hue, stateless_random_hue = _jittered("hue", adjust_hue, True, 0.5)
random_saturation, stateless_random_saturation = _jittered("saturation", adjust_saturation, False, None)


def adjust_jpeg_quality(image: object, jpeg_quality: object, dct_method: str = "", name: str | None = None) -> Tensor:
    """The image, encoded as JPEG and decoded again.

    >>> import feedline.tf as tf
    >>> tf.image.adjust_jpeg_quality(tf.zeros([8, 8, 3]), 75).dtype.name
    'float32'
    """
    given = as_tensor(image)
    pixels: Tensor = convert_image_dtype(given, types.uint8, saturate=True)
    encoded = encode_jpeg(pixels, quality=integer(jpeg_quality, "jpeg_quality"))
    made: Tensor = convert_image_dtype(decode_jpeg(encoded), given.dtype, saturate=True)
    return made


def random_jpeg_quality(image: object, min_jpeg_quality: int, max_jpeg_quality: int, seed: object = None) -> Tensor:
    """`adjust_jpeg_quality` with a random quality.

    >>> import feedline.tf as tf
    >>> tf.image.random_jpeg_quality(tf.zeros([8, 8, 3]), 75, 95).dtype.name
    'float32'
    """
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, random_ops.uniform([], min_jpeg_quality, max_jpeg_quality, types.int32, seed))


def stateless_random_jpeg_quality(image: object, min_jpeg_quality: int, max_jpeg_quality: int, seed: object) -> Tensor:
    """`adjust_jpeg_quality` with a quality that depends on the seed.

    >>> import feedline.tf as tf
    >>> tf.image.stateless_random_jpeg_quality(tf.zeros([8, 8, 3]), 75, 95, seed=[1, 2]).dtype.name
    'float32'
    """
    _check_quality(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(
        image, random_ops.stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, types.int32)
    )


def _check_quality(low: int, high: int) -> None:
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise InvalidArgumentError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise InvalidArgumentError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


# Boxes


class DistortedBox(NamedTuple):
    """The result of `sample_distorted_bounding_box`."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


class _Dice:
    """Single random numbers from a stream of words, as TensorFlow's kernels draw them."""

    def __init__(self, words: random_ops.Words) -> None:
        self._words, self._at = words, 0

    def word(self) -> int:
        found = int(self._words(self._at, 1)[0])
        self._at += 1
        return found

    def unit(self) -> np.float32:
        bits = np.uint32((self.word() & 0x7FFFFF) | (127 << 23))
        return np.float32(bits.view(np.float32) - np.float32(1))

    def below(self, n: int) -> int:
        if n & (n - 1) == 0:
            return self.word() & (n - 1)
        least = 0xFFFFFFFF % n + 1
        while (word := self.word()) < least:
            pass
        return word % n


def _distorted(
    dice: _Dice,
    image_size: object,
    bounding_boxes: object,
    min_object_covered: object,
    aspect_ratio_range: Any,
    area_range: Any,
    max_attempts: Any,
    whole_if_none: Any,
) -> DistortedBox:
    size = as_tensor(image_size)
    height, width = ints(size)[:2]
    boxes = as_tensor(bounding_boxes, np.float32)._array.reshape(-1, 4)
    covered = float(as_tensor(min_object_covered))
    ratios = aspect_ratio_range or (0.75, 1.33)
    areas = area_range or (0.05, 1.0)
    if (
        len(ratios) != 2
        or ratios[0] <= 0
        or ratios[1] < ratios[0]
        or len(areas) != 2
        or not 0 < areas[0] <= areas[1] <= 1
    ):
        raise InvalidArgumentError(f"sample_distorted_bounding_box: bad ranges {ratios} and {areas}")
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(f"image height and width must be positive, got {height} x {width}")
    if boxes.size and not ((boxes >= 0) & (boxes <= 1)).all():
        raise InvalidArgumentError("All bounding box coordinates must be in [0.0, 1.0]")
    if not len(boxes) and not whole_if_none:
        raise InvalidArgumentError("No bounding boxes provided as input; set use_image_if_no_bounding_boxes")
    objects = [(int(x0 * width), int(y0 * height), int(x1 * width), int(y1 * height)) for y0, x0, y1, x1 in boxes]
    objects = objects or [(0, 0, width, height)]
    crop = (0, 0, width, height)
    for _ in range(max_attempts or 100):
        ratio = np.float32(dice.unit() * np.float32(ratios[1] - ratios[0]) + np.float32(ratios[0]))
        found = _random_box(dice, width, height, areas, ratio)
        if found is not None and any(_covers(found, box, covered) for box in objects):
            crop = found
            break
    x0, y0, x1, y1 = crop
    kind = size._array.dtype
    box = np.array([[[y0 / height, x0 / width, y1 / height, x1 / width]]], np.float32)
    return DistortedBox(
        tensor_of(np.array([y0, x0, 0], kind)), tensor_of(np.array([y1 - y0, x1 - x0, -1], kind)), tensor_of(box)
    )


def _random_box(
    dice: _Dice, width: int, height: int, areas: Any, ratio: np.float32
) -> tuple[int, int, int, int] | None:
    least, most = np.float32(areas[0]) * np.float32(width * height), np.float32(areas[1]) * np.float32(width * height)
    tall = round(float(np.sqrt(np.float32(least / ratio))))
    tallest = round(float(np.sqrt(np.float32(most / ratio))))
    if round(float(np.float32(tallest) * ratio)) > width:
        tallest = int((width + 0.5 - 0.0000001) / ratio)
        if round(float(np.float32(tallest) * ratio)) > width:
            tallest -= 1
    tallest = min(tallest, height)
    tall = min(tall, tallest)
    if tall < tallest:
        tall += dice.below(tallest - tall + 1)
    wide = round(float(np.float32(tall) * ratio))
    if wide * tall < least:
        tall += 1
        wide = round(float(np.float32(tall) * ratio))
    if wide * tall > most:
        tall -= 1
        wide = round(float(np.float32(tall) * ratio))
    area = wide * tall
    if area < least or area > most or wide > width or tall > height or wide <= 0 or tall <= 0:
        return None
    y = dice.below(height - tall) if tall < height else 0
    x = dice.below(width - wide) if wide < width else 0
    return x, y, x + wide, y + tall


def _covers(crop: tuple[int, int, int, int], box: tuple[int, int, int, int], least: float) -> bool:
    area = (box[2] - box[0]) * (box[3] - box[1])
    wide = min(crop[2], box[2]) - max(crop[0], box[0])
    tall = min(crop[3], box[3]) - max(crop[1], box[1])
    if area <= 0:
        return False
    shared = max(wide, 0) * max(tall, 0)
    return shared / area >= least if wide > 0 and tall > 0 else least <= 0


def sample_distorted_bounding_box(
    image_size: object,
    bounding_boxes: object,
    seed: object = 0,
    min_object_covered: object = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
    seed2: object = None,
) -> DistortedBox:
    """A random part of an image that covers enough of some bounding box: where it begins, its size, and it as a box.

    >>> import feedline.tf as tf
    >>> begin, size, box = tf.image.sample_distorted_bounding_box([50, 60, 3], tf.zeros([1, 0, 4]),
    ...     min_object_covered=0.1, use_image_if_no_bounding_boxes=True)
    >>> begin.shape, size.numpy()[2], box.shape
    (fl.TensorShape([3]), np.int32(-1), fl.TensorShape([1, 1, 4]))
    """
    given = seed or None
    words = random_ops._stateful("SampleDistortedBoundingBoxV2", given, 64, np.dtype(np.int32))
    return _distorted(
        _Dice(words),
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


def stateless_sample_distorted_bounding_box(
    image_size: object,
    bounding_boxes: object,
    seed: object,
    min_object_covered: object = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> DistortedBox:
    """`sample_distorted_bounding_box` at a place that depends on the seed alone.

    >>> import feedline.tf as tf
    >>> found = tf.image.stateless_sample_distorted_bounding_box([50, 60, 3], tf.zeros([1, 0, 4]), [1, 2],
    ...     use_image_if_no_bounding_boxes=True)
    >>> found.size.shape
    fl.TensorShape([3])
    """
    return _distorted(
        _Dice(random_ops._stateless(seed)),
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


def crop_and_resize(
    image: object,
    boxes: object,
    box_indices: object,
    crop_size: object,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Parts of images, given as boxes [y1, x1, y2, x2] between 0 and 1, in one size.

    >>> import feedline.tf as tf
    >>> tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]).shape
    fl.TensorShape([1, 2, 2, 1])
    """
    images = as_tensor(image)._array
    places, numbers = as_tensor(boxes, np.float32)._array, as_tensor(box_indices)._array
    tall, wide = ints(crop_size)
    if images.ndim != 4 or places.ndim != 2 or places.shape[1] != 4 or numbers.shape != places.shape[:1]:
        raise InvalidArgumentError(
            f"crop_and_resize: images {images.shape}, boxes {places.shape}, indices {numbers.shape}"
        )
    if tall <= 0 or wide <= 0:
        raise InvalidArgumentError("crop dimensions must be positive")
    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(images)):
        raise OutOfRangeError(f"box_index has values outside [0, {len(images)})")
    height, width = images.shape[1:3]
    out = np.full((len(places), tall, wide, images.shape[3]), extrapolation_value, np.float32)
    one = np.float32
    for i, (y1, x1, y2, x2) in enumerate(places):
        ys = _grid(y1, y2, tall, height)
        xs = _grid(x1, x2, wide, width)
        inside = ((ys >= 0) & (ys <= height - 1))[:, None] & ((xs >= 0) & (xs <= width - 1))
        source = images[numbers[i]]
        if method == "nearest":
            y, x = (
                np.clip(np.floor(ys + one(0.5)), 0, height - 1).astype(int),
                np.clip(np.floor(xs + one(0.5)), 0, width - 1).astype(int),
            )
            found = source[y][:, x].astype(np.float32)
        else:
            top, left = (
                np.clip(np.floor(ys), 0, height - 1).astype(int),
                np.clip(np.floor(xs), 0, width - 1).astype(int),
            )
            low, right = np.clip(np.ceil(ys), 0, height - 1).astype(int), np.clip(np.ceil(xs), 0, width - 1).astype(int)
            dy = (ys - np.floor(ys)).astype(one)[:, None, None]
            dx = (xs - np.floor(xs)).astype(one)[None, :, None]
            values = source.astype(np.float32)
            upper = values[top][:, left] + (values[top][:, right] - values[top][:, left]) * dx
            lower = values[low][:, left] + (values[low][:, right] - values[low][:, left]) * dx
            found = upper + (lower - upper) * dy
        out[i] = np.where(inside[..., None], found, np.float32(extrapolation_value))
    return tensor_of(out)


def _grid(low: np.float32, high: np.float32, count: int, size: int) -> Array:
    """The places along one side of a box, in pixels."""
    full = np.float32(size - 1)
    if count > 1:
        scale = np.float32((high - low) * full / np.float32(count - 1))
        return (low * full + np.arange(count, dtype=np.float32) * scale).astype(np.float32)
    return np.array([np.float32(0.5) * (low + high) * full], np.float32)


_BOX_COLORS = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ],
    np.float32,
)
"""The colours of boxes for which none are given."""


def draw_bounding_boxes(images: object, boxes: object, colors: object, name: str | None = None) -> Tensor:
    """Images with the outlines of boxes [y1, x1, y2, x2].

    >>> import feedline.tf as tf
    >>> drawn = tf.image.draw_bounding_boxes(tf.zeros([1, 4, 4, 3]), [[[0.0, 0.0, 1.0, 1.0]]], [[1.0, 0.0, 0.0]])
    >>> drawn.numpy()[0, 0, 0]
    array([1., 0., 0.], dtype=float32)
    """
    given = as_tensor(images)._array
    if given.dtype not in (np.float32, np.float16):
        if isinstance(images, TensorBase):
            raise InvalidTypeError(f"draw_bounding_boxes takes float32 and float16, not {given.dtype}; use tf.cast")
        given = given.astype(np.float32)
    out = given.copy()
    places = as_tensor(boxes, np.float32)._array
    paint = _BOX_COLORS.copy() if colors is None else as_tensor(colors, np.float32)._array
    if colors is None and out.shape[3] == 1:
        paint[:, 0] = 1
    height, width = out.shape[1:3]
    for b in range(len(out)):
        for k, (y1, x1, y2, x2) in enumerate(places[b]):
            rows = int(y1 * (height - 1)), int(y2 * (height - 1))
            columns = int(x1 * (width - 1)), int(x2 * (width - 1))
            if (
                rows[0] > rows[1]
                or columns[0] > columns[1]
                or rows[0] >= height
                or rows[1] < 0
                or columns[0] >= width
                or columns[1] < 0
            ):
                continue
            colour = paint[k % len(paint), : out.shape[3]]
            r = slice(max(rows[0], 0), min(rows[1], height - 1) + 1)
            c = slice(max(columns[0], 0), min(columns[1], width - 1) + 1)
            for y in rows:
                if 0 <= y < height:
                    out[b, y, c] = colour
            for x in columns:
                if 0 <= x < width:
                    out[b, r, x] = colour
    return tensor_of(out)


def non_max_suppression(
    boxes: object,
    scores: object,
    max_output_size: object,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    name: str | None = None,
) -> Tensor:
    """The boxes with the highest scores, without those that overlap a better one too much.

    >>> import feedline.tf as tf
    >>> tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]], [0.5, 0.9], 2).numpy()
    array([1], dtype=int32)
    """
    places, points = as_tensor(boxes)._array.astype(np.float32), as_tensor(scores)._array
    low, high = np.minimum(places[:, :2], places[:, 2:]), np.maximum(places[:, :2], places[:, 2:])
    areas = np.prod(high - low, 1)
    kept: list[int] = []
    for i in np.argsort(-points, kind="stable"):
        if len(kept) >= integer(max_output_size, "max_output_size") or points[i] <= score_threshold:
            break
        shared = (
            np.prod(np.maximum(np.minimum(high[kept], high[i]) - np.maximum(low[kept], low[i]), 0), 1)
            if kept
            else np.zeros(0)
        )
        union = areas[kept] + areas[i] - shared
        with np.errstate(all="ignore"):
            if not (np.where(union > 0, shared / union, 0) > iou_threshold).any():
                kept.append(int(i))
    return tensor_of(np.array(kept, np.int32))


def extract_patches(
    images: object, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Patches of images, each in one vector.

    >>> import feedline.tf as tf
    >>> tf.image.extract_patches(tf.zeros([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID").shape
    fl.TensorShape([1, 2, 2, 4])
    """
    array = as_tensor(images)._array
    tall, wide = sizes[1], sizes[2]
    reach = (tall - 1) * rates[1] + 1, (wide - 1) * rates[2] + 1
    if padding == "SAME":
        widths = []
        for size, step, span in zip(array.shape[1:3], strides[1:3], reach, strict=True):
            total = max((-(-size // step) - 1) * step + span - size, 0)
            widths.append((total // 2, total - total // 2))
        array = np.pad(array, [(0, 0), *widths, (0, 0)])
    elif padding != "VALID":
        raise InvalidArgumentError(f"padding must be SAME or VALID, got {padding!r}")
    if array.shape[1] < reach[0] or array.shape[2] < reach[1]:
        return tensor_of(np.zeros((len(array), 0, 0, tall * wide * array.shape[3]), array.dtype))
    views = np.lib.stride_tricks.sliding_window_view(array, reach, (1, 2))[
        :, :: strides[1], :: strides[2], :, :: rates[1], :: rates[2]
    ]
    moved = np.moveaxis(views, 3, -1)
    return tensor_of(np.ascontiguousarray(moved).reshape(*moved.shape[:3], -1))


def image_gradients(image: object) -> tuple[Tensor, Tensor]:
    """The differences of neighbouring rows and columns.

    >>> import feedline.tf as tf
    >>> [g.shape for g in tf.image.image_gradients(tf.zeros([1, 2, 3, 1]))]
    [fl.TensorShape([1, 2, 3, 1]), fl.TensorShape([1, 2, 3, 1])]
    """
    array = as_tensor(image)._array
    if array.ndim != 4:
        raise InvalidArgumentError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {array.shape}.")
    dy, dx = np.zeros_like(array), np.zeros_like(array)
    dy[:, :-1], dx[:, :, :-1] = np.diff(array, axis=1), np.diff(array, axis=2)
    return tensor_of(dy), tensor_of(dx)


def total_variation(images: object, name: str | None = None) -> Tensor:
    """The sum of the differences of neighbouring pixels.

    >>> import feedline.tf as tf
    >>> tf.image.total_variation([[[1.0], [3.0]]]).numpy()
    np.float32(2.0)
    """
    array = _pixels(images, "total_variation")
    parts = [np.abs(np.diff(array, axis=a)).sum((-3, -2, -1), array.dtype) for a in (-3, -2)]
    return as_tensor(parts[0] + parts[1])


def psnr(a: object, b: object, max_val: float, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images.

    >>> import feedline.tf as tf
    >>> tf.image.psnr(tf.zeros([2, 2, 1]), tf.ones([2, 2, 1]), 1.0).numpy()
    np.float32(0.0)
    """
    x = convert_image_dtype(as_tensor(a), types.float32)._array
    y = convert_image_dtype(as_tensor(b), types.float32)._array
    most = float(convert_image_dtype(cast(max_val, as_tensor(a).dtype), types.float32)._array)
    mse = np.mean((x - y) ** 2, (-3, -2, -1))
    with np.errstate(divide="ignore"):
        return as_tensor(
            np.asarray(20 * np.log(most) / np.log(10) - np.float32(10 / np.log(10)) * np.log(mse), np.float32)
        )


# TensorFlow 1's names

_METHODS = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}


def resize_images(
    images: object,
    size: object,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """TensorFlow 1's `tf.image.resize`: pixels are measured at their corners, not at their centres.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.image.resize_images(tf.zeros([4, 6, 3]), [2, 3]).shape
    fl.TensorShape([2, 3, 3])
    """
    pixels = _pixels(images, "resize_images")
    if is_resized(pixels.shape, ints(size), preserve_aspect_ratio):
        return tensor_of(pixels)
    return always_resized(pixels, size, method, align_corners, preserve_aspect_ratio)


def is_resized(shape: Sequence[int], size: Sequence[int], preserve_aspect_ratio: bool) -> bool:
    """Whether images have the size already that they are to get: TensorFlow 1 returns such images as they are."""
    return tuple(shape[-3:-1]) == _target_size(shape, size, preserve_aspect_ratio)


def _target_size(shape: Sequence[int], size: Sequence[int], preserve_aspect_ratio: bool) -> tuple[int, int]:
    tall, wide = size
    if preserve_aspect_ratio:
        height, width = np.float32(shape[-3]), np.float32(shape[-2])
        scale = min(np.float32(tall) / height, np.float32(wide) / width)
        tall, wide = round(float(scale * height)), round(float(scale * width))
    return tall, wide


def always_resized(
    images: object,
    size: object,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """`resize_images` without its shortcut for images of the wanted size."""
    pixels = _pixels(images, "resize_images")
    tall, wide = _target_size(pixels.shape, ints(size), preserve_aspect_ratio)
    kind = _METHODS.get(method, method)
    if pixels.shape[-3:-1] == (tall, wide):
        return tensor_of(pixels if kind == "nearest" else pixels.astype(np.float32, copy=False))
    return tensor_of(_legacy(pixels, tall, wide, kind, align_corners))


def resize_image_with_pad(
    image: object, target_height: object, target_width: object, method: Any = 0, align_corners: bool = False
) -> Tensor:
    """TensorFlow 1's `tf.image.resize_with_pad`.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.image.resize_image_with_pad(tf.ones([2, 4, 1]), 4, 4).numpy()[:, 0, 0]
    array([0., 1., 1., 0.], dtype=float32)
    """
    return _into(image, target_height, target_width, lambda x, size: resize_images(x, size, method, align_corners))


def _legacy(pixels: Array, tall: int, wide: int, method: str, align: bool) -> Array:
    if method in ("area", "bicubic"):
        return resize_aligned(pixels, tall, wide, method, align)
    if method == "nearest":
        rows, columns = (_legacy_nearest(n, m, align) for n, m in ((pixels.shape[-3], tall), (pixels.shape[-2], wide)))
        return pixels.take(rows, -3).take(columns, -2)
    if method != "bilinear":
        raise InvalidArgumentError(f"Resize method is not implemented: {method}")
    source = pixels.astype(np.float32)
    (top, low, dy), (left, right, dx) = (
        _legacy_linear(n, m, align) for n, m in ((source.shape[-3], tall), (source.shape[-2], wide))
    )
    dy, dx = dy[:, None, None], dx[:, None]
    upper, lower = source.take(top, -3), source.take(low, -3)
    above = upper.take(left, -2) + (upper.take(right, -2) - upper.take(left, -2)) * dx
    below = lower.take(left, -2) + (lower.take(right, -2) - lower.take(left, -2)) * dx
    made: Array = above + (below - above) * dy
    return made


def _legacy_scale(size: int, count: int, align: bool) -> np.float32:
    return np.float32((size - 1) / (count - 1)) if align and count > 1 else np.float32(size / count)


def _legacy_nearest(size: int, count: int, align: bool) -> Array:
    place = np.arange(count, dtype=np.float32) * _legacy_scale(size, count, align)
    found: Array = np.minimum(np.floor(place + np.float32(0.5) if align else place).astype(int), size - 1)
    return found


def _legacy_linear(size: int, count: int, align: bool) -> tuple[Array, Array, Array]:
    place = np.arange(count, dtype=np.float32) * _legacy_scale(size, count, align)
    low = np.floor(place)
    return low.astype(int), np.minimum(np.ceil(place), size - 1).astype(int), (place - low).astype(np.float32)


def _legacy_named(method: str) -> Callable[..., Tensor]:
    def function(
        images: object,
        size: object,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        if half_pixel_centers:
            return resize(images, size, method)
        return always_resized(images, size, method, align_corners)

    full = "nearest_neighbor" if method == "nearest" else method
    example = f">>> tf.compat.v1.image.resize_{full}(tf.ones([1, 4, 4, 3]), [2, 2]).shape"
    return documented(function, f"TensorFlow 1's {method} resizing.", example, "fl.TensorShape([1, 2, 2, 3])")


resize_bilinear = _legacy_named("bilinear")
resize_nearest_neighbor = _legacy_named("nearest")
resize_bicubic = _legacy_named("bicubic")
resize_area = _legacy_named("area")


own_functions(globals())
