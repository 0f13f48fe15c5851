"""The names of `tf.compat.v1.lookup.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.lookup_ops import DenseHashTable as DenseHashTable
from feedline.tf.lookup_ops import MutableHashTable as MutableHashTable

__all__ = [
    "DenseHashTable",
    "MutableHashTable",
]
