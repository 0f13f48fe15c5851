"""TensorFlow 1's functions that differ from TensorFlow 2's in arguments or results, and those that it no longer has.

Arguments have TensorFlow 1's order and its older names, such as `keep_dims`, `reduction_indices`, `dim`.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.io import TFRecordOptions, gfile
from feedline.naming import own_functions
from feedline.random import seeds
from feedline.structure import types
from feedline.tf import array_ops, control_flow, debugging_ops, image_ops, io_ops, math_ops, nn_ops, random_ops
from feedline.tf import sparse_ops as sparse
from feedline.tf import string_ops as strings
from feedline.tf.parameters import respelled
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.signatures import documented
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Tensor, TensorBase, as_tensor, ints, tensor_of


def _either(new: str, value: Any, old: str, older: Any) -> Any:
    """The value of an argument that has an older name, too."""
    if older is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return older


def _needed(what: str, value: Any) -> Any:
    if value is None:
        raise ValueError(f"{what} must be specified.")
    return value


# Reductions


def _reduction(reduce: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A reduction with TensorFlow 1's arguments."""

    @functools.wraps(reduce)
    def call(
        input_tensor: object,
        axis: object = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: object = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = _either("axis", axis, "reduction_indices", reduction_indices)
        kept = _either("keepdims", keepdims, "keep_dims", keep_dims)
        return reduce(input_tensor, axis, bool(kept))

    del call.__wrapped__
    text = f"{(reduce.__doc__ or '').split('.')[0]}, with TensorFlow 1's arguments."
    values = "[[True], [True]]" if reduce in (math_ops.reduce_all, math_ops.reduce_any) else "[[1.0], [2.0]]"
    example = f">>> tf.compat.v1.{reduce.__name__}({values}, reduction_indices=0).shape"
    return documented(call, text, example, "fl.TensorShape([1])")


reduce_all = _reduction(math_ops.reduce_all)
reduce_any = _reduction(math_ops.reduce_any)
reduce_logsumexp = _reduction(math_ops.reduce_logsumexp)
reduce_max = _reduction(math_ops.reduce_max)
reduce_mean = _reduction(math_ops.reduce_mean)
reduce_min = _reduction(math_ops.reduce_min)
reduce_prod = _reduction(math_ops.reduce_prod)
reduce_sum = _reduction(math_ops.reduce_sum)


def count_nonzero(
    input_tensor: object = None,
    axis: object = None,
    keepdims: bool | None = None,
    dtype: Any = types.int64,
    name: str | None = None,
    reduction_indices: object = None,
    keep_dims: bool | None = None,
    input: object = None,
) -> Tensor:
    """The number of values that are not zero.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.count_nonzero([[0, 1], [2, 3]], reduction_indices=1).numpy().tolist()
    [1, 2]
    """
    value = _needed("input_tensor", _either("input", input, "input_tensor", input_tensor))
    axis = _either("axis", axis, "reduction_indices", reduction_indices)
    kept = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return math_ops.count_nonzero(value, axis, bool(kept), dtype)


def argmax(
    input: object,
    axis: object = None,
    name: str | None = None,
    dimension: object = None,
    output_type: Any = types.int64,
) -> Tensor:
    """The indices of the largest values along an axis.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.argmax([[1, 5], [7, 2]], dimension=1).numpy().tolist()
    [1, 0]
    """
    axis = _either("axis", axis, "dimension", dimension)
    return math_ops.argmax(input, 0 if axis is None else axis, output_type)


def argmin(
    input: object,
    axis: object = None,
    name: str | None = None,
    dimension: object = None,
    output_type: Any = types.int64,
) -> Tensor:
    """The indices of the smallest values along an axis.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.argmin([[1, 5], [7, 2]], dimension=1).numpy().tolist()
    [0, 1]
    """
    axis = _either("axis", axis, "dimension", dimension)
    return math_ops.argmin(input, 0 if axis is None else axis, output_type)


def arg_max(input: object, dimension: object, output_type: Any = types.int64, name: str | None = None) -> Tensor:
    """The indices of the largest values along a dimension.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.arg_max([[1, 5], [7, 2]], 1).numpy().tolist()
    [1, 0]
    """
    return math_ops.argmax(input, dimension, output_type)


def arg_min(input: object, dimension: object, output_type: Any = types.int64, name: str | None = None) -> Tensor:
    """The indices of the smallest values along a dimension.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.arg_min([[1, 5], [7, 2]], 1).numpy().tolist()
    [0, 1]
    """
    return math_ops.argmin(input, dimension, output_type)


def norm(
    tensor: object,
    ord: object = "euclidean",
    axis: object = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors or matrices.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.norm([[3.0, 4.0], [6.0, 8.0]], axis=1, keep_dims=True).numpy().tolist()
    [[5.0], [10.0]]
    """
    return math_ops.norm(tensor, ord, axis, _either("keepdims", keepdims, "keep_dims", keep_dims))


def moments(
    x: object,
    axes: object,
    shift: object = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance along axes.

    >>> import feedline.tf as tf
    >>> mean, variance = tf.compat.v1.nn.moments(tf.constant([1.0, 3.0]), [0])
    >>> mean.numpy().item(), variance.numpy().item()
    (2.0, 1.0)
    """
    return math_ops.moments(x, axes, shift, bool(_either("keepdims", keepdims, "keep_dims", keep_dims)))


def softmax(logits: object, axis: object = None, name: str | None = None, dim: object = None) -> Tensor:
    """The softmax along an axis, by default the last.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.nn.softmax([0.0, 0.0], dim=0).numpy().tolist()
    [0.5, 0.5]
    """
    return math_ops.softmax(logits, _either("axis", axis, "dim", dim))


# Arithmetic


def div(x: object, y: object, name: str | None = None) -> Any:
    """Python 2's division: that of integers is rounded down.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.div(-7, 2).numpy(), tf.compat.v1.div(7.0, 2.0).numpy()
    (np.int32(-4), np.float32(3.5))
    """
    a, b = array_ops.matched(x, y)
    return math_ops.floordiv(a, b) if a._array.dtype.kind in "iu" else math_ops.truediv(a, b)


def confusion_matrix(
    labels: object,
    predictions: object,
    num_classes: object = None,
    dtype: Any = types.int32,
    name: str | None = None,
    weights: object = None,
) -> Tensor:
    """The number of predictions by label.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy().tolist()
    [[1, 0], [1, 1]]
    """
    return math_ops.confusion_matrix(labels, predictions, num_classes, weights, dtype)


def in_top_k(predictions: object, targets: object, k: object, name: str | None = None) -> Tensor:
    """Whether the targets are among the k largest predictions.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.nn.in_top_k([[0.1, 0.7, 0.2]], [2], 2).numpy().tolist()
    [True]
    """
    return math_ops.in_top_k(targets, predictions, k)


def invert_permutation(x: object, name: str | None = None) -> Tensor:
    """The inverse of a permutation.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.invert_permutation([2, 0, 1]).numpy().tolist()
    [1, 2, 0]
    """
    array = (x if isinstance(x, TensorBase) else as_tensor(x, types.int32))._array
    if array.ndim != 1:
        raise InvalidArgumentError("invert_permutation expects a 1D vector.")
    if not np.array_equal(np.sort(array), np.arange(len(array))):
        raise InvalidArgumentError(f"{array.tolist()} is not between 0 and {len(array)}, or has values twice")
    return tensor_of(np.argsort(array).astype(array.dtype))


def is_non_decreasing(x: object, name: str | None = None) -> Tensor:
    """Whether each value is at least the one before.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.is_non_decreasing([1, 1, 2]).numpy().item()
    True
    """
    flat = as_tensor(x)._array.ravel()
    return tensor_of(np.asarray((flat[1:] >= flat[:-1]).all()))


def is_strictly_increasing(x: object, name: str | None = None) -> Tensor:
    """Whether each value is more than the one before.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.is_strictly_increasing([1, 1, 2]).numpy().item()
    False
    """
    flat = as_tensor(x)._array.ravel()
    return tensor_of(np.asarray((flat[1:] > flat[:-1]).all()))


def trace(x: object, name: str | None = None) -> Tensor:
    """The sum of the diagonal of matrices.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.trace([[1, 2], [3, 4]]).numpy().item()
    5
    """
    array = as_tensor(x)._array
    if array.ndim < 2:
        raise InvalidArgumentError(f"trace: input must be at least 2-dim, received shape: {list(array.shape)}")
    return tensor_of(np.asarray(np.trace(array, axis1=-2, axis2=-1, dtype=array.dtype)))


def cross(a: object, b: object, name: str | None = None) -> Tensor:
    """The cross product of vectors of three numbers.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    x, y = array_ops.matched(a, b)
    if x._array.shape != y._array.shape or x._array.shape[-1:] != (3,):
        raise FailedPreconditionError(f"cross: both must have the same shape, [..., 3], got {x.shape} and {y.shape}")
    return tensor_of(np.asarray(np.cross(x._array, y._array)))


class SetDifference(NamedTuple):
    """The values of one list that are not in another, and their indices."""

    out: Tensor
    idx: Tensor


def setdiff1d(x: object, y: object, index_dtype: Any = types.int32, name: str | None = None) -> SetDifference:
    """The values of `x` that are not in `y`, and their indices.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.setdiff1d([1, 2, 3, 4], [2, 4]).out.numpy().tolist()
    [1, 3]
    """
    a, b = array_ops.matched(x, y)
    if a._array.ndim != 1 or b._array.ndim != 1:
        raise InvalidArgumentError("setdiff1d: x and y should be 1-D vectors")
    kept = np.flatnonzero(~np.isin(a._array, b._array))
    return SetDifference(tensor_of(a._array[kept]), tensor_of(kept.astype(types.as_dtype(index_dtype).dtype)))


def _to(dtype: Any, named: str) -> Callable[..., Tensor]:
    def convert(x: object, name: str = named) -> Any:
        return array_ops.cast(x, dtype)

    text = f"The values as {dtype.name}."
    return documented(convert, text, f">>> tf.compat.v1.to_{dtype.name}(1.0).numpy().item()", "(1+0j)")


to_complex64 = _to(types.complex64, "ToComplex64")
to_complex128 = _to(types.complex128, "ToComplex128")


def to_bfloat16(x: object, name: str = "ToBFloat16") -> Any:
    """Casts to bfloat16.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.to_bfloat16([0.5, 1.5]).numpy().tolist()
    [0.5, 1.5]
    """
    return array_ops.cast(x, "bfloat16")


# Arrays


def constant(
    value: object, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor with a given value; with `shape`, a single value fills it, unless `verify_shape` forbids it."""
    made = array_ops.constant(value, dtype, shape)
    if verify_shape and shape is not None and as_tensor(value, dtype).shape != made.shape:
        raise TypeError(f"Expected Tensor's shape: {made.shape}, but got {as_tensor(value, dtype).shape}.")
    return made


def convert_to_tensor(
    value: object, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Tensor:
    """A tensor of a value.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.convert_to_tensor([1, 2], preferred_dtype=tf.float32).numpy().tolist()
    [1.0, 2.0]
    """
    return array_ops.convert_to_tensor(
        value, dtype, _either("dtype_hint", dtype_hint, "preferred_dtype", preferred_dtype)
    )


def expand_dims(input: object, axis: object = None, name: str | None = None, dim: object = None) -> Any:
    """The tensor with one more dimension, of size 1.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.expand_dims([1, 2], dim=1).shape.as_list()
    [2, 1]
    """
    return array_ops.expand_dims(
        input, _needed("Must specify an axis argument: axis", _either("axis", axis, "dim", dim))
    )


def zeros_like(tensor: object, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Any:
    """Zeros of the same shape.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.zeros_like([1, 2]).numpy().tolist()
    [0, 0]
    """
    return array_ops.zeros_like(tensor, dtype)


def ones_like(tensor: object, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Any:
    """Ones of the same shape.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.ones_like([1, 2]).numpy().tolist()
    [1, 1]
    """
    return array_ops.ones_like(tensor, dtype)


def pad(
    tensor: object, paddings: object, mode: str = "CONSTANT", name: str | None = None, constant_values: object = 0
) -> Tensor:
    """The tensor with values around it.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.pad([1, 2], [[1, 0]]).numpy().tolist()
    [0, 1, 2]
    """
    return array_ops.pad(tensor, paddings, mode, constant_values)


def transpose(a: object, perm: object = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """The tensor with its dimensions in another order.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    return array_ops.transpose(a, perm, conjugate)


def matrix_transpose(a: object, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The tensor with its last two dimensions swapped.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.matrix_transpose([[1, 2], [3, 4]]).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    array = as_tensor(a)._array
    if array.ndim < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {array!r}")
    swapped = np.swapaxes(array, -1, -2)
    return tensor_of(np.conj(swapped) if conjugate else swapped)


def boolean_mask(tensor: object, mask: object, name: str = "boolean_mask", axis: object = None) -> Any:
    """The values at which a mask is true.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist()
    [1, 3]
    """
    return array_ops.boolean_mask(tensor, mask, axis)


def gather(
    params: object,
    indices: object,
    validate_indices: object = None,
    name: str | None = None,
    axis: object = None,
    batch_dims: int = 0,
) -> Any:
    """The values, or slices, at indices.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.gather([5, 6, 7], [2, 0]).numpy().tolist()
    [7, 5]
    """
    return array_ops.gather(params, indices, axis=axis, batch_dims=batch_dims)


def where(condition: object, x: object = None, y: object = None, name: str | None = None) -> Any:
    """Values of `x` where the condition holds, else of `y`; with a vector of conditions, whole rows of them.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]).numpy().tolist()
    [[1, 2], [7, 8]]
    """
    if x is None and y is None:
        return array_ops.where(condition)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    held = as_tensor(condition, types.bool)._array
    a, b = array_ops.matched(x, y)
    shape = a._array.shape
    if shape != b._array.shape:
        raise InvalidArgumentError(f"where: x and y must have the same shape, got {shape} and {b._array.shape}")
    if held.shape != shape:
        if held.ndim > 1 or (held.ndim == 1 and held.shape[0] != shape[:1][0] if shape else held.ndim == 1):
            raise InvalidArgumentError(f"where: a condition of shape {held.shape} does not fit values of shape {shape}")
        held = held.reshape(held.shape + (1,) * (len(shape) - held.ndim))
    return tensor_of(np.where(held, a._array, b._array))


def reverse_sequence(
    input: object,
    seq_lengths: object,
    seq_axis: object = None,
    batch_axis: object = None,
    name: str | None = None,
    seq_dim: object = None,
    batch_dim: object = None,
) -> Tensor:
    """The tensor with the beginnings of its sequences reversed.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.reverse_sequence([[1, 2, 3]], [2], seq_dim=1).numpy().tolist()
    [[2, 1, 3]]
    """
    along = _either("seq_axis", seq_axis, "seq_dim", seq_dim)
    if along is None:
        raise TypeError("reverse_sequence: seq_axis is missing")
    batch = _either("batch_axis", batch_axis, "batch_dim", batch_dim)
    return array_ops.reverse_sequence(input, seq_lengths, along, 0 if batch is None else batch)


def diag(diagonal: object, name: str | None = None) -> Tensor:
    """A tensor of twice the rank with values on its diagonal.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    array = as_tensor(diagonal)._array
    made = np.zeros(array.size * array.size, array.dtype)
    made[:: array.size + 1] = array.ravel()
    return tensor_of(made.reshape(array.shape * 2))


def diag_part(input: object, name: str | None = None) -> Tensor:
    """The diagonal of a tensor of even rank.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    array = as_tensor(input)._array
    half = array.ndim // 2
    if array.ndim % 2 or not array.ndim or array.shape[:half] != array.shape[half:]:
        raise InvalidArgumentError(f"diag_part: the shape must be [d1, ..., dk, d1, ..., dk], got {array.shape}")
    size = int(np.prod(array.shape[:half]))
    return tensor_of(np.diagonal(array.reshape(size, size)).reshape(array.shape[:half]))


def batch_to_space(
    input: object, crops: object, block_size: object = None, name: str | None = None, block_shape: object = None
) -> Tensor:
    """The blocks of `space_to_batch` in their places: `block_size` is that of both dimensions.

    >>> import feedline.tf as tf
    >>> blocks = tf.compat.v1.space_to_batch([[[[1], [2]], [[3], [4]]]], [[0, 0], [0, 0]], 2)
    >>> tf.compat.v1.batch_to_space(blocks, [[0, 0], [0, 0]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    size = _either("block_size", block_size, "block_shape", block_shape)
    return array_ops.batch_to_space(input, _needed("block_size", size), crops)


def space_to_batch(
    input: object, paddings: object, block_size: object = None, name: str | None = None, block_shape: object = None
) -> Tensor:
    """Blocks of pixels, moved to the first dimension: `block_size` is that of both dimensions.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.space_to_batch([[[[1], [2]], [[3], [4]]]], [[0, 0], [0, 0]], 2).numpy().tolist()
    [[[[1]]], [[[2]]], [[[3]]], [[[4]]]]
    """
    size = _either("block_size", block_size, "block_shape", block_shape)
    return array_ops.space_to_batch_nd(input, array_ops.block(_needed("block_size", size)), paddings)


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results of a function of each element, stacked.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.map_fn(lambda x: x * x, tf.constant([1, 2, 3]), parallel_iterations=4).numpy().tolist()
    [1, 4, 9]
    """
    return control_flow.map_fn(fn, elems, dtype, fn_output_signature=fn_output_signature)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: object = None,
    return_same_structure: bool = False,
) -> Any:
    """Calls `body` with its own results as long as `cond` of them is true; a single variable is not put in a list.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0]).numpy().item()
    3
    """
    made = control_flow.while_loop(cond, body, loop_vars, maximum_iterations=maximum_iterations)
    single = isinstance(made, (list, tuple)) and len(made) == 1 and not return_same_structure
    return made[0] if single else made


# Strings


def reduce_join(
    inputs: object,
    axis: object = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: object = None,
    keepdims: bool | None = None,
) -> Any:
    """Strings joined along axes.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.reduce_join([["a", "b"], ["c", "d"]], 1).numpy().tolist()
    [b'ab', b'cd']
    """
    axis = _either("axis", axis, "reduction_indices", reduction_indices)
    kept = _either("keepdims", keepdims, "keep_dims", keep_dims)
    return strings.reduce_join(inputs, axis, bool(kept), separator)


def string_to_hash_bucket(
    string_tensor: object = None, num_buckets: Any = None, name: str | None = None, input: object = None
) -> Any:
    """A number below `num_buckets` for each string.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.string_to_hash_bucket(["a", "b"], 10).numpy().tolist()
    [8, 0]
    """
    value = _needed("string_tensor", _either("input", input, "string_tensor", string_tensor))
    return strings.to_hash_bucket(value, num_buckets)


def string_to_number(
    string_tensor: object = None, out_type: Any = types.float32, name: str | None = None, input: object = None
) -> Any:
    """The number that each string is.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.string_to_number(["1.5", "2"]).numpy().tolist()
    [1.5, 2.0]
    """
    return strings.to_number(
        _needed("string_tensor", _either("input", input, "string_tensor", string_tensor)), out_type
    )


def string_length(input: object, name: str | None = None, unit: str = "BYTE") -> Any:
    """The length of each string.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.strings.length(["a", "bcd"]).numpy().tolist()
    [1, 3]
    """
    return strings.length(input, unit)


def substr(input: object, pos: object, len: object, name: str | None = None, unit: str = "BYTE") -> Any:
    """Parts of strings.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.substr("hello", 1, 3).numpy()
    b'ell'
    """
    return strings.substr(input, pos, len, unit)


def decode_raw(
    input_bytes: object = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: object = None,
) -> Any:
    """The numbers whose memory strings are.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.decode_raw(b"\\x01\\x02", tf.uint8).numpy().tolist()
    [1, 2]
    """
    value = _needed("input_bytes", _either("input_bytes", input_bytes, "bytes", bytes))
    return io_ops.decode_raw(value, _needed("out_type", out_type), little_endian)


# Sparse tensors


def sparse_to_dense(
    sparse_indices: object,
    output_shape: object,
    sparse_values: object,
    default_value: object = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor with values at some indices.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.sparse_to_dense([0, 2], [4], [5, 7]).numpy().tolist()
    [5, 0, 7, 0]
    """
    shape = ints(output_shape)
    values = as_tensor(sparse_values)
    default = as_tensor(default_value, values.dtype)._array
    places = as_tensor(sparse_indices)._array
    places = places.reshape(-1, 1) if places.ndim < 2 else places
    if places.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"output_shape has {len(shape)} elements, but indices have {places.shape[1]} columns"
        )
    if ((places < 0) | (places >= shape)).any():
        raise InvalidArgumentError(f"sparse_to_dense: an index is out of bounds for the shape {shape}")
    if validate_indices:
        order = [tuple(p) for p in places.tolist()]
        if any(a >= b for a, b in itertools.pairwise(order)):
            raise InvalidArgumentError("sparse_to_dense: indices are out of order, or some are twice")
    made = np.full(shape, default[()], values._array.dtype)
    made[tuple(places.T)] = values._array
    return tensor_of(made)


def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors one after the other.

    >>> import feedline.tf as tf
    >>> a = tf.compat.v1.SparseTensor([[0, 1]], [5], [1, 2])
    >>> tf.sparse.to_dense(tf.compat.v1.sparse_concat(0, [a, a])).numpy().tolist()
    [[0, 5], [0, 5]]
    """
    axis = _either("axis", axis, "concat_dim", concat_dim)
    expand = expand_nonconcat_dims if expand_nonconcat_dims is not None else expand_nonconcat_dim
    return sparse.concat(axis, sp_inputs, expand)


def sparse_reduce_sum(
    sp_input: object,
    axis: object = None,
    keepdims: bool | None = None,
    reduction_axes: object = None,
    keep_dims: bool | None = None,
) -> Any:
    """The sums of a sparse tensor along axes.

    >>> import feedline.tf as tf
    >>> a = tf.compat.v1.SparseTensor([[0, 0], [0, 1]], [5, 6], [1, 2])
    >>> tf.compat.v1.sparse_reduce_sum(a, 1).numpy().tolist()
    [11]
    """
    axis = _either("axis", axis, "reduction_axes", reduction_axes)
    return sparse.reduce_sum(sp_input, axis, bool(_either("keepdims", keepdims, "keep_dims", keep_dims)))


class SparseTensorValue(NamedTuple):
    """A sparse tensor as arrays, as sessions return it.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.SparseTensorValue([[0]], [1], [3]).dense_shape
    [3]
    """

    indices: Any
    values: Any
    dense_shape: Any


class RaggedTensorValue(NamedTuple):
    """A ragged tensor as arrays, as sessions return it.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.ragged.RaggedTensorValue([1, 2, 3], [0, 2, 3]).to_list()
    [[1, 2], [3]]
    """

    values: Any
    row_splits: Any

    def to_list(self) -> list[Any]:
        """The rows as lists."""
        found: list[Any] = RaggedTensor.from_row_splits(self.values, self.row_splits).to_list()
        return found


# Images


def crop_and_resize(
    image: object,
    boxes: object,
    box_ind: object = None,
    crop_size: object = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: object = None,
) -> Tensor:
    """Parts of images, resized.

    >>> import feedline.tf as tf
    >>> image = tf.ones([1, 4, 4, 1])
    >>> tf.compat.v1.image.crop_and_resize(image, [[0, 0, 1, 1]], [0], [2, 2]).shape
    fl.TensorShape([1, 2, 2, 1])
    """
    which = _needed("box_indices", _either("box_indices", box_indices, "box_ind", box_ind))
    return image_ops.crop_and_resize(image, boxes, which, crop_size, method, extrapolation_value)


def sample_distorted_bounding_box(
    image_size: object,
    bounding_boxes: object,
    seed: object = None,
    seed2: object = None,
    min_object_covered: object = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """A random part of an image that covers part of a bounding box.

    >>> import feedline.tf as tf
    >>> boxes = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])
    >>> begin, size, box = tf.compat.v1.image.sample_distorted_bounding_box([8, 8, 3], boxes, seed=1)
    >>> begin.shape, size.shape, box.shape
    (fl.TensorShape([3]), fl.TensorShape([3]), fl.TensorShape([1, 1, 4]))
    """
    return image_ops.sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        0 if seed is None else seed,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
    )


def draw_bounding_boxes(images: object, boxes: object, name: str | None = None, colors: object = None) -> Tensor:
    """Images with boxes drawn on them.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 3]), [[[0.0, 0.0, 1.0, 1.0]]]).shape
    fl.TensorShape([1, 3, 3, 3])
    """
    return image_ops.draw_bounding_boxes(images, boxes, colors)


def extract_image_patches(
    images: object,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Patches of images, as one vector each.

    >>> import feedline.tf as tf
    >>> image = tf.ones([1, 4, 4, 1])
    >>> tf.compat.v1.extract_image_patches(image, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID").shape
    fl.TensorShape([1, 2, 2, 4])
    """
    size = _needed("ksizes", _either("sizes", sizes, "ksizes", ksizes))
    return image_ops.extract_patches(images, size, strides, rates, padding)


