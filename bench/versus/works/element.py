"""One element at a time: what a loop over single elements costs, and batches of a function's scalars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from bench.versus.functions import scalar
from bench.versus.jobs import Epochs, Job, Work

BATCH = 256
READS = dict.fromkeys(["feedline", "tf", "grain", "torch", "torchdata", "spdl", "mlx"], "")

WORKS = [
    Work(
        "element",
        "for x in range(n).map(f): a Python function per element, no batches",
        "elements/s",
        kind="elements",
        reads={"limit_loop": "", **READS},
        note="one worker, in the process, where the library allows it; limit: a bare loop that calls f",
    ),
    Work(
        "element_batch",
        "range(n).map(f).batch(256)",
        "elements/s",
        reads=READS,
        note="one worker, in the process, where the library allows it",
    ),
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    ds = fl.Dataset.range(job.rows).map(scalar)
    return ds if job.work == "element" else ds.batch(BATCH)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    ds = tf.data.Dataset.range(job.rows).map(lambda x: tf.numpy_function(scalar, [x], tf.int64))
    ds = ds if job.work == "element" else ds.batch(BATCH)
    return Epochs(ds.as_numpy_iterator)


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.range(job.rows).map(scalar)
    ds = ds if job.work == "element" else ds.batch(BATCH)
    return ds.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))


class Scalars:
    """A map-style dataset of the function's results."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: int) -> int:
        return scalar(i)


def torch(job: Job) -> Iterable[Any]:
    from torch.utils.data import DataLoader

    return DataLoader(Scalars(job.rows), batch_size=None if job.work == "element" else BATCH)


def torchdata(job: Job) -> Iterable[Any]:
    import torchdata.nodes as nodes
    from torch.utils.data import default_collate

    node = nodes.Mapper(nodes.IterableWrapper(range(job.rows)), scalar)
    if job.work != "element":
        node = nodes.Mapper(nodes.Batcher(node, BATCH, drop_last=False), default_collate)
    return nodes.Loader(node)


def spdl(job: Job) -> Iterable[Any]:
    from itertools import cycle

    from spdl.pipeline import PipelineBuilder

    builder = PipelineBuilder().add_source(cycle(range(job.rows))).pipe(scalar)
    if job.work != "element":
        builder = builder.aggregate(BATCH).pipe(np.array)
    pipeline = builder.add_sink(1000).build(num_threads=1, max_failures=0)
    pipeline.start()
    return pipeline


def mlx(job: Job) -> Iterable[Any]:
    import mlx.data as dx

    def epoch() -> Iterable[Any]:
        ds = dx.stream_python_iterable(lambda: ({"x": i} for i in range(job.rows))).key_transform("x", scalar)
        return ds if job.work == "element" else ds.batch(BATCH)

    return Epochs(epoch)
