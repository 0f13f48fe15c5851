"""WebP files, through Pillow."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.image.extra import needed

Array = np.ndarray[Any, Any]


def decode(data: bytes, channels: int) -> Array:
    """All frames [frames, height, width, channels]; 0 channels means 4 for a file with transparency, otherwise 3."""
    if channels not in (0, 3, 4):
        raise InvalidArgumentError(f"channels must be 0, 3 or 4 for a WebP file, got {channels}")
    image_module = needed("PIL.Image", "pillow")
    try:
        image = image_module.open(BytesIO(data), formats=["WEBP"])
        frames = []
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGBA" if image.mode == "RGBA" else "RGB")))
    except image_module.UnidentifiedImageError:  # its text contains a memory address
        raise InvalidArgumentError(f"not a valid WebP file, of {len(data)} bytes: its header is corrupt") from None
    except (OSError, ValueError, image_module.DecompressionBombError) as e:
        raise InvalidArgumentError(f"not a valid WebP file, of {len(data)} bytes: {e}") from None
    found = frames[0].shape[2]
    if channels not in (0, found):
        raise InvalidArgumentError(f"the WebP file has {found} channels, not {channels}")
    return np.stack(frames)
