"""The names of `tf.compat.v1.strings` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.string_ops import as_string as as_string
from feedline.tf.string_ops import bytes_split as bytes_split
from feedline.tf.string_ops import format as format
from feedline.tf.string_ops import join as join
from feedline.tf.v1_ops import string_length as length
from feedline.tf.string_ops import lower as lower
from feedline.tf.string_ops import ngrams as ngrams
from feedline.tf.v1_ops import reduce_join as reduce_join
from feedline.tf.string_ops import regex_full_match as regex_full_match
from feedline.tf.string_ops import regex_replace as regex_replace
from feedline.tf.string_ops import split_v1 as split
from feedline.tf.string_ops import strip as strip
from feedline.tf.v1_ops import substr as substr
from feedline.tf.v1_ops import string_to_hash_bucket as to_hash_bucket
from feedline.tf.string_ops import to_hash_bucket_fast as to_hash_bucket_fast
from feedline.tf.string_ops import to_hash_bucket_strong as to_hash_bucket_strong
from feedline.tf.v1_ops import string_to_number as to_number
from feedline.tf.string_ops import unicode_decode as unicode_decode
from feedline.tf.string_ops import unicode_decode_with_offsets as unicode_decode_with_offsets
from feedline.tf.string_ops import unicode_encode as unicode_encode
from feedline.tf.string_ops import unicode_split as unicode_split
from feedline.tf.string_ops import unicode_split_with_offsets as unicode_split_with_offsets
from feedline.tf.string_ops import unicode_transcode as unicode_transcode
from feedline.tf.string_ops import unsorted_segment_join as unsorted_segment_join
from feedline.tf.string_ops import upper as upper

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
