"""`keras.utils`: datasets from folders of images, texts and sounds, and from time series."""

from __future__ import annotations

from feedline.keras.utils.audio import audio_dataset_from_directory
from feedline.keras.utils.images import image_dataset_from_directory
from feedline.keras.utils.sequences import pad_sequences
from feedline.keras.utils.texts import text_dataset_from_directory
from feedline.keras.utils.timeseries import timeseries_dataset_from_array

__all__ = [
    "audio_dataset_from_directory",
    "image_dataset_from_directory",
    "pad_sequences",
    "text_dataset_from_directory",
    "timeseries_dataset_from_array",
]
