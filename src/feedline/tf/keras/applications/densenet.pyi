"""The names of `tf.keras.applications.densenet` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import normalized as preprocess_input

__all__ = [
    "preprocess_input",
]
