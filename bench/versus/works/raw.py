"""Raw records of 1 KB in batches of 1,024: what reading costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bench.versus.functions import records as read_records
from bench.versus.jobs import Job, Work
from bench.versus.mds import open_mds, package

BATCH = 1024

WORKS = [
    Work(
        "raw",
        "Records of 1 KB as bytes, batch(1024)",
        "records/s",
        data="raw",
        reads={
            **{"limit_read": "tfrecord", "feedline": "tfrecord", "tf": "tfrecord", "grain": "arrayrecord"},
            **{"torch": "tfrecord", "wds": "tar", "hf": "parquet", "litdata": "litdata", "streaming": "mds"},
        },
        note="feedline and tf.data compare both checksums of every record; limit: read, with their crc32c",
    )
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    ds = fl.TFRecordDataset(job.files, num_parallel_reads=fl.AUTOTUNE).repeat()
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    ds = tf.data.TFRecordDataset(job.files).repeat()
    return ds.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def grain(job: Job) -> Iterable[Any]:
    import grain

    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(job.files)).repeat()
    ds = ds.batch(BATCH, batch_fn=list).to_iter_dataset()
    return ds.mp_prefetch(grain.MultiprocessingOptions(num_workers=job.cores))


def torch(job: Job) -> Iterable[Any]:
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Records(IterableDataset):
        def __iter__(self) -> Iterator[bytes]:
            worker = get_worker_info()
            for path in job.files[worker.id :: worker.num_workers]:
                yield from read_records(path)

    workers = min(job.cores, len(job.files))
    return DataLoader(Records(), BATCH, num_workers=workers, collate_fn=list, persistent_workers=True)


def wds(job: Job) -> Iterable[Any]:
    import webdataset as wds

    ds = wds.WebDataset(job.files, shardshuffle=False).to_tuple("bin").batched(BATCH)
    return wds.WebLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def hf(job: Job) -> Iterable[Any]:
    import datasets
    from torch.utils.data import DataLoader

    ds = datasets.load_dataset("parquet", data_files=job.files, split="train", streaming=True).batch(BATCH)
    return DataLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def litdata(job: Job) -> Iterable[Any]:
    import litdata

    ds = litdata.StreamingDataset(job.folder)
    return litdata.StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=_bytes)


def streaming(job: Job) -> Iterable[Any]:
    ds = open_mds(job, BATCH)
    return package().StreamingDataLoader(ds, batch_size=BATCH, num_workers=job.cores, collate_fn=_bytes)


def _bytes(rows: list[dict[str, bytes]]) -> list[bytes]:
    return [row["data"] for row in rows]
