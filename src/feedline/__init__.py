"""feedline: tf.data without TensorFlow. `import feedline as fl`."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING
from typing import NoReturn as _NoReturn

from feedline import data, errors, image, integrations, io, random, train
from feedline.data import experimental
from feedline.data import readers as _readers
from feedline.data.dataset import Dataset
from feedline.data.iterator import Iterator, NumpyIterator
from feedline.data.options import Options, ThreadingOptions
from feedline.data.profiling import trace
from feedline.data.readers import *  # noqa: F403
from feedline.data.replay import replay
from feedline.data.watching import progress
from feedline.integrations.ray_data import from_ray_dataset
from feedline.naming import show_public as _show_public
from feedline.ops.sources.from_source import Source
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.plan.ray_workers import RayWorkers
from feedline.reports.summary_writer import SummaryWriter
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
    "RayWorkers",
    "Source",
    "SparseTensor",
    "SparseTensorSpec",
    "SummaryWriter",
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
    "from_ray_dataset",
    "half",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "integrations",
    "io",
    "progress",
    "ragged",
    "random",
    "replay",
    "sparse",
    "string",
    "trace",
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
        raise _absent(name)


def _absent(name: str, part: str = "") -> AttributeError:
    """The error for a name that `feedline`, or a part of it, lacks: it may be one of `feedline.tf`'s."""
    here = f"feedline.{part}" if part else "feedline"
    if not part and name in experimental.__all__:
        return AttributeError(f"feedline has no {name}; feedline.experimental has: fl.experimental.{name}")
    if not name.startswith("_"):
        tf = _importlib.import_module("feedline.tf")
        if hasattr(getattr(tf, part) if part else tf, name):
            full = f"tf.{part}.{name}" if part else f"tf.{name}"
            return AttributeError(f"{here} has no {name}; feedline.tf has: import feedline.tf as tf, then {full}")
        if not part and hasattr(_importlib.import_module("feedline.compat.v1"), name):
            return AttributeError(f"feedline has no {name}; feedline.compat.v1 has: from feedline.compat import v1")
    return AttributeError(f"module {here!r} has no attribute {name!r}", name=name)


def _point_to_tf(module: _ModuleType, part: str) -> None:
    """Has a module's errors for names that it lacks point to `feedline.tf`."""

    def absent(name: str) -> _NoReturn:
        raise _absent(name, part)

    setattr(module, "__getattr__", absent)  # noqa: B010  modules have no such method for type checkers


_point_to_tf(image, "image")
_point_to_tf(io, "io")
_point_to_tf(ragged, "ragged")
_point_to_tf(random, "random")
_point_to_tf(sparse, "sparse")
_point_to_tf(train, "train")
