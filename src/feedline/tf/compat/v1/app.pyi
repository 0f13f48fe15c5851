"""The names of `tf.compat.v1.app` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.v1_flags import run as run
from feedline.tf import v1_flags as flags

__all__ = [
    "run",
    "flags",
]
