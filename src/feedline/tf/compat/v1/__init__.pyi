"""The names of `tf.compat.v1` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.debugging_ops import Assert as Assert
from feedline.tf.v1_ops import RuntimeMessage as ConfigProto
from feedline.structure.types import DType as DType
from feedline.tf.v1_ops import Dimension as Dimension
from feedline.io import FixedLenFeature as FixedLenFeature
from feedline.io import FixedLenSequenceFeature as FixedLenSequenceFeature
from feedline.tf.v1_ops import RuntimeMessage as GPUOptions
from feedline.compat.v1.graph import Graph as Graph
from feedline.compat.v1.graph import GraphKeys as GraphKeys
from feedline.tf.v1_ops import RuntimeMessage as GraphOptions
from feedline.compat.v1.session import InteractiveSession as InteractiveSession
from feedline.errors import OpError as OpError
from feedline.compat.v1.tensor import Operation as Operation
from feedline.tf.v1_ops import RuntimeMessage as OptimizerOptions
from feedline.structure.spec import OptionalSpec as OptionalSpec
from feedline.tf.v1_ops import Print as Print
from feedline.io import RaggedFeature as RaggedFeature
from feedline.tf.ragged_ops import RaggedTensor as RaggedTensor
from feedline.structure.spec import RaggedTensorSpec as RaggedTensorSpec
from feedline.tf.v1_ops import RuntimeMessage as RunMetadata
from feedline.tf.v1_ops import RuntimeMessage as RunOptions
from feedline.compat.v1.session import Session as Session
from feedline.io import SparseFeature as SparseFeature
from feedline.tf.sparse_ops import SparseTensor as SparseTensor
from feedline.structure.spec import SparseTensorSpec as SparseTensorSpec
from feedline.tf.v1_ops import SparseTensorValue as SparseTensorValue
from feedline.tf.tensor import Tensor as Tensor
from feedline.tf.control_flow import TensorArray as TensorArray
from feedline.structure.spec import TensorShape as TensorShape
from feedline.structure.spec import TensorSpec as TensorSpec
from feedline.structure.spec import TypeSpec as TypeSpec
from feedline.tf.names import VERSION as VERSION
from feedline.io import VarLenFeature as VarLenFeature
from feedline.tf.variable import Variable as Variable
from feedline.tf.math_ops import abs as abs
from feedline.tf.math_ops import accumulate_n as accumulate_n
from feedline.tf.math_ops import acos as acos
from feedline.tf.math_ops import acosh as acosh
from feedline.tf.math_ops import add as add
from feedline.tf.math_ops import add_n as add_n
from feedline.compat.v1.graph import add_to_collection as add_to_collection
from feedline.tf.math_ops import angle as angle
from feedline.tf.v1_ops import arg_max as arg_max
from feedline.tf.v1_ops import arg_min as arg_min
from feedline.tf.v1_ops import argmax as argmax
from feedline.tf.v1_ops import argmin as argmin
from feedline.tf.array_ops import argsort as argsort
from feedline.structure.types import as_dtype as as_dtype
from feedline.tf.string_ops import as_string as as_string
from feedline.tf.math_ops import asin as asin
from feedline.tf.math_ops import asinh as asinh
from feedline.tf.v1_ops import assert_equal as assert_equal
from feedline.tf.v1_ops import assert_greater as assert_greater
from feedline.tf.v1_ops import assert_greater_equal as assert_greater_equal
from feedline.tf.debugging_ops import assert_integer as assert_integer
from feedline.tf.v1_ops import assert_less as assert_less
from feedline.tf.v1_ops import assert_less_equal as assert_less_equal
from feedline.tf.v1_ops import assert_near as assert_near
from feedline.tf.v1_ops import assert_negative as assert_negative
from feedline.tf.v1_ops import assert_non_negative as assert_non_negative
from feedline.tf.v1_ops import assert_non_positive as assert_non_positive
from feedline.tf.v1_ops import assert_none_equal as assert_none_equal
from feedline.tf.v1_ops import assert_positive as assert_positive
from feedline.tf.debugging_ops import assert_proper_iterable as assert_proper_iterable
from feedline.tf.v1_ops import assert_rank as assert_rank
from feedline.tf.v1_ops import assert_rank_at_least as assert_rank_at_least
from feedline.tf.v1_ops import assert_rank_in as assert_rank_in
from feedline.tf.debugging_ops import assert_same_float_dtype as assert_same_float_dtype
from feedline.tf.debugging_ops import assert_scalar as assert_scalar
from feedline.tf.debugging_ops import assert_shapes as assert_shapes
from feedline.tf.debugging_ops import assert_type as assert_type
from feedline.tf.math_ops import atan as atan
from feedline.tf.math_ops import atan2 as atan2
from feedline.tf.math_ops import atanh as atanh
from feedline.tf.array_ops import batch_gather as batch_gather
from feedline.tf.v1_ops import batch_to_space as batch_to_space
from feedline.tf.math_ops import bincount as bincount
from feedline.tf.array_ops import bitcast as bitcast
from feedline.structure.types import bool as bool
from feedline.tf.v1_ops import boolean_mask as boolean_mask
from feedline.tf.array_ops import broadcast_dynamic_shape as broadcast_dynamic_shape
from feedline.tf.array_ops import broadcast_static_shape as broadcast_static_shape
from feedline.tf.array_ops import broadcast_to as broadcast_to
from feedline.tf.control_flow import case as case
from feedline.tf.array_ops import cast as cast
from feedline.tf.math_ops import ceil as ceil
from feedline.tf.debugging_ops import check_numerics as check_numerics
from feedline.tf.math_ops import clip_by_norm as clip_by_norm
from feedline.tf.math_ops import clip_by_value as clip_by_value
from feedline.tf.math_ops import complex as complex
from feedline.structure.types import complex128 as complex128
from feedline.structure.types import complex64 as complex64
from feedline.tf.array_ops import concat as concat
from feedline.tf.control_flow import cond_v1 as cond
from feedline.tf.v1_ops import confusion_matrix as confusion_matrix
from feedline.tf.math_ops import conj as conj
from feedline.tf.v1_graph import constant as constant
from feedline.tf.control_flow import control_dependencies as control_dependencies
from feedline.tf.v1_ops import convert_to_tensor as convert_to_tensor
from feedline.tf.math_ops import cos as cos
from feedline.tf.math_ops import cosh as cosh
from feedline.tf.v1_ops import count_nonzero as count_nonzero
from feedline.tf.v1_ops import cross as cross
from feedline.tf.math_ops import cumprod as cumprod
from feedline.tf.math_ops import cumsum as cumsum
from feedline.tf.control_flow import custom_gradient as custom_gradient
from feedline.tf.io_ops import decode_base64 as decode_base64
from feedline.tf.io_ops import decode_compressed as decode_compressed
from feedline.tf.io_ops import decode_csv as decode_csv
from feedline.tf.io_ops import decode_json_example as decode_json_example
from feedline.tf.v1_ops import decode_raw as decode_raw
from feedline.tf.io_ops import deserialize_many_sparse as deserialize_many_sparse
from feedline.tf.control_flow import device as device
from feedline.tf.v1_ops import diag as diag
from feedline.tf.v1_ops import diag_part as diag_part
from feedline.tf.v1_ops import dimension_at_index as dimension_at_index
from feedline.tf.v1_ops import dimension_value as dimension_value
from feedline.tf.control_flow import no_op as disable_control_flow_v2
from feedline.tf.v1_graph import disable_eager_execution as disable_eager_execution
from feedline.tf.control_flow import no_op as disable_resource_variables
from feedline.tf.control_flow import no_op as disable_tensor_equality
from feedline.tf.v1_graph import disable_v2_behavior as disable_v2_behavior
from feedline.tf.control_flow import no_op as disable_v2_tensorshape
from feedline.tf.v1_ops import div as div
from feedline.tf.math_ops import divide_no_nan as div_no_nan
from feedline.tf.math_ops import divide as divide
from feedline.structure.types import double as double
from feedline.tf.array_ops import dynamic_partition as dynamic_partition
from feedline.tf.array_ops import dynamic_stitch as dynamic_stitch
from feedline.tf.sparse_ops import edit_distance as edit_distance
from feedline.tf.math_ops import einsum as einsum
from feedline.tf.control_flow import no_op as enable_control_flow_v2
from feedline.tf.v1_graph import enable_eager_execution as enable_eager_execution
from feedline.tf.runtime import ignored as enable_resource_variables
from feedline.tf.control_flow import no_op as enable_tensor_equality
from feedline.tf.v1_graph import enable_v2_behavior as enable_v2_behavior
from feedline.tf.control_flow import no_op as enable_v2_tensorshape
from feedline.tf.io_ops import encode_base64 as encode_base64
from feedline.tf.array_ops import ensure_shape as ensure_shape
from feedline.tf.math_ops import equal as equal
from feedline.tf.math_ops import erf as erf
from feedline.tf.v1_graph import executing_eagerly as executing_eagerly
from feedline.tf.v1_graph import executing_eagerly as executing_eagerly_outside_functions
from feedline.tf.math_ops import exp as exp
from feedline.tf.v1_ops import expand_dims as expand_dims
from feedline.tf.math_ops import expm1 as expm1
from feedline.tf.v1_ops import extract_image_patches as extract_image_patches
from feedline.tf.array_ops import eye as eye
from feedline.tf.signal_ops import fft as fft
from feedline.tf.signal_ops import fft2d as fft2d
from feedline.tf.array_ops import fill as fill
from feedline.structure.types import float16 as float16
from feedline.structure.types import float32 as float32
from feedline.structure.types import float64 as float64
from feedline.tf.math_ops import floor as floor
from feedline.tf.math_ops import floordiv as floor_div
from feedline.tf.math_ops import floordiv as floordiv
from feedline.tf.math_ops import floormod as floormod
from feedline.tf.control_flow import foldl as foldl
from feedline.tf.control_flow import foldr as foldr
from feedline.tf.control_flow import function as function
from feedline.tf.v1_ops import gather as gather
from feedline.tf.array_ops import gather_nd as gather_nd
from feedline.compat.v1.graph import get_collection as get_collection
from feedline.compat.v1.graph import get_default_graph as get_default_graph
from feedline.compat.v1.session import get_default_session as get_default_session
from feedline.tf.runtime import get_logger as get_logger
from feedline.tf.v1_ops import get_seed as get_seed
from feedline.tf.array_ops import get_static_value as get_static_value
from feedline.tf.v1_graph import global_variables_initializer as global_variables_initializer
from feedline.tf.math_ops import greater as greater
from feedline.tf.math_ops import greater_equal as greater_equal
from feedline.tf.v1_graph import group as group
from feedline.tf.array_ops import identity as guarantee_const
from feedline.structure.types import half as half
from feedline.tf.math_ops import histogram_fixed_width as histogram_fixed_width
from feedline.tf.math_ops import histogram_fixed_width_bins as histogram_fixed_width_bins
from feedline.tf.array_ops import identity as identity
from feedline.tf.array_ops import identity_n as identity_n
from feedline.tf.signal_ops import ifft as ifft
from feedline.tf.signal_ops import ifft2d as ifft2d
from feedline.tf.math_ops import imag as imag
from feedline.tf.control_flow import init_scope as init_scope
from feedline.tf.control_flow import inside_function as inside_function
from feedline.structure.types import int16 as int16
from feedline.structure.types import int32 as int32
from feedline.structure.types import int64 as int64
from feedline.structure.types import int8 as int8
from feedline.tf.v1_ops import invert_permutation as invert_permutation
from feedline.tf.math_ops import is_finite as is_finite
from feedline.tf.math_ops import is_inf as is_inf
from feedline.tf.math_ops import is_nan as is_nan
from feedline.tf.v1_ops import is_non_decreasing as is_non_decreasing
from feedline.tf.debugging_ops import is_numeric_tensor as is_numeric_tensor
from feedline.tf.v1_ops import is_strictly_increasing as is_strictly_increasing
from feedline.tf.array_ops import is_tensor as is_tensor
from feedline.tf.math_ops import less as less
from feedline.tf.math_ops import less_equal as less_equal
from feedline.tf.math_ops import lgamma as lgamma
from feedline.tf.array_ops import linspace as lin_space
from feedline.tf.array_ops import linspace as linspace
from feedline.tf.v1_graph import local_variables_initializer as local_variables_initializer
from feedline.tf.math_ops import log as log
from feedline.tf.math_ops import log1p as log1p
from feedline.tf.math_ops import logical_and as logical_and
from feedline.tf.math_ops import logical_not as logical_not
from feedline.tf.math_ops import logical_or as logical_or
from feedline.tf.math_ops import logical_xor as logical_xor
from feedline.tf.io_ops import make_ndarray as make_ndarray
from feedline.tf.io_ops import make_tensor_proto as make_tensor_proto
from feedline.tf.v1_ops import map_fn as map_fn
from feedline.tf.io_ops import matching_files as matching_files
from feedline.tf.math_ops import matmul as matmul
from feedline.tf.array_ops import band_part as matrix_band_part
from feedline.tf.array_ops import diag as matrix_diag
from feedline.tf.array_ops import diag_part as matrix_diag_part
from feedline.tf.v1_ops import matrix_transpose as matrix_transpose
from feedline.tf.math_ops import maximum as maximum
from feedline.tf.array_ops import meshgrid as meshgrid
from feedline.tf.math_ops import minimum as minimum
from feedline.tf.math_ops import floormod as mod
from feedline.tf.v1_ops import multinomial as multinomial
from feedline.tf.math_ops import multiply as multiply
from feedline.tf.control_flow import name_scope as name_scope
from feedline.tf.math_ops import negative as negative
from feedline.tf.array_ops import newaxis as newaxis
from feedline.tf.v1_graph import no_op as no_op
from feedline.tf.v1_ops import norm as norm
from feedline.tf.math_ops import not_equal as not_equal
from feedline.tf.v1_graph import numpy_function as numpy_function
from feedline.tf.array_ops import one_hot as one_hot
from feedline.tf.array_ops import ones as ones
from feedline.tf.v1_ops import ones_like as ones_like
from feedline.tf.control_flow import name_scope as op_scope
from feedline.tf.v1_ops import pad as pad
from feedline.tf.array_ops import parallel_stack as parallel_stack
from feedline.tf.io_ops import parse_example as parse_example
from feedline.tf.io_ops import parse_sequence_example as parse_sequence_example
from feedline.tf.io_ops import parse_single_example as parse_single_example
from feedline.tf.io_ops import parse_single_sequence_example as parse_single_sequence_example
from feedline.tf.io_ops import parse_tensor as parse_tensor
from feedline.tf.v1_graph import placeholder as placeholder
from feedline.tf.v1_graph import placeholder_with_default as placeholder_with_default
from feedline.tf.math_ops import pow as pow
from feedline.tf.control_flow import print_ as print
from feedline.tf.v1_graph import numpy_function as py_func
from feedline.tf.control_flow import py_function as py_function
from feedline.tf.random_ops import random_crop as random_crop
from feedline.tf.random_ops import gamma as random_gamma
from feedline.tf.random_ops import random_index_shuffle as random_index_shuffle
from feedline.tf.random_ops import normal as random_normal
from feedline.tf.v1_ops import random_poisson as random_poisson
from feedline.tf.random_ops import shuffle as random_shuffle
from feedline.tf.random_ops import uniform as random_uniform
from feedline.tf.array_ops import range as range
from feedline.tf.array_ops import rank as rank
from feedline.tf.io_ops import read_file as read_file
from feedline.tf.math_ops import real as real
from feedline.tf.math_ops import realdiv as realdiv
from feedline.tf.math_ops import reciprocal as reciprocal
from feedline.tf.v1_ops import reduce_all as reduce_all
from feedline.tf.v1_ops import reduce_any as reduce_any
from feedline.tf.v1_ops import reduce_join as reduce_join
from feedline.tf.v1_ops import reduce_logsumexp as reduce_logsumexp
from feedline.tf.v1_ops import reduce_max as reduce_max
from feedline.tf.v1_ops import reduce_mean as reduce_mean
from feedline.tf.v1_ops import reduce_min as reduce_min
from feedline.tf.v1_ops import reduce_prod as reduce_prod
from feedline.tf.v1_ops import reduce_sum as reduce_sum
from feedline.tf.string_ops import regex_replace as regex_replace
from feedline.tf.array_ops import repeat as repeat
from feedline.compat.v1.graph import reset_default_graph as reset_default_graph
from feedline.tf.array_ops import reshape as reshape
from feedline.tf.array_ops import reverse as reverse
from feedline.tf.v1_ops import reverse_sequence as reverse_sequence
from feedline.tf.array_ops import reverse as reverse_v2
from feedline.tf.math_ops import rint as rint
from feedline.tf.array_ops import roll as roll
from feedline.tf.math_ops import round as round
from feedline.tf.math_ops import rsqrt as rsqrt
from feedline.tf.array_ops import saturate_cast as saturate_cast
from feedline.tf.math_ops import scalar_mul as scalar_mul
from feedline.tf.control_flow import scan as scan
from feedline.tf.array_ops import scatter_nd as scatter_nd
from feedline.tf.array_ops import searchsorted as searchsorted
from feedline.tf.math_ops import segment_max as segment_max
from feedline.tf.math_ops import segment_mean as segment_mean
from feedline.tf.math_ops import segment_min as segment_min
from feedline.tf.math_ops import segment_prod as segment_prod
from feedline.tf.math_ops import segment_sum as segment_sum
from feedline.tf.array_ops import sequence_mask as sequence_mask
from feedline.tf.io_ops import serialize_many_sparse as serialize_many_sparse
from feedline.tf.io_ops import serialize_sparse as serialize_sparse
from feedline.tf.io_ops import serialize_tensor as serialize_tensor
from feedline.tf.v1_graph import set_random_seed as set_random_seed
from feedline.tf.v1_ops import setdiff1d as setdiff1d
from feedline.tf.array_ops import shape as shape
from feedline.tf.array_ops import shape_n as shape_n
from feedline.tf.math_ops import sigmoid as sigmoid
from feedline.tf.math_ops import sign as sign
from feedline.tf.math_ops import sin as sin
from feedline.tf.math_ops import sinh as sinh
from feedline.tf.array_ops import size as size
from feedline.tf.array_ops import slice as slice
from feedline.tf.array_ops import sort as sort
from feedline.tf.v1_ops import space_to_batch as space_to_batch
from feedline.tf.array_ops import space_to_batch_nd as space_to_batch_nd
from feedline.tf.v1_ops import sparse_concat as sparse_concat
from feedline.tf.sparse_ops import fill_empty_rows as sparse_fill_empty_rows
from feedline.tf.sparse_ops import mask as sparse_mask
from feedline.tf.v1_ops import sparse_reduce_sum as sparse_reduce_sum
from feedline.tf.sparse_ops import reorder as sparse_reorder
from feedline.tf.sparse_ops import reset_shape as sparse_reset_shape
from feedline.tf.sparse_ops import reshape as sparse_reshape
from feedline.tf.sparse_ops import retain as sparse_retain
from feedline.tf.sparse_ops import slice as sparse_slice
from feedline.tf.sparse_ops import to_dense as sparse_tensor_to_dense
from feedline.tf.v1_ops import sparse_to_dense as sparse_to_dense
from feedline.tf.sparse_ops import to_indicator as sparse_to_indicator
from feedline.tf.array_ops import split as split
from feedline.tf.math_ops import sqrt as sqrt
from feedline.tf.math_ops import square as square
from feedline.tf.math_ops import squared_difference as squared_difference
from feedline.tf.array_ops import squeeze as squeeze
from feedline.tf.array_ops import stack as stack
from feedline.tf.array_ops import identity as stop_gradient
from feedline.tf.array_ops import strided_slice as strided_slice
from feedline.structure.types import string as string
from feedline.tf.string_ops import join as string_join
from feedline.tf.string_ops import string_split as string_split
from feedline.tf.string_ops import strip as string_strip
from feedline.tf.v1_ops import string_to_hash_bucket as string_to_hash_bucket
from feedline.tf.string_ops import to_hash_bucket_fast as string_to_hash_bucket_fast
from feedline.tf.string_ops import to_hash_bucket_strong as string_to_hash_bucket_strong
from feedline.tf.v1_ops import string_to_number as string_to_number
from feedline.tf.v1_ops import substr as substr
from feedline.tf.math_ops import subtract as subtract
from feedline.tf.control_flow import switch_case as switch_case
from feedline.tf.v1_graph import tables_initializer as tables_initializer
from feedline.tf.math_ops import tan as tan
from feedline.tf.math_ops import tanh as tanh
from feedline.tf.array_ops import tensor_scatter_nd_add as tensor_scatter_add
from feedline.tf.array_ops import tensor_scatter_nd_add as tensor_scatter_nd_add
from feedline.tf.array_ops import tensor_scatter_nd_max as tensor_scatter_nd_max
from feedline.tf.array_ops import tensor_scatter_nd_min as tensor_scatter_nd_min
from feedline.tf.array_ops import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from feedline.tf.array_ops import tensor_scatter_nd_update as tensor_scatter_nd_update
from feedline.tf.array_ops import tensor_scatter_nd_sub as tensor_scatter_sub
from feedline.tf.array_ops import tensor_scatter_nd_update as tensor_scatter_update
from feedline.tf.math_ops import tensordot as tensordot
from feedline.tf.array_ops import tile as tile
from feedline.tf.v1_ops import to_bfloat16 as to_bfloat16
from feedline.tf.v1_ops import to_complex128 as to_complex128
from feedline.tf.v1_ops import to_complex64 as to_complex64
from feedline.tf.math_ops import to_double as to_double
from feedline.tf.math_ops import to_float as to_float
from feedline.tf.math_ops import to_int32 as to_int32
from feedline.tf.math_ops import to_int64 as to_int64
from feedline.tf.v1_ops import trace as trace
from feedline.tf.v1_ops import transpose as transpose
from feedline.tf.math_ops import truediv as truediv
from feedline.tf.random_ops import truncated_normal as truncated_normal
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
from feedline.tf.math_ops import unsorted_segment_max as unsorted_segment_max
from feedline.tf.math_ops import unsorted_segment_mean as unsorted_segment_mean
from feedline.tf.math_ops import unsorted_segment_min as unsorted_segment_min
from feedline.tf.math_ops import unsorted_segment_prod as unsorted_segment_prod
from feedline.tf.math_ops import unsorted_segment_sum as unsorted_segment_sum
from feedline.tf.array_ops import unstack as unstack
from feedline.tf.v1_ops import variable_scope as variable_scope
from feedline.tf.control_flow import vectorized_map as vectorized_map
from feedline.tf.v1_ops import verify_tensor_all_finite as verify_tensor_all_finite
from feedline.tf.v1_ops import where as where
from feedline.tf.array_ops import where as where_v2
from feedline.tf.v1_ops import while_loop as while_loop
from feedline.tf.v1_ops import wrap_function as wrap_function
from feedline.tf.io_ops import write_file as write_file
from feedline.tf.array_ops import zeros as zeros
from feedline.tf.v1_ops import zeros_like as zeros_like
from feedline.tf.compat.v1 import app as app
from feedline.tf.compat.v1 import audio as audio
from feedline.tf.compat.v1 import autograph as autograph
from feedline.tf.compat.v1 import bitwise as bitwise
from feedline.tf.compat.v1 import compat as compat
from feedline.tf.compat.v1 import config as config
from feedline.tf.compat.v1 import contrib as contrib
from feedline.tf import v1_data as data
from feedline.tf.compat.v1 import debugging as debugging
from feedline.tf.compat.v1 import distribute as distribute
from feedline.tf.compat.v1 import dtypes as dtypes
from feedline.tf.compat.v1 import errors as errors
from feedline.tf.compat.v1 import estimator as estimator
from feedline.tf import v1_flags as flags
from feedline.tf.compat.v1 import gfile as gfile
from feedline.tf.compat.v1 import image as image
from feedline.tf.compat.v1 import io as io
from feedline.tf.compat.v1 import keras as keras
from feedline.tf.compat.v1 import linalg as linalg
from feedline.tf.compat.v1 import logging as logging
from feedline.tf.compat.v1 import lookup as lookup
from feedline.tf.compat.v1 import manip as manip
from feedline.tf.compat.v1 import math as math
from feedline.tf.compat.v1 import nest as nest
from feedline.tf.compat.v1 import nn as nn
from feedline.tf.compat.v1 import python_io as python_io
from feedline.tf.compat.v1 import ragged as ragged
from feedline.tf.compat.v1 import random as random
from feedline.tf.compat.v1 import raw_ops as raw_ops
from feedline.tf.compat.v1 import sets as sets
from feedline.tf.compat.v1 import signal as signal
from feedline.tf.compat.v1 import sparse as sparse
from feedline.tf.compat.v1 import spectral as spectral
from feedline.tf.compat.v1 import strings as strings
from feedline.tf.compat.v1 import tpu as tpu
from feedline.tf.compat.v1 import train as train
from feedline.tf.compat.v1 import types as types
from feedline.tf.compat.v1 import version as version

__all__ = [
    "Assert",
    "ConfigProto",
    "DType",
    "Dimension",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "GPUOptions",
    "Graph",
    "GraphKeys",
    "GraphOptions",
    "InteractiveSession",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "OptionalSpec",
    "Print",
    "RaggedFeature",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "VERSION",
    "VarLenFeature",
    "Variable",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "add_to_collection",
    "angle",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "atan",
    "atan2",
    "atanh",
    "batch_gather",
    "batch_to_space",
    "bincount",
    "bitcast",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "clip_by_norm",
    "clip_by_value",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "confusion_matrix",
    "conj",
    "constant",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "encode_base64",
    "ensure_shape",
    "equal",
    "erf",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "exp",
    "expand_dims",
    "expm1",
    "extract_image_patches",
    "eye",
    "fft",
    "fft2d",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "get_logger",
    "get_seed",
    "get_static_value",
    "global_variables_initializer",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "imag",
    "init_scope",
    "inside_function",
    "int16",
    "int32",
    "int64",
    "int8",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_tensor",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linspace",
    "local_variables_initializer",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "make_ndarray",
    "make_tensor_proto",
    "map_fn",
    "matching_files",
    "matmul",
    "matrix_band_part",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_transpose",
    "maximum",
    "meshgrid",
    "minimum",
    "mod",
    "multinomial",
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
    "op_scope",
    "pad",
    "parallel_stack",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "pow",
    "print",
    "py_func",
    "py_function",
    "random_crop",
    "random_gamma",
    "random_index_shuffle",
    "random_normal",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "range",
    "rank",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "reduce_all",
    "reduce_any",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "regex_replace",
    "repeat",
    "reset_default_graph",
    "reshape",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "set_random_seed",
    "setdiff1d",
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
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_reduce_sum",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "substr",
    "subtract",
    "switch_case",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "tile",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "transpose",
    "truediv",
    "truncated_normal",
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
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sum",
    "unstack",
    "variable_scope",
    "vectorized_map",
    "verify_tensor_all_finite",
    "where",
    "where_v2",
    "while_loop",
    "wrap_function",
    "write_file",
    "zeros",
    "zeros_like",
    "app",
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
    "flags",
    "gfile",
    "image",
    "io",
    "keras",
    "linalg",
    "logging",
    "lookup",
    "manip",
    "math",
    "nest",
    "nn",
    "python_io",
    "ragged",
    "random",
    "raw_ops",
    "sets",
    "signal",
    "sparse",
    "spectral",
    "strings",
    "tpu",
    "train",
    "types",
    "version",
]
