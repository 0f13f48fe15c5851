"""Arithmetic, comparisons, reductions and segments: `tf.math`, and the names of it that `tf` has too."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, overload

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.naming import own_functions
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import as_dtype
from feedline.tf import arithmetic, tensor
from feedline.tf.arithmetic import FLOATS, INEXACT, INTEGERS, NUMBERS, REALS, SIGNED
from feedline.tf.array_ops import axis_of, cast, expand_dims, matched, reshape, shape
from feedline.tf.parameters import respelled
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.signatures import Binary, Reduction, SegmentReduction, Unary, UnsortedSegmentReduction, documented
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.sums import LANES, ordered_sum
from feedline.tf.tensor import (
    Composite,
    Op,
    Tensor,
    TensorBase,
    TensorLike,
    array_of,
    as_tensor,
    integer,
    ints,
    op,
    operand,
    tensor_of,
)


@overload
def _unary(name: str, kernel: Callable[[Array], Any], kinds: str, *doc: str) -> Unary: ...
@overload
def _unary(
    name: str, kernel: Callable[[Array], Any], kinds: str, *doc: str, parameter: str
) -> Callable[..., Tensor]: ...
def _unary(name: str, kernel: Callable[[Array], Any], kinds: str, *doc: str, parameter: str = "x") -> Any:
    """A function of one operand."""
    made = Op(name, kernel, kinds, elementwise=True)

    def function(x: object, name: str | None = None) -> Any:
        return made(operand(x))

    return documented(function if parameter == "x" else respelled(function, f"{parameter}:x name"), *doc)


def _as_bool(x: object) -> Any:
    """An operand of a function of bools, which arrays of numbers are converted to."""
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind != "b":
        return tensor_of(as_tensor(x)._array.astype(bool))
    return as_tensor(x, np.bool_) if isinstance(x, (list, tuple)) and not x else operand(x)


def _logical(name: str, kernel: Callable[..., Any], *doc: str) -> Binary:
    """A function of two bools."""
    made = Op(name, kernel, "b", elementwise=True)

    def function(x: object, y: object, name: str | None = None) -> Any:
        return made.function(_as_bool(x), _as_bool(y))

    return documented(function, *doc)


def _binary(made: Op, *doc: str) -> Binary:
    """A function of two operands, of which a Python number takes the other's dtype."""

    def function(x: object, y: object, name: str | None = None) -> Any:
        return made.function(x, y)

    return documented(function, *doc)


def _wide(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """Computes float32 and smaller floats in float64 and rounds: what TensorFlow's vector code gives, to a unit."""

    def kernel(x: Array) -> Any:
        if x.dtype.kind in FLOATS and x.dtype.itemsize < 8:
            return np.asarray(function(x.astype(np.float64))).astype(x.dtype)
        return function(x)

    return kernel


# One operand

abs = _unary(
    "Abs",
    arithmetic.absolute,
    SIGNED,
    "The absolute value.",
    ">>> tf.abs([-1, 2]).numpy()",
    "array([1, 2], dtype=int32)",
)
negative = _unary("Neg", np.negative, SIGNED, "The negated value.", ">>> tf.negative(2).numpy()", "np.int32(-2)")
sign = _unary(
    "Sign", np.sign, SIGNED, "-1, 0 or 1.", ">>> tf.sign([-2.5, 0.0]).numpy()", "array([-1.,  0.], dtype=float32)"
)
square = _unary("Square", np.square, NUMBERS, "The square.", ">>> tf.square(3).numpy()", "np.int32(9)")
sqrt = _unary("Sqrt", np.sqrt, INEXACT, "The square root.", ">>> tf.sqrt(4.0).numpy()", "np.float32(2.0)")
rsqrt = _unary(
    "Rsqrt",
    _wide(lambda x: 1 / np.sqrt(x)),
    INEXACT,
    "1 / sqrt(x).",
    ">>> tf.math.rsqrt(4.0).numpy()",
    "np.float32(0.5)",
)
reciprocal = _unary(
    "Reciprocal",
    lambda x: (1 / x).astype(x.dtype),
    INEXACT,
    "1 / x.",
    ">>> tf.math.reciprocal(4.0).numpy()",
    "np.float32(0.25)",
)
exp = _unary("Exp", _wide(np.exp), INEXACT, "e to the power of x.", ">>> tf.exp(0.0).numpy()", "np.float32(1.0)")
expm1 = _unary("Expm1", _wide(np.expm1), INEXACT, "exp(x) - 1.", ">>> tf.math.expm1(0.0).numpy()", "np.float32(0.0)")
log = _unary("Log", _wide(np.log), INEXACT, "The natural logarithm.", ">>> tf.math.log(1.0).numpy()", "np.float32(0.0)")
log1p = _unary("Log1p", _wide(np.log1p), INEXACT, "log(1 + x).", ">>> tf.math.log1p(0.0).numpy()", "np.float32(0.0)")
sin = _unary("Sin", _wide(np.sin), INEXACT, "The sine.", ">>> tf.sin(0.0).numpy()", "np.float32(0.0)")
cos = _unary("Cos", _wide(np.cos), INEXACT, "The cosine.", ">>> tf.cos(0.0).numpy()", "np.float32(1.0)")
tan = _unary("Tan", _wide(np.tan), INEXACT, "The tangent.", ">>> tf.tan(0.0).numpy()", "np.float32(0.0)")
asin = _unary("Asin", _wide(np.arcsin), INEXACT, "The inverse sine.", ">>> tf.asin(0.0).numpy()", "np.float32(0.0)")
acos = _unary("Acos", _wide(np.arccos), INEXACT, "The inverse cosine.", ">>> tf.acos(1.0).numpy()", "np.float32(0.0)")
atan = _unary("Atan", _wide(np.arctan), INEXACT, "The inverse tangent.", ">>> tf.atan(0.0).numpy()", "np.float32(0.0)")
sinh = _unary("Sinh", _wide(np.sinh), INEXACT, "The hyperbolic sine.", ">>> tf.sinh(0.0).numpy()", "np.float32(0.0)")
cosh = _unary("Cosh", _wide(np.cosh), INEXACT, "The hyperbolic cosine.", ">>> tf.cosh(0.0).numpy()", "np.float32(1.0)")
tanh = _unary("Tanh", _wide(np.tanh), INEXACT, "The hyperbolic tangent.", ">>> tf.tanh(0.0).numpy()", "np.float32(0.0)")
asinh = _unary(
    "Asinh", _wide(np.arcsinh), INEXACT, "The inverse of sinh.", ">>> tf.asinh(0.0).numpy()", "np.float32(0.0)"
)
acosh = _unary(
    "Acosh", _wide(np.arccosh), INEXACT, "The inverse of cosh.", ">>> tf.acosh(1.0).numpy()", "np.float32(0.0)"
)
atanh = _unary(
    "Atanh", _wide(np.arctanh), INEXACT, "The inverse of tanh.", ">>> tf.atanh(0.0).numpy()", "np.float32(0.0)"
)
floor = _unary("Floor", np.floor, FLOATS, "The value rounded down.", ">>> tf.floor(1.7).numpy()", "np.float32(1.0)")
ceil = _unary("Ceil", np.ceil, FLOATS, "The value rounded up.", ">>> tf.math.ceil(1.2).numpy()", "np.float32(2.0)")
rint = _unary(
    "Rint", np.rint, FLOATS, "The nearest integer, even on ties.", ">>> tf.math.rint(2.5).numpy()", "np.float32(2.0)"
)
is_nan = _unary("IsNan", np.isnan, FLOATS, "Whether a value is NaN.", ">>> tf.math.is_nan(1.0).numpy()", "np.False_")
is_inf = _unary(
    "IsInf", np.isinf, FLOATS, "Whether a value is infinite.", ">>> tf.math.is_inf(1.0).numpy()", "np.False_"
)
is_finite = _unary(
    "IsFinite", np.isfinite, FLOATS, "Whether a value is finite.", ">>> tf.math.is_finite(1.0).numpy()", "np.True_"
)
invert = _unary(
    "Invert", np.invert, INTEGERS, "Every bit inverted.", ">>> tf.bitwise.invert(5).numpy()", "np.int32(-6)"
)


def _sigmoid(x: Array) -> Array:
    made: Array = 1 / (1 + np.exp(-x))
    return made


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x)) if x.size else x


