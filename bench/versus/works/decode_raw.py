"""Raw records of 1 KB decoded to 256 floats, in batches of 1,024."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from bench.versus.functions import records as read_records
from bench.versus.jobs import Job, Work
from bench.versus.mds import open_mds, package

BATCH = 1024

WORKS = [
    Work(
        "decode_raw",
        "Records of 1 KB, decode_raw to float32, batch(1024)",
        "records/s",
        data="raw",
        reads={
            **{"limit_read": "tfrecord", "feedline": "tfrecord", "tf": "tfrecord", "grain": "arrayrecord"},
            **{"torch": "tfrecord", "wds": "tar", "litdata": "litdata", "streaming": "mds"},
        },
    )
]


def floats(record: bytes) -> np.ndarray:
    """The record as numbers."""
    return np.frombuffer(record, np.float32)


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    ds: Any = fl.TFRecordDataset(job.files, num_parallel_reads=fl.AUTOTUNE).repeat()
    ds = ds.map(lambda record: fl.io.decode_raw(record, fl.float32), num_parallel_calls=fl.AUTOTUNE)
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    ds = tf.data.TFRecordDataset(job.files).repeat().batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.map(lambda records: tf.io.decode_raw(records, tf.float32), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(job.files)).repeat()
    ds = ds.map(floats).batch(BATCH).to_iter_dataset()
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=job.cores))


def torch(job: Job) -> Iterable[Any]:
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Records(IterableDataset):
        def __iter__(self) -> Iterator[np.ndarray]:
            worker = get_worker_info()
            for path in job.files[worker.id :: worker.num_workers]:
                yield from map(floats, read_records(path))

    workers = min(job.cores, len(job.files))
    return DataLoader(Records(), BATCH, num_workers=workers, collate_fn=np.stack, persistent_workers=True)


def wds(job: Job) -> Iterable[Any]:
    import webdataset as wds

    ds = wds.WebDataset(job.files, shardshuffle=False).to_tuple("bin").map_tuple(floats).batched(BATCH)
    return wds.WebLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def litdata(job: Job) -> Iterable[Any]:
    import litdata

    ds = litdata.StreamingDataset(job.folder)
    return litdata.StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=_stacked)


def streaming(job: Job) -> Iterable[Any]:
    ds = open_mds(job, BATCH)
    return package().StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=_stacked)


def _stacked(rows: list[dict[str, bytes]]) -> np.ndarray:
    return np.stack([floats(row["data"]) for row in rows])
