"""The names of `tf.compat.v1.bitwise` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.math_ops import bitwise_and as bitwise_and
from feedline.tf.math_ops import bitwise_or as bitwise_or
from feedline.tf.math_ops import bitwise_xor as bitwise_xor
from feedline.tf.math_ops import invert as invert
from feedline.tf.math_ops import left_shift as left_shift
from feedline.tf.math_ops import right_shift as right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
