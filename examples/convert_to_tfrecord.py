"""Converts a folder of images, or NumPy arrays, to TFRecord files.

    python convert_to_tfrecord.py photos/ photos.tfrecord --shards 16     # photos/<class>/<name>.jpg
    python convert_to_tfrecord.py arrays.npz arrays.tfrecord --shards 4   # one row of every array makes a record

Without arguments it generates a folder of images, converts it and reads the result. Images are copied unchanged, and
are never all in memory. Files are written atomically.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl


def from_folder(folder: Path, path: str, shards: int | None = None) -> tuple[list[str], list[str]]:
    """Writes `folder/<class>/*`, with mixed classes; returns the files and the class names."""
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir())
    number = {name: i for i, name in enumerate(classes)}

    def example(name: bytes) -> dict[str, Any]:
        label = number[Path(name.decode()).parent.name]
        return {"image": fl.io.read_file(name), "label": label, "name": Path(name.decode()).name}

    images = fl.Dataset.list_files(f"{folder}/*/*", seed=0).map(example, num_parallel_calls=fl.AUTOTUNE)
    return fl.io.write_examples(path, images, shards=shards), classes


def from_arrays(arrays: dict[str, Any], path: str, shards: int | None = None) -> list[str]:
    """Writes arrays of the same length, such as those of `np.load("arrays.npz")`; returns the files."""
    return fl.io.write_examples(path, dict(arrays), shards=shards)


def read_images(files: list[str]) -> Any:
    """Images and labels from the files of `from_folder`."""
    features = {"image": fl.io.FixedLenFeature([], fl.string), "label": fl.io.FixedLenFeature([], fl.int64)}
    return (
        fl.TFRecordDataset(files)
        .parse(features)
        .map(lambda row: (fl.io.decode_image(row["image"]), row["label"]), num_parallel_calls=fl.AUTOTUNE)
    )


def main(images: int = 300, shards: int = 4) -> dict[str, int]:
    """Generates a folder of images, converts it and reads it back; returns the number of images per class."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "photos")
        for i in range(images):
            place = folder / ("dark" if i % 3 else "light")
            place.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 100, (24, 24, 3)) + (0 if i % 3 else 150)
            (place / f"{i:04}.png").write_bytes(fl.io.encode_png(pixels.astype(np.uint8)))
        files, classes = from_folder(folder, f"{name}/photos.tfrecord", shards)
        counts = dict.fromkeys(classes, 0)
        for image, label in read_images(files):
            assert (image.mean() > 125) == (classes[label] == "light")
            counts[classes[label]] += 1
        print(f"{len(files)} files, {sum(Path(file).stat().st_size for file in files):,} bytes: {counts}")
        columns = {"x": rng.random((images, 5)).astype(np.float32), "y": np.arange(images)}
        again = fl.TFRecordDataset(from_arrays(columns, f"{name}/rows.tfrecord", shards)).parse(batch_size=images)
        assert np.array_equal(next(iter(again))["x"], columns["x"])
    return counts


def command() -> None:
    """Runs with command line arguments."""
    parser = argparse.ArgumentParser(description="Converts a folder of images, or arrays in a .npz file, to TFRecords.")
    parser.add_argument("source", nargs="?", type=Path)
    parser.add_argument("path", nargs="?")
    parser.add_argument("--shards", type=int)
    given = parser.parse_args()
    if given.source is None:
        main()
    elif given.path is None:
        parser.error("give the name of the TFRecord file to write")
    elif given.source.is_dir():
        files, classes = from_folder(given.source, given.path, given.shards)
        print(f"{len(files)} files; the labels stand for: {', '.join(classes)}")
    else:
        with np.load(given.source) as arrays:
            print(f"{len(from_arrays(arrays, given.path, given.shards))} files")


if __name__ == "__main__":
    command()
