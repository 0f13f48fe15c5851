"""The names of `tf.compat.v1.compat` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import as_bytes as as_bytes
from feedline.tf.runtime import as_text as as_str
from feedline.tf.runtime import as_str_any as as_str_any
from feedline.tf.runtime import as_text as as_text
from feedline.tf.v1_ops import dimension_at_index as dimension_at_index
from feedline.tf.v1_ops import dimension_value as dimension_value
from feedline.tf.runtime import forward_compatible as forward_compatible
from feedline.tf.runtime import path_to_str as path_to_str

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "dimension_at_index",
    "dimension_value",
    "forward_compatible",
    "path_to_str",
]
