"""Rows of 1 KB in memory: shuffle and batches of 512."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from bench.versus.jobs import Epochs, Job, Work

BUFFER, BATCH = 100_000, 512

WORKS = [
    Work(
        "memory",
        "Rows of 1 KB in memory: shuffle(100,000), batch(512)",
        "rows/s",
        reads=dict.fromkeys(
            ["limit_take", "feedline", "tf", "grain", "torch", "torch_workers", "torchdata", "spdl", "mlx", "ray"], ""
        ),
        note="Grain, torch, torchdata, SPDL and mlx-data shuffle all rows; torch runs in the process, torch_workers in "
        "as many as cores; limit: np.take of random rows in threads",
    )
]


def arrays(job: Job) -> tuple[np.ndarray, np.ndarray]:
    """The rows and their labels."""
    return np.random.default_rng(0).random((job.rows, 256), np.float32), np.arange(job.rows)


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    ds = fl.Dataset.from_tensor_slices(arrays(job)).shuffle(BUFFER, seed=1).repeat()
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    ds = tf.data.Dataset.from_tensor_slices(arrays(job)).shuffle(BUFFER, seed=1).repeat()
    return ds.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


class Rows:
    """Random access to rows, as Grain's sources have it."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.x[i], self.y[i]


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.source(Rows(*arrays(job))).shuffle(seed=1).repeat().batch(BATCH)
    return ds.to_iter_dataset(grain.ReadOptions(num_threads=job.cores))


def torch(job: Job, workers: int = 0) -> Iterable[Any]:
    from torch import from_numpy
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

    ds = TensorDataset(*map(from_numpy, arrays(job)))
    sampler = BatchSampler(RandomSampler(ds), BATCH, drop_last=False)
    return DataLoader(ds, batch_size=None, sampler=sampler, num_workers=workers, persistent_workers=workers > 0)


def torch_workers(job: Job) -> Iterable[Any]:
    return torch(job, job.cores)


def torchdata(job: Job) -> Iterable[Any]:
    import torchdata.nodes as nodes
    from torch import from_numpy
    from torch.utils.data import BatchSampler, RandomSampler, TensorDataset

    ds = TensorDataset(*map(from_numpy, arrays(job)))
    node = nodes.SamplerWrapper(BatchSampler(RandomSampler(ds), BATCH, drop_last=False))
    node = nodes.ParallelMapper(node, ds.__getitem__, num_workers=job.cores, method="thread")
    return nodes.Loader(nodes.Prefetcher(node, 4))


def spdl(job: Job) -> Iterable[Any]:
    from spdl.pipeline import PipelineBuilder

    x, y = arrays(job)

    def indices() -> Iterator[np.ndarray]:
        while True:
            order = np.random.permutation(job.rows)
            yield from (order[i : i + BATCH] for i in range(0, job.rows, BATCH))

    builder = PipelineBuilder().add_source(indices())
    builder = builder.pipe(lambda i: (x[i], y[i]), concurrency=job.cores).add_sink(4)
    pipeline = builder.build(num_threads=job.cores, max_failures=0)
    pipeline.start()
    return pipeline


def mlx(job: Job) -> Iterable[Any]:
    import mlx.data as dx

    x, y = arrays(job)
    rows = dx.buffer_from_vector([{"x": x[i], "y": y[i]} for i in range(job.rows)])
    return Epochs(lambda: rows.shuffle().to_stream().batch(BATCH).prefetch(8, job.cores))


def ray(job: Job) -> Iterable[Any]:
    import ray.data

    ray.init(num_cpus=job.cores, include_dashboard=False, log_to_driver=False)
    ds = ray.data.from_numpy(np.array_split(arrays(job)[0], 4 * job.cores))
    buffer = min(BUFFER, job.rows)
    return Epochs(lambda: ds.iter_batches(batch_size=BATCH, local_shuffle_buffer_size=buffer, prefetch_batches=4))
