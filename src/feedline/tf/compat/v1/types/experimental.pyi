"""The names of `tf.compat.v1.types.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.tensor import TensorLike as TensorLike

__all__ = [
    "TensorLike",
]
