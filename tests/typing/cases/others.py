"""What there is besides datasets."""

from __future__ import annotations

from typing import reveal_type

import numpy as np

import feedline as fl

ds = fl.Dataset.range(3)
lines = fl.TextLineDataset("a")

# Functions on datasets, and for apply
reveal_type(ds.apply(fl.experimental.unique()))  # is Dataset[int64]
reveal_type(ds.apply(fl.experimental.enumerate_dataset(5)))  # is Dataset[tuple[int64, int64]]
reveal_type(ds.apply(fl.experimental.take_while(lambda x: x < 3)))  # is Dataset[int64]
reveal_type(ds.apply(fl.experimental.shuffle_and_repeat(10)))  # is Dataset[int64]
reveal_type(lines.apply(fl.experimental.parse_example_dataset({})))  # is Dataset[dict[str, Any]]
reveal_type(lines.apply(fl.experimental.ignore_errors()))  # is Dataset[bytes]
reveal_type(fl.experimental.Counter())  # is Dataset[int64]
reveal_type(fl.experimental.at(lines, 3))  # is bytes
reveal_type(fl.experimental.cardinality(ds))  # is int64
reveal_type(fl.experimental.get_single_element(lines))  # is bytes
reveal_type(fl.experimental.load("a"))  # is Dataset[Any]
reveal_type(fl.experimental.sample_from_datasets([lines, lines]))  # is Dataset[bytes]
reveal_type(fl.experimental.choose_from_datasets([lines, lines], ds))  # is Dataset[bytes]
reveal_type(fl.experimental.RandomDataset(1).take(1))  # is Dataset[int64]
reveal_type(fl.experimental.from_list([1]))  # is Dataset[Any]
reveal_type(fl.experimental.make_csv_dataset("*.csv", 3))  # is Dataset[Any]
reveal_type(iter(ds).get_next_as_optional().has_value())  # is bool
reveal_type(iter(ds).save())  # is bytes
reveal_type(iter(ds).state_dict())  # is dict[str, Any]

# Other libraries
reveal_type(ds.to_torch())  # is TorchBatches
reveal_type(ds.to_jax())  # is JaxBatches
reveal_type(ds.to_keras())  # is KerasBatches

# Files and what is in them
reveal_type(fl.io.read_file("a"))  # is bytes
reveal_type(fl.io.gfile.exists("a"))  # is bool
reveal_type(fl.io.gfile.glob("*"))  # is list[str]
with fl.io.TFRecordWriter("a") as writer:
    reveal_type(writer)  # is TFRecordWriter
reveal_type(fl.io.parse_single_example(b"", {}))  # is dict[str, Any]
reveal_type(fl.io.serialize_tensor(np.zeros(3)))  # is bytes
reveal_type(fl.io.FixedLenFeature([], fl.int64).default_value)  # is Any
reveal_type(fl.train.Example().SerializeToString())  # is bytes
reveal_type(fl.image.decode_jpeg(b""))  # is ndarray[Any, Any]
reveal_type(fl.image.resize(np.zeros((3, 3, 3)), [2, 2]))  # is ndarray[Any, Any]
reveal_type(fl.random.get_seed(1))  # is tuple[int, int]
reveal_type(fl.random.element_rng())  # is Generator

# Values
reveal_type(fl.int64)  # is DType
reveal_type(fl.bfloat16)  # is DType
reveal_type(fl.as_dtype("int64"))  # is DType
reveal_type(fl.TensorSpec([], fl.int64).shape)  # is TensorShape
reveal_type(fl.RaggedTensor.from_row_splits([1], [0, 1]).row_splits)  # is ndarray[Any, Any]
reveal_type(fl.errors.OutOfRangeError("a").message)  # is str
reveal_type(fl.AUTOTUNE)  # is int
reveal_type(fl.INFINITE_CARDINALITY)  # is int

fl.experimental.unique(3)  # error
fl.experimental.uniqe()  # error
fl.experimental.enumerate_dataset(begin=3)  # error
fl.io.read_fil("a")  # error
fl.image.resize(np.zeros((3, 3, 3)))  # error
fl.errors.OutOfRange("a")  # error
fl.options()  # error
