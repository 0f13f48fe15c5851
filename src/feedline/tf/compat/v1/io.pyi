"""The names of `tf.compat.v1.io` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.io import FixedLenFeature as FixedLenFeature
from feedline.io import FixedLenSequenceFeature as FixedLenSequenceFeature
from feedline.io import RaggedFeature as RaggedFeature
from feedline.io import SparseFeature as SparseFeature
from feedline.tf.v1_ops import TFRecordCompressionType as TFRecordCompressionType
from feedline.io import TFRecordOptions as TFRecordOptions
from feedline.io import TFRecordWriter as TFRecordWriter
from feedline.io import VarLenFeature as VarLenFeature
from feedline.tf.io_ops import decode_and_crop_jpeg as decode_and_crop_jpeg
from feedline.tf.io_ops import decode_base64 as decode_base64
from feedline.tf.io_ops import decode_bmp as decode_bmp
from feedline.tf.io_ops import decode_compressed as decode_compressed
from feedline.tf.io_ops import decode_csv as decode_csv
from feedline.tf.io_ops import decode_gif as decode_gif
from feedline.tf.io_ops import decode_image as decode_image
from feedline.tf.io_ops import decode_jpeg as decode_jpeg
from feedline.tf.io_ops import decode_json_example as decode_json_example
from feedline.tf.io_ops import decode_png as decode_png
from feedline.tf.v1_ops import decode_raw as decode_raw
from feedline.tf.io_ops import deserialize_many_sparse as deserialize_many_sparse
from feedline.tf.io_ops import encode_base64 as encode_base64
from feedline.tf.io_ops import encode_jpeg as encode_jpeg
from feedline.tf.io_ops import encode_png as encode_png
from feedline.tf.io_ops import extract_jpeg_shape as extract_jpeg_shape
from feedline.io import gfile as gfile
from feedline.tf.io_ops import is_jpeg as is_jpeg
from feedline.tf.io_ops import matching_files as matching_files
from feedline.tf.io_ops import parse_example as parse_example
from feedline.tf.io_ops import parse_sequence_example as parse_sequence_example
from feedline.tf.io_ops import parse_single_example as parse_single_example
from feedline.tf.io_ops import parse_single_sequence_example as parse_single_sequence_example
from feedline.tf.io_ops import parse_tensor as parse_tensor
from feedline.tf.io_ops import read_file as read_file
from feedline.tf.io_ops import serialize_many_sparse as serialize_many_sparse
from feedline.tf.io_ops import serialize_sparse as serialize_sparse
from feedline.tf.io_ops import serialize_tensor as serialize_tensor
from feedline.tf.v1_ops import tf_record_iterator as tf_record_iterator
from feedline.tf.io_ops import write_file as write_file

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordCompressionType",
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
    "tf_record_iterator",
    "write_file",
]
