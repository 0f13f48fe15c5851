"""The names of `tf.keras.applications.resnet50` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_applications import caffe as preprocess_input

__all__ = [
    "preprocess_input",
]
