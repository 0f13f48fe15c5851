"""How cost and memory grow: with the data, the files, the shuffle buffer, the features and the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from bench.versus.data import examples_of
from bench.versus.jobs import Job, Work

BATCH = 256
READS = {"feedline": "tfrecord", "tf": "tfrecord"}
MEMORY = {"feedline": "", "tf": ""}

WORKS = [
    Work(
        "growth_data",
        "k times the data: Examples, shuffle(10,000), batch, parse",
        "records/s",
        data="growth_files_{first}",
        kind="pass",
        reads=READS,
        growth="data",
    ),
    Work(
        "growth_files",
        "n files with the same number of Examples in all",
        "records/s",
        data="growth_files_{point}",
        kind="pass",
        reads=READS,
        growth="files",
    ),
    Work("growth_buffer", "range, shuffle(n), batch", "records/s", kind="pass", reads=MEMORY, growth="buffer"),
    Work(
        "growth_features",
        "Examples of n features: batch, parse",
        "records/s",
        data="growth_features_{point}",
        kind="pass",
        reads=READS,
        growth="features",
        note="cost per feature",
    ),
    Work(
        "growth_steps",
        "range, n maps that add a number, batch",
        "records/s",
        kind="pass",
        reads=MEMORY,
        growth="steps",
        note="cost per step",
    ),
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    return _pipeline(job, fl, fl.Dataset, fl.TFRecordDataset)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    return _pipeline(job, tf, tf.data.Dataset, tf.data.TFRecordDataset).as_numpy_iterator()


def _pipeline(job: Job, library: Any, dataset: Any, records: Callable[..., Any]) -> Any:
    """Both libraries have the same names."""
    auto = -1
    axis = job.work.removeprefix("growth_")
    if axis == "buffer":
        return dataset.range(job.rows).shuffle(job.point, seed=1).batch(1024).prefetch(auto)
    if axis == "steps":
        ds = dataset.range(job.rows // (10 * job.point))
        for _ in range(job.point):
            ds = ds.map(lambda x: x + np.int64(1))
        return ds.batch(BATCH).prefetch(auto)
    names = examples_of(job.point if axis == "features" else 10, 1)
    features = {name: library.io.FixedLenFeature([], library.float32) for name in names}
    ds = records(job.files * (job.point if axis == "data" else 1))
    if axis != "features":
        ds = ds.shuffle(10_000, seed=1)
    ds = ds.batch(BATCH).map(lambda batch: library.io.parse_example(batch, features), num_parallel_calls=auto)
    return ds.prefetch(auto)
