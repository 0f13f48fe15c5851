"""Random choices and numbers, as TensorFlow's kernels draw them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline import kernels
from feedline.random import philox

# Every stateless op mixes its seed into a stream with a Philox block under this key.
MIX_KEY = (0x3EC8F720, 0x02461E29)
# A stateful op reserves this many blocks for each number it draws.
RESERVED = 256
LOW = 0xFFFFFFFF


def log_weights(weights: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of weights in their own dtype, correctly rounded; that of 0 is -inf.

    NumPy's float32 logarithm is one unit off for a quarter of all numbers, so it is taken in float64 and rounded.

    >>> from feedline.random.sampling import log_weights
    >>> log_weights(np.array([1, 0.5, 0], np.float32))
    array([ 0.       , -0.6931472,       -inf], dtype=float32)
    """
    with np.errstate(divide="ignore"):
        result: NDArray[Any] = np.log(weights.astype(np.float64)).astype(weights.dtype)
    return result


def pick(words: NDArray[np.uint32], logits: NDArray[np.float64]) -> NDArray[np.int64]:
    """One choice among k per pair of words, with odds exp(logits): k logits, or a row of k for each choice.

    >>> from feedline.random.sampling import pick
    >>> pick(philox.words(87654321, 4, 0, 8), np.log([0.5, 0.3, 0.2]))
    array([0, 2, 0, 0])

    A logit that is not finite is never chosen.

    >>> pick(philox.words(87654321, 4, 0, 8), np.array([-np.inf, 0, -np.inf]))
    array([1, 1, 1, 1])
    """
    finite = np.isfinite(logits)
    top = np.max(logits, axis=-1, keepdims=True, where=finite, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        odds = np.where(finite, np.exp(logits - top), 0.0)
    sums = np.cumsum(odds, axis=-1)
    target = _unit_doubles(words) * sums[..., -1]
    chosen: NDArray[np.int64]
    if sums.ndim == 1:
        chosen = sums.searchsorted(target, side="right").astype(np.int64, copy=False)
    else:
        chosen = (sums <= target[:, None]).sum(axis=-1, dtype=np.int64)
    return chosen


def _unit_doubles(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """A double in [0, 1) for each pair of words taken as the seed of a stateless op."""
    n = len(words) // 2
    counters = np.zeros((n, 4), np.uint32)
    counters[:, 0] = words[0::2]
    counters[:, 2] = words[1::2]
    mixed = kernels.philox_blocks(counters, np.full((n, 2), MIX_KEY, np.uint32))
    counters[:, :2] = 0
    counters[:, 2:] = mixed[:, 2:]
    drawn = kernels.philox_blocks(counters, np.ascontiguousarray(mixed[:, :2])).astype(np.uint64)
    mantissa = ((drawn[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | drawn[:, 1]
    return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0


def uniform(seed: int, seed2: int, call_index: int, n: int) -> NDArray[np.float32]:
    """The results of n consecutive calls of `tf.random.uniform([])`, from call number `call_index` of the op on.

    >>> from feedline.random.sampling import uniform
    >>> uniform(87654321, 5, 0, 3)
    array([0.38831127, 0.31686926, 0.42907262], dtype=float32)
    >>> uniform(87654321, 5, 2, 1)
    array([0.42907262], dtype=float32)
    """
    seed, seed2 = seed & philox.MASK64, seed2 & philox.MASK64
    block = np.arange(call_index, call_index + n, dtype=np.uint64) * np.uint64(RESERVED)
    counters = np.empty((n, 4), np.uint32)
    counters[:, 0] = block & np.uint64(LOW)
    counters[:, 1] = block >> np.uint64(32)
    counters[:, 2:] = seed2 & LOW, seed2 >> 32
    drawn = kernels.philox_blocks(counters, np.full((n, 2), (seed & LOW, seed >> 32), np.uint32))[:, 0]
    return ((drawn & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
