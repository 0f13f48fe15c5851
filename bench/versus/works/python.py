"""A user's Python function per element: JPEG by simplejpeg (which releases the GIL), and plain Python of about 1 ms."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from bench.versus.functions import FUNCTIONS, read_file
from bench.versus.jobs import Epochs, Job, Work
from bench.versus.mds import open_mds, package

BATCH = 64
READS = {
    **{"limit_processes": "tfrecord", "feedline": "tfrecord", "feedline_process": "tfrecord", "tf": "tfrecord"},
    **{"grain": "arrayrecord", "torch": "files", "torchdata": "files", "torchdata_process": "files", "spdl": "files"},
    **{"spdl_process": "files", "mlx": "files", "wds": "tar", "hf": "parquet", "litdata": "litdata"},
    **{"streaming": "mds", "ray": "parquet"},
}

WORKS = [
    Work(
        "jpeg_python",
        "JPEG 375 x 500 decoded, cropped and mirrored by a Python function (simplejpeg)",
        "images/s",
        data="jpeg",
        reads={"limit_threads": "tfrecord", **READS},
        note="limits: the function alone, its results dropped",
    ),
    Work(
        "python",
        "About a millisecond of plain Python per record",
        "records/s",
        data="text",
        reads=READS,
        note="limit: the function alone in bare processes, its results dropped",
    ),
]


def feedline(job: Job, **workers: Any) -> Iterable[Any]:
    import feedline as fl

    ds: Any = fl.TFRecordDataset(job.files, num_parallel_reads=fl.AUTOTUNE).repeat().shuffle(1024, seed=1)
    ds = ds.map(FUNCTIONS[job.work], num_parallel_calls=fl.AUTOTUNE, **workers)
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def feedline_process(job: Job) -> Iterable[Any]:
    return feedline(job, workers="process")


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    kind = tf.uint8 if job.work == "jpeg_python" else tf.int64

    def call(record: Any) -> Any:
        return tf.numpy_function(FUNCTIONS[job.work], [record], kind)

    ds = tf.data.TFRecordDataset(job.files).repeat().shuffle(1024, seed=1)
    ds = ds.map(call, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(job.files)).shuffle(seed=1).repeat()
    ds = ds.map(FUNCTIONS[job.work]).batch(BATCH).to_iter_dataset()
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=job.cores))


class FileDataset:
    """A map-style dataset of files."""

    def __init__(self, job: Job) -> None:
        self.files, self.function = job.files, FUNCTIONS[job.work]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> np.ndarray:
        return self.function(read_file(self.files[i]))


def torch(job: Job) -> Iterable[Any]:
    from torch.utils.data import DataLoader

    return DataLoader(FileDataset(job), BATCH, shuffle=True, num_workers=job.cores, persistent_workers=True)


def torchdata(job: Job, method: str = "thread") -> Iterable[Any]:
    import torchdata.nodes as nodes
    from torch.utils.data import RandomSampler, default_collate

    ds = FileDataset(job)
    node = nodes.SamplerWrapper(RandomSampler(ds))
    node = nodes.ParallelMapper(node, ds.__getitem__, num_workers=job.cores, method=method)
    node = nodes.Mapper(nodes.Batcher(node, BATCH, drop_last=False), default_collate)
    return nodes.Loader(nodes.Prefetcher(node, 4))


def torchdata_process(job: Job) -> Iterable[Any]:
    return torchdata(job, "process")


def spdl(job: Job, executor: Any = None) -> Iterable[Any]:
    from spdl.pipeline import PipelineBuilder

    ds = FileDataset(job)

    def indices() -> Iterator[int]:
        while True:
            yield from random.sample(range(len(ds)), len(ds))

    builder = PipelineBuilder().add_source(indices()).pipe(ds.__getitem__, concurrency=job.cores, executor=executor)
    pipeline = builder.aggregate(BATCH).pipe(np.stack).add_sink(4).build(num_threads=job.cores + 1, max_failures=0)
    pipeline.start()
    return pipeline


def spdl_process(job: Job) -> Iterable[Any]:
    from concurrent.futures import ProcessPoolExecutor

    return spdl(job, ProcessPoolExecutor(job.cores))


def mlx(job: Job) -> Iterable[Any]:
    import mlx.data as dx

    files = dx.buffer_from_vector([{"data": path.encode()} for path in job.files])
    function = FUNCTIONS[job.work]

    def epoch() -> Iterable[Any]:
        ds = files.shuffle().to_stream().load_file("data").key_transform("data", lambda x: function(x.tobytes()))
        return ds.batch(BATCH).prefetch(8, job.cores)

    return Epochs(epoch)


def wds(job: Job) -> Iterable[Any]:
    import webdataset as wds

    ds = wds.WebDataset(job.files, shardshuffle=len(job.files)).shuffle(1024).to_tuple("jpg;bin")
    ds = ds.map_tuple(FUNCTIONS[job.work]).batched(BATCH)
    return wds.WebLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def hf(job: Job) -> Iterable[Any]:
    import datasets
    from torch.utils.data import DataLoader

    function = FUNCTIONS[job.work]

    def call(rows: dict[str, list[bytes]]) -> dict[str, list[np.ndarray]]:
        return {"data": [function(row) for row in rows["data"]]}

    ds = datasets.Dataset.from_parquet(job.files, cache_dir=f"{job.folder}.cache").with_transform(call)
    return DataLoader(ds, BATCH, shuffle=True, num_workers=job.cores, persistent_workers=True)


def litdata(job: Job) -> Iterable[Any]:
    import litdata

    function = FUNCTIONS[job.work]
    ds = litdata.StreamingDataset(job.folder, shuffle=True, transform=lambda row: function(row["data"]))
    return litdata.StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores)


def streaming(job: Job) -> Iterable[Any]:
    base: Any = package().StreamingDataset

    class Decoded(base):
        def __getitem__(self, at: int) -> np.ndarray:
            return FUNCTIONS[job.work](super().__getitem__(at)["data"])

    ds = open_mds(job, BATCH, shuffle=True, kind=Decoded)
    return package().StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores)


def ray(job: Job) -> Iterable[Any]:
    import ray.data

    function = FUNCTIONS[job.work]
    ray.init(num_cpus=job.cores, include_dashboard=False, log_to_driver=False)
    ds = ray.data.read_parquet(job.files).map(lambda row: {"data": function(row["data"])})
    return Epochs(lambda: ds.iter_batches(batch_size=BATCH, local_shuffle_buffer_size=1024, prefetch_batches=4))
