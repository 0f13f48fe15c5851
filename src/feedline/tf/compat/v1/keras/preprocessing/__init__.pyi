"""The names of `tf.compat.v1.keras.preprocessing` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_ops import image_dataset_from_directory as image_dataset_from_directory
from feedline.tf.keras_ops import text_dataset_from_directory as text_dataset_from_directory
from feedline.tf.keras_ops import timeseries_dataset_from_array as timeseries_dataset_from_array
from feedline.tf.compat.v1.keras.preprocessing import sequence as sequence

__all__ = [
    "image_dataset_from_directory",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
    "sequence",
]
