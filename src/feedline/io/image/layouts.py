"""JPEG files with colour layouts that the main decoder does not support.

Pillow returns their components as stored, subsampled ones repeated; the remaining steps of libjpeg, interpolating
neighbours and converting colours, are done here in the same arithmetic.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.image import cropped
from feedline.io.image.extra import needed

Array = np.ndarray[Any, Any]


def space(data: bytes) -> str | None:
    """The colour space of a file, as libjpeg determines it; None unless it has three or four components."""
    found = cropped.frame(data)
    if found is None or 0 in (found.height, found.width) or any(0 in factors for factors in found.factors):
        return None
    conversion = cropped.conversion(data)
    if len(found.factors) == 4:
        return "YCCK" if conversion == 2 else "CMYK"
    if len(found.factors) == 3:
        return "RGB" if conversion == 0 or (conversion is None and found.names == b"RGB") else "YCbCr"
    return None


def decode(data: bytes, target: str, ratio: int, fancy: bool, fast: bool) -> Array:
    """The pixels in `target`: "CMYK" for four components, otherwise "RGB" or "GRAY". The accurate method always
    interpolates the colours of neighbours.
    """
    found = cropped.frame(data)
    assert found is not None
    planes = _planes(cropped.unconverted(data), found, ratio, fast or not fancy)
    if fancy and fast and ratio < 8:
        for i, (across, down) in enumerate(cropped.repeats(found, ratio)):
            planes[..., i] = _mixed(planes[..., i], across, down)
    kept = space(data)
    if target == "GRAY":
        if kept != "RGB":
            return planes[..., :1]
        luma = planes.astype(np.int32) @ np.array([19595, 38470, 7471], np.int32)
        return ((luma + (1 << 15)) >> 16).astype(np.uint8)[..., None]
    if kept in ("YCbCr", "YCCK"):
        light, colours = planes[..., 0].astype(np.int32), planes[..., 1:3].astype(np.int32) - 128
        rgb = cropped.rgb(light, colours)
        planes[..., :3] = rgb if kept == "YCbCr" else 255 - rgb
    return planes


def _planes(data: bytes, found: cropped.JpegHeader, ratio: int, repeated: bool) -> Array:
    """The components of a file, unconverted, at 1/ratio of its size. With `repeated`, subsampled components are
    repeated, by the fast method; otherwise they are interpolated, by the accurate one.
    """
    library = needed("PIL.Image", "pillow")
    size = -(-found.height // ratio), -(-found.width // ratio)
    try:
        image: Any = library.open(BytesIO(data), formats=["JPEG"])
        if ratio > 1:
            image.draft(image.mode, (max(1, found.width // ratio), max(1, found.height // ratio)))
        scale = image.decoderconfig[0] if image.decoderconfig else 1
        image.decoderconfig = (scale, int(repeated))
        planes = np.array(image, np.uint8)
    except library.UnidentifiedImageError:  # its text contains a memory address
        raise InvalidArgumentError("not a valid JPEG file: its header is corrupt") from None
    except (OSError, SyntaxError, ValueError, IndexError, struct.error, library.DecompressionBombError) as e:
        raise InvalidArgumentError(f"not a valid JPEG file, of {len(data)} bytes: {e}") from None
    if planes.shape != (*size, len(found.factors)):
        raise InvalidArgumentError(f"a JPEG file of this layout cannot be decoded at 1/{ratio} of its size")
    return 255 - planes if len(found.factors) == 4 else planes  # Pillow inverts four components


def _mixed(plane: Array, across: int, down: int) -> Array:
    """A component subsampled by `across` times `down`, interpolated with its neighbours as libjpeg does."""
    kept = plane[::down, ::across].astype(np.int32)
    height, width = plane.shape
    if down == 2 and across <= 2:
        if across == 2 and kept.shape[1] <= 2:
            return plane
        rows = np.arange(height)
        own = rows // 2
        other = np.clip(own + np.where(rows % 2, 1, -1), 0, len(kept) - 1)
        sums = 3 * kept[own] + kept[other]
        if across == 1:
            mixed: Array = ((sums + np.where(rows % 2, 2, 1)[:, None]) >> 2).astype(np.uint8)
            return mixed
        return _double_columns(sums, 8, 7, 4)[:, :width]
    if (across, down) == (2, 1) and kept.shape[1] > 2:
        return _double_columns(kept, 1, 2, 2)[:, :width]
    return plane


def _double_columns(kept: Array, left: int, right: int, shift: int) -> Array:
    """Twice as many columns, each interpolated from the two nearest, three parts to one; `left` and `right` are the
    rounding terms of the even and the odd ones.
    """
    padded = np.concatenate([kept[:, :1], kept, kept[:, -1:]], 1)
    made = np.empty((kept.shape[0], 2 * kept.shape[1]), np.uint8)
    made[:, ::2] = (3 * kept + padded[:, :-2] + left) >> shift
    made[:, 1::2] = (3 * kept + padded[:, 2:] + right) >> shift
    return made
