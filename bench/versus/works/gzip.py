"""GZIP TFRecord files, in batches of 1,024."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bench.versus.functions import records as read_records
from bench.versus.jobs import Job, Work

BATCH = 1024

WORKS = [
    Work(
        "gzip",
        "GZIP TFRecord files of 1 KB records, batch(1024)",
        "records/s",
        data="gzip",
        reads=dict.fromkeys(["limit_inflate", "feedline", "tf", "torch"], "tfrecord"),
        note="limit: the files decompressed by isal, one thread per core",
    )
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    ds = fl.TFRecordDataset(job.files, "GZIP", num_parallel_reads=fl.AUTOTUNE).repeat()
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    ds = tf.data.TFRecordDataset(job.files, "GZIP").repeat()
    return ds.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def torch(job: Job) -> Iterable[Any]:
    import gzip

    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Records(IterableDataset):
        def __iter__(self) -> Iterator[bytes]:
            worker = get_worker_info()
            for path in job.files[worker.id :: worker.num_workers]:
                yield from read_records(path, gzip.open)

    workers = min(job.cores, len(job.files))
    return DataLoader(Records(), BATCH, num_workers=workers, collate_fn=list, persistent_workers=True)
