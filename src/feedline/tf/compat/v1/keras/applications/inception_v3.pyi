"""The names of `tf.compat.v1.keras.applications.inception_v3` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import scaled as preprocess_input

__all__ = [
    "preprocess_input",
]
