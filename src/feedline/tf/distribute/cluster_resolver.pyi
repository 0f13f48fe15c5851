"""The names of `tf.distribute.cluster_resolver` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ClusterResolver as TPUClusterResolver

__all__ = [
    "TPUClusterResolver",
]
