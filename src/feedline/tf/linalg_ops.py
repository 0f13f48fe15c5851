"""Functions of `tf.linalg` for small matrices, such as those of cameras and rotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.structure.dense import Array
from feedline.tf.array_ops import matched
from feedline.tf.math_ops import matmul, norm
from feedline.tf.tensor import Tensor, array_of, as_tensor, tensor_of


def _matrices(value: object, what: str, square: bool = True) -> Array:
    array: Array = array_of(value, "fc", what) if square else as_tensor(value)._array
    if array.ndim < 2 or (square and array.shape[-1] != array.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise InvalidArgumentError(f"{what}: input must be {kind}, got the shape {list(array.shape)}")
    return array


def _solved(what: str, function: Any, *arrays: Array) -> Array:
    try:
        return np.asarray(function(*arrays))
    except np.linalg.LinAlgError as e:
        raise InvalidArgumentError(f"{what}: {str(e).lower()}; Input matrix is not invertible.") from None


def matrix_transpose(a: object, name: str | None = None, conjugate: bool = False) -> Tensor:
    """Matrices with rows and columns swapped.

    >>> import feedline.tf as tf
    >>> tf.linalg.matrix_transpose([[1, 2]]).numpy().tolist()
    [[1], [2]]
    """
    array = _matrices(a, "matrix_transpose", False)
    return tensor_of(np.swapaxes(np.conj(array) if conjugate and array.dtype.kind == "c" else array, -1, -2))


def adjoint(matrix: object, name: str | None = None) -> Tensor:
    """The conjugate of the transposed matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.adjoint([[1.0, 2.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """
    return matrix_transpose(matrix, conjugate=True)


def trace(x: object, name: str | None = None) -> Tensor:
    """The sum of the diagonal of matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.trace([[1, 2], [3, 4]]).numpy()
    np.int32(5)
    """
    array = _matrices(x, "trace", False)
    return tensor_of(np.asarray(np.trace(array, axis1=-2, axis2=-1, dtype=array.dtype)))


def cross(a: object, b: object, name: str | None = None) -> Tensor:
    """The cross product of vectors of three numbers.

    >>> import feedline.tf as tf
    >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy()
    array([0, 0, 1], dtype=int32)
    """
    x, y = (t._array for t in matched(a, b))
    if x.shape != y.shape or not x.ndim or x.shape[-1] != 3:
        got = f"{list(x.shape)} and {list(y.shape)}"
        raise FailedPreconditionError(f"cross: both must be vectors of three numbers, got {got}")
    return tensor_of(np.cross(x, y).astype(x.dtype))


def matvec(
    a: object,
    b: object,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices times vectors.

    >>> import feedline.tf as tf
    >>> tf.linalg.matvec([[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7], dtype=int32)
    """
    x, y = matched(a, b)
    made = matmul(x, tensor_of(y._array[..., None]), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return tensor_of(made._array[..., 0])


def inv(input: object, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of square matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    array = _matrices(input, "inv")
    made = _solved("inv", np.linalg.inv, array).astype(array.dtype)
    return tensor_of(np.swapaxes(np.conj(made), -1, -2) if adjoint else made)


def det(input: object, name: str | None = None) -> Tensor:
    """The determinant of square matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.det([[2.0, 0.0], [0.0, 4.0]]).numpy()
    np.float32(8.0)
    """
    array = _matrices(input, "det")
    return tensor_of(np.asarray(np.linalg.det(array)).astype(array.dtype))


class Determinant(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: object, name: str | None = None) -> Determinant:
    """The sign and the logarithm of the absolute value of the determinant.

    >>> import feedline.tf as tf
    >>> sign, log = tf.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]])
    >>> sign.numpy(), log.numpy()
    (np.float32(-1.0), np.float32(0.0))
    """
    array = _matrices(input, "slogdet")
    sign, log = np.linalg.slogdet(array)
    return Determinant(tensor_of(np.asarray(sign, array.dtype)), tensor_of(np.asarray(log, array.dtype)))


def cholesky(input: object, name: str | None = None) -> Tensor:
    """The lower triangular factor of positive definite matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.cholesky([[4.0]]).numpy().tolist()
    [[2.0]]
    """
    array = _matrices(input, "cholesky")
    return tensor_of(_solved("cholesky", np.linalg.cholesky, array).astype(array.dtype))


def solve(matrix: object, rhs: object, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X of matrix @ X = rhs.

    >>> import feedline.tf as tf
    >>> tf.linalg.solve([[2.0]], [[6.0]]).numpy().tolist()
    [[3.0]]
    """
    a, b = (t._array for t in matched(matrix, rhs))
    _matrices(a, "solve")
    _matrices(b, "solve", False)
    if adjoint:
        a = np.swapaxes(np.conj(a), -1, -2)
    return tensor_of(_solved("solve", np.linalg.solve, a, b).astype(b.dtype))


def pinv(a: object, rcond: object = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverse of matrices.

    >>> import feedline.tf as tf
    >>> tf.linalg.pinv([[2.0], [0.0]]).numpy().tolist()
    [[0.5, 0.0]]
    """
    array = _matrices(a, "pinv", False)
    limit = 10.0 * max(array.shape[-2:]) * np.finfo(array.dtype).eps if rcond is None else as_tensor(rcond)._array
    return tensor_of(np.linalg.pinv(array, limit).astype(array.dtype))


def set_diag(input: object, diagonal: object, name: str = "set_diag", k: int = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with another diagonal.

    >>> import feedline.tf as tf
    >>> tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    array, values = _matrices(input, "set_diag", False), as_tensor(diagonal)._array
    if not isinstance(k, int):
        raise InvalidArgumentError(f"set_diag: one diagonal is set at a time, got k={k!r}")
    rows, columns = array.shape[-2:]
    count = min(rows + min(k, 0), columns - max(k, 0))
    if values.shape != (*array.shape[:-2], count):
        raise InvalidArgumentError(f"set_diag: the diagonal must have the shape {[*array.shape[:-2], count]}")
    made = array.copy()
    at = np.arange(count)
    made[..., at - min(k, 0), at + max(k, 0)] = values
    return tensor_of(made)


def normalize(tensor: object, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Any, Tensor]:
    """A tensor divided by its norm, and the norm.

    >>> import feedline.tf as tf
    >>> tf.linalg.normalize([3.0, 4.0])[0].numpy()
    array([0.6, 0.8], dtype=float32)
    """
    given = as_tensor(tensor)
    size = norm(given, ord, axis, keepdims=True)
    return given / size, size


def global_norm(t_list: Sequence[object], name: str | None = None) -> Tensor:
    """The Euclidean norm of all tensors of a list together.

    >>> import feedline.tf as tf
    >>> tf.linalg.global_norm([[3.0], [4.0]]).numpy()
    np.float32(5.0)
    """
    arrays = [as_tensor(t)._array for t in t_list if t is not None]
    total = sum(float(np.sum(np.square(a.astype(np.float64)))) for a in arrays)
    return tensor_of(np.asarray(np.sqrt(total), arrays[0].dtype if arrays else np.float32))
