"""TensorFlow 1's way of iterating: graphs, sessions, placeholders and iterators, over feedline's datasets.

>>> import feedline.compat.v1 as tf
>>> iterator = tf.data.Dataset.range(5).batch(4).make_one_shot_iterator()
>>> batch = iterator.get_next()
>>> with tf.Session() as session:
...     while True:
...         try:
...             print(session.run(batch))
...         except tf.errors.OutOfRangeError:
...             break
[0 1 2 3]
[4]

Symbolic tensors have a value only in `Session.run`. NumPy's functions accept them, and so do TensorFlow's, which
`feedline.tf.compat.v1` has on tensors, and this module on NumPy values: `tf.cast`, `tf.image`, `tf.contrib.data`.
"""

from __future__ import annotations

import importlib as _importlib
from typing import TYPE_CHECKING

from feedline import errors
from feedline.compat.v1 import data, train
from feedline.compat.v1.functions import (
    constant,
    disable_eager_execution,
    disable_v2_behavior,
    global_variables_initializer,
    group,
    local_variables_initializer,
    no_op,
    numpy_function,
    placeholder,
    py_func,
    tables_initializer,
)
from feedline.compat.v1.graph import (
    Graph,
    GraphKeys,
    add_to_collection,
    get_collection,
    get_default_graph,
    reset_default_graph,
    set_random_seed,
)
from feedline.compat.v1.session import InteractiveSession, Session, get_default_session
from feedline.compat.v1.tensor import Operation, Tensor
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec, SparseTensorSpec, TensorShape, TensorSpec
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

__all__ = [
    "DType",
    "Graph",
    "GraphKeys",
    "InteractiveSession",
    "Operation",
    "RaggedTensor",
    "RaggedTensorSpec",
    "Session",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "add_to_collection",
    "as_dtype",
    "bool",
    "complex64",
    "complex128",
    "constant",
    "data",
    "disable_eager_execution",
    "disable_v2_behavior",
    "double",
    "errors",
    "float16",
    "float32",
    "float64",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "global_variables_initializer",
    "group",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "local_variables_initializer",
    "no_op",
    "numpy_function",
    "placeholder",
    "py_func",
    "reset_default_graph",
    "set_random_seed",
    "string",
    "tables_initializer",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _importlib.import_module("feedline.tf.v1_graph").on_values(name)

    def __dir__():
        return sorted({*__all__, *_importlib.import_module("feedline.tf.names").public("compat.v1")})
