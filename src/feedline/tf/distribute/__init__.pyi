"""The names of `tf.distribute` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import PipelineContext as InputContext
from feedline.tf.runtime import OneDevice as MirroredStrategy
from feedline.tf.runtime import OneDevice as MultiWorkerMirroredStrategy
from feedline.tf.runtime import OneDevice as OneDeviceStrategy
from feedline.tf.runtime import Strategy as Strategy
from feedline.tf.runtime import OneDevice as TPUStrategy
from feedline.tf.runtime import get_strategy as get_strategy
from feedline.tf.runtime import has_strategy as has_strategy
from feedline.tf.distribute import cluster_resolver as cluster_resolver

__all__ = [
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "Strategy",
    "TPUStrategy",
    "get_strategy",
    "has_strategy",
    "cluster_resolver",
]
