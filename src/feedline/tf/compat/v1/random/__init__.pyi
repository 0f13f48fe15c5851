"""The names of `tf.compat.v1.random` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.random_ops import RandomGenerator as Generator
from feedline.tf.random_ops import categorical as categorical
from feedline.tf.random_ops import stateless_fold_in as fold_in
from feedline.tf.random_ops import gamma as gamma
from feedline.tf.random_ops import get_global_generator as get_global_generator
from feedline.tf.v1_ops import get_seed as get_seed
from feedline.tf.v1_ops import multinomial as multinomial
from feedline.tf.random_ops import normal as normal
from feedline.tf.v1_ops import random_poisson as poisson
from feedline.tf.v1_graph import set_random_seed as set_random_seed
from feedline.tf.random_ops import set_seed as set_seed
from feedline.tf.random_ops import shuffle as shuffle
from feedline.tf.random_ops import stateless_split as split
from feedline.tf.random_ops import stateless_categorical as stateless_categorical
from feedline.tf.v1_ops import stateless_multinomial as stateless_multinomial
from feedline.tf.random_ops import stateless_normal as stateless_normal
from feedline.tf.random_ops import stateless_truncated_normal as stateless_truncated_normal
from feedline.tf.random_ops import stateless_uniform as stateless_uniform
from feedline.tf.random_ops import truncated_normal as truncated_normal
from feedline.tf.random_ops import uniform as uniform
from feedline.tf.compat.v1.random import experimental as experimental

__all__ = [
    "Generator",
    "categorical",
    "fold_in",
    "gamma",
    "get_global_generator",
    "get_seed",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "experimental",
]
