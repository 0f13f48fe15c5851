"""The names of `tf.compat.v1.python_io` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.v1_ops import TFRecordCompressionType as TFRecordCompressionType
from feedline.io import TFRecordOptions as TFRecordOptions
from feedline.io import TFRecordWriter as TFRecordWriter
from feedline.tf.v1_ops import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
