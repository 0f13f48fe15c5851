"""`tf.data` on tensors: functions receive tensors, and loops yield them; otherwise the datasets of `fl.data`.

>>> import feedline.tf as tf
>>> ds = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) / 2)
>>> [x.numpy().item() for x in ds]
[0.0, 0.5, 1.0]
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING
from typing import NoReturn as _NoReturn

from feedline.data.iterator import NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.naming import show_public as _show_public
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.spec import DatasetSpec, IteratorSpec
from feedline.tf.data import experimental
from feedline.tf.data.dataset import Dataset
from feedline.tf.data.dataset import TensorIterator as Iterator
from feedline.tf.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from feedline.tf.notes import explained as _explained

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

_show_public(_sys.modules[__name__], experimental)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> _NoReturn:
        raise AttributeError(name if name.startswith("_") else _explained(f"data.{name}"))
