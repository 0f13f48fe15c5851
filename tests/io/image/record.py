"""Asks TensorFlow what it makes of the pictures in tests/data/images.json, and writes that into the same file.

    python tests/io/image/record.py [FILE ...]

puts further pictures into it. Needs TensorFlow; the tests do not run this.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "data" / "images.json"
CHANNELS = (0, 1, 3, 4)


def calls() -> list[tuple[str, dict[str, Any]]]:
    """The calls that are made with each picture."""
    many: list[tuple[str, dict[str, Any]]] = [("decode_gif", {}), ("extract_jpeg_shape", {}), ("is_jpeg", {})]
    many += [("decode_jpeg", {"channels": c}) for c in CHANNELS]
    many += [("decode_png", {"channels": c, "dtype": d}) for c in CHANNELS for d in ("uint8", "uint16")]
    many += [("decode_bmp", {"channels": c}) for c in CHANNELS]
    many += [("decode_image", {"channels": c, "dtype": d}) for c in CHANNELS for d in ("uint8", "uint16", "float32")]
    many += [("decode_image", {"expand_animations": False}), ("decode_jpeg", {"fancy_upscaling": False})]
    many += [("decode_jpeg", {"ratio": r}) for r in (2, 4, 8)]
    many += [("decode_jpeg", {"dct_method": m}) for m in ("INTEGER_FAST", "INTEGER_ACCURATE")]
    return [*many, ("decode_and_crop_jpeg", {"crop_window": [3, 5, 9, 11]})]


def summary(result: Any) -> list[Any]:
    """Dtype, shape and checksum of an array."""
    return [result.dtype.name, list(result.shape), zlib.crc32(result.tobytes())]


def main() -> None:
    """Records all calls with all pictures."""
    import tensorflow as tf

    found = json.loads(RECORD.read_text()) if RECORD.exists() else {"files": {}}
    for name in sys.argv[1:]:
        found["files"][Path(name).name] = base64.b64encode(Path(name).read_bytes()).decode()
    results: dict[str, list[Any]] = {}
    for name, text in sorted(found["files"].items()):
        results[name] = []
        for function, arguments in calls():
            try:
                result = getattr(tf.io, function)(base64.b64decode(text), **arguments).numpy()
                results[name].append(summary(result))
            except tf.errors.OpError as e:
                results[name].append(type(e).__name__)
    files = ",\n".join(f"{json.dumps(n)}: {json.dumps(t)}" for n, t in sorted(found["files"].items()))
    rows = ",\n".join(f"{json.dumps(n)}: {json.dumps(r, separators=(',', ':'))}" for n, r in results.items())
    RECORD.write_text(f'{{"files": {{\n{files}\n}},\n"results": {{\n{rows}\n}}}}\n')


if __name__ == "__main__":
    main()
