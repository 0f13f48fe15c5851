"""`tf.io`: files, records, and their contents."""

from __future__ import annotations

from feedline.io import gfile
from feedline.io.codecs import decode_base64, decode_compressed, encode_base64
from feedline.io.csv.decode import decode_csv
from feedline.io.files import matching_files, read_file, write_file
from feedline.io.fixed import decode_raw
from feedline.io.image.decode import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from feedline.io.image.encode import encode_jpeg, encode_png
from feedline.io.parsing.example import parse_example, parse_single_example
from feedline.io.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from feedline.io.parsing.infer import infer_features
from feedline.io.parsing.json import decode_json_example
from feedline.io.parsing.sequence import parse_sequence_example, parse_single_sequence_example
from feedline.io.sparse import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from feedline.io.tensor import parse_tensor, serialize_tensor
from feedline.io.tfrecord.examples import write_examples
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
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "infer_features",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tfrecord_index",
    "write_examples",
    "write_file",
]