def _lgamma(x: Array) -> Array:
    return np.asarray(np.vectorize(_lgamma_of, otypes=[np.float64])(x)) if x.size else x


def _lgamma_of(x: float) -> float:
    if x != x or x in (math.inf, -math.inf):
        return x * x
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


sigmoid = _unary(
    "Sigmoid", _wide(_sigmoid), INEXACT, "1 / (1 + exp(-x)).", ">>> tf.sigmoid(0.0).numpy()", "np.float32(0.5)"
)
softplus = _unary(
    "Softplus",
    _wide(lambda x: np.logaddexp(x, 0)),
    FLOATS,
    "log(exp(x) + 1).",
    ">>> tf.math.softplus(0.0).numpy()",
    "np.float32(0.6931472)",
    parameter="features",
)
erf = _unary("Erf", _wide(_erf), FLOATS, "The error function.", ">>> tf.math.erf(0.0).numpy()", "np.float32(0.0)")
lgamma = _unary(
    "Lgamma",
    _wide(_lgamma),
    FLOATS,
    "The logarithm of the gamma function.",
    ">>> tf.math.lgamma(1.0).numpy()",
    "np.float32(0.0)",
)
relu = _unary(
    "Relu",
    lambda x: np.maximum(x, np.zeros((), x.dtype)),
    REALS,
    "max(x, 0).",
    ">>> tf.nn.relu([-1, 2]).numpy()",
    "array([0, 2], dtype=int32)",
    parameter="features",
)
relu6 = _unary(
    "Relu6",
    lambda x: np.clip(x, 0, 6).astype(x.dtype),
    REALS,
    "x between 0 and 6.",
    ">>> tf.nn.relu6(7.0).numpy()",
    "np.float32(6.0)",
    parameter="features",
)
real = _unary(
    "Real", np.real, NUMBERS, "The real part.", ">>> tf.math.real(1.5).numpy()", "np.float32(1.5)", parameter="input"
)
imag = _unary(
    "Imag",
    np.imag,
    NUMBERS,
    "The imaginary part.",
    ">>> tf.math.imag(1 + 2j).numpy()",
    "np.float64(2.0)",
    parameter="input",
)
conj = _unary(
    "Conj", np.conj, NUMBERS, "The complex conjugate.", ">>> tf.math.conj(1 + 2j).numpy()", "np.complex128(1-2j)"
)
angle = _unary(
    "Angle",
    lambda x: np.angle(x) if x.dtype.kind == "c" else np.where(x < 0, np.pi, 0).astype(x.dtype),
    INEXACT,
    "The angle of a complex number.",
    ">>> tf.math.angle(1 + 0j).numpy()",
    "np.float64(0.0)",
    parameter="input",
)


