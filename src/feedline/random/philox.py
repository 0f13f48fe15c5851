"""Philox4x32-10, the word stream behind all of TensorFlow's seeded random numbers.

Any word can be computed without those before it, so a stream needs no state but a position.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from feedline import kernels

MASK64 = (1 << 64) - 1


def words(seed: int, seed2: int, start: int, n: int) -> NDArray[np.uint32]:
    """Words `start` to `start + n` of the stream for a pair of seeds, taken modulo 2**64.

    >>> from feedline.random import philox
    >>> philox.words(87654321, 42, 0, 4)
    array([2985944072, 4132877644,  929418493,  249609589], dtype=uint32)
    >>> philox.words(87654321, 42, 2, 2)
    array([929418493, 249609589], dtype=uint32)
    """
    return kernels.philox(seed & MASK64, seed2 & MASK64, start, n)
