"""The names of `tf.compat.v1.math` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.math_ops import abs as abs
from feedline.tf.math_ops import accumulate_n as accumulate_n
from feedline.tf.math_ops import acos as acos
from feedline.tf.math_ops import acosh as acosh
from feedline.tf.math_ops import add as add
from feedline.tf.math_ops import add_n as add_n
from feedline.tf.math_ops import angle as angle
from feedline.tf.v1_ops import argmax as argmax
from feedline.tf.v1_ops import argmin as argmin
from feedline.tf.array_ops import argsort as argsort
from feedline.tf.math_ops import asin as asin
from feedline.tf.math_ops import asinh as asinh
from feedline.tf.math_ops import atan as atan
from feedline.tf.math_ops import atan2 as atan2
from feedline.tf.math_ops import atanh as atanh
from feedline.tf.math_ops import bincount as bincount
from feedline.tf.math_ops import ceil as ceil
from feedline.tf.math_ops import complex as complex
from feedline.tf.v1_ops import confusion_matrix as confusion_matrix
from feedline.tf.math_ops import conj as conj
from feedline.tf.math_ops import cos as cos
from feedline.tf.math_ops import cosh as cosh
from feedline.tf.v1_ops import count_nonzero as count_nonzero
from feedline.tf.math_ops import cumprod as cumprod
from feedline.tf.math_ops import cumsum as cumsum
from feedline.tf.special_ops import cumulative_logsumexp as cumulative_logsumexp
from feedline.tf.special_ops import digamma as digamma
from feedline.tf.math_ops import divide as divide
from feedline.tf.math_ops import divide_no_nan as divide_no_nan
from feedline.tf.math_ops import equal as equal
from feedline.tf.math_ops import erf as erf
from feedline.tf.special_ops import erfc as erfc
from feedline.tf.special_ops import erfinv as erfinv
from feedline.tf.math_ops import exp as exp
from feedline.tf.math_ops import expm1 as expm1
from feedline.tf.math_ops import floor as floor
from feedline.tf.math_ops import floordiv as floordiv
from feedline.tf.math_ops import floormod as floormod
from feedline.tf.math_ops import greater as greater
from feedline.tf.math_ops import greater_equal as greater_equal
from feedline.tf.math_ops import imag as imag
from feedline.tf.v1_ops import in_top_k as in_top_k
from feedline.tf.v1_ops import invert_permutation as invert_permutation
from feedline.tf.math_ops import is_finite as is_finite
from feedline.tf.math_ops import is_inf as is_inf
from feedline.tf.math_ops import is_nan as is_nan
from feedline.tf.v1_ops import is_non_decreasing as is_non_decreasing
from feedline.tf.v1_ops import is_strictly_increasing as is_strictly_increasing
from feedline.tf.math_ops import l2_normalize as l2_normalize
from feedline.tf.special_ops import lbeta as lbeta
from feedline.tf.math_ops import less as less
from feedline.tf.math_ops import less_equal as less_equal
from feedline.tf.math_ops import lgamma as lgamma
from feedline.tf.math_ops import log as log
from feedline.tf.math_ops import log1p as log1p
from feedline.tf.special_ops import log_sigmoid as log_sigmoid
from feedline.tf.special_ops import log_softmax as log_softmax
from feedline.tf.math_ops import logical_and as logical_and
from feedline.tf.math_ops import logical_not as logical_not
from feedline.tf.math_ops import logical_or as logical_or
from feedline.tf.math_ops import logical_xor as logical_xor
from feedline.tf.math_ops import maximum as maximum
from feedline.tf.math_ops import minimum as minimum
from feedline.tf.math_ops import floormod as mod
from feedline.tf.math_ops import multiply as multiply
from feedline.tf.math_ops import multiply_no_nan as multiply_no_nan
from feedline.tf.special_ops import ndtri as ndtri
from feedline.tf.math_ops import negative as negative
from feedline.tf.math_ops import nextafter as nextafter
from feedline.tf.math_ops import not_equal as not_equal
from feedline.tf.math_ops import polyval as polyval
from feedline.tf.math_ops import pow as pow
from feedline.tf.math_ops import real as real
from feedline.tf.math_ops import reciprocal as reciprocal
from feedline.tf.special_ops import reciprocal_no_nan as reciprocal_no_nan
from feedline.tf.v1_ops import reduce_all as reduce_all
from feedline.tf.v1_ops import reduce_any as reduce_any
from feedline.tf.math_ops import reduce_euclidean_norm as reduce_euclidean_norm
from feedline.tf.v1_ops import reduce_logsumexp as reduce_logsumexp
from feedline.tf.v1_ops import reduce_max as reduce_max
from feedline.tf.v1_ops import reduce_mean as reduce_mean
from feedline.tf.v1_ops import reduce_min as reduce_min
from feedline.tf.v1_ops import reduce_prod as reduce_prod
from feedline.tf.math_ops import reduce_std as reduce_std
from feedline.tf.v1_ops import reduce_sum as reduce_sum
from feedline.tf.math_ops import reduce_variance as reduce_variance
from feedline.tf.math_ops import rint as rint
from feedline.tf.math_ops import round as round
from feedline.tf.math_ops import rsqrt as rsqrt
from feedline.tf.math_ops import scalar_mul as scalar_mul
from feedline.tf.math_ops import segment_max as segment_max
from feedline.tf.math_ops import segment_mean as segment_mean
from feedline.tf.math_ops import segment_min as segment_min
from feedline.tf.math_ops import segment_prod as segment_prod
from feedline.tf.math_ops import segment_sum as segment_sum
from feedline.tf.math_ops import sigmoid as sigmoid
from feedline.tf.math_ops import sign as sign
from feedline.tf.math_ops import sin as sin
from feedline.tf.math_ops import sinh as sinh
from feedline.tf.v1_ops import softmax as softmax
from feedline.tf.math_ops import softplus as softplus
from feedline.tf.special_ops import softsign as softsign
from feedline.tf.math_ops import sqrt as sqrt
from feedline.tf.math_ops import square as square
from feedline.tf.math_ops import squared_difference as squared_difference
from feedline.tf.math_ops import subtract as subtract
from feedline.tf.math_ops import tan as tan
from feedline.tf.math_ops import tanh as tanh
from feedline.tf.math_ops import top_k as top_k
from feedline.tf.math_ops import truediv as truediv
from feedline.tf.math_ops import unsorted_segment_max as unsorted_segment_max
from feedline.tf.math_ops import unsorted_segment_mean as unsorted_segment_mean
from feedline.tf.math_ops import unsorted_segment_min as unsorted_segment_min
from feedline.tf.math_ops import unsorted_segment_prod as unsorted_segment_prod
from feedline.tf.special_ops import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from feedline.tf.math_ops import unsorted_segment_sum as unsorted_segment_sum
from feedline.tf.special_ops import xdivy as xdivy
from feedline.tf.special_ops import xlog1py as xlog1py
from feedline.tf.math_ops import xlogy as xlogy
from feedline.tf.math_ops import zero_fraction as zero_fraction

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bincount",
    "ceil",
    "complex",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polyval",
    "pow",
    "real",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
    "truediv",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
]
