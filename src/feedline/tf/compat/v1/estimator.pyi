"""The names of `tf.compat.v1.estimator` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ModeKeys as ModeKeys

__all__ = [
    "ModeKeys",
]
