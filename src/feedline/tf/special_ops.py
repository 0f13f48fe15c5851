"""Functions of `tf.math` and `tf.nn` that are made of others, and special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.dense import Array
from feedline.tf.arithmetic import FLOATS, INEXACT, REALS
from feedline.tf.array_ops import axis_of, matched
from feedline.tf.math_ops import unsorted_segment_sum
from feedline.tf.tensor import Op, Tensor, array_of, as_tensor, integer, op, operand, tensor_of


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype.itemsize < 8 else x


def _each(function: Any, x: Array) -> Array:
    made = np.vectorize(function, otypes=[np.float64])(x) if x.size else x
    return np.asarray(made).astype(x.dtype)


def _digamma(x: float) -> float:
    """By reflection to positive numbers, the recurrence to 6 and more, and the asymptotic series there."""
    if x != x or x == -math.inf:
        return math.nan
    if x == math.inf:
        return x
    if x <= 0:
        if x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 6:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    series = 0.0
    for term in reversed(terms):
        series = y * (term + series)
    return shift + math.log(x) - 0.5 / x - series


def _ndtri(p: float) -> float:
    """The inverse of the normal distribution function: a rational start, then steps of Halley's method."""
    if not 0 < p < 1 or p == 0.5:
        return {0.0: -math.inf, 0.5: 0.0, 1.0: math.inf}.get(p, math.nan)
    upper = p > 0.5
    tail = 1 - p if upper else p
    t = math.sqrt(-2 * math.log(tail))
    x = -(t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t**3))
    for _ in range(4):
        error = 0.5 * math.erfc(-x / math.sqrt(2)) - tail
        u = error * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
        x -= u / (1 + x * u / 2)
    return -x if upper else x


def _erfinv(y: float) -> float:
    if abs(y) < 1e-9:
        return y * math.sqrt(math.pi) / 2
    return _ndtri((y + 1) / 2) / math.sqrt(2) if -1 <= y <= 1 else math.nan


_erfc_op = Op("Erfc", lambda x: _each(math.erfc, x), FLOATS, elementwise=True)
_digamma_op = Op("Digamma", lambda x: _each(_digamma, x), FLOATS, elementwise=True)
_ndtri_op = Op("Ndtri", lambda x: _each(_ndtri, x), FLOATS, elementwise=True)
_erfinv_op = Op("Erfinv", lambda x: _each(_erfinv, x), FLOATS, elementwise=True)


def erfc(x: object, name: str | None = None) -> Any:
    """1 - erf(x).

    >>> import feedline.tf as tf
    >>> tf.math.erfc(0.0).numpy()
    np.float32(1.0)
    """
    return _erfc_op(operand(x))


def erfinv(x: object, name: str | None = None) -> Any:
    """The inverse of erf.

    >>> import feedline.tf as tf
    >>> tf.math.erfinv(0.0).numpy()
    np.float32(0.0)
    """
    return _erfinv_op(operand(x))


def ndtri(x: object, name: str | None = None) -> Any:
    """The quantile of the standard normal distribution.

    >>> import feedline.tf as tf
    >>> tf.math.ndtri(0.5).numpy()
    np.float32(0.0)
    """
    return _ndtri_op(operand(x))


def digamma(x: object, name: str | None = None) -> Any:
    """The derivative of lgamma.

    >>> import feedline.tf as tf
    >>> tf.math.digamma(1.0).numpy()
    np.float32(-0.5772157)
    """
    return _digamma_op(operand(x))


