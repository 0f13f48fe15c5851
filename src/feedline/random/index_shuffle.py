"""Pseudo-random permutations without memory: the position of an index is computed from the index alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from feedline import kernels
from feedline.errors import InvalidArgumentError

# The first key word of tf.random.experimental.index_shuffle; the seed's two numbers are the others.
OP_KEY = 498247692
OP_ROUNDS = 4
LOW = 0xFFFFFFFF


def index_shuffle(index: ArrayLike, seed: Sequence[int] | NDArray[Any], max_index: ArrayLike) -> Any:
    """The position of `index` in a shuffle of 0 … max_index, as in `tf.random.experimental.index_shuffle`.

    `seed` is two integers. Each of the numbers up to and including max_index is the result for exactly one index.

    >>> fl.random.index_shuffle(3, [1, 2], 9)
    np.int32(4)

    Indices may be a vector; the result has their dtype.

    >>> fl.random.index_shuffle(np.arange(10), [1, 2], 9)
    array([5, 0, 1, 4, 3, 6, 9, 8, 7, 2])

    The order is TensorFlow's, except for sizes at which TensorFlow loses an element: max_index 2**16, 2**18 … 2**58.
    From 2**60 on TensorFlow counts bits in floating point, and so does this: two indices may get the same position.
    """
    indices = _integers(index, "index")
    limits = _integers(max_index, "max_index")
    key = np.asarray(seed)
    if key.shape != (2,) or key.dtype.kind not in "iu":
        raise InvalidArgumentError(f"index_shuffle: seed must be two integers, got {seed!r}")
    # A Python int is an int32, unless it is too large for one.
    dtype = indices.dtype
    if isinstance(index, int):
        most = max(int(indices.max()), int(limits.max(initial=0)))
        dtype = np.dtype(np.int32 if most < 2**31 else np.int64 if most < 2**63 else np.uint64)
    for name, numbers in (("index", indices), ("max_index", limits)):
        if numbers.size and int(numbers.min()) < 0:
            raise InvalidArgumentError(f"index_shuffle: {name} must be >= 0 but was {int(numbers.min())}")
    try:
        wide, limits = np.broadcast_arrays(indices.astype(np.uint64), limits.astype(np.uint64))
    except ValueError:
        raise InvalidArgumentError(
            f"index_shuffle: index of shape {indices.shape} and max_index of shape {limits.shape} cannot be broadcast"
        ) from None
    wrong = wide > limits
    if wrong.any():
        raise InvalidArgumentError(
            f"index_shuffle: max_index must be >= index, but {limits[wrong][0]} < {wide[wrong][0]}"
        )
    if limits.size and int(limits.max()) > np.iinfo(dtype).max:
        raise InvalidArgumentError(
            f"index_shuffle: max_index {int(limits.max())} does not fit {dtype}, the type of index; cast index to a "
            "wider type"
        )
    words = (OP_KEY, int(key[0]), int(key[1]))
    out = np.empty(wide.shape, np.uint64)
    for limit in np.unique(limits).tolist():
        chosen = limits == limit
        out[chosen] = permute(wide[chosen].view(np.int64), words, limit, OP_ROUNDS).view(np.uint64)
    result = out.astype(dtype)
    return result[()]


def permute(index: NDArray[np.int64], key: tuple[int, int, int], max_index: int, rounds: int) -> NDArray[np.int64]:
    """The position of each index in the permutation of 0 … max_index chosen by a key of three numbers.

    Only the low 32 bits of each number count.

    >>> from feedline.random.index_shuffle import permute
    >>> permute(np.arange(5), (1, 2, 3), 4, rounds=8)
    array([0, 2, 4, 1, 3])
    """
    k0, k1, k2 = (number & LOW for number in key)
    return kernels.permute(np.ascontiguousarray(index), k0, k1, k2, max_index, rounds)


def _integers(value: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise InvalidArgumentError(f"index_shuffle: {name} must be an integer or a vector of integers, got {value!r}")
    return array
