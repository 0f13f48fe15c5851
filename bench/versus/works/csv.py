"""CSV files of nine numbers: interleave, decode, shuffle, batches of 32."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from bench.versus.functions import CSV_COLUMNS, shuffled
from bench.versus.jobs import Epochs, Job, Work

BUFFER, BATCH, CYCLE = 10_000, 32, 5

WORKS = [
    Work(
        "csv",
        "CSV of nine numbers: interleave, decode_csv, shuffle(10,000), batch(32)",
        "lines/s",
        data="csv",
        reads=dict.fromkeys(["feedline", "tf", "torch", "hf", "ray", "mlx"], "csv"),
    )
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    defaults = [*[0.0] * 8, np.array([], np.float32)]

    def parse(line: Any) -> Any:
        fields = fl.io.decode_csv(line, defaults)
        return np.stack(fields[:-1]), np.stack(fields[-1:])

    ds = fl.Dataset.from_tensor_slices(job.files).repeat()
    ds = ds.interleave(lambda f: fl.TextLineDataset(f).skip(1), cycle_length=CYCLE, num_parallel_calls=fl.AUTOTUNE)
    ds = ds.map(parse, num_parallel_calls=fl.AUTOTUNE).shuffle(BUFFER, seed=1)
    return ds.batch(BATCH).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    defaults = [*[0.0] * 8, tf.constant([], tf.float32)]

    def parse(line: Any) -> Any:
        fields = tf.io.decode_csv(line, defaults)
        return tf.stack(fields[:-1]), tf.stack(fields[-1:])

    auto = tf.data.AUTOTUNE
    ds = tf.data.Dataset.from_tensor_slices(job.files).repeat()
    ds = ds.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=CYCLE, num_parallel_calls=auto)
    ds = ds.map(parse, num_parallel_calls=auto).shuffle(BUFFER, seed=1)
    return ds.batch(BATCH).prefetch(auto).as_numpy_iterator()


def torch(job: Job) -> Iterable[Any]:
    import csv

    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Lines(IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            return shuffled(self.rows(job.files[worker.id :: worker.num_workers]), BUFFER // worker.num_workers)

        def rows(self, files: list[str]) -> Iterator[Any]:
            for path in files:
                with open(path, newline="") as f:
                    lines = csv.reader(f)
                    next(lines)
                    for line in lines:
                        row = np.array(line, np.float32)
                        yield row[:-1], row[-1:]

    return DataLoader(Lines(), BATCH, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def hf(job: Job) -> Iterable[Any]:
    import datasets
    from torch.utils.data import DataLoader

    ds = datasets.load_dataset("csv", data_files=job.files, split="train", streaming=True)
    ds = ds.shuffle(seed=1, buffer_size=BUFFER).with_format("numpy").batch(BATCH)
    return DataLoader(ds, batch_size=None, num_workers=min(job.cores, len(job.files)), persistent_workers=True)


def ray(job: Job) -> Iterable[Any]:
    import ray.data

    ray.init(num_cpus=job.cores, include_dashboard=False, log_to_driver=False)
    ds = ray.data.read_csv(job.files)
    return Epochs(lambda: ds.iter_batches(batch_size=BATCH, local_shuffle_buffer_size=BUFFER, prefetch_batches=4))


def mlx(job: Job) -> Iterable[Any]:
    import mlx.data as dx

    files = dx.buffer_from_vector([{"file": path.encode()} for path in job.files])

    def numbers(row: dict[str, Any]) -> dict[str, np.ndarray]:
        return {"x": np.array([float(bytes(row[name])) for name in CSV_COLUMNS], np.float32)}

    def epoch() -> Iterable[Any]:
        ds = files.shuffle().to_stream().csv_reader_from_key("file").sample_transform(numbers)
        return ds.shuffle(BUFFER).batch(BATCH).prefetch(8, job.cores)

    return Epochs(epoch)
