"""TensorFlow's names: functions give tensors, and datasets hold them."""

from __future__ import annotations

from typing import reveal_type

import feedline.tf as tf

FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    example = tf.io.parse_single_example(record, FEATURES)
    reveal_type(example)  # is dict[str, Any]
    image = tf.io.decode_jpeg(example["image"], channels=3)
    reveal_type(image)  # is Tensor
    image = tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))
    image = tf.cast(image, tf.float32) / 255.0
    reveal_type(image)  # is Tensor
    return image, tf.cast(example["label"], tf.int32)


# Datasets of tensors
ds = tf.data.TFRecordDataset(["a"]).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
reveal_type(ds)  # is Dataset[tuple[Tensor, Tensor]]
for image, label in ds.shuffle(100).take(32).prefetch(tf.data.AUTOTUNE):
    reveal_type(image)  # is Tensor
    reveal_type(label.numpy())  # is Any
reveal_type(tf.data.Dataset.range(3).enumerate())  # is Dataset[tuple[Tensor, Tensor]]
reveal_type(tf.data.Dataset.range(3).filter(lambda x: x > 1).batch(2))  # is Dataset[Tensor]
reveal_type(tf.data.Dataset.list_files("*").interleave(tf.data.TextLineDataset))  # is Dataset[Tensor]
reveal_type(tf.data.Dataset.range(9).window(3))  # is Dataset[Dataset[Tensor]]
reveal_type(tf.data.Dataset.range(9).cardinality())  # is Tensor
numbers = tf.data.Dataset.range(3)
reveal_type(tf.data.Dataset.zip(numbers, numbers))  # is Dataset[tuple[Tensor, Tensor]]
tf.data.TFRecordDataset("a", compresion_type="GZIP")  # error
tf.data.Dataset.range(3).shuffel(3)  # error
tf.data.Dataset.range(3).batch("4")  # error

# Functions of tensors
x = tf.constant([1.0, 2.0])
reveal_type(1 - x)  # is Tensor
reveal_type(x[..., 0] > 0)  # is Tensor
reveal_type(tf.shape(x)[0])  # is Tensor
reveal_type(tf.where(x > 0, x, tf.zeros_like(x)))  # is Tensor
reveal_type(tf.concat([x, x], axis=0))  # is Tensor
reveal_type(tf.reduce_sum(input_tensor=x, axis=0))  # is Tensor
reveal_type(tf.math.maximum(x, 1.0))  # is Tensor
reveal_type(tf.strings.regex_replace(["a"], "a", "b"))  # is Tensor
reveal_type(tf.one_hot([1], depth=3))  # is Tensor
reveal_type(tf.io.read_file("a"))  # is Tensor
tf.io.decode_png("a", chanels=3)  # error

# Tensors of other kinds
rows = tf.RaggedTensor.from_row_lengths([1, 2, 3], [1, 2])
reveal_type(tf.cast(rows, tf.float32))  # is RaggedTensor
reveal_type(rows + 1)  # is RaggedTensor
reveal_type(tf.abs(rows))  # is RaggedTensor
reveal_type(tf.concat([rows, rows], 0))  # is RaggedTensor
reveal_type(tf.cast(tf.sparse.from_dense([[1, 0]]), tf.float32))  # is SparseTensor


@tf.function
def halved(x: tf.Tensor) -> tf.Tensor:
    return x / 2


@tf.function(jit_compile=True)
def doubled(x: tf.Tensor) -> tf.Tensor:
    return x * 2


reveal_type(halved(x))  # is Tensor
reveal_type(doubled(x))  # is Tensor
halved()  # error
