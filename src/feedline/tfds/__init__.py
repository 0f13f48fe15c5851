"""`tfds`: the folders that tensorflow_datasets writes, read without TensorFlow."""

from __future__ import annotations

import sys as _sys

from feedline.naming import show_public as _show_public
from feedline.tfds import core, decode, features
from feedline.tfds.builder import (
    builder,
    builder_from_directories,
    builder_from_directory,
    disable_progress_bar,
    enable_progress_bar,
    load,
)
from feedline.tfds.reading import ReadConfig
from feedline.tfds.splits import Split, even_splits, split_for_jax_process
from feedline.tfds.views import as_dataframe, as_numpy

__all__ = [
    "ReadConfig",
    "Split",
    "as_dataframe",
    "as_numpy",
    "builder",
    "builder_from_directories",
    "builder_from_directory",
    "core",
    "decode",
    "disable_progress_bar",
    "enable_progress_bar",
    "even_splits",
    "features",
    "load",
    "split_for_jax_process",
]

_show_public(_sys.modules[__name__], core, decode, features)
