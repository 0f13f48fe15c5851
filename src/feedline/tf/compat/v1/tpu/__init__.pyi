"""The names of `tf.compat.v1.tpu` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.compat.v1.tpu import experimental as experimental

__all__ = [
    "experimental",
]
