"""The names of `tf.compat.v1.linalg` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.array_ops import band_part as band_part
from feedline.tf.array_ops import diag as diag
from feedline.tf.array_ops import diag_part as diag_part
from feedline.tf.math_ops import einsum as einsum
from feedline.tf.array_ops import eye as eye
from feedline.tf.math_ops import l2_normalize as l2_normalize
from feedline.tf.math_ops import matmul as matmul
from feedline.tf.math_ops import norm as norm
from feedline.tf.array_ops import diag as tensor_diag
from feedline.tf.array_ops import diag_part as tensor_diag_part
from feedline.tf.math_ops import tensordot as tensordot

__all__ = [
    "band_part",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "l2_normalize",
    "matmul",
    "norm",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
]
