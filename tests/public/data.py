"""The files that the pipelines read. JPEG files, which every encoder writes differently, are in `data`."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
IMAGES = 6
WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "far", "away"]


def pixels(number: int) -> Any:
    """An image of 30 to 40 pixels a side."""
    rng = np.random.RandomState(number)
    height, width = 30 + 2 * number, 40 - number
    y, x, c = np.mgrid[:height, :width, :3]
    rough = rng.randint(0, 40, (height, width, 3))
    return ((x * (3 + number) + y * 5 + c * 60 + rough) % 256).astype(np.uint8)


def jpeg(number: int) -> bytes:
    """The image as a JPEG file."""
    return (DATA / f"{number}.jpg").read_bytes()


def ints(tf: Any, values: Any) -> Any:
    """A feature of integers."""
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v) for v in values]))


def floats(tf: Any, values: Any) -> Any:
    """A feature of floats."""
    return tf.train.Feature(float_list=tf.train.FloatList(value=[float(v) for v in values]))


def strings(tf: Any, values: Any) -> Any:
    """A feature of strings."""
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def write_records(tf: Any, path: Path, rows: Any) -> str:
    """A TFRecord file of Examples."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            writer.write(tf.train.Example(features=tf.train.Features(feature=row)).SerializeToString())
    return str(path)


def write_images(tf: Any, folder: Path, shards: int = 2) -> list[str]:
    """JPEG files with labels in TFRecord files."""
    names = []
    for shard in range(shards):
        rows = [
            {
                "image/encoded": strings(tf, [jpeg(i)]),
                "image/class/label": ints(tf, [i % 4 + 1]),
                "image/class/text": strings(tf, [b"class %d" % (i % 4)]),
            }
            for i in range(shard, IMAGES, shards)
        ]
        names.append(write_records(tf, folder / f"images-{shard:05d}-of-{shards:05d}.tfrecord", rows))
    return names


def write_csv(folder: Path, files: int = 3, rows: int = 11) -> list[str]:
    """CSV files of nine numbers in a row, with a header."""
    names = []
    for i in range(files):
        rng = np.random.RandomState(i)
        lines = [",".join(f"{v:.4f}" for v in row) for row in rng.uniform(0, 10, (rows, 9))]
        lines[3] = lines[3].replace(lines[3].split(",")[2], "", 1)  # a missing value
        path = folder / f"houses_{i:02d}.csv"
        path.write_text("\n".join([",".join("abcdefghy"), *lines]) + "\n")
        names.append(str(path))
    return names


def write_wav(path: Path, seconds: float, tone: float) -> None:
    """A tone, as 16-bit samples at 4000 Hz."""
    times = np.arange(int(4000 * seconds)) / 4000
    samples = (np.sin(2 * np.pi * tone * times) * 12000 * np.linspace(1, 0, len(times))).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(4000)
        file.writeframes(samples.tobytes())


def sentences(count: int) -> list[str]:
    """Sentences of two to nine words."""
    rng = np.random.RandomState(5)
    return [" ".join(WORDS[i] for i in rng.randint(0, len(WORDS), rng.randint(2, 10))) for _ in range(count)]
