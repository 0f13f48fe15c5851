"""The names of `tf.compat.v1.sparse` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.sparse_ops import SparseTensor as SparseTensor
from feedline.tf.sparse_ops import add as add
from feedline.tf.v1_ops import sparse_concat as concat
from feedline.tf.sparse_ops import expand_dims as expand_dims
from feedline.tf.sparse_ops import eye as eye
from feedline.tf.sparse_ops import fill_empty_rows as fill_empty_rows
from feedline.tf.sparse_ops import from_dense as from_dense
from feedline.tf.sparse_ops import map_values as map_values
from feedline.tf.sparse_ops import mask as mask
from feedline.tf.sparse_ops import maximum as maximum
from feedline.tf.sparse_ops import minimum as minimum
from feedline.tf.sparse_ops import reduce_max as reduce_max
from feedline.tf.v1_ops import sparse_reduce_sum as reduce_sum
from feedline.tf.sparse_ops import reorder as reorder
from feedline.tf.sparse_ops import reset_shape as reset_shape
from feedline.tf.sparse_ops import reshape as reshape
from feedline.tf.sparse_ops import retain as retain
from feedline.tf.sparse_ops import slice as slice
from feedline.tf.sparse_ops import sparse_dense_matmul as sparse_dense_matmul
from feedline.tf.sparse_ops import split as split
from feedline.tf.sparse_ops import to_dense as to_dense
from feedline.tf.sparse_ops import to_indicator as to_indicator
from feedline.tf.sparse_ops import transpose as transpose

__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
