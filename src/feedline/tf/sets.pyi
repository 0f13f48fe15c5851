"""The names of `tf.sets` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.sets_ops import difference as difference
from feedline.tf.sets_ops import intersection as intersection
from feedline.tf.sets_ops import size as size
from feedline.tf.sets_ops import union as union

__all__ = [
    "difference",
    "intersection",
    "size",
    "union",
]
