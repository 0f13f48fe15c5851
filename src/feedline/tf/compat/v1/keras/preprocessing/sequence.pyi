"""The names of `tf.compat.v1.keras.preprocessing.sequence` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_ops import pad_sequences as pad_sequences

__all__ = [
    "pad_sequences",
]
