"""The names of `tf.compat.v1.ragged` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.v1_ops import RaggedTensorValue as RaggedTensorValue
from feedline.tf.ragged_ops import boolean_mask as boolean_mask
from feedline.tf.ragged_ops import constant as constant
from feedline.tf.ragged_ops import map_flat_values as map_flat_values
from feedline.tf.ragged_ops import range as range
from feedline.tf.ragged_ops import row_splits_to_segment_ids as row_splits_to_segment_ids
from feedline.tf.ragged_ops import segment_ids_to_row_splits as segment_ids_to_row_splits
from feedline.tf.ragged_ops import stack as stack

__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]