def lbeta(x: object, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the last dimension.

    >>> import feedline.tf as tf
    >>> tf.math.lbeta([1.0, 1.0]).numpy()
    np.float32(0.0)
    """
    array = as_tensor(x)._array
    wide = _each(math.lgamma, _wide(array))
    total = _each(math.lgamma, np.asarray(_wide(array).sum(-1)))
    return tensor_of(np.asarray(wide.sum(-1) - total).astype(array.dtype))


@op("Softsign", FLOATS, elementwise=True)
def _softsign(x: Array) -> Array:
    return np.asarray(x / (1 + np.abs(x))).astype(x.dtype)


def softsign(features: object, name: str | None = None) -> Any:
    """x / (1 + |x|).

    >>> import feedline.tf as tf
    >>> tf.nn.softsign(1.0).numpy()
    np.float32(0.5)
    """
    return _softsign(operand(features))


@op("LogSigmoid", FLOATS, elementwise=True)
def _log_sigmoid(x: Array) -> Array:
    wide = _wide(x)
    return np.asarray(np.minimum(wide, 0) - np.log1p(np.exp(-np.abs(wide)))).astype(x.dtype)


def log_sigmoid(x: object, name: str | None = None) -> Any:
    """The logarithm of sigmoid(x).

    >>> import feedline.tf as tf
    >>> tf.math.log_sigmoid(0.0).numpy()
    np.float32(-0.6931472)
    """
    return _log_sigmoid(operand(x))


def log_softmax(logits: object, axis: int | None = None, name: str | None = None) -> Tensor:
    """The logarithm of softmax along a dimension.

    >>> import feedline.tf as tf
    >>> tf.nn.log_softmax([0.0, 0.0]).numpy()
    array([-0.6931472, -0.6931472], dtype=float32)
    """
    array = array_of(logits, FLOATS, "LogSoftmax")
    at = axis_of(-1 if axis is None else axis, array.ndim)
    wide = _wide(array)
    shifted = wide - np.max(wide, at, keepdims=True, initial=-np.inf)
    return tensor_of((shifted - np.log(np.sum(np.exp(shifted), at, keepdims=True))).astype(array.dtype))


@op("Xdivy", INEXACT, elementwise=True)
def _xdivy(x: Array, y: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), x / np.where(x == 0, np.ones((), y.dtype), y))


def xdivy(x: object, y: object, name: str | None = None) -> Any:
    """x / y, and 0 where x is 0.

    >>> import feedline.tf as tf
    >>> tf.math.xdivy([0.0, 1.0], [0.0, 2.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    return _xdivy(*matched(x, y))


@op("Xlog1py", INEXACT, elementwise=True)
def _xlog1py(x: Array, y: Array) -> Array:
    made = _wide(x) * np.log1p(np.where(x == 0, np.zeros((), y.dtype), _wide(y)))
    return np.asarray(np.where(x == 0, 0, made)).astype(x.dtype)


def xlog1py(x: object, y: object, name: str | None = None) -> Any:
    """x * log1p(y), and 0 where x is 0.

    >>> import feedline.tf as tf
    >>> tf.math.xlog1py([0.0, 1.0], [-1.0, 0.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return _xlog1py(*matched(x, y))


@op("DivNoNan", INEXACT, elementwise=True)
def _reciprocal_no_nan(x: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), 1 / x).astype(x.dtype)


def reciprocal_no_nan(x: object, name: str | None = None) -> Any:
    """1 / x, and 0 where x is 0.

    >>> import feedline.tf as tf
    >>> tf.math.reciprocal_no_nan([0.0, 2.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    return _reciprocal_no_nan(operand(x))


def cumulative_logsumexp(
    x: object, axis: object = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The logarithms of the running sums of exp(x).

    >>> import feedline.tf as tf
    >>> tf.math.cumulative_logsumexp([0.0, 0.0]).numpy()
    array([0.       , 0.6931472], dtype=float32)
    """
    array = array_of(x, FLOATS, "CumulativeLogsumexp")
    at = axis_of(integer(axis, "axis"), array.ndim)
    wide = np.flip(_wide(array), at) if reverse else _wide(array)
    if exclusive:
        pad = [(1 if i == at else 0, 0) for i in range(array.ndim)]
        lowest = float(np.finfo(array.dtype).min)
        wide = np.take(np.pad(wide, pad, constant_values=lowest), range(array.shape[at]), at)
    made = np.logaddexp.accumulate(wide, at)
    return tensor_of((np.flip(made, at) if reverse else made).astype(array.dtype))


def unsorted_segment_sqrt_n(data: object, segment_ids: object, num_segments: object, name: str | None = None) -> Tensor:
    """The sums of segments, divided by the square roots of their sizes.

    >>> import feedline.tf as tf
    >>> tf.math.unsorted_segment_sqrt_n([1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0], 2).numpy()
    array([2., 0.], dtype=float32)
    """
    values, ids = as_tensor(data), as_tensor(segment_ids)._array
    count = integer(num_segments, "num_segments")
    sizes = np.bincount(ids[(ids >= 0) & (ids < count)].ravel(), minlength=count)
    total = unsorted_segment_sum(values, ids, count)._array
    root = np.sqrt(np.maximum(sizes, 1)).reshape((-1,) + (1,) * (total.ndim - 1))
    return tensor_of((total / root).astype(total.dtype))


# Activations


@op("Elu", FLOATS, elementwise=True)
def _elu(x: Array) -> Array:
    return np.where(x > 0, x, np.expm1(np.minimum(_wide(x), 0))).astype(x.dtype)


def elu(features: object, name: str | None = None) -> Any:
    """x, and exp(x) - 1 where x is negative.

    >>> import feedline.tf as tf
    >>> tf.nn.elu([0.0, 1.0]).numpy()
    array([0., 1.], dtype=float32)
    """
    return _elu(operand(features))


_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op("Selu", FLOATS, elementwise=True)
def _selu(x: Array) -> Array:
    wide = _wide(x)
    return (_SCALE * np.where(wide > 0, wide, _ALPHA * np.expm1(np.minimum(wide, 0)))).astype(x.dtype)


def selu(features: object, name: str | None = None) -> Any:
    """The scaled exponential linear unit.

    >>> import feedline.tf as tf
    >>> tf.nn.selu([0.0, 1.0]).numpy()
    array([0.      , 1.050701], dtype=float32)
    """
    return _selu(operand(features))


@op("Gelu", FLOATS, elementwise=True)
def _gelu(x: Array, approximate: bool) -> Array:
    wide = _wide(x)
    if approximate:
        inner = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    else:
        inner = np.asarray(np.vectorize(math.erf, otypes=[np.float64])(wide / math.sqrt(2))) if x.size else wide
    return np.asarray(0.5 * wide * (1 + inner)).astype(x.dtype)


def gelu(features: object, approximate: bool = False, name: str | None = None) -> Any:
    """x times the normal distribution function of x.

    >>> import feedline.tf as tf
    >>> tf.nn.gelu([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8413], dtype=float32)
    """
    return _gelu(operand(features), approximate=approximate)


@op("LeakyRelu", FLOATS, elementwise=True)
def _leaky_relu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, x * np.float32(alpha).astype(x.dtype)).astype(x.dtype)


def leaky_relu(features: object, alpha: float = 0.2, name: str | None = None) -> Any:
    """x, and alpha * x where x is negative.

    >>> import feedline.tf as tf
    >>> tf.nn.leaky_relu([-1.0, 1.0]).numpy()
    array([-0.2,  1. ], dtype=float32)
    """
    given = operand(features)
    if getattr(given, "dtype", None) is not None and given.dtype.is_integer:
        given = as_tensor(given._array.astype(np.float32))
    return _leaky_relu(given, alpha=alpha)


@op("Silu", FLOATS, elementwise=True)
def _silu(x: Array, beta: float) -> Array:
    wide = _wide(x)
    return np.asarray(wide / (1 + np.exp(-beta * wide))).astype(x.dtype)


def silu(features: object, beta: float = 1.0) -> Any:
    """x * sigmoid(beta * x).

    >>> import feedline.tf as tf
    >>> tf.nn.silu([0.0, 1.0]).numpy()
    array([0.       , 0.7310586], dtype=float32)
    """
    return _silu(operand(features), beta=float(as_tensor(beta, np.float32)))


def l2_loss(t: object, name: str | None = None) -> Tensor:
    """Half of the sum of squares.

    >>> import feedline.tf as tf
    >>> tf.nn.l2_loss([3.0, 4.0]).numpy()
    np.float32(12.5)
    """
    array = as_tensor(t)._array
    if array.dtype.kind not in REALS or array.dtype.kind in "iu":
        raise InvalidArgumentError(f"l2_loss takes floats, got {array.dtype}")
    return tensor_of(np.asarray(np.sum(np.square(_wide(array))) / 2).astype(array.dtype))
