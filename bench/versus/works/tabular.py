"""Tabular Examples: shuffle with a buffer of 10,000, batches of 256, parsed to columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bench.versus.functions import FLOATS, INTEGERS, STRINGS, VECTOR, VECTOR_SIZE, collate, parse_example, shuffled
from bench.versus.functions import records as read_records
from bench.versus.jobs import Epochs, Job, Work
from bench.versus.mds import open_mds, package

BUFFER, BATCH = 10_000, 256

WORKS = [
    Work(
        "tabular",
        "Examples (33 features, two of them strings): shuffle, batch, parse",
        "records/s",
        data="tabular",
        reads={
            **{"limit_read": "tfrecord", "feedline": "tfrecord", "tf": "tfrecord", "grain": "arrayrecord"},
            **{"torch": "tfrecord", "hf": "parquet", "litdata": "litdata", "streaming": "mds", "ray": "parquet"},
        },
        note="limit: all bytes read and their crc32c computed, nothing parsed",
    ),
    Work(
        "numbers",
        "The same without the two strings",
        "records/s",
        data="tabular",
        reads={"limit_read": "tfrecord", "feedline": "tfrecord", "tf": "tfrecord", "dali": "tfrecord"},
    ),
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    features: dict[str, Any] = {name: fl.io.FixedLenFeature([], fl.float32) for name in FLOATS}
    features |= {name: fl.io.FixedLenFeature([], fl.int64) for name in INTEGERS}
    features |= {name: fl.io.FixedLenFeature([], fl.string) for name in STRINGS if job.work == "tabular"}
    features[VECTOR] = fl.io.FixedLenFeature([VECTOR_SIZE], fl.float32)
    return (
        fl.TFRecordDataset(job.files, num_parallel_reads=fl.AUTOTUNE)
        .repeat()
        .shuffle(BUFFER, seed=1)
        .batch(BATCH, num_parallel_calls=fl.AUTOTUNE)
        .map(lambda batch: fl.io.parse_example(batch, features), num_parallel_calls=fl.AUTOTUNE)
        .prefetch(fl.AUTOTUNE)
    )


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    features = {name: tf.io.FixedLenFeature([], tf.float32) for name in FLOATS}
    features |= {name: tf.io.FixedLenFeature([], tf.int64) for name in INTEGERS}
    features |= {name: tf.io.FixedLenFeature([], tf.string) for name in STRINGS if job.work == "tabular"}
    features[VECTOR] = tf.io.FixedLenFeature([VECTOR_SIZE], tf.float32)
    ds = (
        tf.data.TFRecordDataset(job.files)
        .repeat()
        .shuffle(BUFFER, seed=1)
        .batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE)
        .map(lambda batch: tf.io.parse_example(batch, features), num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )
    return ds.as_numpy_iterator()


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(job.files)).shuffle(seed=1).repeat()
    ds = ds.map(parse_example).batch(BATCH, batch_fn=collate).to_iter_dataset()
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=job.cores))


def torch(job: Job) -> Iterable[Any]:
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Examples(IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            files = job.files[worker.id :: worker.num_workers]
            found = shuffled((record for path in files for record in read_records(path)), BUFFER // worker.num_workers)
            return map(parse_example, found)

    workers = min(job.cores, len(job.files))
    return DataLoader(Examples(), BATCH, num_workers=workers, collate_fn=collate, persistent_workers=True)


def hf(job: Job) -> Iterable[Any]:
    import datasets
    from torch.utils.data import DataLoader

    ds = datasets.load_dataset("parquet", data_files=job.files, split="train", streaming=True)
    ds = ds.shuffle(seed=1, buffer_size=BUFFER).with_format("numpy").batch(BATCH)
    return DataLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def litdata(job: Job) -> Iterable[Any]:
    import litdata

    ds = litdata.StreamingDataset(job.folder, shuffle=True)
    return litdata.StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=collate)


def streaming(job: Job) -> Iterable[Any]:
    ds = open_mds(job, BATCH, shuffle=True)
    return package().StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=collate)


def ray(job: Job) -> Iterable[Any]:
    import ray.data

    ray.init(num_cpus=job.cores, include_dashboard=False, log_to_driver=False)
    ds = ray.data.read_parquet(job.files)
    return Epochs(lambda: ds.iter_batches(batch_size=BATCH, local_shuffle_buffer_size=BUFFER, prefetch_batches=4))


def dali(job: Job) -> Iterable[Any]:
    import nvidia.dali.tfrecord as records
    from bench.versus.dali import arrays, indices
    from nvidia.dali import fn, pipeline_def

    features = {name: records.FixedLenFeature((), records.float32, 0.0) for name in FLOATS}
    features |= {name: records.FixedLenFeature((), records.int64, 0) for name in INTEGERS}
    features[VECTOR] = records.FixedLenFeature([VECTOR_SIZE], records.float32, 0.0)

    @pipeline_def(batch_size=BATCH, num_threads=job.cores, device_id=None)
    def pipeline() -> Any:
        read = fn.readers.tfrecord(
            path=job.files,
            index_path=indices(job.files),
            features=features,
            random_shuffle=True,
            initial_fill=BUFFER,
        )
        return tuple(read[name] for name in features)

    return arrays(pipeline())