def embedding_lookup(
    params: Any,
    ids: object,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: object = None,
) -> Any:
    """TensorFlow 1's `tf.nn.embedding_lookup`: row `i` of several tensors is in tensor `i % len(params)`, unless
    `partition_strategy` is "div".

    >>> import feedline.tf as tf
    >>> tf.compat.v1.nn.embedding_lookup([[[10], [12]], [[11], [13]]], [0, 1, 2]).numpy().ravel()
    array([10, 11, 12], dtype=int32)
    """
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f'partition_strategy must be "mod" or "div", got {partition_strategy!r}')
    return nn_ops.looked_up(params, ids, max_norm, partition_strategy)


def depthwise_conv2d(
    input: object,
    filter: object,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Each channel of images, filtered by filters of its own.

    >>> import feedline.tf as tf
    >>> image, weights = tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1])
    >>> tf.compat.v1.nn.depthwise_conv2d(image, weights, [1, 1, 1, 1], "VALID").shape
    fl.TensorShape([1, 2, 2, 1])
    """
    return nn_ops.depthwise_conv2d(
        input, filter, strides, padding, data_format, _either("dilations", dilations, "rate", rate)
    )


depthwise_conv2d_native = respelled(depthwise_conv2d, "input filter strides padding data_format dilations name")


def avg_pool(
    value: object = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: object = None,
) -> Tensor:
    """The means of windows of images.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.nn.avg_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID").shape
    fl.TensorShape([1, 2, 2, 1])
    """
    return nn_ops.avg_pool(_either("input", input, "value", value), ksize, strides, padding, data_format)


def max_pool(
    value: object = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: object = None,
) -> Tensor:
    """The largest values of windows of images.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.nn.max_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID").shape
    fl.TensorShape([1, 2, 2, 1])
    """
    return nn_ops.max_pool(_either("input", input, "value", value), ksize, strides, padding, data_format)


# Random numbers


def multinomial(
    logits: object, num_samples: object, seed: object = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Numbers drawn from categorical distributions.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.multinomial([[0.0, -100.0]], 3, seed=1).numpy().tolist()
    [[0, 0, 0]]
    """
    return random_ops.categorical(logits, num_samples, output_dtype or types.int64, seed)


