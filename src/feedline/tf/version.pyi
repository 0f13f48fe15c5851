"""The names of `tf.version` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.names import VERSION as VERSION

__all__ = [
    "VERSION",
]
