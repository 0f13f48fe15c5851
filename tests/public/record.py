"""Records what TensorFlow gives for the pipelines of `pipelines.py`: run it with a Python that has TensorFlow 2.21.

python -m tests.public.record            all
python -m tests.public.record speech
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.public.data import DATA, IMAGES, pixels
from tests.public.pipelines import PIPELINES, RANDOM
from tests.tf.evaluate import plain

RECORDED = Path(__file__).parent / "recorded.json.gz"


def leaves(element: Any) -> list[Any]:
    """The leaves of an element, those of dicts by key."""
    if isinstance(element, dict):
        return [leaf for key in sorted(element) for leaf in leaves(element[key])]
    if isinstance(element, (tuple, list)):
        return [leaf for part in element for leaf in leaves(part)]
    return [element]


def ranges(element: Any) -> Any:
    """The dtype, shape and range of each leaf."""
    arrays = [np.asarray(leaf) for leaf in leaves(element)]
    return [[a.dtype.name, list(a.shape), float(a.min()), float(a.max())] for a in arrays]


def elements(name: str, tf: Any) -> list[Any]:
    """The elements of a pipeline, in the form that is recorded."""
    tf.random.set_seed(11)
    with tempfile.TemporaryDirectory() as folder:
        ds = PIPELINES[name](tf, Path(folder))
        form = ranges if name in RANDOM else plain
        return [form(element) for element in ds]


def spec(name: str, tf: Any) -> list[Any]:
    """The dtypes of a pipeline's elements, and the ranks of their shapes."""
    with tempfile.TemporaryDirectory() as folder:
        found = leaves(PIPELINES[name](tf, Path(folder)).element_spec)
    return [[tf.as_dtype(s.dtype).name, s.shape.rank] for s in found]


def write_images(tf: Any) -> None:
    """Writes the JPEG files of the pipelines."""
    DATA.mkdir(exist_ok=True)
    for i in range(IMAGES):
        (DATA / f"{i}.jpg").write_bytes(tf.io.encode_jpeg(pixels(i), quality=90).numpy())


def main() -> None:
    """Records the pipelines named as arguments, or all."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    if not DATA.exists():
        write_images(tf)
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    for name in sys.argv[1:] or PIPELINES:
        recorded[name] = {"spec": spec(name, tf), "elements": elements(name, tf)}
        print(f"{name}: {len(recorded[name]['elements'])} elements")
    kept = {name: recorded[name] for name in PIPELINES if name in recorded}
    RECORDED.write_bytes(gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
