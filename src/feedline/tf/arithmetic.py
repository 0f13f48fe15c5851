"""The arithmetic of tensors on arrays: TensorFlow's results where NumPy's differ, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.dense import Array

NUMBERS = "iufcV"
"""The kinds of NumPy's numeric dtypes; the small floats of ml_dtypes have the kind V."""
REALS = "iufV"
SIGNED = "ifcV"
FLOATS = "fV"
INEXACT = "fcV"
INTEGERS = "iu"


def add(x: Array, y: Array) -> Array:
    """The sum; strings are joined."""
    return np.add(x, y)


def floor_div(x: Array, y: Array) -> Array:
    """The quotient, rounded down. An integer division by zero is an error."""
    if x.dtype.kind in INTEGERS:
        nonzero(x, y)
        return np.floor_divide(x, y)
    return np.floor(np.divide(x, y))


def floor_mod(x: Array, y: Array) -> Array:
    """The remainder with the sign of the divisor. An integer division by zero is an error."""
    if x.dtype.kind in INTEGERS:
        nonzero(x, y)
    return np.remainder(x, y)


def true_div(x: Array, y: Array) -> Array:
    """The quotient: small integers are divided as float32, others as float64."""
    wide = division_type(x.dtype)
    made: Array = np.divide(x.astype(wide, copy=False), y.astype(wide, copy=False))
    return made


def division_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numbers are divided."""
    if dtype.kind not in INTEGERS:
        return dtype
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def power(x: Array, y: Array) -> Array:
    """x to the power of y. Integers have no negative powers."""
    if y.dtype.kind == "i" and y.size and y.min() < 0 and x.size:
        raise InvalidArgumentError("Integers to negative integer powers are not allowed")
    if x.dtype == np.float16:
        return np.power(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return np.power(x, y)


def absolute(x: Array) -> Array:
    """The absolute value; that of complex64 is rounded once."""
    if x.dtype == np.complex64:
        return np.abs(x.astype(np.complex128)).astype(np.float32)
    return np.abs(x)


def nonzero(dividend: Array, divisor: Array) -> None:
    """Raises for a divisor with a zero in it, if anything is divided."""
    if np.count_nonzero(divisor) != divisor.size and dividend.size:
        raise InvalidArgumentError("Integer division by zero")


def matmul(x: Array, y: Array) -> Array:
    """The product of matrices, or of batches of them."""
    if x.ndim < 2 or y.ndim < 2:
        raise InvalidArgumentError(f"matmul: both operands need at least 2 dimensions, got {x.shape} and {y.shape}")
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(f"matmul: matrix size-incompatible: {x.shape} and {y.shape}")
    return with_halves(np.matmul, x, y)


def with_halves(function: Callable[..., Any], *arrays: Array) -> Array:
    """A function that sums products: those of float16 and bfloat16 are summed in float32."""
    dtype = arrays[0].dtype
    if dtype.kind in FLOATS and dtype.itemsize == 2:
        arrays = tuple(a.astype(np.float32) for a in arrays)
    return np.asarray(function(*arrays)).astype(dtype, copy=False)


def both(function: Callable[[Any, Any], Any], of_bools: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    """`function` for integers and `of_bools` for bools."""

    def chosen(x: Array, y: Array) -> Array:
        made: Array = (of_bools if x.dtype.kind == "b" else function)(x, y)
        return made

    return chosen
