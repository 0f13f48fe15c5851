"""Datasets, and what is chained from them."""

from __future__ import annotations

from typing import Any, reveal_type

import numpy as np

import feedline as fl

anything: Any = None


def half(x: np.int64) -> float:
    return float(x) / 2


def loosely(x: int) -> bytes:
    return bytes(x)


def pair(number: np.int64, line: bytes) -> dict[str, int]:
    return {"x": len(line)}


class Decoder:
    def __call__(self, x: np.int64) -> np.float32:
        return np.float32(x)


# Sources
ds = fl.Dataset.range(3)
reveal_type(ds)  # is Dataset[int64]
reveal_type(fl.Dataset.range(1, 10, 2))  # is Dataset[int64]
reveal_type(fl.Dataset.range(3, output_type=fl.float32))  # is Dataset[Any]
reveal_type(fl.Dataset.range(anything))  # is Dataset[int64]
reveal_type(fl.Dataset.from_tensors(anything))  # is Dataset[Any]
reveal_type(fl.Dataset.from_tensor_slices(([1, 2], [3, 4])))  # is Dataset[Any]
reveal_type(fl.Dataset.from_generator(lambda: [1], output_signature=fl.TensorSpec([], fl.int32)))  # is Dataset[Any]
reveal_type(fl.Dataset.random(seed=1))  # is Dataset[int64]
reveal_type(fl.Dataset.counter())  # is Dataset[int64]
reveal_type(fl.Dataset.counter(0.5, dtype=fl.float32))  # is Dataset[Any]
reveal_type(fl.Dataset.list_files("*.tfrecord"))  # is Dataset[bytes]
reveal_type(fl.Dataset.load("folder"))  # is Dataset[Any]
reveal_type(fl.Dataset.sample_from_datasets([ds, ds]))  # is Dataset[int64]
reveal_type(fl.Dataset.choose_from_datasets([ds, ds], ds))  # is Dataset[int64]
reveal_type(fl.TFRecordDataset("a"))  # is TFRecordDataset
reveal_type(fl.TFRecordDataset(["a", b"b"], num_parallel_reads=2).take(1))  # is Dataset[bytes]
reveal_type(fl.TFRecordDataset(fl.Dataset.list_files("*")).shuffle(3))  # is Dataset[bytes]
reveal_type(fl.TFRecordDataset("a")[0])  # is bytes
reveal_type(fl.TextLineDataset("a").skip(1))  # is Dataset[bytes]
reveal_type(fl.FixedLengthRecordDataset("a", 4).skip(1))  # is Dataset[bytes]
reveal_type(fl.TarDataset("a").skip(1))  # is Dataset[dict[str, bytes]]
reveal_type(fl.ParquetDataset("a").skip(1))  # is Dataset[dict[str, Any]]
reveal_type(fl.ArrowDataset("a").skip(1))  # is Dataset[dict[str, Any]]
reveal_type(fl.experimental.CsvDataset("a", [fl.int32]).skip(1))  # is Dataset[tuple[Any, ...]]

# What keeps the elements
reveal_type(ds.take(2).skip(1).repeat().shuffle(10, seed=1).cache().prefetch(fl.AUTOTUNE))  # is Dataset[int64]
reveal_type(ds.shard(2, 0).filter(lambda x: x > 1).take_while(lambda x: x < 9).unique())  # is Dataset[int64]
reveal_type(ds.concatenate(ds).ignore_errors().with_options(fl.Options()).global_shuffle())  # is Dataset[int64]
reveal_type(ds.batch(np.ceil(7 / 2)).rebatch(3))  # is Dataset[NDArray[int64]]

