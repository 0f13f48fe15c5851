"""The names of `tf.types` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.types import experimental as experimental

__all__ = [
    "experimental",
]
