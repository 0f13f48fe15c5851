"""The names of `tf.compat.v1.linalg` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.linalg_ops import adjoint as adjoint
from feedline.tf.array_ops import band_part as band_part
from feedline.tf.linalg_ops import cholesky as cholesky
from feedline.tf.v1_ops import cross as cross
from feedline.tf.linalg_ops import det as det
from feedline.tf.array_ops import diag as diag
from feedline.tf.array_ops import diag_part as diag_part
from feedline.tf.math_ops import einsum as einsum
from feedline.tf.array_ops import eye as eye
from feedline.tf.linalg_ops import global_norm as global_norm
from feedline.tf.linalg_ops import inv as inv
from feedline.tf.math_ops import l2_normalize as l2_normalize
from feedline.tf.math_ops import matmul as matmul
from feedline.tf.v1_ops import matrix_transpose as matrix_transpose
from feedline.tf.linalg_ops import matvec as matvec
from feedline.tf.v1_ops import norm as norm
from feedline.tf.linalg_ops import normalize as normalize
from feedline.tf.linalg_ops import pinv as pinv
from feedline.tf.linalg_ops import set_diag as set_diag
from feedline.tf.linalg_ops import slogdet as slogdet
from feedline.tf.linalg_ops import solve as solve
from feedline.tf.v1_ops import diag as tensor_diag
from feedline.tf.v1_ops import diag_part as tensor_diag_part
from feedline.tf.math_ops import tensordot as tensordot
from feedline.tf.v1_ops import trace as trace
from feedline.tf.v1_ops import matrix_transpose as transpose

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cross",
    "det",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "set_diag",
    "slogdet",
    "solve",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
]
