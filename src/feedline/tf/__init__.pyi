"""The names of `tf` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.debugging_ops import Assert as Assert
from feedline.structure.types import DType as DType
from feedline.structure.spec import OptionalSpec as OptionalSpec
from feedline.tf.ragged_ops import RaggedTensor as RaggedTensor
from feedline.structure.spec import RaggedTensorSpec as RaggedTensorSpec
from feedline.tf.sparse_ops import SparseTensor as SparseTensor
from feedline.structure.spec import SparseTensorSpec as SparseTensorSpec
from feedline.tf.tensor import Tensor as Tensor
from feedline.tf.control_flow import TensorArray as TensorArray
from feedline.structure.spec import TensorShape as TensorShape
from feedline.structure.spec import TensorSpec as TensorSpec
from feedline.structure.spec import TypeSpec as TypeSpec
from feedline.tf.variable import Variable as Variable
from feedline.tf.math_ops import abs as abs
from feedline.tf.math_ops import acos as acos
from feedline.tf.math_ops import acosh as acosh
from feedline.tf.math_ops import add as add
from feedline.tf.math_ops import add_n as add_n
from feedline.tf.math_ops import argmax as argmax
from feedline.tf.math_ops import argmin as argmin
from feedline.tf.array_ops import argsort as argsort
from feedline.structure.types import as_dtype as as_dtype
from feedline.tf.string_ops import as_string as as_string
from feedline.tf.math_ops import asin as asin
from feedline.tf.math_ops import asinh as asinh
from feedline.tf.debugging_ops import assert_equal as assert_equal
from feedline.tf.debugging_ops import assert_greater as assert_greater
from feedline.tf.debugging_ops import assert_less as assert_less
from feedline.tf.debugging_ops import assert_rank as assert_rank
from feedline.tf.math_ops import atan as atan
from feedline.tf.math_ops import atan2 as atan2
from feedline.tf.math_ops import atanh as atanh
from feedline.tf.array_ops import batch_to_space as batch_to_space
from feedline.tf.array_ops import bitcast as bitcast
from feedline.structure.types import bool as bool
from feedline.tf.array_ops import boolean_mask as boolean_mask
from feedline.tf.array_ops import broadcast_dynamic_shape as broadcast_dynamic_shape
from feedline.tf.array_ops import broadcast_static_shape as broadcast_static_shape
from feedline.tf.array_ops import broadcast_to as broadcast_to
from feedline.tf.control_flow import case as case
from feedline.tf.array_ops import cast as cast
from feedline.tf.math_ops import clip_by_norm as clip_by_norm
from feedline.tf.math_ops import clip_by_value as clip_by_value
from feedline.tf.math_ops import complex as complex
from feedline.structure.types import complex128 as complex128
from feedline.structure.types import complex64 as complex64
from feedline.tf.array_ops import concat as concat
from feedline.tf.control_flow import cond as cond
from feedline.tf.array_ops import constant as constant
from feedline.tf.control_flow import control_dependencies as control_dependencies
from feedline.tf.array_ops import convert_to_tensor as convert_to_tensor
from feedline.tf.math_ops import cos as cos
from feedline.tf.math_ops import cosh as cosh
from feedline.tf.math_ops import cumsum as cumsum
from feedline.tf.control_flow import custom_gradient as custom_gradient
from feedline.tf.control_flow import device as device
from feedline.tf.math_ops import divide as divide
from feedline.structure.types import double as double
from feedline.tf.array_ops import dynamic_partition as dynamic_partition
from feedline.tf.array_ops import dynamic_stitch as dynamic_stitch
from feedline.tf.sparse_ops import edit_distance as edit_distance
from feedline.tf.math_ops import einsum as einsum
from feedline.tf.v1_graph import enable_v2_behavior as enable_v2_behavior
from feedline.tf.array_ops import ensure_shape as ensure_shape
from feedline.tf.math_ops import equal as equal
from feedline.tf.control_flow import executing_eagerly as executing_eagerly
from feedline.tf.math_ops import exp as exp
from feedline.tf.array_ops import expand_dims as expand_dims
from feedline.tf.array_ops import eye as eye
from feedline.tf.array_ops import fill as fill
from feedline.structure.types import float16 as float16
from feedline.structure.types import float32 as float32
from feedline.structure.types import float64 as float64
from feedline.tf.math_ops import floor as floor
from feedline.tf.control_flow import foldl as foldl
from feedline.tf.control_flow import foldr as foldr
from feedline.tf.control_flow import function as function
from feedline.tf.array_ops import gather as gather
from feedline.tf.array_ops import gather_nd as gather_nd
from feedline.tf.runtime import get_logger as get_logger
from feedline.tf.array_ops import get_static_value as get_static_value
from feedline.tf.math_ops import greater as greater
from feedline.tf.math_ops import greater_equal as greater_equal
from feedline.tf.control_flow import group as group
from feedline.tf.array_ops import identity as guarantee_const
from feedline.structure.types import half as half
from feedline.tf.math_ops import histogram_fixed_width as histogram_fixed_width
from feedline.tf.math_ops import histogram_fixed_width_bins as histogram_fixed_width_bins
from feedline.tf.array_ops import identity as identity
from feedline.tf.array_ops import identity_n as identity_n
from feedline.tf.control_flow import init_scope as init_scope
from feedline.tf.control_flow import inside_function as inside_function
from feedline.structure.types import int16 as int16
from feedline.structure.types import int32 as int32
from feedline.structure.types import int64 as int64
from feedline.structure.types import int8 as int8
from feedline.tf.array_ops import is_tensor as is_tensor
from feedline.tf.math_ops import less as less
from feedline.tf.math_ops import less_equal as less_equal
from feedline.tf.array_ops import linspace as linspace
from feedline.tf.math_ops import logical_and as logical_and
from feedline.tf.math_ops import logical_not as logical_not
from feedline.tf.math_ops import logical_or as logical_or
from feedline.tf.io_ops import make_ndarray as make_ndarray
from feedline.tf.io_ops import make_tensor_proto as make_tensor_proto
from feedline.tf.control_flow import map_fn as map_fn
from feedline.tf.math_ops import matmul as matmul
from feedline.tf.math_ops import maximum as maximum
from feedline.tf.array_ops import meshgrid as meshgrid
from feedline.tf.math_ops import minimum as minimum
from feedline.tf.math_ops import multiply as multiply
from feedline.tf.control_flow import name_scope as name_scope
from feedline.tf.math_ops import negative as negative
from feedline.tf.array_ops import newaxis as newaxis
from feedline.tf.control_flow import no_op as no_op
from feedline.tf.math_ops import norm as norm
from feedline.tf.math_ops import not_equal as not_equal
from feedline.tf.control_flow import numpy_function as numpy_function
from feedline.tf.array_ops import one_hot as one_hot
from feedline.tf.array_ops import ones as ones
from feedline.tf.array_ops import ones_like as ones_like
from feedline.tf.array_ops import pad as pad
from feedline.tf.array_ops import parallel_stack as parallel_stack
from feedline.tf.math_ops import pow as pow
from feedline.tf.control_flow import print_ as print
from feedline.tf.control_flow import py_function as py_function
from feedline.tf.random_ops import random_index_shuffle as random_index_shuffle
from feedline.tf.array_ops import range as range
from feedline.tf.array_ops import rank as rank
from feedline.tf.math_ops import realdiv as realdiv
from feedline.tf.math_ops import reduce_all as reduce_all
from feedline.tf.math_ops import reduce_any as reduce_any
from feedline.tf.math_ops import reduce_logsumexp as reduce_logsumexp
from feedline.tf.math_ops import reduce_max as reduce_max
from feedline.tf.math_ops import reduce_mean as reduce_mean
from feedline.tf.math_ops import reduce_min as reduce_min
from feedline.tf.math_ops import reduce_prod as reduce_prod
from feedline.tf.math_ops import reduce_sum as reduce_sum
from feedline.tf.array_ops import repeat as repeat
from feedline.tf.array_ops import reshape as reshape
from feedline.tf.array_ops import reverse as reverse
from feedline.tf.array_ops import reverse_sequence as reverse_sequence
from feedline.tf.array_ops import roll as roll
from feedline.tf.math_ops import round as round
from feedline.tf.array_ops import saturate_cast as saturate_cast
from feedline.tf.math_ops import scalar_mul as scalar_mul
from feedline.tf.control_flow import scan as scan
from feedline.tf.array_ops import scatter_nd as scatter_nd
from feedline.tf.array_ops import searchsorted as searchsorted
from feedline.tf.array_ops import sequence_mask as sequence_mask
from feedline.tf.array_ops import shape as shape
from feedline.tf.array_ops import shape_n as shape_n
from feedline.tf.math_ops import sigmoid as sigmoid
from feedline.tf.math_ops import sign as sign
from feedline.tf.math_ops import sin as sin
from feedline.tf.math_ops import sinh as sinh
from feedline.tf.array_ops import size as size
from feedline.tf.array_ops import slice as slice
from feedline.tf.array_ops import sort as sort
from feedline.tf.array_ops import space_to_batch_nd as space_to_batch
from feedline.tf.array_ops import space_to_batch_nd as space_to_batch_nd
from feedline.tf.array_ops import split as split
from feedline.tf.math_ops import sqrt as sqrt
from feedline.tf.math_ops import square as square
from feedline.tf.array_ops import squeeze as squeeze
from feedline.tf.array_ops import stack as stack
from feedline.tf.array_ops import identity as stop_gradient
from feedline.tf.array_ops import strided_slice as strided_slice
from feedline.structure.types import string as string
from feedline.tf.math_ops import subtract as subtract
from feedline.tf.control_flow import switch_case as switch_case
from feedline.tf.math_ops import tan as tan
from feedline.tf.math_ops import tanh as tanh
from feedline.tf.array_ops import tensor_scatter_nd_add as tensor_scatter_nd_add
from feedline.tf.array_ops import tensor_scatter_nd_max as tensor_scatter_nd_max
from feedline.tf.array_ops import tensor_scatter_nd_min as tensor_scatter_nd_min
from feedline.tf.array_ops import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from feedline.tf.array_ops import tensor_scatter_nd_update as tensor_scatter_nd_update
from feedline.tf.math_ops import tensordot as tensordot
from feedline.tf.array_ops import tile as tile
from feedline.tf.array_ops import transpose as transpose
from feedline.tf.math_ops import truediv as truediv
from feedline.tf.math_ops import truncatediv as truncatediv
from feedline.tf.math_ops import truncatemod as truncatemod
from feedline.tf.control_flow import tuple_ as tuple
from feedline.tf.array_ops import type_spec as type_spec_from_value
from feedline.structure.types import uint16 as uint16
from feedline.structure.types import uint32 as uint32
from feedline.structure.types import uint64 as uint64
from feedline.structure.types import uint8 as uint8
from feedline.tf.array_ops import unique as unique
from feedline.tf.array_ops import unique_with_counts as unique_with_counts
from feedline.tf.array_ops import unravel_index as unravel_index
from feedline.tf.array_ops import unstack as unstack
from feedline.tf.control_flow import vectorized_map as vectorized_map
from feedline.tf.array_ops import where as where
from feedline.tf.control_flow import while_loop as while_loop
from feedline.tf.array_ops import zeros as zeros
from feedline.tf.array_ops import zeros_like as zeros_like
from feedline.tf import audio as audio
from feedline.tf import autograph as autograph
from feedline.tf import bitwise as bitwise
from feedline.tf import compat as compat
from feedline.tf import config as config
from feedline.tf import contrib as contrib
from feedline.tf import data as data
from feedline.tf import debugging as debugging
from feedline.tf import distribute as distribute
from feedline.tf import dtypes as dtypes
from feedline.tf import errors as errors
from feedline.tf import estimator as estimator
from feedline.tf import image as image
from feedline.tf import io as io
from feedline.tf import keras as keras
from feedline.tf import linalg as linalg
from feedline.tf import lookup as lookup
from feedline.tf import math as math
from feedline.tf import nest as nest
from feedline.tf import nn as nn
from feedline.tf import ragged as ragged
from feedline.tf import random as random
from feedline.tf import raw_ops as raw_ops
from feedline.tf import sets as sets
from feedline.tf import signal as signal
from feedline.tf import sparse as sparse
from feedline.tf import strings as strings
from feedline.tf import summary as summary
from feedline.tf import tpu as tpu
from feedline.tf import train as train
from feedline.tf import types as types
from feedline.tf import version as version

__all__ = [
    "Assert",
    "DType",
    "OptionalSpec",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "Variable",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "atan",
    "atan2",
    "atanh",
    "batch_to_space",
    "bitcast",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_norm",
    "clip_by_value",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "constant",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "device",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_v2_behavior",
    "ensure_shape",
    "equal",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_logger",
    "get_static_value",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "init_scope",
    "inside_function",
    "int16",
    "int32",
    "int64",
    "int8",
    "is_tensor",
    "less",
    "less_equal",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "make_ndarray",
    "make_tensor_proto",
    "map_fn",
    "matmul",
    "maximum",
    "meshgrid",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "newaxis",
    "no_op",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "parallel_stack",
    "pow",
    "print",
    "py_function",
    "random_index_shuffle",
    "range",
    "rank",
    "realdiv",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roll",
    "round",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "subtract",
    "switch_case",
    "tan",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "tile",
    "transpose",
    "truediv",
    "truncatediv",
    "truncatemod",
    "tuple",
    "type_spec_from_value",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "vectorized_map",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
    "audio",
    "autograph",
    "bitwise",
    "compat",
    "config",
    "contrib",
    "data",
    "debugging",
    "distribute",
    "dtypes",
    "errors",
    "estimator",
    "image",
    "io",
    "keras",
    "linalg",
    "lookup",
    "math",
    "nest",
    "nn",
    "ragged",
    "random",
    "raw_ops",
    "sets",
    "signal",
    "sparse",
    "strings",
    "summary",
    "tpu",
    "train",
    "types",
    "version",
]

__version__: str
bfloat16: DType
