"""The names of `tf.compat.v1.lookup` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.lookup_ops import KeyValueTensorInitializer as KeyValueTensorInitializer
from feedline.tf.lookup_ops import TensorHashTable as StaticHashTable
from feedline.tf.lookup_ops import StaticVocabularyTable as StaticVocabularyTable
from feedline.tf.lookup_ops import TextFileIndex as TextFileIndex
from feedline.tf.lookup_ops import TextFileInitializer as TextFileInitializer
from feedline.tf.compat.v1.lookup import experimental as experimental

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
