"""The names of `tf.config.threading` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ignored as set_inter_op_parallelism_threads
from feedline.tf.runtime import ignored as set_intra_op_parallelism_threads

__all__ = [
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]
