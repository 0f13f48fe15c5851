"""The names of `tf.summary` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.summary_ops import FileWriter as SummaryWriter
from feedline.tf.summary_ops import create_file_writer as create_file_writer
from feedline.tf.summary_ops import create_noop_writer as create_noop_writer
from feedline.tf.summary_ops import flush as flush
from feedline.tf.summary_ops import histogram as histogram
from feedline.tf.summary_ops import image as image
from feedline.tf.summary_ops import record_if as record_if
from feedline.tf.summary_ops import scalar as scalar
from feedline.tf.summary_ops import should_record_summaries as should_record_summaries
from feedline.tf.summary_ops import text as text
from feedline.tf.summary import experimental as experimental

__all__ = [
    "SummaryWriter",
    "create_file_writer",
    "create_noop_writer",
    "flush",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "experimental",
]
