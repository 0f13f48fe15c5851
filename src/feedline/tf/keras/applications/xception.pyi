"""The names of `tf.keras.applications.xception` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import scaled as preprocess_input

__all__ = [
    "preprocess_input",
]
