"""The names of `tf.keras` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras import applications as applications
from feedline.tf.keras import preprocessing as preprocessing
from feedline.tf.keras import utils as utils

__all__ = [
    "applications",
    "preprocessing",
    "utils",
]
