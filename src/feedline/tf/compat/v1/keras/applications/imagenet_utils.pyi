"""The names of `tf.compat.v1.keras.applications.imagenet_utils` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import preprocess_input as preprocess_input

__all__ = [
    "preprocess_input",
]
