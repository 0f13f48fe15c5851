"""The names of `tf.nest` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.nest_ops import assert_same_structure as assert_same_structure
from feedline.tf.nest_ops import flatten as flatten
from feedline.tf.nest_ops import is_nested as is_nested
from feedline.tf.nest_ops import map_structure as map_structure
from feedline.tf.nest_ops import pack_sequence_as as pack_sequence_as

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
