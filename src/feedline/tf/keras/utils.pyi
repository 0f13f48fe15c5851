"""The names of `tf.keras.utils` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras_ops import audio_dataset_from_directory as audio_dataset_from_directory
from feedline.tf.keras_ops import image_dataset_from_directory as image_dataset_from_directory
from feedline.tf.keras_ops import pad_sequences as pad_sequences
from feedline.tf.keras_ops import text_dataset_from_directory as text_dataset_from_directory
from feedline.tf.keras_ops import timeseries_dataset_from_array as timeseries_dataset_from_array

__all__ = [
    "audio_dataset_from_directory",
    "image_dataset_from_directory",
    "pad_sequences",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
]
