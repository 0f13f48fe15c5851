"""The names of `tf.compat.v1.python_io` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.io import TFRecordOptions as TFRecordOptions
from feedline.io import TFRecordWriter as TFRecordWriter

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
]
