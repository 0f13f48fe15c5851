"""The names of `tf.compat.v1.keras.applications.vgg16` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import caffe as preprocess_input

__all__ = [
    "preprocess_input",
]