@overload
def logical_not(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def logical_not(x: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def logical_not(x: object, name: str | None = None) -> Any: ...
def logical_not(x: object, name: str | None = None) -> Any:
    """The negated bool.

    >>> import feedline.tf as tf
    >>> tf.logical_not(True).numpy()
    np.False_
    """
    return _logical_not(_as_bool(x))


@op("LogicalNot", "b", elementwise=True)
def _logical_not(x: Array) -> Array:
    return np.logical_not(x)


@overload
def round(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def round(x: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def round(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
@overload
def round(x: object, name: str | None = None) -> Any: ...
def round(x: object, name: str | None = None) -> Any:
    """The nearest integer, the even one if two are as near.

    >>> import feedline.tf as tf
    >>> tf.round([0.5, 1.5]).numpy()
    array([0., 2.], dtype=float32)
    """
    given = operand(x)
    return given if given.dtype.is_integer else _round(given)


@op("Round", FLOATS, elementwise=True)
def _round(x: Array) -> Array:
    return np.rint(x)


# Two operands


def _ordered(made: Op, *doc: str) -> Binary:
    """A function of two operands, of which a Python number takes the dtype of the first."""

    def function(x: object, y: object, name: str | None = None) -> Any:
        return made.function(as_tensor(x) if isinstance(y, TensorBase) and not isinstance(x, Composite) else x, y)

    return documented(function, *doc)


add = _ordered(tensor.add, "The sum; strings are joined.", ">>> tf.add(1, 2).numpy()", "np.int32(3)")
subtract = _binary(tensor.subtract, "The difference.", ">>> tf.subtract(3, 1).numpy()", "np.int32(2)")
multiply = _binary(tensor.multiply, "The product.", ">>> tf.multiply(2, 3).numpy()", "np.int32(6)")
truediv = _ordered(tensor.truediv, "The quotient, a float.", ">>> tf.truediv(1, 2).numpy()", "np.float64(0.5)")
realdiv = _binary(
    Op("RealDiv", np.divide, INEXACT, elementwise=True),
    "The quotient of floats.",
    ">>> tf.realdiv(1.0, 2.0).numpy()",
    "np.float32(0.5)",
)
divide = _binary(tensor.truediv, "The quotient, a float.", ">>> tf.divide(1, 2).numpy()", "np.float64(0.5)")
floordiv = _binary(
    tensor.floordiv, "The quotient, rounded down.", ">>> tf.math.floordiv(-7, 2).numpy()", "np.int32(-4)"
)
floormod = _binary(
    tensor.floormod, "The remainder, with the divisor's sign.", ">>> tf.math.floormod(-7, 2).numpy()", "np.int32(1)"
)
pow = _binary(tensor.pow_, "x to the power of y.", ">>> tf.pow(2, 3).numpy()", "np.int32(8)")
maximum = _binary(
    Op("Maximum", np.maximum, REALS, elementwise=True),
    "The larger value.",
    ">>> tf.maximum([1, 5], 3).numpy()",
    "array([3, 5], dtype=int32)",
)
minimum = _binary(
    Op("Minimum", np.minimum, REALS, elementwise=True),
    "The smaller value.",
    ">>> tf.minimum([1, 5], 3).numpy()",
    "array([1, 3], dtype=int32)",
)
less = _binary(tensor.less, "x < y.", ">>> tf.less(1, 2).numpy()", "np.True_")
less_equal = _binary(tensor.less_equal, "x <= y.", ">>> tf.less_equal(1, 2).numpy()", "np.True_")
greater = _binary(tensor.greater, "x > y.", ">>> tf.greater(1, 2).numpy()", "np.False_")
greater_equal = _binary(tensor.greater_equal, "x >= y.", ">>> tf.greater_equal(1, 2).numpy()", "np.False_")
equal = _binary(tensor.equal, "x == y.", ">>> tf.equal(['a'], 'a').numpy()", "array([ True])")
not_equal = _binary(tensor.not_equal, "x != y.", ">>> tf.not_equal(1, 2).numpy()", "np.True_")
logical_and = _logical("LogicalAnd", np.logical_and, "x and y.", ">>> tf.logical_and(True, False).numpy()", "np.False_")
logical_or = _logical("LogicalOr", np.logical_or, "x or y.", ">>> tf.logical_or(True, False).numpy()", "np.True_")
logical_xor = _logical(
    "LogicalXor", np.logical_xor, "Either x or y.", ">>> tf.math.logical_xor(True, True).numpy()", "np.False_"
)
bitwise_and = _binary(
    Op("BitwiseAnd", np.bitwise_and, INTEGERS, elementwise=True),
    "The bits of both.",
    ">>> tf.bitwise.bitwise_and(6, 3).numpy()",
    "np.int32(2)",
)
bitwise_or = _binary(
    Op("BitwiseOr", np.bitwise_or, INTEGERS, elementwise=True),
    "The bits of either.",
    ">>> tf.bitwise.bitwise_or(6, 3).numpy()",
    "np.int32(7)",
)
bitwise_xor = _binary(
    Op("BitwiseXor", np.bitwise_xor, INTEGERS, elementwise=True),
    "The bits of one only.",
    ">>> tf.bitwise.bitwise_xor(6, 3).numpy()",
    "np.int32(5)",
)


def _shift(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Shifts by less than the number of bits; more is cut to that, as TensorFlow does."""

    def kernel(x: Array, y: Array) -> Array:
        return function(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype))

    return kernel


left_shift = _binary(
    Op("LeftShift", _shift(np.left_shift), INTEGERS, elementwise=True),
    "The bits shifted left.",
    ">>> tf.bitwise.left_shift(1, 3).numpy()",
    "np.int32(8)",
)
right_shift = _binary(
    Op("RightShift", _shift(np.right_shift), INTEGERS, elementwise=True),
    "The bits shifted right.",
    ">>> tf.bitwise.right_shift(8, 3).numpy()",
    "np.int32(1)",
)


def _truncate_div(x: Array, y: Array) -> Array:
    if x.dtype.kind in FLOATS:
        return np.trunc(x / y)
    arithmetic.nonzero(x, y)
    made: Array = (x - np.fmod(x, y)) // y
    return made


def _truncate_mod(x: Array, y: Array) -> Array:
    if x.dtype.kind in INTEGERS:
        arithmetic.nonzero(x, y)
    return np.fmod(x, y)


def _squared_difference(x: Array, y: Array) -> Array:
    made: Array = (x - y) * np.conj(x - y)
    return made


def _xlogy(x: Array, y: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), x * _wide(np.log)(y))


def _no_nan(x: Array, y: Array) -> Array:
    wide = arithmetic.division_type(x.dtype)
    x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    return np.where(y == 0, np.zeros((), x.dtype), np.divide(x, y))


truncatediv = _binary(
    Op("TruncateDiv", _truncate_div, REALS, elementwise=True),
    "The quotient, rounded towards zero.",
    ">>> tf.truncatediv(-7, 2).numpy()",
    "np.int32(-3)",
)
truncatemod = _binary(
    Op("TruncateMod", _truncate_mod, REALS, elementwise=True),
    "The remainder, with the dividend's sign.",
    ">>> tf.truncatemod(-7, 2).numpy()",
    "np.int32(-1)",
)
squared_difference = _binary(
    Op("SquaredDifference", _squared_difference, SIGNED, elementwise=True),
    "(x - y) squared.",
    ">>> tf.math.squared_difference(1, 3).numpy()",
    "np.int32(4)",
)
divide_no_nan = _binary(
    Op("DivNoNan", _no_nan, NUMBERS, elementwise=True),
    "x / y, and 0 where y is 0.",
    ">>> tf.math.divide_no_nan(1.0, 0.0).numpy()",
    "np.float32(0.0)",
)
multiply_no_nan = _ordered(
    Op("MulNoNan", lambda x, y: np.where(y == 0, np.zeros((), x.dtype), x * y), INEXACT, elementwise=True),
    "x * y, and 0 where y is 0.",
    ">>> tf.math.multiply_no_nan(2.0, 0.0).numpy()",
    "np.float32(0.0)",
)
_ATAN2 = Op("Atan2", np.arctan2, FLOATS, elementwise=True)


@overload
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def atan2(y: object, x: object, name: str | None = None) -> Any: ...
def atan2(y: object, x: object, name: str | None = None) -> Any:
    """The angle of the point (x, y).

    >>> import feedline.tf as tf
    >>> tf.atan2(y=1.0, x=0.0).numpy()
    np.float32(1.5707964)
    """
    return _ATAN2.function(y, x)


xlogy = _binary(
    Op("Xlogy", _xlogy, INEXACT, elementwise=True),
    "x * log(y), and 0 where x is 0.",
    ">>> tf.math.xlogy(0.0, 0.0).numpy()",
    "np.float32(0.0)",
)
floordiv_v1 = floordiv
nextafter = respelled(
    _binary(
        Op("NextAfter", np.nextafter, FLOATS, elementwise=True),
        "The next float after x1 towards x2.",
        ">>> tf.math.nextafter(0.0, 1.0).numpy() > 0",
        "np.True_",
    ),
    "x1:x x2:y name",
)


def complex(real: object, imag: object, name: str | None = None) -> Tensor:
    """A complex number from its parts.

    >>> import feedline.tf as tf
    >>> tf.complex(1.0, 2.0).numpy()
    np.complex64(1+2j)
    """
    x, y = (t._array for t in matched(as_tensor(real), as_tensor(imag)))
    return as_tensor((x + 1j * y).astype(np.complex64 if x.dtype == np.float32 else np.complex128))


@overload
def clip_by_value(t: TensorLike, clip_value_min: object, clip_value_max: object, name: str | None = None) -> Tensor: ...
@overload
def clip_by_value(
    t: RaggedTensor, clip_value_min: object, clip_value_max: object, name: str | None = None
) -> RaggedTensor: ...
@overload
def clip_by_value(t: object, clip_value_min: object, clip_value_max: object, name: str | None = None) -> Any: ...
def clip_by_value(t: object, clip_value_min: object, clip_value_max: object, name: str | None = None) -> Any:
    """The values cut to a range.

    >>> import feedline.tf as tf
    >>> tf.clip_by_value([-1, 3, 9], 0, 5).numpy()
    array([0, 3, 5], dtype=int32)
    """
    if isinstance(t, RaggedTensor):
        return t._mapped(lambda values: clip_by_value(values, clip_value_min, clip_value_max))
    given = as_tensor(t)
    low, high = (as_tensor(v, like=given._array.dtype) for v in (clip_value_min, clip_value_max))
    for bound in (low, high):
        if bound._array.dtype != given._array.dtype:
            raise InvalidTypeError(f"clip_by_value: a bound of {bound.dtype.name} does not fit {given.dtype.name}")
    return _clip(given, low, high)


@op("ClipByValue", REALS, elementwise=True)
def _clip(x: Array, low: Array, high: Array) -> Array:
    made = np.maximum(np.minimum(x, high), low)
    if made.shape != x.shape:
        raise InvalidArgumentError(f"clip_by_value: bounds of shape {low.shape} and {high.shape} do not fit {x.shape}")
    return made


def clip_by_norm(t: object, clip_norm: object, axes: object = None, name: str | None = None) -> Tensor:
    """The tensor scaled down so that its norm is at most `clip_norm`.

    >>> import feedline.tf as tf
    >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    given = as_tensor(t)
    made: Tensor = _clip_by_norm(given, cast(clip_norm, given.dtype), axes=_axes(axes, given.ndim))
    return made


@op("ClipByNorm", INEXACT)
def _clip_by_norm(x: Array, most: Array, axes: tuple[int, ...] | None) -> Array:
    norm = np.sqrt(np.sum(x * x, axes, keepdims=True))
    made: Array = (x * most / np.maximum(norm, most)).astype(x.dtype)
    return made


def matmul(
    a: object,
    b: object,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: object = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, or of batches of them.

    >>> import feedline.tf as tf
    >>> tf.matmul([[1, 2]], [[3], [4]]).numpy()
    array([[11]], dtype=int32)
    """
    x, y = matched(a, b)

    def turned(value: Tensor, transpose: bool, adjoint: bool) -> Tensor:
        if value.ndim < 2 or not (transpose or adjoint):
            return value
        array = np.swapaxes(value._array, -1, -2)
        return tensor_of(np.conj(array) if adjoint else array)

    made: Tensor = tensor.matmul(turned(x, transpose_a, adjoint_a), turned(y, transpose_b, adjoint_b))
    return made


def tensordot(a: object, b: object, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over the given dimensions of both.

    >>> import feedline.tf as tf
    >>> tf.tensordot([1, 2], [3, 4], 1).numpy()
    np.int32(11)
    """
    x, y = (t._array for t in matched(a, b))
    over: Any = axes if isinstance(axes, int) else [np.asarray(v).tolist() for v in axes]
    try:
        return tensor_of(arithmetic.with_halves(functools.partial(np.tensordot, axes=over), x, y))
    except (ValueError, IndexError) as e:
        raise InvalidArgumentError(f"tensordot: {e}") from None


def einsum(equation: str, *inputs: object, **kwargs: object) -> Tensor:
    """Sums of products, written with an index per dimension.

    >>> import feedline.tf as tf
    >>> tf.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
    array([3, 7], dtype=int32)
    """
    arrays = [t._array for t in matched(*inputs)]
    try:
        return tensor_of(arithmetic.with_halves(functools.partial(np.einsum, equation.replace(" ", "")), *arrays))
    except ValueError as e:
        raise InvalidArgumentError(f"einsum: {e}") from None


def norm(
    tensor: object, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """The norm of vectors or matrices.

    >>> import feedline.tf as tf
    >>> tf.norm([3.0, 4.0]).numpy()
    np.float32(5.0)
    """
    given = as_tensor(tensor)
    over = _axes(axis, given.ndim)
    made: Tensor = _norm(given, ord=ord, axis=over, keepdims=bool(keepdims))
    return made


@op("Norm", INEXACT)
def _norm(x: Array, ord: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
    size = np.abs(x)
    matrix = axis is not None and len(axis) == 2
    if ord == "euclidean" or (ord == "fro" and matrix) or (ord == 2 and not matrix):
        return np.asarray(np.sqrt(np.sum(size * size, axis, size.dtype, keepdims=keepdims))).astype(x.dtype)
    if matrix:
        if ord not in (1, 2, np.inf):
            raise InvalidArgumentError(f"norm: ord must be 'euclidean', 'fro', 1, 2 or inf for matrices, got {ord!r}")
        return np.asarray(np.linalg.norm(x, ord, axis, keepdims)).astype(size.dtype)
    if not isinstance(ord, (int, float)) or ord <= 0:
        raise InvalidArgumentError(f"norm: ord must be 'euclidean' or a positive number for vectors, got {ord!r}")
    if ord == np.inf:
        return np.asarray(np.max(size, axis, keepdims=keepdims))
    if ord == 1:
        return np.asarray(np.sum(size, axis, size.dtype, keepdims=keepdims))
    return np.asarray(np.sum(size**ord, axis, keepdims=keepdims) ** (1 / ord)).astype(size.dtype)


def l2_normalize(
    x: object, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """The tensor divided by its norm along dimensions.

    >>> import feedline.tf as tf
    >>> tf.math.l2_normalize([3.0, 4.0], 0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    given = as_tensor(x)
    made: Tensor = _l2_normalize(given, axis=_axes(dim if axis is None else axis, given.ndim), epsilon=epsilon)
    return made


@op("L2Normalize", INEXACT)
def _l2_normalize(x: Array, axis: tuple[int, ...] | None, epsilon: float) -> Array:
    size = np.abs(x) if x.dtype.kind == "c" else x
    total = np.sum(size * size, axis, keepdims=True)
    made: Array = (x * (1 / np.sqrt(np.maximum(total, np.asarray(epsilon, size.dtype))))).astype(x.dtype)
    return made


def softmax(logits: object, axis: int | None = None, name: str | None = None) -> Tensor:
    """exp(x), divided by its sum along a dimension.

    >>> import feedline.tf as tf
    >>> tf.nn.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    array = array_of(logits, FLOATS, "Softmax")
    at = axis_of(-1 if axis is None else axis, array.ndim)
    wide = array.astype(np.float64)
    odds = np.exp(wide - np.max(wide, at, keepdims=True, initial=-np.inf))
    return tensor_of((odds / np.sum(odds, at, keepdims=True)).astype(array.dtype))


# Reductions


def _axes(axis: object, rank: int) -> tuple[int, ...] | None:
    if axis is None:
        return None
    found = tuple(axis_of(a, rank) for a in ints(axis, "axis"))
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"the same dimension is given twice: {axis}")
    return found


def _reduction(
    name: str, kernel: Callable[..., Any], kinds: str, ragged: Callable[..., Any] | None, *doc: str
) -> Reduction:
    """A reduction of dimensions; `ragged` does it for ragged tensors, where TensorFlow has it."""
    made = Op(name, kernel, kinds)

    def function(
        input_tensor: object, axis: object = None, keepdims: bool | None = False, name: str | None = None
    ) -> Any:
        if isinstance(input_tensor, RaggedTensor) and ragged is not None:
            return ragged(function, input_tensor, _axes(axis, len(input_tensor._value.shape)), bool(keepdims))
        given = _as_bool(input_tensor) if kinds == "b" else as_tensor(input_tensor)
        return made(given, axis=_axes(axis, given.ndim), keepdims=bool(keepdims))

    return documented(function, *doc)


Axes = tuple[int, ...] | None


def _by_rows(segments: Callable[..., Array]) -> Callable[..., Any]:
    """The reduction of ragged tensors, by the reduction of segments, and by `function` where they are not ragged."""

    def reduce(function: Callable[..., Any], value: RaggedTensor, over: Axes, keepdims: bool) -> Any:
        if over is None:
            made = function(value.flat_values)
            return reshape(made, [1] * len(value._value.shape)) if keepdims else made
        found: Any = value
        for axis in sorted(over, reverse=True):
            found = along(function, found, axis, keepdims)
        return found

    def along(function: Callable[..., Any], value: Any, axis: int, keepdims: bool) -> Any:
        if not isinstance(value, RaggedTensor):
            return function(value, axis, keepdims)
        if axis > 1:
            return value.with_values(along(function, value.values, axis - 1, keepdims))
        rows = value._value
        ids = rows.value_rowids() if axis else _within(np.asarray(rows.row_splits))
        made = _segmented(segments, value.values, ids, len(value) if axis else int(ids.max(initial=-1)) + 1)
        return expand_dims(made, axis) if keepdims else made

    return reduce


def _within(splits: Array) -> Array:
    """The place of each value within its row."""
    made: Array = np.arange(int(splits[-1])) - np.repeat(splits[:-1], np.diff(splits))
    return made


def _segmented(segments: Callable[..., Array], values: Any, ids: Array, count: int) -> Any:
    """The reduction of each segment: of rows, value by value, if the values are ragged."""
    if not isinstance(values, RaggedTensor):
        order = np.argsort(ids, kind="stable")
        return tensor_of(segments(values._array[order], ids[order], count))
    splits = np.asarray(values._value.row_splits)
    lengths = np.zeros(count, np.int64)
    np.maximum.at(lengths, ids, np.diff(splits))
    begins = np.concatenate([[0], np.cumsum(lengths)])
    inner = np.repeat(begins[ids], np.diff(splits)) + _within(splits)
    return RaggedTensor.from_row_splits(_segmented(segments, values.values, inner, int(begins[-1])), begins)


def _bools_by_rows(segments: Callable[..., Array]) -> Callable[..., Any]:
    reduce = _by_rows(segments)
    return lambda function, value, over, keepdims: reduce(function, cast(value, types.bool), over, keepdims)


def _ragged_mean(function: Callable[..., Any], value: RaggedTensor, over: Axes, keepdims: bool) -> Any:
    ones = value.with_flat_values(tensor_of(np.ones_like(value.flat_values._array)))
    return truediv(reduce_sum(value, over, keepdims), reduce_sum(ones, over, keepdims))


def _ragged_variance(function: Callable[..., Any], value: RaggedTensor, over: Axes, keepdims: bool) -> Any:
    spread = reduce_mean(square(value), over, keepdims) - square(reduce_mean(value, over, keepdims))
    return spread._mapped(relu) if isinstance(spread, RaggedTensor) else relu(spread)


def _ragged_std(function: Callable[..., Any], value: RaggedTensor, over: Axes, keepdims: bool) -> Any:
    return sqrt(_ragged_variance(function, value, over, keepdims))


def _by_segment(combine: np.ufunc, empty: Callable[[np.dtype[Any]], Any], finish: Any = None) -> Callable[..., Array]:
    def reduce(values: Array, ids: Array, count: int) -> Array:
        kind = values.dtype
        out = np.full((count, *values.shape[1:]), empty(kind), kind)
        combine.at(out, ids, values)
        if finish is None:
            return out
        sizes = np.bincount(ids, minlength=count).reshape(-1, *([1] * (values.ndim - 1)))
        made: Array = finish(out, sizes)
        return made

    return reduce


def _least(kind: np.dtype[Any]) -> Any:
    return -np.inf if kind.kind in FLOATS else np.iinfo(kind).min


def _most(kind: np.dtype[Any]) -> Any:
    return np.inf if kind.kind in FLOATS else np.iinfo(kind).max


def _lowest(kind: np.dtype[Any]) -> Any:
    """The lowest finite value: what TensorFlow's reductions of segments and of rows start from."""
    return as_dtype(kind).min


def _highest(kind: np.dtype[Any]) -> Any:
    """The highest finite value."""
    return as_dtype(kind).max


def _sum(x: Array, axis: Any, keepdims: bool) -> Any:
    made = ordered_sum(x, axis)
    if made is not None:
        return np.expand_dims(made, tuple(range(x.ndim)) if axis is None else axis) if keepdims else made
    if x.dtype.kind in INTEGERS or x.dtype.itemsize >= 8:
        return np.sum(x, axis, x.dtype, keepdims=keepdims)
    return np.sum(x, axis, np.complex128 if x.dtype.kind == "c" else np.float64, keepdims=keepdims).astype(x.dtype)


def _mean(x: Array, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind in INTEGERS:
        total = np.sum(x, axis, np.int64 if x.dtype.kind == "i" else np.uint64, keepdims=keepdims)
        count = x.size // builtins.max(np.size(total), 1)
        return np.asarray(np.trunc(total / count) if count else total * 0).astype(x.dtype)
    made = ordered_sum(x, axis)
    if made is not None:
        mean = made / x.dtype.type(x.size // made.size)
        return np.expand_dims(mean, tuple(range(x.ndim)) if axis is None else axis) if keepdims else mean
    if x.dtype.itemsize >= 8 and x.dtype.kind == "f":
        return np.mean(x, axis, keepdims=keepdims) if x.size else np.sum(x, axis, keepdims=keepdims) / 0
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    whole = np.sum(x, axis, wide, keepdims=keepdims)
    count = x.size // builtins.max(np.size(whole), 1)
    return np.asarray(whole / (count or x.dtype.kind == "c")).astype(x.dtype)  # no complex numbers: 0, not NaN


def _prod(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.prod(x, axis, x.dtype, keepdims=keepdims)


def _max(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.max(x, axis, keepdims=keepdims, initial=_least(x.dtype))


def _min(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.min(x, axis, keepdims=keepdims, initial=_most(x.dtype))


def _all(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.all(x, axis, keepdims=keepdims)


def _any(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.any(x, axis, keepdims=keepdims)


def _variance(x: Array, axis: Any, keepdims: bool) -> Any:
    return _spread(x, axis, keepdims).astype(x.real.dtype)


def _std(x: Array, axis: Any, keepdims: bool) -> Any:
    return np.sqrt(_spread(x, axis, keepdims)).astype(x.real.dtype)


def _spread(x: Array, axis: Any, keepdims: bool) -> Array:
    """The mean of squared distances from the mean: NaN for no values, without NumPy's warning."""
    if x.dtype in LANES and x.size:
        distance = x - _mean(x, axis, True)
        return np.asarray(_mean(distance * distance, axis, keepdims))
    x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    total = np.sum(x, axis, keepdims=True)
    count = x.size // builtins.max(total.size, 1)
    distance = np.abs(x - total / np.float64(count))
    return np.asarray(np.sum(distance * distance, axis, keepdims=keepdims) / np.float64(count))


def _logsumexp(x: Array, axis: Any, keepdims: bool) -> Any:
    wide = x.astype(np.float64)
    top = np.max(wide, axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(wide - top), axis, keepdims=True)) + top
    return (total if keepdims else total.reshape(np.sum(wide, axis).shape)).astype(x.dtype)


def _euclidean(x: Array, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind in INTEGERS:  # squares and their sum are of the same dtype, and may overflow
        return np.sqrt(np.sum(np.square(x), axis, x.dtype, keepdims=keepdims).astype(np.float64)).astype(x.dtype)
    wide = np.square(np.abs(x), dtype=np.float64)
    return np.sqrt(np.sum(wide, axis, keepdims=keepdims)).astype(x.dtype)


def _zero(_: np.dtype[Any]) -> Any:
    return 0


def _one(_: np.dtype[Any]) -> Any:
    return 1


_segment_sum = _by_segment(np.add, _zero)
reduce_sum = _reduction(
    "Sum",
    _sum,
    NUMBERS,
    _by_rows(_segment_sum),
    "The sum.",
    ">>> tf.reduce_sum([[1, 2], [3, 4]], 1).numpy()",
    "array([3, 7], dtype=int32)",
)
reduce_mean = _reduction(
    "Mean",
    _mean,
    NUMBERS,
    _ragged_mean,
    "The mean; that of integers is an integer.",
    ">>> tf.reduce_mean([1.0, 2.0]).numpy()",
    "np.float32(1.5)",
)
reduce_prod = _reduction(
    "Prod",
    _prod,
    NUMBERS,
    _by_rows(_by_segment(np.multiply, _one)),
    "The product.",
    ">>> tf.reduce_prod([2, 3]).numpy()",
    "np.int32(6)",
)
reduce_max = _reduction(
    "Max",
    _max,
    REALS,
    _by_rows(_by_segment(np.maximum, _lowest)),
    "The largest value.",
    ">>> tf.reduce_max([2, 3]).numpy()",
    "np.int32(3)",
)
reduce_min = _reduction(
    "Min",
    _min,
    REALS,
    _by_rows(_by_segment(np.minimum, _highest)),
    "The smallest value.",
    ">>> tf.reduce_min([2, 3]).numpy()",
    "np.int32(2)",
)
reduce_all = _reduction(
    "All",
    _all,
    "b",
    _bools_by_rows(_by_segment(np.logical_and, _one)),
    "Whether all are true.",
    ">>> tf.reduce_all([True, False]).numpy()",
    "np.False_",
)
reduce_any = _reduction(
    "Any",
    _any,
    "b",
    _bools_by_rows(_by_segment(np.logical_or, _zero)),
    "Whether any is true.",
    ">>> tf.reduce_any([True, False]).numpy()",
    "np.True_",
)
reduce_variance = _reduction(
    "Variance",
    _variance,
    INEXACT,
    _ragged_variance,
    "The variance.",
    ">>> tf.math.reduce_variance([1.0, 3.0]).numpy()",
    "np.float32(1.0)",
)
reduce_std = _reduction(
    "Std",
    _std,
    INEXACT,
    _ragged_std,
    "The standard deviation.",
    ">>> tf.math.reduce_std([1.0, 3.0]).numpy()",
    "np.float32(1.0)",
)
reduce_logsumexp = _reduction(
    "LogSumExp",
    _logsumexp,
    INEXACT,
    None,
    "log(sum(exp(x))).",
    ">>> tf.reduce_logsumexp([0.0]).numpy()",
    "np.float32(0.0)",
)
reduce_euclidean_norm = _reduction(
    "EuclideanNorm",
    _euclidean,
    NUMBERS,
    None,
    "sqrt(sum(x * x)).",
    ">>> tf.math.reduce_euclidean_norm([3.0, 4.0]).numpy()",
    "np.float32(5.0)",
)


def count_nonzero(
    input: object, axis: object = None, keepdims: bool | None = None, dtype: Any = types.int64, name: str | None = None
) -> Tensor:
    """The number of values that are not 0 or empty.

    >>> import feedline.tf as tf
    >>> tf.math.count_nonzero([0, 1, 2]).numpy()
    np.int64(2)
    """
    array = as_tensor(input)._array
    held = array != b"" if array.dtype.kind == "O" else array != 0
    return as_tensor(np.sum(held, _axes(axis, array.ndim), as_dtype(dtype).dtype, keepdims=bool(keepdims)))


def argmax(input: object, axis: object = None, output_type: Any = types.int64, name: str | None = None) -> Tensor:
    """The index of the largest value along a dimension, by default the first.

    >>> import feedline.tf as tf
    >>> tf.argmax([1, 3, 2]).numpy()
    np.int64(1)
    """
    made: Tensor = _argmax(
        as_tensor(input), axis=0 if axis is None else integer(axis, "axis"), dtype=as_dtype(output_type).dtype
    )
    return made


@op("ArgMax", REALS + "b")
def _argmax(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    at = axis_of(axis, x.ndim)
    if not x.shape[at]:
        raise InvalidArgumentError(f"Reduction axis {at} is empty in shape {x.shape}")
    if x.dtype.kind == "f" and np.isnan(x).any():
        x = np.where(np.isnan(x), np.asarray(-np.inf, x.dtype), x)
    return np.asarray(np.argmax(x, at)).astype(dtype)


def argmin(input: object, axis: object = None, output_type: Any = types.int64, name: str | None = None) -> Tensor:
    """The index of the smallest value along a dimension, by default the first.

    >>> import feedline.tf as tf
    >>> tf.argmin([3, 1, 2]).numpy()
    np.int64(1)
    """
    made: Tensor = _argmin(
        as_tensor(input), axis=0 if axis is None else integer(axis, "axis"), dtype=as_dtype(output_type).dtype
    )
    return made


@op("ArgMin", REALS + "b")
def _argmin(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    at = axis_of(axis, x.ndim)
    if not x.shape[at]:
        raise InvalidArgumentError(f"Reduction axis {at} is empty in shape {x.shape}")
    if x.dtype.kind == "f" and np.isnan(x).any():
        x = np.where(np.isnan(x), np.asarray(np.inf, x.dtype), x)
    return np.asarray(np.argmin(x, at)).astype(dtype)


def cumsum(
    x: object, axis: object = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running sums along a dimension.

    >>> import feedline.tf as tf
    >>> tf.cumsum([1, 2, 3]).numpy(), tf.cumsum([1, 2, 3], exclusive=True).numpy()
    (array([1, 3, 6], dtype=int32), array([0, 1, 3], dtype=int32))
    """
    made: Tensor = _cumulate(as_tensor(x), axis=integer(axis, "axis"), exclusive=exclusive, reverse=reverse, how=np.add)
    return made


def cumprod(
    x: object, axis: object = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Running products along a dimension.

    >>> import feedline.tf as tf
    >>> tf.math.cumprod([1, 2, 3]).numpy()
    array([1, 2, 6], dtype=int32)
    """
    made: Tensor = _cumulate(
        as_tensor(x), axis=integer(axis, "axis"), exclusive=exclusive, reverse=reverse, how=np.multiply
    )
    return made


@op("Cumsum", NUMBERS)
def _cumulate(x: Array, axis: int, exclusive: bool, reverse: bool, how: np.ufunc) -> Array:
    at = axis_of(axis, x.ndim)
    x = np.flip(x, at) if reverse else x
    made = how.accumulate(x, at, x.dtype)
    if exclusive:
        first = np.full_like(np.take(made, [0], at), how.identity) if x.shape[at] else made
        made = np.concatenate([first, np.take(made, np.arange(x.shape[at] - 1), at)], at) if x.shape[at] else made
    return np.flip(made, at) if reverse else made


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape.

    >>> import feedline.tf as tf
    >>> tf.add_n([1, 2, 3]).numpy()
    np.int32(6)
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise InvalidArgumentError("add_n takes a list of at least one tensor")
    arrays = [t._array for t in matched(*map(as_tensor, inputs))]
    if len({a.shape for a in arrays}) > 1:
        raise InvalidArgumentError(f"add_n: shapes must be equal, got {[a.shape for a in arrays]}")
    total = arrays[0]
    for array in arrays[1:]:
        total = np.add(total, array)
    return as_tensor(total)


def accumulate_n(inputs: Any, shape: object = None, tensor_dtype: object = None, name: str | None = None) -> Tensor:
    """The same as `add_n`.

    >>> import feedline.tf as tf
    >>> tf.math.accumulate_n([tf.constant([1, 2]), tf.constant([3, 4])]).numpy().tolist()
    [4, 6]
    """
    return add_n(inputs)


class LargestValues(NamedTuple):
    """The result of `top_k`."""

    values: Tensor
    indices: Tensor


def top_k(
    input: object, k: object = 1, sorted: bool = True, index_type: Any = types.int32, name: str | None = None
) -> LargestValues:
    """The largest values of each row and their indices.

    >>> import feedline.tf as tf
    >>> [t.numpy().tolist() for t in tf.math.top_k([1, 3, 2], 2)]
    [[3, 2], [1, 2]]
    >>> tf.math.top_k([1, 3, 2], 2).indices.numpy()
    array([1, 2], dtype=int32)
    """
    array, count = array_of(input, REALS, "TopKV2"), integer(k, "k")
    if not array.ndim or not 0 <= count <= array.shape[-1]:
        raise InvalidArgumentError(f"input must have at least k columns: {array.shape} and k={count}")
    order = array.shape[-1] - 1 - np.flip(np.argsort(np.flip(array, -1), -1, kind="stable"), -1)
    order = order[..., :count]
    values = np.take_along_axis(array, order, -1)
    return LargestValues(tensor_of(values), tensor_of(order.astype(as_dtype(index_type).dtype)))


def in_top_k(targets: object, predictions: object, k: object, name: str | None = None) -> Tensor:
    """Whether each target is among the k largest of its row.

    >>> import feedline.tf as tf
    >>> tf.math.in_top_k([1], [[0.1, 0.9]], 1).numpy()
    array([ True])
    """
    wanted, scores = as_tensor(targets)._array, as_tensor(predictions)._array
    if wanted.ndim != 1 or scores.ndim != 2 or len(wanted) != len(scores):
        raise InvalidArgumentError(f"in_top_k: targets of shape {wanted.shape} do not fit predictions {scores.shape}")
    place = wanted[:, None].astype(np.int64)
    known = (place >= 0) & (place < scores.shape[1])
    own = (
        np.take_along_axis(scores, np.where(known, place, 0), 1) if scores.size else np.zeros_like(place, scores.dtype)
    )
    finite = np.isfinite(own) & known if scores.dtype.kind == "f" else known
    judged = finite[:, 0] & ~(~np.isfinite(scores)).any(1)
    return tensor_of(judged & ((scores > own).sum(1) < integer(k, "k")))


def bincount(
    arr: object,
    weights: object = None,
    minlength: object = None,
    maxlength: object = None,
    dtype: Any = types.int32,
    name: str | None = None,
    axis: object = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each integer appears.

    >>> import feedline.tf as tf
    >>> tf.math.bincount([1, 1, 3]).numpy()
    array([0, 2, 0, 1], dtype=int32)
    """
    array = as_tensor(arr)._array
    array = array if array.size else array.astype(np.int32)
    if array.dtype not in (np.int32, np.int64):
        raise InvalidTypeError(f"bincount takes int32 and int64, not {array.dtype}; use tf.cast")
    if array.size and array.min() < 0:
        raise InvalidArgumentError("bincount takes integers of 0 or more")
    array = array.astype(np.int64)
    size = int(array.max(initial=-1)) + 1
    size = builtins.max(size, 0 if minlength is None else integer(minlength, "minlength"))
    size = size if maxlength is None else builtins.min(size, integer(maxlength, "maxlength"))
    by = None if weights is None else as_tensor(weights)._array
    kind = as_dtype(dtype).dtype if by is None else by.dtype

    def counted(row: Array, heavy: Array | None) -> Array:
        keep = row < size
        found = np.bincount(row[keep], None if heavy is None else heavy[keep], size)
        return (found > 0 if binary_output else found).astype(kind)

    if axis is None or integer(axis, "axis") == 0 or array.ndim < 2:
        return tensor_of(counted(array.ravel(), None if by is None else by.ravel()))
    rows = [counted(row, None if by is None else by[i]) for i, row in enumerate(array)]
    return tensor_of(np.stack(rows) if rows else np.zeros((0, size), kind))


def histogram_fixed_width(
    values: object, value_range: object, nbins: object = 100, dtype: Any = types.int32, name: str | None = None
) -> Tensor:
    """How many values fall into each of `nbins` bins of equal width; those outside count for the first or last.

    >>> import feedline.tf as tf
    >>> tf.histogram_fixed_width([-1.0, 0.5, 4.9], [0.0, 5.0], 5).numpy()
    array([2, 0, 0, 0, 1], dtype=int32)
    """
    count = integer(nbins, "nbins")
    bins = histogram_fixed_width_bins(values, value_range, nbins)._array
    return tensor_of(np.bincount(bins.ravel(), minlength=count).astype(as_dtype(dtype).dtype))


def histogram_fixed_width_bins(
    values: object, value_range: object, nbins: object = 100, dtype: Any = types.int32, name: str | None = None
) -> Tensor:
    """The bin of each value, an int32 whatever `dtype` is.

    >>> import feedline.tf as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 0.5, 4.9], [0.0, 5.0], 5).numpy()
    array([0, 0, 4], dtype=int32)
    """
    array = as_tensor(values)._array
    ends = as_tensor(value_range, array.dtype)._array
    count = integer(nbins, "nbins")
    if ends.shape != (2,) or not ends[0] < ends[1] or count <= 0:
        raise InvalidArgumentError(
            f"histogram: value_range must be [low, high] and nbins positive, got {ends}, {count}"
        )
    width = np.float64(ends[1] - ends[0]) / count
    place = np.floor((array.astype(np.float64) - np.float64(ends[0])) / width)
    return as_tensor(np.clip(place, 0, count - 1).astype(np.int32))


def confusion_matrix(
    labels: object,
    predictions: object,
    num_classes: object = None,
    weights: object = None,
    dtype: Any = types.int32,
    name: str | None = None,
) -> Tensor:
    """How often each label was predicted as each class.

    >>> import feedline.tf as tf
    >>> tf.math.confusion_matrix([0, 1], [0, 0]).numpy().tolist()
    [[1, 0], [1, 0]]
    """
    x, y = as_tensor(labels)._array.astype(np.int64), as_tensor(predictions)._array.astype(np.int64)
    size = (
        int(builtins.max(x.max(initial=-1), y.max(initial=-1))) + 1
        if num_classes is None
        else integer(num_classes, "num_classes")
    )
    if ((x < 0) | (x >= size)).any() or ((y < 0) | (y >= size)).any():
        raise InvalidArgumentError(f"confusion_matrix: labels and predictions must be below num_classes, {size}")
    out = np.zeros((size, size), as_dtype(dtype).dtype)
    np.add.at(out, (x, y), 1 if weights is None else as_tensor(weights)._array)
    return tensor_of(out)


# Segments


def _segments(name: str, reduce: Callable[..., Array], *doc: str) -> SegmentReduction:
    """A reduction of segments that follow each other."""

    def function(data: object, segment_ids: object, name: str | None = None) -> Tensor:
        values, ids = as_tensor(data)._array, _segment_ids(segment_ids)
        if ids.ndim != 1 or values.ndim < 1 or len(ids) != len(values):
            raise _no_fit(ids, values)
        if ids.size and ((np.diff(ids) < 0).any() or ids[0] < 0):
            raise InvalidArgumentError(f"{kind}: segment ids must be 0 or more, and not decrease")
        return tensor_of(reduce(values, ids, int(ids[-1]) + 1 if ids.size else 0))

    kind = name
    return documented(function, *doc)


def _unsorted_segments(name: str, reduce: Callable[..., Array], *doc: str) -> UnsortedSegmentReduction:
    """A reduction of segments whose values are anywhere."""

    def function(data: object, segment_ids: object, num_segments: object, name: str | None = None) -> Tensor:
        values, ids = as_tensor(data)._array, _segment_ids(segment_ids)
        count = integer(num_segments, "num_segments")
        if values.shape[: ids.ndim] != ids.shape:
            raise _no_fit(ids, values)
        if count < 0:
            raise InvalidArgumentError(f"{kind}: num_segments must be 0 or more, got {count}")
        inner = values.shape[ids.ndim :]
        keep = ids.reshape(-1) >= 0
        values, ids = values.reshape(ids.size, *inner)[keep], ids.reshape(-1)[keep]
        if ids.size and ids.max() >= count:
            raise InvalidArgumentError(f"{kind}: segment id {ids.max()} is out of range [0, {count})")
        return tensor_of(reduce(values, ids, count))

    kind = name
    return documented(function, *doc)


def _segment_ids(given: object) -> Array:
    ids = as_tensor(given)._array
    if ids.dtype.kind not in INTEGERS and ids.size:
        raise InvalidTypeError(f"segment ids must be integers, got {ids.dtype}")
    return ids.astype(np.int64)


def _no_fit(ids: Array, values: Array) -> Exception:
    return InvalidArgumentError(f"segment_ids of shape {ids.shape} do not fit data of shape {values.shape}")


def _or_zero(reduce: Callable[..., Array]) -> Callable[..., Array]:
    """Gives 0 for segments without values."""

    def function(values: Array, ids: Array, count: int) -> Array:
        made = reduce(values, ids, count)
        made[np.bincount(ids, minlength=count) == 0] = 0
        return made

    return function


_segment_mean = _or_zero(_by_segment(np.add, _zero, lambda t, s: (t / np.maximum(s, 1)).astype(t.dtype)))


def _unsorted_mean(values: Array, ids: Array, count: int) -> Array:
    return _segment_mean(values.astype(arithmetic.division_type(values.dtype), copy=False), ids, count)


segment_sum = _segments(
    "segment_sum",
    _segment_sum,
    "The sum of each segment.",
    ">>> tf.math.segment_sum([1, 2, 3], [0, 0, 1]).numpy()",
    "array([3, 3], dtype=int32)",
)
segment_mean = _segments(
    "segment_mean",
    _segment_mean,
    "The mean of each segment.",
    ">>> tf.math.segment_mean([1.0, 2.0], [0, 0]).numpy()",
    "array([1.5], dtype=float32)",
)
segment_max = _segments(
    "segment_max",
    _or_zero(_by_segment(np.maximum, _least)),
    "The largest value of each segment.",
    ">>> tf.math.segment_max([1, 2], [0, 0]).numpy()",
    "array([2], dtype=int32)",
)
segment_min = _segments(
    "segment_min",
    _or_zero(_by_segment(np.minimum, _most)),
    "The smallest value of each segment.",
    ">>> tf.math.segment_min([1, 2], [0, 0]).numpy()",
    "array([1], dtype=int32)",
)
segment_prod = _segments(
    "segment_prod",
    _by_segment(np.multiply, _one),
    "The product of each segment.",
    ">>> tf.math.segment_prod([2, 3], [0, 0]).numpy()",
    "array([6], dtype=int32)",
)
unsorted_segment_sum = _unsorted_segments(
    "unsorted_segment_sum",
    _segment_sum,
    "The sum of each segment; ids in any order.",
    ">>> tf.math.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 2).numpy()",
    "array([2, 4], dtype=int32)",
)
unsorted_segment_mean = _unsorted_segments(
    "unsorted_segment_mean",
    _unsorted_mean,
    "The mean of each segment; ids in any order.",
    ">>> tf.math.unsorted_segment_mean([1.0, 2.0], [0, 0], 1).numpy()",
    "array([1.5], dtype=float32)",
)
unsorted_segment_max = _unsorted_segments(
    "unsorted_segment_max",
    _by_segment(np.maximum, _lowest),
    "The largest value of each segment; ids in any order.",
    ">>> tf.math.unsorted_segment_max([1, 2], [0, 0], 1).numpy()",
    "array([2], dtype=int32)",
)
unsorted_segment_min = _unsorted_segments(
    "unsorted_segment_min",
    _by_segment(np.minimum, _highest),
    "The smallest value of each segment; ids in any order.",
    ">>> tf.math.unsorted_segment_min([1, 2], [0, 0], 1).numpy()",
    "array([1], dtype=int32)",
)
unsorted_segment_prod = _unsorted_segments(
    "unsorted_segment_prod",
    _by_segment(np.multiply, _one),
    "The product of each segment; ids in any order.",
    ">>> tf.math.unsorted_segment_prod([2, 3], [0, 0], 1).numpy()",
    "array([6], dtype=int32)",
)


def moments(
    x: object, axes: object, shift: object = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance.

    >>> import feedline.tf as tf
    >>> [t.numpy().item() for t in tf.nn.moments([1.0, 3.0], [0])]
    [2.0, 1.0]
    """
    given = as_tensor(x)
    if given.dtype.dtype.kind in FLOATS:
        return reduce_mean(given, axes, keepdims), reduce_variance(given, axes, keepdims)
    mean = reduce_mean(given, axes, True)
    variance = reduce_mean(squared_difference(given, mean), axes, keepdims)
    return reduce_mean(given, axes, keepdims), variance


@overload
def scalar_mul(scalar: object, x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def scalar_mul(scalar: object, x: RaggedTensor, name: str | None = None) -> RaggedTensor: ...
@overload
def scalar_mul(scalar: object, x: SparseTensor, name: str | None = None) -> SparseTensor: ...
@overload
def scalar_mul(scalar: object, x: object, name: str | None = None) -> Any: ...
def scalar_mul(scalar: object, x: object, name: str | None = None) -> Any:
    """A tensor times a number.

    >>> import feedline.tf as tf
    >>> tf.math.scalar_mul(2, [1, 2]).numpy()
    array([2, 4], dtype=int32)
    """
    given = operand(x)
    factor = as_tensor(scalar, None if isinstance(scalar, TensorBase) else given.dtype)
    if factor.ndim:
        raise InvalidArgumentError(f"scalar_mul: the scalar has the shape {factor.shape}")
    return multiply(factor, given)


def zero_fraction(value: object, name: str | None = None) -> Tensor:
    """The share of values that are 0.

    >>> import feedline.tf as tf
    >>> tf.math.zero_fraction([0, 1]).numpy()
    np.float32(0.5)
    """
    array = as_tensor(value)._array
    return as_tensor(np.float32(np.count_nonzero(array == 0) / array.size) if array.size else np.float32(np.nan))


def to_type(dtype: Any) -> Callable[..., Any]:
    """A cast to one dtype, such as TensorFlow 1's `to_float`."""

    def function(x: object, name: str = "Cast") -> Any:
        return cast(x, dtype)

    return documented(function, f"The values as {dtype.name}.", f">>> tf.cast(1, '{dtype.name}').ndim", "0")


to_float = to_type(types.float32)
to_double = to_type(types.float64)
to_int32 = to_type(types.int32)
to_int64 = to_type(types.int64)


def polyval(coeffs: list[object], x: object, name: str | None = None) -> Any:
    """The value of a polynomial; the first coefficient is that of the highest power.

    >>> import feedline.tf as tf
    >>> tf.math.polyval([2.0, 1.0], 3.0).numpy()
    np.float32(7.0)
    """
    if not isinstance(coeffs, list):
        raise InvalidArgumentError(f"polyval: coeffs must be a list, got {type(coeffs).__name__}")
    given = as_tensor(x)
    if not coeffs:
        return tensor_of(np.zeros_like(given._array))
    total: Any = as_tensor(coeffs[0])
    for c in coeffs[1:]:
        total = as_tensor(c) + total * given
    return total


def rank_of(value: TensorBase) -> Tensor:
    """The number of dimensions."""
    return as_tensor(shape(value).shape[0], np.int32)


own_functions(globals())
