"""Decodes image files to arrays of pixels. The first bytes determine the format, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.image import bmp, gif, jpeg, png, webp
from feedline.io.image.dtype import convert_image_dtype
from feedline.structure import types
from feedline.structure.arguments import boolean_attribute, float_attribute, integer_attribute, text_attribute
from feedline.structure.dense import dense, strings_of
from feedline.structure.types import as_dtype

Array = np.ndarray[Any, Any]


def decode_jpeg(
    contents: object,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Array:
    """Decodes a JPEG file to pixels, uint8 [height, width, channels].

    >>> image = np.full((4, 6, 3), 128, np.uint8)
    >>> fl.io.decode_jpeg(fl.io.encode_jpeg(image)).shape
    (4, 6, 3)

    `channels` is 1 for gray, 3 for colour, 0 for the number in the file. `ratio` (1, 2, 4 or 8) shrinks the image while
    decoding, which is faster than afterwards. `dct_method` is "INTEGER_FAST" (also the default) or "INTEGER_ACCURATE".
    `try_recover_truncated` decodes a truncated file with gray in place of the missing pixels.

    Pixels equal TensorFlow's, as long as both use libjpeg-turbo with the same method. Needs `feedline[images]`.
    """
    op = "decode_jpeg"
    data = _bytes(contents, op)
    channels = integer_attribute(channels, 0, "channels", op)
    how = _how(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method, op)
    if data[:3] == jpeg.MAGIC:
        return jpeg.decode(data, channels, *how)
    return _single(_decoded(data, channels, op), op)


def decode_and_crop_jpeg(
    contents: object,
    crop_window: object,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    *,
    exact: bool = True,
) -> Array:
    """Decodes a window of a JPEG file; `crop_window` is its top, left, height and width. Otherwise like `decode_jpeg`.

    >>> data = fl.io.encode_jpeg(np.full((8, 9, 3), 128, np.uint8))
    >>> fl.io.decode_and_crop_jpeg(data, [1, 2, 3, 4]).shape
    (3, 4, 3)

    Pixels equal TensorFlow's: if a file has subsampled colours, those along the left and right edges of the window may
    differ slightly from `decode_jpeg`, because they are interpolated from inside the window only. With `exact=False`
    they are those of `decode_jpeg`, which takes half the time for such files.
    """
    op = "decode_and_crop_jpeg"
    data = _bytes(contents, op)
    channels = integer_attribute(channels, 0, "channels", op)
    how = _how(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method, op)
    window = dense(crop_window)
    if window.dtype.kind not in "iu":
        raise InvalidTypeError(f"crop_window must be 4 integers: top, left, height, width; got {crop_window!r}")
    if window.shape != (4,):
        raise InvalidArgumentError(f"crop_window must be 4 integers: top, left, height, width; got {crop_window!r}")
    if data[:3] != jpeg.MAGIC:
        raise InvalidArgumentError(f"{op} takes only JPEG files, got {_format(data)}")
    pixels = jpeg.decode(data, channels, *how)
    top, left, height, width = window.tolist()
    if min(top, left) < 0 or min(height, width) < 1 or top + height > pixels.shape[0] or left + width > pixels.shape[1]:
        raise InvalidArgumentError(
            f"the crop_window of {height} x {width} pixels at row {top} and column {left} is not inside an "
            f"image of {pixels.shape[0]} x {pixels.shape[1]}"
        )
    if exact:
        return jpeg.crop(data, pixels, (top, left, height, width), *how)
    return pixels[top : top + height, left : left + width].copy()


def decode_png(contents: object, channels: int = 0, dtype: object = types.uint8, name: str | None = None) -> Array:
    """Decodes a PNG file to pixels, uint8 or uint16 [height, width, channels].

    >>> data = fl.io.encode_png(np.array([[[1], [2]]], np.uint8))
    >>> fl.io.decode_png(data, channels=3)
    array([[[1, 1, 1],
            [2, 2, 2]]], dtype=uint8)

    `channels` is 1 for gray, 3 for colour, 4 for colour and opacity, 0 for the number in the file. A file of 8 bits per
    channel read as uint16 is scaled to its range. Pixels equal TensorFlow's, including its weights for gray.
    """
    kind = types.uint8 if dtype is None else as_dtype(dtype)
    if kind not in (types.uint8, types.uint16):
        raise InvalidArgumentError(f"decode_png: dtype must be uint8 or uint16, got {kind.name}")
    data = _bytes(contents, "decode_png")
    channels = integer_attribute(channels, 0, "channels", "decode_png")
    return _single(_decoded(data, channels, "decode_png", kind), "decode_png")


def decode_bmp(contents: object, channels: int = 0, name: str | None = None) -> Array:
    """Decodes a BMP file to pixels, uint8 [height, width, channels]; 8 bits per pixel are read as gray.

    >>> sizes = np.array([54, 40, 1, 1], "<i4").tobytes() + b"\\1\\0\\x18\\0"
    >>> fl.io.decode_bmp(b"BM" + bytes(8) + sizes + bytes(24) + b"\\3\\2\\1\\0")
    array([[[1, 2, 3]]], dtype=uint8)
    """
    data = _bytes(contents, "decode_bmp")
    channels = integer_attribute(channels, 0, "channels", "decode_bmp")
    _check(channels)
    found = _format(data)
    if found != "BMP":
        raise InvalidArgumentError(f"decode_bmp takes only BMP files, got {found}; use decode_image")
    return bmp.decode(data, channels)


def decode_gif(contents: object, name: str | None = None) -> Array:
    """Decodes a GIF file to frames, uint8 [frames, height, width, 3]; each is painted over the one before.

    >>> data = b"GIF89a\\1\\0\\1\\0\\x80\\0\\0\\1\\2\\3\\4\\5\\6,\\0\\0\\0\\0\\1\\0\\1\\0\\0\\2\\2\\x4c\\1\\0;"
    >>> fl.io.decode_gif(data)
    array([[[[4, 5, 6]]]], dtype=uint8)
    """
    pixels = _decoded(_bytes(contents, "decode_gif"), 3, "decode_gif")
    return pixels if pixels.ndim == 4 else pixels[None]


def decode_image(
    contents: object,
    channels: int | None = None,
    dtype: object = types.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Array:
    """Decodes a JPEG, PNG, BMP, GIF or WebP file to pixels [height, width, channels], or for GIF and WebP [frames,
    height, width, channels] unless `expand_animations` is False, which returns the first frame only.

    >>> data = fl.io.encode_png(np.array([[[0], [255]]], np.uint8))
    >>> fl.io.decode_image(data, dtype=fl.float32)
    array([[[0.],
            [1.]]], dtype=float32)
    """
    kind = as_dtype(dtype)
    plain = kind if kind in (types.uint8, types.uint16, types.float32) else types.uint16
    number = integer_attribute(channels, 0, "channels", "decode_image")
    animated = boolean_attribute(expand_animations, True, "expand_animations", "decode_image")
    pixels = _decoded(_bytes(contents, "decode_image"), number, "decode_image", plain)
    if pixels.ndim == 4 and not animated:
        pixels = pixels[0]
    return pixels if plain == kind else convert_image_dtype(pixels, kind)


def is_jpeg(contents: object, name: str | None = None) -> Any:
    """Whether a string begins like a JPEG file.

    >>> fl.io.is_jpeg(b"\\xff\\xd8\\xff\\xe0"), fl.io.is_jpeg(b"GIF89a")
    (np.True_, np.False_)
    """
    strings = strings_of(contents, "is_jpeg takes strings")
    found = np.array([s[:3] == jpeg.MAGIC for s in strings.ravel().tolist()], bool)
    return found.reshape(strings.shape)[()]


def extract_jpeg_shape(contents: object, output_type: object = types.int32, name: str | None = None) -> Array:
    """Reads the height, width and channels of a JPEG file, without decoding it.

    >>> fl.io.extract_jpeg_shape(fl.io.encode_jpeg(np.zeros((4, 6, 1), np.uint8)))
    array([4, 6, 1], dtype=int32)
    """
    kind = types.int32 if output_type is None else as_dtype(output_type)
    if kind not in (types.int32, types.int64):
        raise InvalidArgumentError(f"extract_jpeg_shape: output_type must be int32 or int64, got {kind.name}")
    return np.array(jpeg.shape(_bytes(contents, "extract_jpeg_shape")), kind.dtype)


def _bytes(contents: object, op: str) -> bytes:
    if type(contents) is bytes:
        return contents
    array = dense(contents)
    if array.dtype != object:
        raise InvalidTypeError(f"{op} takes one string, the bytes of a file; got {array.dtype} {list(array.shape)}")
    if array.ndim:
        raise InvalidArgumentError(f"{op} takes one string, the bytes of a file; got {array.dtype} {list(array.shape)}")
    found: bytes = array.item()
    return found


def _how(
    ratio: object, fancy_upscaling: object, recover: object, fraction: object, dct_method: object, op: str
) -> tuple[int, bool, bool, str]:
    """The checked arguments of the functions that decode JPEG files."""
    number = integer_attribute(ratio, 1, "ratio", op)
    if number not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"{op}: ratio must be 1, 2, 4 or 8, got {number}")
    method = text_attribute(dct_method, "", "dct_method", op)
    if method not in jpeg.METHODS:
        names = ", ".join(map(repr, jpeg.METHODS))
        raise InvalidArgumentError(f"{op}: dct_method must be one of {names}, got {method!r}")
    float_attribute(fraction, 1, "acceptable_fraction", op)
    fancy = boolean_attribute(fancy_upscaling, True, "fancy_upscaling", op)
    return number, fancy, boolean_attribute(recover, False, "try_recover_truncated", op), method


def _format(data: bytes) -> str:
    """The name of the format, from the first bytes."""
    if data.startswith(jpeg.MAGIC):
        return "JPEG"
    if data.startswith(png.MAGIC):
        return "PNG"
    if data.startswith(b"GIF8"):
        return "GIF"
    if data.startswith(b"BM"):
        return "BMP"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    if not data:
        raise InvalidArgumentError("an empty string is not an image")
    raise InvalidArgumentError(f"not a JPEG, PNG, GIF, BMP or WebP file; its {len(data)} bytes begin with {data[:8]!r}")


def _check(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise InvalidArgumentError(f"channels must be 0, 1, 3 or 4, got {channels}")


def _decoded(data: bytes, channels: int, op: str, kind: types.DType = types.uint8) -> Array:
    """The pixels of a file of any format, of uint8, uint16 or float32."""
    _check(channels)
    found = _format(data)
    if found == "PNG":
        pixels = png.decode(data, channels, sixteen=kind != types.uint8)
        return pixels * np.float32(1 / 65535) if kind == types.float32 else pixels
    if found == "WebP":
        if kind != types.uint8:
            raise InvalidArgumentError(f"{op}: a WebP file is decoded to uint8 only, got {kind.name}")
        return webp.decode(data, channels)
    if found == "GIF":
        if channels not in (0, 3):
            raise InvalidArgumentError(f"channels must be 0 or 3 for a GIF file, got {channels}")
        pixels = gif.decode(data)
    elif found == "BMP":
        if op not in ("decode_image", "decode_bmp"):
            raise InvalidArgumentError(f"{op} does not take BMP files; use decode_bmp or decode_image")
        pixels = bmp.decode(data, channels)
    else:
        pixels = jpeg.decode(data, channels)
    if kind == types.uint16:
        return pixels.astype(np.uint16) * np.uint16(256)
    return pixels * np.float32(1 / 255) if kind == types.float32 else pixels


def _single(pixels: Array, op: str) -> Array:
    """A single image, also if it is stored as one frame."""
    if pixels.ndim == 3:
        return pixels
    if len(pixels) != 1:
        raise InvalidArgumentError(f"{op}: the image has {len(pixels)} frames; use decode_gif or decode_image")
    single: Array = pixels[0]
    return single
