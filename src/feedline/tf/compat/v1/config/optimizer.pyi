"""The names of `tf.compat.v1.config.optimizer` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ignored as set_experimental_options
from feedline.tf.runtime import ignored as set_jit

__all__ = [
    "set_experimental_options",
    "set_jit",
]
