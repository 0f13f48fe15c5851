"""`tf.compat.v1.data`: datasets in a graph, and the four kinds of iterators over them.

    one-shot         make_one_shot_iterator       goes over a dataset once, needs no initialization
    initializable    make_initializable_iterator  starts over when its initializer is run; takes placeholders
    reinitializable  Iterator.from_structure      is initialized with one of several datasets
    feedable         Iterator.from_string_handle  stands for the iterator whose handle is fed in a run

`get_next` of each returns the tensors of one element.
"""

from __future__ import annotations

from feedline.compat.v1.data import experimental
from feedline.compat.v1.data.dataset import Dataset, get_output_classes, get_output_shapes, get_output_types
from feedline.compat.v1.data.iterator import Iterator, make_initializable_iterator, make_one_shot_iterator
from feedline.compat.v1.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from feedline.data.options import Options, ThreadingOptions
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
