"""The names of `tf.contrib` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf import contrib_data as data

__all__ = [
    "data",
]
