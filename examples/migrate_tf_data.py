'''A tf.data script, before and after migration. The batches, their order and their dtypes are the same.

Before, for TensorFlow:

    import tensorflow as tf

    FEATURES = {
        "id": tf.io.FixedLenFeature([], tf.int64),
        "title": tf.io.FixedLenFeature([], tf.string),
        "scores": tf.io.VarLenFeature(tf.float32),
    }

    def parse(record):
        example = tf.io.parse_single_example(record, FEATURES)
        scores = tf.sparse.to_dense(example["scores"])
        return example["id"], tf.strings.length(example["title"]), scores

    def long_enough(number, length, scores):
        return length > 6

    def scaled(number, length, scores):
        return number, tf.cast(length, tf.float32) / 10.0, scores - tf.reduce_mean(scores)

    def batches(pattern):
        tf.random.set_seed(7)
        files = tf.data.Dataset.list_files(pattern)
        records = files.interleave(
            tf.data.TFRecordDataset, cycle_length=3, block_length=2, num_parallel_calls=tf.data.AUTOTUNE
        )
        return (
            records.shuffle(50)
            .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
            .filter(long_enough)
            .map(scaled)
            .repeat(2)
            .padded_batch(8, padded_shapes=([], [], [None]))
            .prefetch(tf.data.AUTOTUNE)
        )

After: the code below. `tf.data.` becomes `fl.`, and `tf.io.` becomes `fl.io.`. Functions are plain Python on NumPy
values: in them, `tf.` becomes NumPy, and strings are `bytes`. A Python int becomes an int32 as in TensorFlow. Check the
dtype of floats, since NumPy computes in float64 by default.
'''

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import feedline as fl

FEATURES = {
    "id": fl.io.FixedLenFeature([], fl.int64),
    "title": fl.io.FixedLenFeature([], fl.string),
    "scores": fl.io.VarLenFeature(fl.float32),
}


def parse(record: bytes) -> Any:
    example = fl.io.parse_single_example(record, FEATURES)
    scores = example["scores"].to_dense()
    return example["id"], len(example["title"]), scores


def long_enough(number: Any, length: Any, scores: Any) -> Any:
    return length > 6


def scaled(number: Any, length: Any, scores: Any) -> Any:
    return number, np.float32(length) / np.float32(10), scores - np.mean(scores)


def batches(pattern: str) -> Any:
    fl.random.set_seed(7)
    files = fl.Dataset.list_files(pattern)
    records = files.interleave(
        fl.TFRecordDataset, cycle_length=3, block_length=2, num_parallel_calls=fl.AUTOTUNE
    )
    return (
        records.shuffle(50)
        .map(parse, num_parallel_calls=fl.AUTOTUNE)
        .filter(long_enough)
        .map(scaled)
        .repeat(2)
        .padded_batch(8, padded_shapes=([], [], [None]))
        .prefetch(fl.AUTOTUNE)
    )


def write_records(folder: str, records: int, shards: int) -> str:
    """Writes data for both; returns the pattern of the file names."""
    rng = np.random.default_rng(3)
    columns = {
        "id": np.arange(records),
        "title": ["x" * int(n) for n in rng.integers(3, 15, records)],
        "scores": fl.ragged.constant([rng.random(n).round(3).tolist() for n in rng.integers(1, 5, records)]),
    }
    fl.io.write_examples(f"{folder}/data.tfrecord", columns, shards=shards)
    return f"{folder}/data-*.tfrecord"


def main(records: int = 120, shards: int = 5) -> list[tuple[Any, ...]]:
    """Returns all batches of two epochs."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(batches(write_records(folder, records, shards)))
    print(f"{len(found)} batches; the numbers in the first: {found[0][0]}")
    return found


if __name__ == "__main__":
    main()
