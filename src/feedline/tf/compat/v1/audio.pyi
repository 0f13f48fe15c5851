"""The names of `tf.compat.v1.audio` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.io_ops import decode_wav as decode_wav
from feedline.tf.io_ops import encode_wav as encode_wav

__all__ = [
    "decode_wav",
    "encode_wav",
]
