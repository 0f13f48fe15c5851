"""TensorFlow 1's datasets."""

from __future__ import annotations

from typing import reveal_type

import feedline as fl
import feedline.compat.v1 as tf

size = tf.placeholder(fl.int64, shape=[])
reveal_type(size)  # is Tensor
ds = tf.data.Dataset.range(10)
reveal_type(ds)  # is Dataset[int64]
iterator = ds.shuffle(3).batch(size).make_initializable_iterator()
reveal_type(iterator)  # is Iterator
reveal_type(iterator.initializer)  # is Operation
reveal_type(ds.map(lambda x: x + 1).prefetch(1).make_one_shot_iterator().string_handle())  # is Tensor
reveal_type(ds.filter(lambda x: x > 1).batch(2))  # is Dataset[NDArray[int64]]
reveal_type(ds.apply(fl.experimental.unique()).make_one_shot_iterator())  # is Iterator
reveal_type(tf.data.TFRecordDataset("a").skip(1).make_one_shot_iterator())  # is Iterator
reveal_type(tf.data.Dataset.list_files("*").interleave(fl.TFRecordDataset, cycle_length=2))  # is Dataset[bytes]
reveal_type(fl.Dataset.zip(ds, ds))  # is Dataset[tuple[int64, int64]]
reveal_type(tf.train.Example())  # is Example

ds.shuffle(3).shuffel(3)  # error
ds.batch("4")  # error
ds.map(lambda x: x, num_parallel_cals=2)  # error
tf.data.TFRecordDataset("a", compresion="GZIP")  # error
tf.placehlder(fl.int64)  # error
