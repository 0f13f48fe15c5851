"""A test of an installed feedline, in a few seconds: python release/smoke.py [--wheel].

It needs nothing but the package and its dependencies; with the extras `cli` and `images` it tests these, too. With
`--wheel` the compiled kernels must be there, and so must the JPEG decoder that wheels contain.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import feedline as fl
from feedline import kernels

VALUES = np.arange(300, dtype=np.float32)


def scaled(row: dict[str, np.ndarray]) -> np.ndarray:
    """Called by threads and processes; a module of its own is not needed, since cloudpickle sends it."""
    return row["x"] * 2


def records() -> None:
    """Written, read with checksums, parsed, shuffled in TensorFlow's order."""
    files = fl.io.write_examples("data.tfrecord", {"x": VALUES.reshape(100, 3)}, shards=3)
    ds = fl.TFRecordDataset(files).parse(batch_size=10)
    assert np.array_equal(np.concatenate([batch["x"] for batch in ds]), VALUES.reshape(100, 3))
    order = list(fl.Dataset.range(10).shuffle(10, seed=1).as_numpy_iterator())
    assert order == [0, 9, 5, 1, 2, 7, 3, 8, 6, 4], order  # TensorFlow's
    packed = fl.Dataset.from_tensor_slices([b"a", b"b"])
    with fl.io.TFRecordWriter("packed.tfrecord", "GZIP") as writer:
        for record in packed:
            writer.write(record)
    assert list(fl.TFRecordDataset("packed.tfrecord", "GZIP")) == [b"a", b"b"]


def parallel() -> None:
    """The same results from threads and from processes."""
    ds = fl.Dataset.from_tensor_slices({"x": VALUES})
    for workers in ("thread", "process"):
        got = list(ds.map(scaled, num_parallel_calls=2, workers=workers).prefetch(2))
        assert np.array_equal(got, VALUES * 2), workers


def checkpoint() -> None:
    """A second iterator continues where the first one was."""
    ds = fl.Dataset.range(100).shuffle(50, seed=1).batch(7)
    it = iter(ds)
    next(it)
    again = iter(ds)
    again.restore(it.save())
    assert all(np.array_equal(a, b) for a, b in zip(it, again, strict=True))


def images() -> None:
    """A JPEG file, decoded natively if the extra `images` is there."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.full((32, 32, 3), 100, np.uint8)).save(file, "JPEG")
    ds = fl.Dataset.from_tensors(file.getvalue()).repeat(3).map(lambda f: fl.io.decode_jpeg(f, channels=3)).batch(3)
    assert next(iter(ds)).shape == (3, 32, 32, 3)


def main() -> None:
    """Runs all of it in a temporary folder, and says what was tested."""
    is_wheel = "--wheel" in sys.argv[1:]
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    kind = "native" if kernels.NATIVE else "NumPy"
    free = "" if gil else ", without the GIL"
    print(f"feedline {fl.__version__}, {kind} kernels, Python {sys.version.split()[0]}{free}, {sys.platform}")
    if is_wheel:
        assert kernels.NATIVE, "the wheel has no compiled kernels"
        assert kernels.load_jpeg(""), "the wheel has no JPEG decoder"
    if find_spec("click") and find_spec("rich"):
        command = [sys.executable, "-m", "feedline", "--version"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said.strip() == f"feedline {fl.__version__}", said
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        records()
        parallel()
        checkpoint()
        if find_spec("PIL") and find_spec("simplejpeg"):
            images()
        os.chdir(Path(__file__).parent)
    print("ok")


if __name__ == "__main__":
    main()
