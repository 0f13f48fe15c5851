"""JPEG files of all kinds, made for tests."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import numpy as np
import simplejpeg
from PIL import Image

Array = np.ndarray[Any, Any]


def pixels(height: int, width: int, seed: int = 0) -> Array:
    """Areas of colour with noise, as uint8 [height, width, 3]."""
    rng = np.random.default_rng(seed)
    areas = np.kron(rng.random((height // 8 + 1, width // 8 + 1, 3)), np.ones((8, 8, 1)))[:height, :width]
    return np.ascontiguousarray((areas * 200 + rng.random((height, width, 3)) * 50).astype(np.uint8))


def layout(name: str, height: int = 45, width: int = 61, seed: int = 0) -> bytes:
    """A file whose colours are stored in this layout, "420" or "Gray" for instance."""
    given = pixels(height, width, seed)
    gray = name == "Gray"
    made: bytes = simplejpeg.encode_jpeg(
        np.ascontiguousarray(given[..., :1]) if gray else given, 85, "GRAY" if gray else "RGB", name
    )
    return made


def pillow(height: int = 45, width: int = 61, mode: str = "RGB", seed: int = 0, **options: Any) -> bytes:
    """A file as Pillow writes it with these options."""
    file = BytesIO()
    Image.fromarray(pixels(height, width, seed)).convert(mode).save(file, "JPEG", **options)
    return file.getvalue()


LAYOUTS = ("444", "422", "420", "440", "411", "Gray")
GOOD: dict[str, bytes] = {
    **{name: layout(name) for name in LAYOUTS},
    "progressive": pillow(progressive=True),
    "progressive gray": pillow(mode="L", progressive=True),
    "restarts": pillow(restart_marker_blocks=2),
    "comment": pillow(comment=b"a comment"),
    "tables": pillow(optimize=True, quality=97),
    "one pixel": layout("420", 1, 1),
    "large": layout("420", 375, 500),
    "padded": pillow() + bytes(100),
}
"""Files that are decoded natively."""

ODD: dict[str, bytes] = {
    "CMYK": pillow(mode="CMYK"),
    "truncated": pillow()[:-200],
    "no end": pillow()[:-2],
    "no image": pillow()[:100],
    "damaged": pillow()[:700] + b"\xff\x31" * 30 + pillow()[760:],
    "too large": re.sub(rb"(\xff\xc0...)....", rb"\1" + b"\xff" * 4, pillow(), count=1, flags=re.DOTALL),
    "empty": b"",
    "text": b"not a picture",
    "magic": b"\xff\xd8\xff",
    "PNG": b"\x89PNG\r\n\x1a\n",
}
"""Files that only the functions themselves handle: with an error, or in another way."""
