"""The names of `tf.compat.v1.manip` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.array_ops import gather_nd as gather_nd
from feedline.tf.array_ops import reshape as reshape
from feedline.tf.array_ops import reverse as reverse
from feedline.tf.array_ops import roll as roll
from feedline.tf.array_ops import scatter_nd as scatter_nd
from feedline.tf.array_ops import tile as tile

__all__ = [
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "tile",
]
