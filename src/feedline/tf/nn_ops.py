"""The functions of `tf.nn` that image augmentations use."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.dense import Array
from feedline.tf.array_ops import matched
from feedline.tf.tensor import Tensor, op


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
            out += part[:, :height, :width, :, None] * weights[i, j]
    return out.reshape(x.shape[0], height, width, channels * many)
