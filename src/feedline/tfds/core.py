"""`tfds.core`: the classes behind `load`."""

from __future__ import annotations

import sys as _sys

from feedline.tfds.builder import DatasetBuilder
from feedline.tfds.features import FeatureConnector
from feedline.tfds.info import DatasetInfo
from feedline.tfds.splits import FileInstruction, ReadInstruction, SplitDict, SplitInfo

__all__ = [
    "DatasetBuilder",
    "DatasetInfo",
    "FeatureConnector",
    "FileInstruction",
    "ReadInstruction",
    "SplitDict",
    "SplitInfo",
]

# code that inherits from a builder imports it from tfds.core.dataset_builder
dataset_builder = _sys.modules[f"{__name__}.dataset_builder"] = _sys.modules[DatasetBuilder.__module__]
