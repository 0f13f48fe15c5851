"""`tfds.core`: the classes behind `load`."""

from __future__ import annotations

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
