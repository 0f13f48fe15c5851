"""The names of `tf.autograph.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.control_flow import do_not_convert as do_not_convert
from feedline.tf.control_flow import set_loop_options as set_loop_options

__all__ = [
    "do_not_convert",
    "set_loop_options",
]
