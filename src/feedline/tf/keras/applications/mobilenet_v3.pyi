"""The names of `tf.keras.applications.mobilenet_v3` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import unchanged as preprocess_input

__all__ = [
    "preprocess_input",
]
