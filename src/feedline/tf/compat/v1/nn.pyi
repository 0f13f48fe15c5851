"""The names of `tf.compat.v1.nn` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.v1_ops import avg_pool as avg_pool
from feedline.tf.nn_ops import avg_pool2d as avg_pool2d
from feedline.tf.nn_ops import depth_to_space as depth_to_space
from feedline.tf.v1_ops import depthwise_conv2d as depthwise_conv2d
from feedline.tf.v1_ops import depthwise_conv2d_native as depthwise_conv2d_native
from feedline.tf.special_ops import elu as elu
from feedline.tf.v1_ops import embedding_lookup as embedding_lookup
from feedline.tf.special_ops import gelu as gelu
from feedline.tf.v1_ops import in_top_k as in_top_k
from feedline.tf.special_ops import l2_loss as l2_loss
from feedline.tf.math_ops import l2_normalize as l2_normalize
from feedline.tf.special_ops import leaky_relu as leaky_relu
from feedline.tf.special_ops import log_softmax as log_softmax
from feedline.tf.v1_ops import max_pool as max_pool
from feedline.tf.nn_ops import max_pool2d as max_pool2d
from feedline.tf.v1_ops import moments as moments
from feedline.tf.math_ops import relu as relu
from feedline.tf.math_ops import relu6 as relu6
from feedline.tf.special_ops import selu as selu
from feedline.tf.math_ops import sigmoid as sigmoid
from feedline.tf.special_ops import silu as silu
from feedline.tf.v1_ops import softmax as softmax
from feedline.tf.math_ops import softplus as softplus
from feedline.tf.special_ops import softsign as softsign
from feedline.tf.nn_ops import space_to_depth as space_to_depth
from feedline.tf.special_ops import silu as swish
from feedline.tf.math_ops import tanh as tanh
from feedline.tf.math_ops import top_k as top_k
from feedline.tf.math_ops import zero_fraction as zero_fraction

__all__ = [
    "avg_pool",
    "avg_pool2d",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "elu",
    "embedding_lookup",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "max_pool",
    "max_pool2d",
    "moments",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "space_to_depth",
    "swish",
    "tanh",
    "top_k",
    "zero_fraction",
]
