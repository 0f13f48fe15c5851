"""`tf.train`: the messages of TFRecord files, and checkpoints."""

from __future__ import annotations

from feedline.train.checkpoint import Checkpoint
from feedline.train.checkpoint_manager import CheckpointManager
from feedline.train.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
    example,
)

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "example",
]
