"""The micro workloads, each for feedline and for its peers. Run by run.py, one process per measurement:

    python workloads.py WORKLOAD IMPLEMENTATION      prints one JSON line: {"rate": elements per second, …}
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

ROWS, WIDTH, BATCH, BUFFER = 2_000_000, 32, 256, 10_000


def rate(elements: int, loop: Callable[[], Any]) -> dict[str, float]:
    """Elements per second of one full run of `loop`."""
    start = time.perf_counter()
    loop()
    return {"rate": elements / (time.perf_counter() - start)}


def drain(iterable: Iterable[Any]) -> None:
    """Iterates without using the elements."""
    for _ in iterable:
        pass


def library(name: str) -> Any:
    """feedline or tf.data, which have the same names."""
    if name == "feedline":
        import feedline

        return feedline
    import tensorflow as tf

    return tf.data


def table() -> tuple[Any, Any]:
    """Two million rows of 32 float32, and a label each."""
    import numpy as np

    return np.random.default_rng(0).random((ROWS, WIDTH), np.float32), np.arange(ROWS)


def range_loop(name: str) -> dict[str, float]:
    """for x in Dataset.range(n)"""
    n = 5_000_000 if name == "feedline" else 100_000
    ds = library(name).Dataset.range(n)
    drain(library(name).Dataset.range(100))
    return rate(n, lambda: drain(ds))


def map_batch(name: str) -> dict[str, float]:
    """range(n).map(lambda x: x * 2 + 1).batch(256)"""
    n = 20_000_000 if name == "feedline" else 500_000
    ds = library(name).Dataset.range(n).map(lambda x: x * 2 + 1).batch(BATCH)
    drain(ds.take(2))
    return rate(n, lambda: drain(ds))


def map_batch_opaque(name: str) -> dict[str, float]:
    """the same with a function that must be called once per element"""
    n = 1_000_000 if name == "feedline" else 200_000
    if name == "feedline":
        ds = library(name).Dataset.range(n).map(lambda x: plus_one(x * 2)).batch(BATCH)
    else:
        import tensorflow as tf

        ds = tf.data.Dataset.range(n)
        ds = ds.map(lambda x: tf.numpy_function(lambda v: plus_one(v * 2), [x], tf.int64)).batch(BATCH)
    drain(ds.take(2))
    return rate(n, lambda: drain(ds))


def plus_one(x: Any) -> Any:
    """A function whose call keeps its caller from being vectorized."""
    return x + 1


def shuffle_batch(name: str) -> dict[str, float]:
    """from_tensor_slices((float32[2M, 32], int64[2M])).shuffle(10_000).batch(256)"""
    x, y = table()
    if name == "take":
        import numpy as np

        order = np.random.default_rng(1).permutation(ROWS)
        starts = range(0, ROWS, BATCH)

        def loop() -> None:
            for i in starts:
                rows = order[i : i + BATCH]
                np.take(x, rows, axis=0), np.take(y, rows)

        return rate(ROWS, loop)
    ds = library(name).Dataset.from_tensor_slices((x, y)).shuffle(BUFFER, seed=1).batch(BATCH)
    if name == "tf":
        ds = ds.take(200_000 // BATCH)
        return rate(200_000, lambda: drain(ds))
    drain(ds.take(2))
    return rate(ROWS, lambda: drain(ds))


def whole(name: str) -> Any:
    """feedline or TensorFlow, which have the same `io` and `train`."""
    if name == "feedline":
        import feedline

        return feedline
    import tensorflow as tf

    return tf


def tfrecord_batch(name: str) -> dict[str, float]:
    """TFRecordDataset(file of 1 KB records).batch(1024)"""
    import numpy as np

    n, rng = 100_000, np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records"
        with whole(name).io.TFRecordWriter(path) as writer:
            for _ in range(n):
                writer.write(rng.bytes(1024))
        ds = library(name).TFRecordDataset(path).batch(1024)
        drain(ds)
        return rate(n, lambda: drain(ds))


def tabular(lib: Any, n: int) -> tuple[list[bytes], dict[str, Any]]:
    """Examples with 20 floats, 10 ints, 2 strings and a vector of 64 floats, and the features to parse."""
    import numpy as np

    rng, train, fixed = np.random.default_rng(0), lib.train, lib.io.FixedLenFeature
    floats, ints, strings = ([f"{kind}{i}" for i in range(many)] for kind, many in (("f", 20), ("i", 10), ("s", 2)))

    def example() -> bytes:
        def numbers(many: int) -> Any:
            return train.Feature(float_list=train.FloatList(value=rng.random(many).tolist()))

        feature = {key: numbers(1) for key in floats} | {"v": numbers(64)}
        for key in ints:
            feature[key] = train.Feature(int64_list=train.Int64List(value=[int(rng.integers(0, 1 << 20))]))
        for key in strings:
            feature[key] = train.Feature(bytes_list=train.BytesList(value=[rng.bytes(20)]))
        data: bytes = train.Example(features=train.Features(feature=feature)).SerializeToString()
        return data

    features = {key: fixed([], lib.float32) for key in floats} | {"v": fixed([64], lib.float32)}
    features |= {key: fixed([], lib.int64) for key in ints} | {key: fixed([], lib.string) for key in strings}
    return [example() for _ in range(n)], features


def parse_example(name: str) -> dict[str, float]:
    """batches of 256 Examples in memory with 20 floats, 10 ints, 2 strings and a vector of 64 floats, parsed"""
    lib = whole(name)
    examples, features = tabular(lib, 10_240)
    ds = library(name).Dataset.from_tensor_slices(examples).batch(BATCH)
    ds = ds.map(lambda batch: lib.io.parse_example(batch, features))
    drain(ds)
    return rate(len(examples), lambda: drain(ds))


def shuffle_parse(name: str) -> dict[str, float]:
    """the same Examples from 4 TFRecord files: shuffle(10,000), batch(256), parse in parallel, prefetch"""
    lib, data, times = whole(name), library(name), 20
    examples, features = tabular(lib, 10_240)
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{i}" for i in range(4)]
        for path in paths:
            with lib.io.TFRecordWriter(path) as writer:
                for record in examples * (times // len(paths)):
                    writer.write(record)
        ds = data.TFRecordDataset(paths).shuffle(BUFFER, seed=1).batch(BATCH)
        ds = ds.map(lambda batch: lib.io.parse_example(batch, features), num_parallel_calls=data.AUTOTUNE)
        ds = ds.prefetch(data.AUTOTUNE)
        drain(ds.take(2))
        return rate(times * len(examples), lambda: drain(ds))


def parse_sequence_example(name: str) -> dict[str, float]:
    """batches of 256 SequenceExamples in memory with a context of 5 features and 3 lists of about 20 steps, parsed"""
    import numpy as np

    lib, rng, n = whole(name), np.random.default_rng(0), 5_120
    train, io = lib.train, lib.io

    def ints(many: int) -> Any:
        return train.Feature(int64_list=train.Int64List(value=rng.integers(0, 1 << 20, many).tolist()))

    def floats(many: int) -> Any:
        return train.Feature(float_list=train.FloatList(value=rng.random(many).tolist()))

    def strings(many: int) -> Any:
        return train.Feature(bytes_list=train.BytesList(value=[rng.bytes(12) for _ in range(many)]))

    def example() -> bytes:
        steps = int(rng.integers(15, 26))
        context = {"id": ints(1), "name": strings(1), "v": floats(8), "tags": ints(3), "words": strings(2)}
        lists = {
            "x": [floats(4) for _ in range(steps)],
            "token": [ints(1) for _ in range(steps)],
            "near": [ints(int(rng.integers(0, 4))) for _ in range(steps)],
        }
        message = train.SequenceExample(
            context=train.Features(feature=context),
            feature_lists=train.FeatureLists(
                feature_list={key: train.FeatureList(feature=features) for key, features in lists.items()}
            ),
        )
        data: bytes = message.SerializeToString()
        return data

    context = {
        "id": io.FixedLenFeature([], lib.int64),
        "name": io.FixedLenFeature([], lib.string),
        "v": io.FixedLenFeature([8], lib.float32),
        "tags": io.VarLenFeature(lib.int64),
        "words": io.RaggedFeature(lib.string),
    }
    lists = {
        "x": io.FixedLenSequenceFeature([4], lib.float32),
        "token": io.VarLenFeature(lib.int64),
        "near": io.RaggedFeature(lib.int64),
    }
    ds = library(name).Dataset.from_tensor_slices([example() for _ in range(n)]).batch(BATCH)
    ds = ds.map(lambda batch: io.parse_sequence_example(batch, context, lists))
    drain(ds)
    return rate(n, lambda: drain(ds))


def node_overhead(name: str) -> dict[str, float]:
    """what one more node costs per block: 40 nodes that pass rows on, on blocks of one row"""
    from feedline import Dataset
    from feedline.engine.run import Run

    n, nodes = 20_000, 40

    def seconds(depth: int) -> float:
        ds = Dataset.range(n)
        for _ in range(depth):
            ds = ds.take(n)
        run = Run(ds._plan)
        run.start()
        start = time.perf_counter()
        while run.pull(1) is not None:
            pass
        return time.perf_counter() - start

    best = min(seconds(nodes) - seconds(0) for _ in range(5))
    return {"microseconds": best / (n * nodes) * 1e6}


def shuffle_memory(name: str) -> dict[str, float]:
    """how much memory shuffle(buffer_size=len) adds over slices in memory, in bytes per row of 136"""
    from feedline import Dataset

    x, y = table()
    ds = Dataset.from_tensor_slices((x, y))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in ds.shuffle(ROWS, seed=1).batch(BATCH).take(4000):
        pass
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"bytes": (after - before) * 1024 / ROWS}


def import_time(name: str) -> dict[str, float]:
    """how much longer `import feedline` takes than `import numpy`"""

    def seconds(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    numpy = min(seconds("import numpy") for _ in range(5))
    return {"seconds": min(seconds("import feedline") for _ in range(5)) - numpy}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