def stateless_multinomial(
    logits: object, num_samples: object, seed: object, output_dtype: Any = types.int64, name: str | None = None
) -> Tensor:
    """Numbers drawn from categorical distributions, by a seed.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.random.stateless_multinomial([[0.0, -100.0]], 3, seed=[1, 2]).numpy().tolist()
    [[0, 0, 0]]
    """
    return random_ops.stateless_categorical(logits, num_samples, seed, output_dtype)


def random_poisson(
    lam: object, shape: object, dtype: Any = types.float32, seed: object = None, name: str | None = None
) -> Tensor:
    """Numbers drawn from Poisson distributions.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.random_poisson([2.0, 9.0], [3], seed=1).shape
    fl.TensorShape([3, 2])
    """
    return random_ops.poisson(shape, lam, dtype, seed)


def get_seed(op_seed: object) -> tuple[int | None, int | None]:
    """The two seeds that an operation with a seed has.

    >>> import feedline.tf as tf
    >>> tf.random.set_seed(1)
    >>> tf.compat.v1.get_seed(3)
    (1, 3)
    >>> tf.random.set_seed(None)
    """
    if seeds._global.seed is None and op_seed is None:
        return None, None
    found: tuple[int, int] = seeds.get_seed(None if op_seed is None else int(as_tensor(op_seed)._array))
    return found


