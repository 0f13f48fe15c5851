"""feedline functions that vectorized user functions may call if their results are made by native programs only."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from feedline import kernels
from feedline.image.resize import ResizeMethod, resize
from feedline.io.image import jpeg
from feedline.io.image.decode import decode_jpeg
from feedline.io.image.dtype import convert_image_dtype
from feedline.io.image.extra import needed
from feedline.plan.vectorize import DecodeJpeg, ImageProgram, RowValues, Unsupported, register_native

_LAYOUTS = ("444", "422", "420", "440", "411", "Gray")


@functools.cache
def has_decoder() -> bool:
    """Whether there is a JPEG library for the kernels whose pixels are those of `decode_jpeg`."""
    if not kernels.NATIVE:
        return False
    try:
        simplejpeg = needed("simplejpeg")
    except ImportError:
        return False
    return any(kernels.load_jpeg(file) and _is_exact(simplejpeg) for file in ("", *_libraries()))


def _libraries() -> list[str]:
    """The files that may be libjpeg-turbo: in Pillow's wheel, or the system's."""
    try:
        folder = Path(needed("PIL", "pillow").__file__).parent
    except ImportError:
        return []
    beside = [*folder.parent.glob("pillow.libs/libjpeg*.so*"), *folder.glob(".dylibs/libjpeg*.dylib")]
    return [*map(str, sorted(beside)), "libjpeg.62.dylib" if sys.platform == "darwin" else "libjpeg.so.62"]


def _is_exact(simplejpeg: Any) -> bool:
    """Whether images of all layouts have the same pixels as those of simplejpeg's own copy of the library."""
    y, x = np.mgrid[:41, :53]
    pixels = np.stack([x * 37 + y * 11, x * y, y * 5 ^ x * 3], axis=-1).astype(np.uint8)
    for layout in _LAYOUTS:
        gray = layout == "Gray"
        given = np.ascontiguousarray(pixels[..., :1]) if gray else pixels
        file = simplejpeg.encode_jpeg(given, 80, "GRAY" if gray else "RGB", layout)
        for fast in (True, False):
            expect = simplejpeg.decode_jpeg(file, "GRAY" if gray else "RGB", fastdct=fast)
            out = np.empty((1, *expect.shape), np.float32)
            if kernels.decode_images([file], (0, 1, True, fast), [], [], [], out, 1) != 1:
                return False
            if not np.array_equal(out[0], expect):
                return False
    return True


def _decode_jpeg(
    contents: object,
    channels: Any = 0,
    ratio: Any = 1,
    fancy_upscaling: Any = True,
    try_recover_truncated: Any = False,
    acceptable_fraction: Any = 1,
    dct_method: Any = "",
    name: Any = None,
) -> ImageProgram:
    if type(contents) is not RowValues:
        raise Unsupported("decode_jpeg takes the file of each element")
    if type(channels) is not int or channels not in (0, 1, 3) or type(ratio) is not int or ratio not in (1, 2, 4, 8):
        raise Unsupported("decode_jpeg has a wrong argument")
    if type(try_recover_truncated) is not bool or type(acceptable_fraction) not in (int, float):
        raise Unsupported("decode_jpeg has a wrong argument")
    if type(fancy_upscaling) is not bool or type(dct_method) is not str or dct_method not in jpeg.METHODS:
        raise Unsupported("decode_jpeg has a wrong argument")
    if not has_decoder():
        raise Unsupported("no libjpeg-turbo was found that gives the pixels of decode_jpeg")
    decode = DecodeJpeg(channels, ratio, fancy_upscaling, dct_method != "INTEGER_ACCURATE")
    return ImageProgram(contents.column, (decode,))


def _resize(
    images: object,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: Any = False,
    antialias: Any = False,
    name: Any = None,
) -> ImageProgram:
    if type(images) is not ImageProgram:
        raise Unsupported("resize has a kernel only for decoded files")
    if method != ResizeMethod.BILINEAR or preserve_aspect_ratio is not False or antialias is not False:
        raise Unsupported("resize has a kernel only for bilinear interpolation to a given size, without antialias")
    if type(size) not in (list, tuple) or len(size) != 2 or not all(type(n) is int for n in size):
        raise Unsupported("the size of images must be two constants")
    return images.resized(*size)


def _convert_image_dtype(image: object, dtype: Any, saturate: Any = False, name: Any = None) -> ImageProgram:
    if type(image) is not ImageProgram or image.dtype != np.uint8 or np.dtype(dtype) != np.float32:
        raise Unsupported("convert_image_dtype has a kernel only for uint8 images to float32")
    scaled: ImageProgram = image.astype(np.float32) * np.float32(1.0 / 255)
    return scaled


register_native(decode_jpeg, _decode_jpeg)
register_native(resize, _resize)
register_native(convert_image_dtype, _convert_image_dtype)
