"""The names of `tf.nn` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.nn_ops import depthwise_conv2d as depthwise_conv2d
from feedline.tf.math_ops import in_top_k as in_top_k
from feedline.tf.math_ops import l2_normalize as l2_normalize
from feedline.tf.math_ops import moments as moments
from feedline.tf.math_ops import relu as relu
from feedline.tf.math_ops import relu6 as relu6
from feedline.tf.math_ops import sigmoid as sigmoid
from feedline.tf.math_ops import softmax as softmax
from feedline.tf.math_ops import softplus as softplus
from feedline.tf.math_ops import tanh as tanh
from feedline.tf.math_ops import top_k as top_k
from feedline.tf.math_ops import zero_fraction as zero_fraction

__all__ = [
    "depthwise_conv2d",
    "in_top_k",
    "l2_normalize",
    "moments",
    "relu",
    "relu6",
    "sigmoid",
    "softmax",
    "softplus",
    "tanh",
    "top_k",
    "zero_fraction",
]