# Assertions


def _comparison(check: Callable[..., Any]) -> Callable[..., Any]:
    """An assertion about two tensors with TensorFlow 1's arguments."""

    def call(
        x: object,
        y: object,
        data: object = None,
        summarize: object = None,
        message: Any = None,
        name: str | None = None,
    ) -> Any:
        return check(x, y, message=message)

    call.__doc__ = check.__doc__
    return call


def _property(check: Callable[..., Any]) -> Callable[..., Any]:
    """An assertion about a tensor with TensorFlow 1's arguments."""

    def call(
        x: object, data: object = None, summarize: object = None, message: Any = None, name: str | None = None
    ) -> Any:
        return check(x, message)

    call.__doc__ = check.__doc__
    return call


assert_equal = _comparison(debugging_ops.assert_equal)
assert_greater = _comparison(debugging_ops.assert_greater)
assert_greater_equal = _comparison(debugging_ops.assert_greater_equal)
assert_less = _comparison(debugging_ops.assert_less)
assert_less_equal = _comparison(debugging_ops.assert_less_equal)
assert_none_equal = _comparison(debugging_ops.assert_none_equal)
assert_rank = _comparison(debugging_ops.assert_rank)
assert_rank_at_least = _comparison(debugging_ops.assert_rank_at_least)
assert_rank_in = _comparison(debugging_ops.assert_rank_in)
assert_negative = _property(debugging_ops.assert_negative)
assert_non_negative = _property(debugging_ops.assert_non_negative)
assert_non_positive = _property(debugging_ops.assert_non_positive)
assert_positive = _property(debugging_ops.assert_positive)