# What makes others
reveal_type(ds.map(half))  # is Dataset[float]
reveal_type(ds.map(loosely, num_parallel_calls=fl.AUTOTUNE, workers="process"))  # is Dataset[bytes]
reveal_type(ds.map(Decoder()))  # is Dataset[floating[_32Bit]]
reveal_type(ds.map(str))  # is Dataset[str]
reveal_type(ds.map(anything))  # is Dataset[Any]
reveal_type(ds.map(lambda x: x * 2))  # mypy: Dataset[Any]; pyright: Dataset[int64]
reveal_type(ds.map(lambda x: {"x": x}))  # mypy: Dataset[Any]; pyright: Dataset[dict[str, int64]]
reveal_type(ds.enumerate())  # is Dataset[tuple[int64, int64]]
reveal_type(ds.batch(2))  # is Dataset[NDArray[int64]]
reveal_type(ds.batch(2).batch(2, drop_remainder=True))  # is Dataset[NDArray[int64]]
reveal_type(fl.TextLineDataset("a").batch(2))  # is Dataset[NDArray[object_]]
reveal_type(ds.map(anything).batch(2))  # is Dataset[Any]
reveal_type(ds.enumerate().batch(2))  # is Dataset[tuple[Any, ...]]
reveal_type(fl.TarDataset("a").batch(2))  # is Dataset[dict[str, Any]]
reveal_type(ds.padded_batch(2))  # is Dataset[Any]
reveal_type(ds.batch(2).unbatch())  # is Dataset[Any]
reveal_type(ds.window(3))  # is Dataset[Dataset[int64]]
reveal_type(ds.enumerate().window(3))  # is Dataset[tuple[Dataset[Any], ...]]
reveal_type(fl.TarDataset("a").window(3))  # is Dataset[dict[str, Dataset[bytes]]]
reveal_type(ds.window(3).flat_map(lambda w: w.batch(3)))  # mypy: Dataset[Any]; pyright: Dataset[NDArray[int64]]
reveal_type(fl.Dataset.list_files("*").interleave(fl.TFRecordDataset))  # is Dataset[bytes]
reveal_type(fl.Dataset.list_files("*").flat_map(fl.TextLineDataset))  # is Dataset[bytes]
reveal_type(ds.scan(0, lambda state, x: (state, half(x))))  # is Dataset[float]
reveal_type(ds.group_by_window(lambda x: x, lambda key, w: w.batch(3), 3))  # is Dataset[NDArray[int64]]
reveal_type(ds.apply(lambda d: d.batch(2)))  # is Dataset[NDArray[int64]]
reveal_type(ds.apply(fl.experimental.assert_cardinality(3)))  # is Dataset[int64]

lines = fl.TextLineDataset("a")
both = fl.Dataset.zip(ds, lines)
reveal_type(both)  # is Dataset[tuple[int64, bytes]]
reveal_type(fl.Dataset.zip((ds, lines, ds)))  # is Dataset[tuple[int64, bytes, int64]]
reveal_type(fl.Dataset.zip({"x": ds}))  # is Dataset[dict[str, int64]]
reveal_type(both.map(pair))  # is Dataset[dict[str, int]]
reveal_type(both.map(lambda number, line: line))  # mypy: Dataset[Any]; pyright: Dataset[bytes]

# Looking at them
for x in ds:
    reveal_type(x)  # is int64
for _, line in both:
    reveal_type(line)  # is bytes
reveal_type(next(iter(ds)))  # is int64
reveal_type(iter(ds).get_next())  # is int64
reveal_type(iter(ds))  # is Iterator[int64]
reveal_type(next(ds.as_numpy_iterator()))  # is int64
reveal_type(list(ds.batch(2)))  # is list[NDArray[int64]]
reveal_type(ds.at(1))  # is int64
reveal_type(ds.get_single_element())  # is int64
reveal_type(ds.reduce(0.0, lambda total, x: half(x)))  # is float
reveal_type(len(ds))  # is int
reveal_type(ds.cardinality())  # is int64
reveal_type(ds.options().threading)  # is ThreadingOptions

# Mistakes
ds.shuffel(3)  # error
ds.take(2).map(half).shuffel(3)  # error
fl.TFRecordDataset("a").batch(2).shuffel(3)  # error
ds.batch("4")  # error
ds.batch()  # error
ds.take(2.5)  # error
ds.map(3)  # error
ds.map(half, num_parallel_cals=2)  # error
ds.map(half, workers="fork")  # error
ds.shuffle(3, sed=1)  # error
ds.flat_map(half)  # error
ds.concatenate(3)  # error
fl.Dataset.range("3")  # error
fl.TFRecordDataset(3)  # error
fl.TFRecordDataset("a", compresion_type="GZIP")  # error
fl.TFRecordDataset("a", on_corrupt="drop")  # error
fl.FixedLengthRecordDataset("a")  # error
fl.Datset.range(3)  # error
fl.io.pars_example(b"")  # error
