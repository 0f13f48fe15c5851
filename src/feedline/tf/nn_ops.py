"""The functions of `tf.nn` that input pipelines use: convolutions, windows and blocks of pixels, rows of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.dense import Array
from feedline.tf.array_ops import concat, gather, matched
from feedline.tf.math_ops import clip_by_norm
from feedline.tf.ragged_ops import RaggedTensor
from feedline.tf.tensor import Tensor, as_tensor, ints, op, tensor_of


def embedding_lookup(params: Any, ids: object, max_norm: object = None, name: str | None = None) -> Any:
    """The rows of `params` with the given numbers; of several tensors, as if they were one. With `max_norm`, a row
    whose norm is larger is scaled down to it.

    >>> import feedline.tf as tf
    >>> tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 0, 1]).numpy()
    array([[3., 4.],
           [1., 2.],
           [3., 4.]], dtype=float32)
    """
    return looked_up(params, ids, max_norm, "div")


def looked_up(params: Any, ids: object, max_norm: object, strategy: str) -> Any:
    """Rows of tensors whose rows are numbered one tensor after the other ("div") or in turns ("mod")."""
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be a tensor, or a list of one or more")
    parts = list(params) if isinstance(params, (list, tuple)) and np.ndim(params[0]) else [params]
    if isinstance(ids, RaggedTensor):
        return ids._mapped(lambda numbers: looked_up(params, numbers, max_norm, strategy))
    numbers = as_tensor(ids)
    table = as_tensor(parts[0]) if len(parts) == 1 else concat(parts, 0)
    if len(parts) > 1 and strategy == "mod":
        starts = np.cumsum([0, *(len(as_tensor(part)) for part in parts[:-1])])
        numbers = gather(starts.astype(numbers._array.dtype), numbers % len(parts)) + numbers // len(parts)
    found = gather(table, numbers)
    if max_norm is None:
        return found
    return clip_by_norm(found, max_norm, axes=list(range(numbers.ndim, found.ndim)))


def depthwise_conv2d(
    input: object,
    filter: object,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Each channel of images [n, height, width, channels] convolved with filters of its own.

    >>> import feedline.tf as tf
    >>> blur = tf.ones([2, 2, 1, 1]) / 4.0
    >>> tf.nn.depthwise_conv2d([[[[1.0], [3.0]], [[5.0], [7.0]]]], blur, [1, 1, 1, 1], "VALID").numpy().item()
    4.0
    """
    if data_format not in (None, "NHWC"):
        raise InvalidArgumentError(f"depthwise_conv2d takes NHWC images on a CPU, got {data_format}")
    images, weights = matched(input, filter)
    spread = [1, 1] if dilations is None else list(dilations)[-2:] if len(dilations) == 2 else list(dilations)[1:3]
    made: Tensor = _depthwise(images, weights, strides=list(strides), padding=padding, dilations=spread)
    return made


