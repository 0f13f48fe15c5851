"""The names of `tf.train` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.train import BytesList as BytesList
from feedline.train import Checkpoint as Checkpoint
from feedline.train import CheckpointManager as CheckpointManager
from feedline.train import Example as Example
from feedline.train import Feature as Feature
from feedline.train import FeatureList as FeatureList
from feedline.train import FeatureLists as FeatureLists
from feedline.train import Features as Features
from feedline.train import FloatList as FloatList
from feedline.train import Int64List as Int64List
from feedline.train import SequenceExample as SequenceExample
from feedline.tf.runtime import checkpoints_iterator as checkpoints_iterator
from feedline.tf.runtime import latest_checkpoint as latest_checkpoint

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
    "checkpoints_iterator",
    "latest_checkpoint",
]
