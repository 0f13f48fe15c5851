"""`tf.data` on tensors: functions receive tensors, and loops yield them; otherwise the datasets of `fl.data`.

>>> import feedline.tf as tf
>>> ds = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) / 2)
>>> [x.numpy().item() for x in ds]
[0.0, 0.5, 1.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedline.data.iterator import NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.spec import DatasetSpec, IteratorSpec
from feedline.tf.data import experimental
from feedline.tf.data.dataset import Dataset, TensorIterator
from feedline.tf.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

if not TYPE_CHECKING:
    Iterator = TensorIterator
else:
    from feedline.tf.data.dataset import TensorIterator as Iterator

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