@op("DepthwiseConv2dNative", "fV")
def _depthwise(x: Array, weights: Array, strides: list[int], padding: str, dilations: list[int]) -> Array:
    if x.ndim != 4 or weights.ndim != 4 or x.shape[3] != weights.shape[2]:
        raise InvalidArgumentError(f"depthwise_conv2d: images {x.shape} and filters {weights.shape} do not fit")
    tall, wide, channels, many = weights.shape
    reach = [(size - 1) * step + 1 for size, step in zip((tall, wide), dilations, strict=True)]
    if padding == "SAME":
        widths = []
        for size, step, span in zip(x.shape[1:3], strides[1:3], reach, strict=True):
            total = max((-(-size // step) - 1) * step + span - size, 0)
            widths.append((total // 2, total - total // 2))
        x = np.pad(x, [(0, 0), *widths, (0, 0)])
    elif padding != "VALID":
        raise InvalidArgumentError(f"padding must be SAME or VALID, got {padding!r}")
    height, width = ((x.shape[i + 1] - reach[i]) // strides[i + 1] + 1 for i in range(2))
    out = np.zeros((x.shape[0], height, width, channels, many), x.dtype)
    for i in range(tall):
        for j in range(wide):
            top, left = i * dilations[0], j * dilations[1]
            part = x[:, top : top + height * strides[1] : strides[1], left : left + width * strides[2] : strides[2]]
            out = _fused(part[:, :height, :width, :, None], weights[i, j], out)
    return out.reshape(x.shape[0], height, width, channels * many)


def _fused(x: Array, y: Array, total: Array) -> Array:
    """total + x * y, of float32 with one rounding, as processors with fused multiply-add compute it."""
    if x.dtype != np.float32:
        return np.asarray(total + x * y)
    made = total.astype(np.float64) + x.astype(np.float64) * y.astype(np.float64)
    return np.asarray(made, np.float32)


def space_to_depth(input: object, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Blocks of pixels moved to the channels.

    >>> import feedline.tf as tf
    >>> tf.nn.space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy().tolist()
    [[[[1, 2, 3, 4]]]]
    """
    x = _pictures(input, "space_to_depth", data_format)
    n, height, width, channels = x.shape
    if block_size < 2 or height % block_size or width % block_size:
        raise InvalidArgumentError(f"space_to_depth: {height} x {width} pixels do not have blocks of {block_size}")
    tall, wide = height // block_size, width // block_size
    cut = x.reshape(n, tall, block_size, wide, block_size, channels).transpose(0, 1, 3, 2, 4, 5)
    return tensor_of(cut.reshape(n, tall, wide, block_size * block_size * channels))


def depth_to_space(input: object, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Channels moved to blocks of pixels.

    >>> import feedline.tf as tf
    >>> tf.nn.depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().tolist()
    [[[[1], [2]], [[3], [4]]]]
    """
    x = _pictures(input, "depth_to_space", data_format)
    n, height, width, channels = x.shape
    if block_size < 2 or channels % (block_size * block_size):
        raise InvalidArgumentError(f"depth_to_space: {channels} channels do not make blocks of {block_size}")
    depth = channels // (block_size * block_size)
    cut = x.reshape(n, height, width, block_size, block_size, depth).transpose(0, 1, 3, 2, 4, 5)
    return tensor_of(cut.reshape(n, height * block_size, width * block_size, depth))


def _pictures(value: object, what: str, data_format: str | None) -> Array:
    x = as_tensor(value)._array
    if data_format not in (None, "NHWC") or x.ndim != 4:
        raise InvalidArgumentError(f"{what} takes NHWC images, got {data_format} and the shape {list(x.shape)}")
    return x


def avg_pool2d(
    input: object, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The means of windows of pixels.

    >>> import feedline.tf as tf
    >>> tf.nn.avg_pool2d([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    2.5
    """
    x = _pictures(input, "avg_pool2d", data_format)
    windows, there = _pooled(x.astype(np.float64), ksize, strides, padding, 0.0)
    return tensor_of((windows.sum((-2, -1)) / there.sum((-2, -1))).astype(x.dtype))


def max_pool2d(
    input: object, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The largest values of windows of pixels.

    >>> import feedline.tf as tf
    >>> tf.nn.max_pool2d([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    4.0
    """
    x = _pictures(input, "max_pool2d", data_format)
    lowest = -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    return tensor_of(_pooled(x, ksize, strides, padding, lowest)[0].max((-2, -1)))


def avg_pool(
    input: object, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """The means of windows of images [n, height, width, channels].

    >>> import feedline.tf as tf
    >>> tf.nn.avg_pool([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    2.5
    """
    return avg_pool2d(input, ksize, strides, padding, data_format or "NHWC")


def max_pool(
    input: object, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """The largest values of windows of images [n, height, width, channels].

    >>> import feedline.tf as tf
    >>> tf.nn.max_pool([[[[1.0], [2.0]], [[3.0], [4.0]]]], 2, 2, "VALID").numpy().item()
    4.0
    """
    return max_pool2d(input, ksize, strides, padding, data_format or "NHWC")


def _pooled(x: Array, ksize: Any, strides: Any, padding: Any, fill: float) -> tuple[Array, Array]:
    """The windows of pixels, and which of their places are in the image."""

    def pair(value: Any) -> list[int]:
        found = ints([value] if isinstance(value, int) else value)
        return found * 2 if len(found) == 1 else found if len(found) == 2 else found[1:3]

    size, step = pair(ksize), pair(strides)
    there = np.ones((1, *x.shape[1:3], 1), bool)
    if padding == "SAME":
        widths = []
        for i in range(2):
            total = max((-(-x.shape[i + 1] // step[i]) - 1) * step[i] + size[i] - x.shape[i + 1], 0)
            widths.append((total // 2, total - total // 2))
        edges = [(0, 0), *widths, (0, 0)]
        x, there = np.pad(x, edges, constant_values=fill), np.pad(there, edges)
    elif padding != "VALID":
        raise InvalidArgumentError(f"padding must be SAME or VALID, got {padding!r}")
    if x.shape[1] < size[0] or x.shape[2] < size[1]:
        raise InvalidArgumentError(f"windows of {size} do not fit into {list(x.shape[1:3])} pixels")
    cut = [
        np.lib.stride_tricks.sliding_window_view(a, (size[0], size[1]), (1, 2))[:, :: step[0], :: step[1]]
        for a in (x, there)
    ]
    return cut[0], cut[1]
