"""`tf.data`: its classes and functions under their own names, so that `fl.data.Dataset` reads like the original."""

from __future__ import annotations

from feedline.data import experimental
from feedline.data.dataset import Dataset
from feedline.data.iterator import Iterator, NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.data.readers import (
    ArrayRecordDataset,
    ArrowDataset,
    FixedLengthRecordDataset,
    ParquetDataset,
    TarDataset,
    TextLineDataset,
    TFRecordDataset,
)
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.spec import DatasetSpec, IteratorSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "ArrayRecordDataset",
    "ArrowDataset",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "ParquetDataset",
    "TFRecordDataset",
    "TarDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
