"""feedline: tf.data without TensorFlow. `import feedline as fl`."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING

from feedline import data, errors, image, integrations, io, random, train
from feedline.data import experimental
from feedline.data import readers as _readers
from feedline.data.dataset import Dataset
from feedline.data.iterator import Iterator, NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.data.readers import *  # noqa: F403
from feedline.data.replay import replay
from feedline.naming import show_public as _show_public
from feedline.ops.sources.from_source import Source
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure import ragged, sparse
from feedline.structure import types as _types
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import (
    DatasetSpec,
    IteratorSpec,
    OptionalSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    TensorShape,
    TensorSpec,
    type_spec_from_value,
)
from feedline.structure.types import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)

__version__ = "0.1.0"

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "DType",
    "Dataset",
    "DatasetSpec",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "OptionalSpec",
    "Options",
    "RaggedTensor",
    "RaggedTensorSpec",
    "Source",
    "SparseTensor",
    "SparseTensorSpec",
    "TensorShape",
    "TensorSpec",
    "ThreadingOptions",
    "__version__",
    "as_dtype",
    "bool",
    "complex64",
    "complex128",
    "data",
    "double",
    "errors",
    "experimental",
    "float16",
    "float32",
    "float64",
    "half",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "integrations",
    "io",
    "ragged",
    "random",
    "replay",
    "sparse",
    "string",
    "train",
    "type_spec_from_value",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += _readers.__all__


_LAZY = {"compat": "feedline.compat", "keras": "feedline.keras", "tfds": "feedline.tfds"}
"""Modules that are imported on first use."""

_show_public(_sys.modules[__name__], also=_LAZY)
_show_public(data, errors, experimental, image, integrations, io, io.gfile, ragged, random, sparse, train)

if TYPE_CHECKING:
    from feedline import compat as compat
    from feedline import keras as keras
    from feedline import tfds as tfds

    bfloat16: DType
else:

    def __getattr__(name):
        if name == "bfloat16":  # needs ml_dtypes, which is optional
            return _types.as_dtype("bfloat16")
        if name in _LAZY:
            return _importlib.import_module(_LAZY[name])
        if not name.startswith("_") and hasattr(_importlib.import_module("feedline.tf"), name):
            raise AttributeError(f"feedline has no {name}; feedline.tf has: import feedline.tf as tf, then tf.{name}")
        raise AttributeError(f"module 'feedline' has no attribute {name!r}")
