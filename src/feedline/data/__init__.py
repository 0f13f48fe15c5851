"""`tf.data`: its classes and functions under their own names, so that `fl.data.Dataset` reads like the original."""

from __future__ import annotations

from feedline.data import experimental
from feedline.data import readers as _readers
from feedline.data.dataset import Dataset
from feedline.data.iterator import Iterator, NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.data.readers import *  # noqa: F403
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.spec import DatasetSpec, IteratorSpec

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "ThreadingOptions",
    "experimental",
]
__all__ += _readers.__all__
