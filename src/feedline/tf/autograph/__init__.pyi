"""The names of `tf.autograph` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.autograph import experimental as experimental

__all__ = [
    "experimental",
]
