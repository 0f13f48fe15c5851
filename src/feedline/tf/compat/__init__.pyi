"""The names of `tf.compat` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import as_bytes as as_bytes
from feedline.tf.runtime import as_text as as_str
from feedline.tf.runtime import as_str_any as as_str_any
from feedline.tf.runtime import as_text as as_text
from feedline.tf.runtime import path_to_str as path_to_str
from feedline.tf.compat import v1 as v1

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "path_to_str",
    "v1",
]
