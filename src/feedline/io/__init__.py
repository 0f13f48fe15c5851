"""`tf.io`: files, records, and what is in them."""

from __future__ import annotations

from feedline.io.csv.decode import decode_csv
from feedline.io.files import matching_files, read_file, write_file
from feedline.io.fixed import decode_raw
from feedline.io.parsing.example import parse_example, parse_single_example
from feedline.io.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from feedline.io.parsing.sequence import parse_sequence_example, parse_single_sequence_example
from feedline.io.tensor import parse_tensor, serialize_tensor
from feedline.io.tfrecord.index import tfrecord_index
from feedline.io.tfrecord.writer import TFRecordOptions, TFRecordWriter

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_csv",
    "decode_raw",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "tfrecord_index",
    "write_file",
]
