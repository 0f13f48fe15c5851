"""The names of `tf.random.experimental` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.random_ops import RandomGenerator as Generator
from feedline.tf.random_ops import get_global_generator as get_global_generator
from feedline.tf.random_ops import index_shuffle as index_shuffle
from feedline.tf.random_ops import stateless_fold_in as stateless_fold_in
from feedline.tf.random_ops import stateless_shuffle as stateless_shuffle
from feedline.tf.random_ops import stateless_split as stateless_split

__all__ = [
    "Generator",
    "get_global_generator",
    "index_shuffle",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]