def assert_near(
    x: object,
    y: object,
    rtol: object = None,
    atol: object = None,
    data: object = None,
    summarize: object = None,
    message: Any = None,
    name: str | None = None,
) -> Any:
    """Raises unless two tensors are nearly equal.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.assert_near([1.0], [1.0 + 1e-7])
    """
    return debugging_ops.assert_near(x, y, rtol, atol, message)


def verify_tensor_all_finite(
    t: object = None, msg: Any = None, name: str | None = None, x: object = None, message: Any = None
) -> Any:
    """The tensor, if it has no NaN and no infinity; else raises.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.verify_tensor_all_finite([1.0, 2.0], "not finite").numpy().tolist()
    [1.0, 2.0]
    """
    value = _needed("x", _either("x", x, "t", t))
    return debugging_ops.assert_all_finite(value, _either("message", message, "msg", msg))


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Prints values to standard error, and returns `input_`.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.Print(3, [1, 2], "values: ")
    3
    """
    shown = "".join(f"[{strings.shown(as_tensor(d)._array, 3 if summarize is None else summarize)}]" for d in data)
    print(f"{message or ''}{shown}", file=sys.stderr)
    return input_


# Shapes


class Dimension:
    """The size of a dimension, or None.

    >>> import feedline.tf as tf
    >>> d = tf.compat.v1.Dimension(3)
    >>> d * 2 + 1, d == 3, tf.compat.v1.Dimension(None) + 1
    (Dimension(7), True, Dimension(None))
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        held = value.value if isinstance(value, Dimension) else value
        self._value = None if held is None else int(held)
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether the two may be the same size."""
        return None in (self._value, Dimension(other)._value) or self._value == Dimension(other)._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises unless the two may be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """The size that either of them states."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def _with(self, other: Any, compute: Callable[[int, int], int]) -> Dimension:
        b = Dimension(other)._value
        return Dimension(None if self._value is None or b is None else compute(self._value, b))

    def __add__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Dimension:
        return self.__add__(other)

    def __sub__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Dimension:
        return self.__mul__(other)

    def __floordiv__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other: Any) -> Dimension:
        return self._with(other, lambda a, b: a % b)

    def __eq__(self, other: object) -> Any:
        try:
            b = Dimension(other)._value
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or b is None else self._value == b

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("the dimension is unknown")
        return self._value

    def __index__(self) -> int:
        return int(self)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


