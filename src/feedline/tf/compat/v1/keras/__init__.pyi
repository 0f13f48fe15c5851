"""The names of `tf.compat.v1.keras` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.compat.v1.keras import applications as applications
from feedline.tf.compat.v1.keras import preprocessing as preprocessing
from feedline.tf.compat.v1.keras import utils as utils

__all__ = [
    "applications",
    "preprocessing",
    "utils",
]
