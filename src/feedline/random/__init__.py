"""TensorFlow's random numbers, bit for bit: the same seeds give the same order.

`philox` generates the words, `seeds` decides which stream an operator gets, `index_shuffle` and `sampling` use them.
`element` makes the generators for user functions.

>>> fl.random.set_seed(7)
>>> fl.random.set_seed(None)
>>> fl.random.index_shuffle(np.arange(5), [1, 2], 4)
array([2, 0, 1, 4, 3])
"""

from __future__ import annotations

from feedline.random.element import element_rng
from feedline.random.index_shuffle import index_shuffle
from feedline.random.seeds import FunctionScope, SeedGenerator, function_scope, get_seed, set_seed

__all__ = [
    "FunctionScope",
    "SeedGenerator",
    "element_rng",
    "function_scope",
    "get_seed",
    "index_shuffle",
    "set_seed",
]
