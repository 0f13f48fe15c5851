"""Checkpoints in the middle of an epoch of the tabular workload: size, time to save, time to the next batch."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from bench.versus.functions import VECTOR, collate, parse_example
from bench.versus.jobs import Job, Work
from bench.versus.works import tabular

BATCHES = 3

WORKS = [
    Work(
        "checkpoint",
        "A checkpoint of the tabular workload",
        "bytes",
        data="tabular",
        kind="value",
        reads={
            **{"feedline": "tfrecord", "tf": "tfrecord", "grain": "arrayrecord", "torchdata": "columns"},
            **{"hf": "parquet", "litdata": "litdata", "streaming": "mds"},
        },
        note="after some batches; restored in the same process; `same` tells whether the next batch is the one that "
        "the saved iterator gives",
    )
]


def measure(
    iterator: Callable[[], Iterator[Any]],
    save: Callable[[Any], bytes],
    restore: Callable[[bytes], Iterator[Any]],
) -> dict[str, Any]:
    """Saves in the middle, restores, and compares the next batch."""
    it = iterator()
    for _ in range(BATCHES):
        next(it)
    start = time.perf_counter()
    state = save(it)
    saved = time.perf_counter() - start
    expected = np.asarray(next(it)[VECTOR])
    start = time.perf_counter()
    got = np.asarray(next(restore(state))[VECTOR])
    restored = time.perf_counter() - start
    same = bool(expected.shape == got.shape and (expected == got).all())
    return {"value": len(state), "save_s": saved, "restore_s": restored, "same": same}


def feedline(job: Job) -> dict[str, Any]:
    ds: Any = tabular.feedline(replace(job, work="tabular"))

    def restore(state: bytes) -> Iterator[Any]:
        it = iter(ds)
        it.restore(state)
        return it

    return measure(lambda: iter(ds), lambda it: it.save(), restore)


def tf(job: Job) -> dict[str, Any]:
    import tensorflow as tf

    batches: Any = tabular.tf(replace(job, work="tabular"))
    ds = batches._dataset
    folder = tempfile.mkdtemp()

    def save(it: Any) -> bytes:
        tf.train.Checkpoint(it=it).write(f"{folder}/state")
        return b"".join(open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder)))

    def restore(state: bytes) -> Iterator[Any]:
        it = iter(ds)
        tf.train.Checkpoint(it=it).read(f"{folder}/state")
        return it

    return measure(lambda: iter(ds), save, restore)


def grain(job: Job) -> dict[str, Any]:
    import grain

    ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(job.files)).shuffle(seed=1)
    ds = ds.map(parse_example).batch(tabular.BATCH, batch_fn=collate).to_iter_dataset()

    def restore(state: bytes) -> Iterator[Any]:
        it = iter(ds)
        it.set_state(json.loads(state))
        return it

    return measure(lambda: iter(ds), lambda it: json.dumps(it.get_state()).encode(), restore)


def torchdata(job: Job) -> dict[str, Any]:
    from torchdata.stateful_dataloader import StatefulDataLoader

    vectors = np.concatenate([np.load(path)[VECTOR] for path in job.files])

    def loader() -> Any:
        rows = [{VECTOR: row} for row in vectors]
        return StatefulDataLoader(rows, tabular.BATCH, shuffle=True, num_workers=job.cores)

    first = loader()

    def restore(state: bytes) -> Iterator[Any]:
        again = loader()
        again.load_state_dict(pickle.loads(state))
        return iter(again)

    return measure(lambda: iter(first), lambda _: pickle.dumps(first.state_dict()), restore)


def hf(job: Job) -> dict[str, Any]:
    import datasets

    def dataset() -> Any:
        ds = datasets.load_dataset("parquet", data_files=job.files, split="train", streaming=True)
        return ds.shuffle(seed=1, buffer_size=tabular.BUFFER).with_format("numpy").batch(tabular.BATCH)

    first = dataset()

    def restore(state: bytes) -> Iterator[Any]:
        again = dataset()
        again.load_state_dict(json.loads(state))
        return iter(again)

    return measure(lambda: iter(first), lambda _: json.dumps(first.state_dict()).encode(), restore)


def litdata(job: Job) -> dict[str, Any]:
    first: Any = tabular.litdata(job)

    def restore(state: bytes) -> Iterator[Any]:
        again: Any = tabular.litdata(job)
        again.load_state_dict(json.loads(state))
        return iter(again)

    return measure(lambda: iter(first), lambda _: json.dumps(first.state_dict()).encode(), restore)


def streaming(job: Job) -> dict[str, Any]:
    first: Any = tabular.streaming(job)

    def restore(state: bytes) -> Iterator[Any]:
        again: Any = tabular.streaming(job)
        again.load_state_dict(json.loads(state))
        return iter(again)

    return measure(lambda: iter(first), lambda _: json.dumps(first.state_dict()).encode(), restore)
