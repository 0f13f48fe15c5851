"""The names of `tf.tpu` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.tpu import experimental as experimental

__all__ = [
    "experimental",
]
