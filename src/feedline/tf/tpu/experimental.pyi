"""The names of `tf.tpu.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ignored as initialize_tpu_system
from feedline.tf.runtime import ignored as shutdown_tpu_system

__all__ = [
    "initialize_tpu_system",
    "shutdown_tpu_system",
]
