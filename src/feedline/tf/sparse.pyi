"""The names of `tf.sparse` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.sparse_ops import SparseTensor as SparseTensor
from feedline.tf.sparse_ops import concat as concat
from feedline.tf.sparse_ops import expand_dims as expand_dims
from feedline.tf.sparse_ops import fill_empty_rows as fill_empty_rows
from feedline.tf.sparse_ops import from_dense as from_dense
from feedline.tf.sparse_ops import mask as mask
from feedline.tf.sparse_ops import reduce_sum as reduce_sum
from feedline.tf.sparse_ops import reorder as reorder
from feedline.tf.sparse_ops import reset_shape as reset_shape
from feedline.tf.sparse_ops import reshape as reshape
from feedline.tf.sparse_ops import retain as retain
from feedline.tf.sparse_ops import slice as slice
from feedline.tf.sparse_ops import to_dense as to_dense
from feedline.tf.sparse_ops import to_indicator as to_indicator

__all__ = [
    "SparseTensor",
    "concat",
    "expand_dims",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "to_dense",
    "to_indicator",
]
