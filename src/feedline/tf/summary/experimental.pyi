"""The names of `tf.summary.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.summary_ops import get_step as get_step
from feedline.tf.summary_ops import set_step as set_step

__all__ = [
    "get_step",
    "set_step",
]
