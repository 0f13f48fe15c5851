"""`tf.image`, as far as loading images needs it: decoding, encoding, resizing, and dtype conversion."""

from __future__ import annotations

from feedline.image.resize import ResizeMethod, resize
from feedline.io.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from feedline.io.image.dtype import convert_image_dtype
from feedline.io.image.encode import encode_jpeg, encode_png

__all__ = [
    "ResizeMethod",
    "convert_image_dtype",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "is_jpeg",
    "resize",
]