def dimension_value(dimension: Any) -> int | None:
    """The size of a dimension, which may be a number, a `Dimension`, or None.

    >>> import feedline.tf as tf
    >>> tf.compat.dimension_value(tf.zeros([2, 3]).shape[1])
    3
    """
    found: int | None = dimension.value if isinstance(dimension, Dimension) else dimension
    return found


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """A dimension of a shape, as a `Dimension`.

    >>> import feedline.tf as tf
    >>> tf.compat.dimension_at_index(tf.TensorShape([3, None]), 0)
    Dimension(3)
    """
    return Dimension(None if shape.rank is None else shape.as_list()[index])


# Scopes and files


@contextlib.contextmanager
def variable_scope(
    name_or_scope: Any, default_name: str | None = None, *args: object, **kwargs: object
) -> Iterator[Any]:
    """A scope without effect: there are no variables.

    >>> import feedline.tf as tf
    >>> with tf.compat.v1.variable_scope("input"):
    ...     x = tf.constant(1)
    """
    yield name_or_scope or default_name


def wrap_function(fn: Callable[..., Any], signature: object, name: str | None = None) -> Callable[..., Any]:
    """The function itself.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.wrap_function(lambda x: x + 1, [tf.TensorSpec([], tf.int32)])(2)
    3
    """
    return fn


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file.

    >>> import tempfile, feedline.tf as tf
    >>> path = f"{tempfile.mkdtemp()}/a.tfrecord"
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> list(tf.compat.v1.io.tf_record_iterator(path))
    [b'one']
    """
    from feedline.data.readers import TFRecordDataset

    kind: Any = options.compression_type if isinstance(options, TFRecordOptions) else options
    yield from TFRecordDataset(path, {0: "", 1: "ZLIB", 2: "GZIP"}.get(kind, kind) or "")


class TFRecordCompressionType:
    """The kinds of compression, by number.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.io.TFRecordCompressionType.GZIP
    2
    """

    NONE, ZLIB, GZIP = 0, 1, 2


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a"
    >>> tf.io.write_file(path, "text")
    >>> tf.compat.v1.gfile.Copy(path, path + "2")
    >>> tf.compat.v1.gfile.Exists(path + "2")
    True
    """
    gfile.copy(oldpath, newpath, overwrite)


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder and all in it.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp()
    >>> tf.compat.v1.gfile.DeleteRecursively(path)
    >>> tf.compat.v1.gfile.Exists(path)
    False
    """
    gfile.rmtree(dirname)


def Exists(filename: Any) -> bool:
    """Whether there is a file or folder.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.gfile.Exists("no/such/file")
    False
    """
    return gfile.exists(filename)


def Glob(filename: Any) -> list[str]:
    """The files that match a pattern.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.gfile.Glob("no/such/folder/*")
    []
    """
    return gfile.glob(filename)


def IsDirectory(dirname: Any) -> bool:
    """Whether there is a folder.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.gfile.IsDirectory(".")
    True
    """
    return gfile.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a folder.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp()
    >>> tf.compat.v1.gfile.MkDir(path + "/train")
    >>> tf.compat.v1.gfile.ListDirectory(path)
    ['train']
    """
    return gfile.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/data/train"
    >>> tf.compat.v1.gfile.MakeDirs(path)
    >>> tf.compat.v1.gfile.IsDirectory(path)
    True
    """
    gfile.makedirs(dirname)


def MkDir(dirname: Any) -> None:
    """Makes a folder.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/train"
    >>> tf.compat.v1.gfile.MkDir(path)
    >>> tf.compat.v1.gfile.IsDirectory(path)
    True
    """
    gfile.mkdir(dirname)


def Remove(filename: Any) -> None:
    """Deletes a file.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a"
    >>> tf.io.write_file(path, "text")
    >>> tf.compat.v1.gfile.Remove(path)
    >>> tf.compat.v1.gfile.Exists(path)
    False
    """
    gfile.remove(filename)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Renames a file or folder.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a"
    >>> tf.io.write_file(path, "text")
    >>> tf.compat.v1.gfile.Rename(path, path + "2")
    >>> tf.compat.v1.gfile.Exists(path)
    False
    """
    gfile.rename(oldname, newname, overwrite)


def Stat(filename: Any) -> Any:
    """The size and time of a file.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a"
    >>> tf.io.write_file(path, "text")
    >>> tf.compat.v1.gfile.Stat(path).length
    4
    """
    return gfile.stat(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[Any]:
    """The folders below a folder, and the names in each.

    >>> import feedline.tf as tf
    >>> import tempfile
    >>> path = tempfile.mkdtemp()
    >>> tf.compat.v1.gfile.MkDir(path + "/train")
    >>> [folders for _, folders, _ in tf.compat.v1.gfile.Walk(path)]
    [['train'], []]
    """
    yield from gfile.walk(top, in_order)


class RuntimeMessage:
    """A message of TensorFlow's runtime, such as `tf.ConfigProto`, that may be filled in and has no effect.

    >>> import feedline.tf as tf
    >>> config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> RuntimeMessage:
        if name.startswith("__"):
            raise AttributeError(name)
        made = RuntimeMessage()
        self.__dict__[name] = made
        return made


own_functions(globals())
