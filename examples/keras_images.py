"""Keras `fit` on TFRecord files of PNG images, which are decoded as they are read.

    KERAS_BACKEND=jax python keras_images.py      (or torch)

Needs `feedline[keras,images]` and one of the two backends.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported

import keras
import numpy as np

import feedline as fl

SHAPES = ("square", "circle", "cross")
SIZE = 16
FEATURES = {"image": fl.io.FixedLenFeature([], fl.string), "label": fl.io.FixedLenFeature([], fl.int64)}


def drawn(label: int, rng: np.random.Generator) -> Any:
    """A noisy image of a shape at a random position, as a uint8 array."""
    y, x = np.mgrid[:SIZE, :SIZE] - rng.integers(6, 10, (2, 1, 1))
    inside = [
        np.maximum(abs(x), abs(y)) <= 4,
        x**2 + y**2 <= 20,
        np.minimum(abs(x), abs(y)) <= 1,
    ][label]
    return np.clip(np.where(inside, 200, 60) + rng.normal(0, 30, (SIZE, SIZE)), 0, 255).astype(np.uint8)[..., None]


def write_shapes(path: str, count: int, shards: int, seed: int) -> list[str]:
    """Writes TFRecord files of PNG images and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(SHAPES), count)
    images = [fl.io.encode_png(drawn(label, rng)) for label in labels]
    return fl.io.write_examples(path, {"image": images, "label": labels}, shards=shards)


def decode(record: bytes) -> tuple[Any, Any]:
    """A record as an image with values from 0 to 1, and its label."""
    example = fl.io.parse_single_example(record, FEATURES)
    return fl.io.decode_png(example["image"], channels=1) / np.float32(255), example["label"]


def batches(files: list[str], count: int, training: bool) -> Any:
    """The batches for `fit`. The number of records is stated, so that Keras knows the length of an epoch."""
    dataset = fl.Dataset.from_tensor_slices(files).interleave(fl.TFRecordDataset)
    if training:
        dataset = dataset.shuffle(1024, seed=1)
    dataset = dataset.map(decode, num_parallel_calls=fl.AUTOTUNE).apply(fl.experimental.assert_cardinality(count))
    return dataset.batch(32).prefetch(fl.AUTOTUNE).to_keras()


def network() -> keras.Model:
    """A small convolutional network."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 1)),
            layers.Conv2D(8, 5, strides=2, activation="relu"),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(len(SHAPES), activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main(count: int = 4000, epochs: int = 5, verbose: str | int = "auto") -> float:
    """Trains; returns the validation accuracy."""
    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        train = write_shapes(f"{folder}/train.tfrecord", count, shards=4, seed=1)
        valid = write_shapes(f"{folder}/valid.tfrecord", count // 4, shards=1, seed=2)
        history = network().fit(
            batches(train, count, training=True),
            validation_data=batches(valid, count // 4, training=False),
            epochs=epochs,
            verbose=verbose,
        )
    accuracy = float(history.history["val_accuracy"][-1])
    print(f"{keras.backend.backend()}: validation accuracy {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
