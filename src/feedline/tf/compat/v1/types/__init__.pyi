"""The names of `tf.compat.v1.types` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.compat.v1.types import experimental as experimental

__all__ = [
    "experimental",
]
