"""`tf.random`: TensorFlow's random numbers. Stateless ones are TensorFlow's own; others depend on the global seed.

A stateful function called for an element of a dataset draws from the generator of that element, so that the results do
not depend on threads; elsewhere it draws from the stream of its seed, as in TensorFlow.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import FailedPreconditionError, InvalidArgumentError, InvalidTypeError, UnimplementedError
from feedline.random import philox, seeds
from feedline.random.element import element_rng
from feedline.random.index_shuffle import index_shuffle as _index_shuffle
from feedline.random.index_shuffle import permute
from feedline.random.sampling import MIX_KEY
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import as_dtype
from feedline.tf.tensor import Tensor, as_tensor, integer, ints, tensor_of
from feedline.tf.tracing.graph import per_element
from feedline.tf.tracing.symbolic import recorded_method

Words = Callable[[int, int], Array]
"""A stream of random words: a function that returns n words from a given position on."""
_RESERVED = 256
"""How many blocks of four words a stateful op keeps for each number."""

_streams: weakref.WeakKeyDictionary[Any, dict[Any, int]] = weakref.WeakKeyDictionary()


def set_seed(seed: object) -> None:
    """Sets the global seed, from which all random functions and datasets without a seed draw.

    >>> import feedline.tf as tf
    >>> tf.random.set_seed(7)
    >>> first = tf.random.uniform([])
    >>> tf.random.set_seed(7)
    >>> (tf.random.uniform([]) == first).numpy()
    np.True_
    >>> tf.random.set_seed(None)
    """
    seeds.set_seed(None if seed is None else integer(seed, "seed"))


def _stateful(name: str, seed: object, count: int, dtype: np.dtype[Any]) -> Words:
    """The words for one call of a stateful function that makes `count` numbers."""
    given = None if seed is None else integer(seed, "seed")
    try:
        pair = None if given is None else seeds.get_seed(given)
        rng = element_rng(None if pair is None else pair[0] << 32 | pair[1])
    except FailedPreconditionError:
        pass
    else:
        drawn = rng.integers(0, 1 << 32, 0, np.uint32)

        def from_rng(start: int, n: int) -> Array:
            nonlocal drawn
            if start + n > len(drawn):
                drawn = np.concatenate([drawn, rng.integers(0, 1 << 32, start + n - len(drawn), np.uint32)])
            return drawn[start : start + n]

        return from_rng
    first, second = seeds.get_seed(given)
    begin = 0
    if given is not None or seeds.current_scope() is not None:  # further calls of the same op continue its stream
        used = _streams.setdefault(seeds._global, {})
        key = name, dtype, first, second
        begin = used.get(key, 0)
        used[key] = begin + count * _RESERVED
    return lambda start, n: philox.words(first, second, begin * 4 + start, n)


def _stateless(seed: object) -> Words:
    """The words for a seed of two numbers."""
    pair = as_tensor(seed)._array
    if pair.shape != (2,) or pair.dtype.kind not in "iu":
        raise InvalidArgumentError(f"seed must have shape [2], not {list(pair.shape)}")
    low, high = (int(v) & philox.MASK64 for v in pair)
    counter = np.array([[low & 0xFFFFFFFF, low >> 32, high & 0xFFFFFFFF, high >> 32]], np.uint32)
    mixed = [int(v) for v in kernels.philox_blocks(counter, np.array([MIX_KEY], np.uint32))[0]]
    key, count = mixed[0] | mixed[1] << 32, mixed[2] | mixed[3] << 32
    return lambda start, n: philox.words(key, count, start, n)


# Distributions


def _unit(words: Words, shape: list[int], dtype: np.dtype[Any]) -> Array:
    """Floats in [0, 1)."""
    n = math.prod(shape)
    if dtype == np.float64:
        pairs = words(0, 2 * n).astype(np.uint64)
        mantissa = (pairs[0::2] & np.uint64(0xFFFFF)) << np.uint64(32) | pairs[1::2]
        return ((mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0).reshape(shape)
    drawn = words(0, n)
    if dtype == np.float16:
        bits = (drawn & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(15 << 10)
        return (bits.view(np.float16) - np.float16(1)).reshape(shape)
    if dtype != np.float32:
        return ((drawn & np.uint32(0x7F)) / 128).astype(dtype).reshape(shape)
    made: Array = _floats(drawn)
    return made.reshape(shape)


def _floats(drawn: Array) -> Array:
    made: Array = ((drawn & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
    return made


def _whole(words: Words, shape: list[int], dtype: np.dtype[Any]) -> Array:
    """Integers of the whole range of a dtype."""
    n = math.prod(shape)
    if dtype.itemsize == 8:
        pairs = words(0, 2 * n).astype(np.uint64)
        return (pairs[0::2] | pairs[1::2] << np.uint64(32)).view(dtype).reshape(shape)
    return words(0, n).view(dtype).reshape(shape)


def _normal(words: Words, shape: list[int], dtype: np.dtype[Any]) -> Array:
    """Normally distributed numbers, by the method of Box and Muller."""
    n = math.prod(shape)
    if dtype == np.float64:
        blocks = words(0, (n + 1) // 2 * 4)
        unit = _unit(functools.partial(_part, blocks), [len(blocks) // 2], dtype)
        return _box_muller(unit)[:n].reshape(shape)
    drawn = _floats(words(0, (n + 3) // 4 * 4))
    return _box_muller(drawn)[:n].astype(dtype).reshape(shape)


def _box_muller(unit: Array) -> Array:
    first = np.maximum(unit[0::2], np.asarray(1e-7, unit.dtype)).astype(np.float64)
    angle = (np.asarray(2 * math.pi, unit.dtype) * unit[1::2]).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log(first)).astype(unit.dtype)
    out = np.empty_like(unit)
    out[0::2] = np.sin(angle).astype(unit.dtype) * radius
    out[1::2] = np.cos(angle).astype(unit.dtype) * radius
    return out


def _part(words: Array, start: int, count: int) -> Array:
    return words[start : start + count]


def _truncated(words: Words, shape: list[int], dtype: np.dtype[Any]) -> Array:
    """Normally distributed numbers between -2 and 2; others are drawn again."""
    n = math.prod(shape)
    per = 2 if dtype == np.float64 else 4
    out = np.empty((n + per - 1) // per * per, np.float64 if dtype == np.float64 else np.float32)
    for group in range(len(out) // per):
        found: list[Any] = []
        at = group * _RESERVED * per
        while len(found) < per:
            drawn = words(at, 32)
            at += 32
            unit = _unit(functools.partial(_part, drawn), [16], dtype) if dtype == np.float64 else _floats(drawn)
            found += [v for v in _box_muller(unit) if abs(v) < 2]
        out[group * per : (group + 1) * per] = found[:per]
    return out[:n].astype(dtype).reshape(shape)


def _uniform(words: Words, shape: object, minval: object, maxval: object, dtype: Any) -> Tensor:
    kind, sizes = as_dtype(dtype).dtype, ints(shape)
    if kind.kind in "iu":
        if minval is None and maxval is None:
            return tensor_of(_whole(words, sizes, kind))
        if maxval is None:
            raise InvalidArgumentError(f"maxval must be given for the integer dtype {kind}")
        low, high = as_tensor(0 if minval is None else minval, kind)._array, as_tensor(maxval, kind)._array
        if (low >= high).any():
            raise InvalidArgumentError(f"Need minval < maxval, got {low} >= {high}")
        unsigned = np.dtype(np.uint64 if kind.itemsize == 8 else np.uint32)
        span = (high.astype(np.int64) - low.astype(np.int64)).astype(unsigned)
        made = _whole(words, sizes, unsigned) % span
        return as_tensor((made.astype(np.int64) + low).astype(kind).reshape(sizes))
    if kind.kind not in "fV":
        raise InvalidTypeError(f"uniform makes floats and integers, not {kind}")
    low = as_tensor(0 if minval is None else minval, kind)._array
    high = as_tensor(1 if maxval is None else maxval, kind)._array
    return as_tensor(_unit(words, sizes, kind) * (high - low) + low)


def uniform(
    shape: object,
    minval: object = 0,
    maxval: object = None,
    dtype: Any = types.float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Uniformly distributed floats in [minval, maxval), or integers.

    >>> import feedline.tf as tf
    >>> x = tf.random.uniform([100], maxval=5, dtype=tf.int32)
    >>> x.shape, (0 <= x.numpy()).all() and (x.numpy() < 5).all()
    (fl.TensorShape([100]), np.True_)
    """
    kind = as_dtype(dtype).dtype
    name = "RandomUniformInt" if kind.kind in "iu" else "RandomUniform"
    return _uniform(_stateful(name, seed, math.prod(ints(shape)), kind), shape, minval, maxval, dtype)


def normal(
    shape: object,
    mean: object = 0.0,
    stddev: object = 1.0,
    dtype: Any = types.float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed floats.

    >>> import feedline.tf as tf
    >>> tf.random.normal([2, 3]).shape
    fl.TensorShape([2, 3])
    """
    return _scaled(
        _normal,
        _stateful("RandomStandardNormal", seed, math.prod(ints(shape)), as_dtype(dtype).dtype),
        shape,
        mean,
        stddev,
        dtype,
    )


def truncated_normal(
    shape: object,
    mean: object = 0.0,
    stddev: object = 1.0,
    dtype: Any = types.float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed floats at most two standard deviations from the mean.

    >>> import feedline.tf as tf
    >>> abs(tf.random.truncated_normal([100]).numpy()).max() < 2
    np.True_
    """
    return _scaled(
        _truncated,
        _stateful("TruncatedNormal", seed, math.prod(ints(shape)), as_dtype(dtype).dtype),
        shape,
        mean,
        stddev,
        dtype,
    )


def _scaled(draw: Any, words: Words, shape: object, mean: object, stddev: object, dtype: Any) -> Tensor:
    kind = as_dtype(dtype).dtype
    if kind.kind not in "fV":
        raise InvalidTypeError(f"normal makes floats, not {kind}")
    return as_tensor(draw(words, ints(shape), kind) * as_tensor(stddev, kind)._array + as_tensor(mean, kind)._array)


def shuffle(value: object, seed: object = None, name: str | None = None) -> Tensor:
    """The rows of a tensor in random order.

    >>> import feedline.tf as tf
    >>> sorted(tf.random.shuffle(tf.range(5)).numpy().tolist())
    [0, 1, 2, 3, 4]
    """
    array = as_tensor(value)._array
    if not array.ndim or len(array) < 2:
        return tensor_of(array)
    return _shuffled(array, _stateful("RandomShuffle", seed, len(array), array.dtype))


def _shuffled(array: Array, words: Words) -> Tensor:
    if not array.ndim or len(array) < 2:
        return tensor_of(array)
    order = np.arange(len(array))
    for i, word in enumerate(words(0, len(array) - 1)):
        j = i + int(word) % (len(array) - i)
        order[i], order[j] = order[j], order[i]
    return tensor_of(array[order])


def _categorical(words: Words, logits: object, num_samples: object, dtype: Any) -> Tensor:
    rows, count = as_tensor(logits)._array, integer(num_samples, "num_samples")
    if rows.ndim != 2:
        raise InvalidArgumentError(f"logits should be a matrix, got shape {rows.shape}")
    unit = _unit(words, [len(rows), count], np.dtype(np.float64))
    wide = rows.astype(np.float64)
    finite = np.isfinite(wide)
    top = np.max(np.where(finite, wide, -np.inf), 1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        sums = np.cumsum(np.where(finite, np.exp(wide - top), 0.0), 1)
    found = (sums[:, None, :] <= (unit * sums[:, -1:])[:, :, None]).sum(2)
    return tensor_of(found.astype(as_dtype(dtype or types.int64).dtype))


def categorical(
    logits: object, num_samples: object, dtype: Any = None, seed: object = None, name: str | None = None
) -> Tensor:
    """Numbers of classes, with odds exp(logits), for each row.

    >>> import feedline.tf as tf
    >>> tf.random.categorical([[0.0, -1e9]], 3).numpy()
    array([[0, 0, 0]])
    """
    count = as_tensor(logits)._array.shape[0] * integer(num_samples, "num_samples")
    return _categorical(_stateful("Multinomial", seed, count, np.dtype(np.int64)), logits, num_samples, dtype)


def _numpy_generator(name: str, seed: object) -> np.random.Generator:
    words = _stateful(name, seed, 1, np.dtype(np.float64))
    return np.random.default_rng([int(w) for w in words(0, 4)])


def gamma(
    shape: object,
    alpha: object,
    beta: object = None,
    dtype: Any = types.float32,
    seed: object = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a gamma distribution: `shape` of them for each `alpha` and `beta`.

    >>> import feedline.tf as tf
    >>> tf.random.gamma([2], [0.5, 1.5]).shape
    fl.TensorShape([2, 2])
    """
    kind = as_dtype(dtype).dtype
    power = as_tensor(alpha, kind)._array
    rate = as_tensor(1 if beta is None else beta, kind)._array
    power, rate = np.broadcast_arrays(power, rate)
    made = _numpy_generator("RandomGamma", seed).gamma(power, 1.0, (*ints(shape), *power.shape))
    return as_tensor(np.maximum(made / rate, np.finfo(kind).tiny).astype(kind))


def poisson(
    shape: object, lam: object, dtype: Any = types.float32, seed: object = None, name: str | None = None
) -> Tensor:
    """Numbers from a Poisson distribution: `shape` of them for each `lam`.

    >>> import feedline.tf as tf
    >>> tf.random.poisson([2], [0.5, 1.5]).shape
    fl.TensorShape([2, 2])
    """
    rate = as_tensor(lam)._array
    made = _numpy_generator("RandomPoisson", seed).poisson(rate, (*ints(shape), *rate.shape))
    return as_tensor(np.asarray(made).astype(as_dtype(dtype).dtype))


# Stateless


def stateless_uniform(
    shape: object,
    seed: object,
    minval: object = 0,
    maxval: object = None,
    dtype: Any = types.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Uniformly distributed numbers that depend on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.random.stateless_uniform([2], seed=[1, 2]).numpy()
    array([0.8440604 , 0.19204533], dtype=float32)
    """
    return _uniform(_stateless(seed), shape, minval, maxval, dtype)


def stateless_normal(
    shape: object,
    seed: object,
    mean: object = 0.0,
    stddev: object = 1.0,
    dtype: Any = types.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Normally distributed floats that depend on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.random.stateless_normal([2], seed=[1, 2]).shape
    fl.TensorShape([2])
    """
    return _scaled(_normal, _stateless(seed), shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: object,
    seed: object,
    mean: object = 0.0,
    stddev: object = 1.0,
    dtype: Any = types.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Truncated normally distributed floats that depend on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.random.stateless_truncated_normal([2], seed=[1, 2]).shape
    fl.TensorShape([2])
    """
    return _scaled(_truncated, _stateless(seed), shape, mean, stddev, dtype)


def stateless_categorical(
    logits: object, num_samples: object, seed: object, dtype: Any = types.int64, name: str | None = None
) -> Tensor:
    """Numbers of classes that depend on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.random.stateless_categorical([[0.0, -1e9]], 3, seed=[1, 2]).numpy()
    array([[0, 0, 0]])
    """
    return _categorical(_stateless(seed), logits, num_samples, dtype)


def stateless_fold_in(seed: object, data: object, alg: object = "auto_select") -> Tensor:
    """A seed made from a seed and a number.

    >>> import feedline.tf as tf
    >>> tf.random.experimental.stateless_fold_in([1, 2], 3).shape
    fl.TensorShape([2])
    """
    number = as_tensor(data)
    first = _whole(_stateless(seed), [], number._array.dtype)
    return as_tensor(np.stack([first, number._array]))


def stateless_split(seed: object, num: object = 2, alg: object = "auto_select") -> Tensor:
    """Several seeds made from one.

    >>> import feedline.tf as tf
    >>> tf.random.experimental.stateless_split([1, 2], num=3).shape
    fl.TensorShape([3, 2])
    """
    return tensor_of(_whole(_stateless(seed), [integer(num, "num"), 2], as_tensor(seed)._array.dtype))


def stateless_shuffle(value: object, seed: object, alg: object = "auto_select", name: str | None = None) -> Tensor:
    """The rows of a tensor in an order that depends on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.random.experimental.stateless_shuffle(tf.range(5), seed=[1, 2]).numpy()
    array([0, 2, 1, 4, 3], dtype=int32)
    """
    return _shuffled(as_tensor(value)._array, _stateless(seed))


def index_shuffle(index: object, seed: object, max_index: object) -> Tensor:
    """The position of an index in a random permutation, computed without the rest of the permutation.

    >>> import feedline.tf as tf
    >>> tf.random.experimental.index_shuffle(0, [5, 9], 10).shape
    fl.TensorShape([])
    """
    place = as_tensor(index)
    found = _index_shuffle(place._array, as_tensor(seed)._array, as_tensor(max_index)._array)
    return as_tensor(np.asarray(found).astype(place._array.dtype))


def random_index_shuffle(
    index: object, seed: object, max_index: object, rounds: int = 4, name: str | None = None
) -> Tensor:
    """As `tf.random.experimental.index_shuffle`, with a seed of three numbers and a number of rounds.

    >>> import feedline.tf as tf
    >>> tf.random_index_shuffle(3, [1, 2, 3], 9).shape
    fl.TensorShape([])
    """
    place, key, most = as_tensor(index), as_tensor(seed)._array, integer(max_index, "max_index")
    array = place._array
    if key.shape != (3,):
        raise InvalidArgumentError(f"random_index_shuffle: seed must be three numbers, got the shape {key.shape}")
    if array.size and not 0 <= array.min() <= array.max() <= most:
        raise InvalidArgumentError(f"random_index_shuffle: index must be from 0 to {most}")
    if most > np.iinfo(array.dtype).max:
        raise InvalidArgumentError(
            f"random_index_shuffle: max_index {most} does not fit {array.dtype}, the type of index"
        )
    words = int(key[0]), int(key[1]), int(key[2])
    found = permute(array.astype(np.int64).ravel(), words, most, rounds)
    return as_tensor(found.astype(array.dtype).reshape(array.shape))


class RandomGenerator:
    """`tf.random.Generator`: random numbers from a state of its own, by the algorithm Philox. They are TensorFlow's.

    >>> import feedline.tf as tf
    >>> g = tf.random.Generator.from_seed(1)
    >>> g.normal([2]).numpy(), g.state.numpy()
    (array([ 0.43842274, -0.53439844], dtype=float32), array([513,   0,   0]))
    """

    def __init__(self, copy_from: RandomGenerator | None = None, state: object = None, alg: object = None) -> None:
        if (copy_from is None) is (state is None):
            raise ValueError("Generator: give either copy_from, or state and alg")
        self._state: list[int] = list(copy_from._state) if copy_from is not None else _state_of(state)
        _check_algorithm(alg)

    @classmethod
    def from_seed(cls, seed: object, alg: object = None) -> RandomGenerator:
        """A generator whose numbers depend on the seed."""
        return cls(state=_state_of(seed, seed=True), alg=alg)

    @classmethod
    def from_state(cls, state: object, alg: object) -> RandomGenerator:
        """A generator that continues from a state: two numbers that count, and a key."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: object, counter: object, alg: object) -> RandomGenerator:
        """A generator with a key and a counter."""
        return cls(state=[*_words_of(counter), *_words_of(key)], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: object = None) -> RandomGenerator:
        """A generator with a state from the operating system."""
        import os

        return cls(state=[int.from_bytes(os.urandom(8), "big") for _ in range(_STATE_SIZE)], alg=alg)

    @property
    def state(self) -> Tensor:
        """The counter and the key."""
        return tensor_of(np.array(self._state, np.uint64).view(np.int64))

    @property
    def key(self) -> Tensor:
        """The last number of the state."""
        return tensor_of(self.state._array[-1:].reshape(()))

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1 is Philox."""
        return 1

    def _drawn(self, shape: object) -> Words:
        """The words for numbers of a shape. The counter moves on by what TensorFlow reserves for them."""
        low, high, key = self._skipped(math.prod(ints(shape)))
        start = low * 4
        if start < 1 << 61:
            return lambda at, n: philox.words(key, high, start + at, n)
        return functools.partial(_words_at, low, high, key)

    def _skipped(self, count: int) -> list[int]:
        """The state; afterwards the counter is that many numbers further."""
        with _moving:
            before = self._state
            counter = (before[0] | before[1] << 64) + count * _RESERVED
            self._state = [counter & philox.MASK64, counter >> 64 & philox.MASK64, before[2]]
        return before

    @recorded_method("Generator.uniform")
    def uniform(
        self,
        shape: object,
        minval: object = 0,
        maxval: object = None,
        dtype: Any = types.float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniformly distributed numbers."""
        return _uniform(self._drawn(shape), shape, minval, maxval, dtype)

    @recorded_method("Generator.uniform_full_int")
    def uniform_full_int(self, shape: object, dtype: Any = types.uint64, name: str | None = None) -> Tensor:
        """Integers of the whole range of a dtype."""
        return tensor_of(_whole(self._drawn(shape), ints(shape), as_dtype(dtype).dtype))

    @recorded_method("Generator.normal")
    def normal(
        self,
        shape: object,
        mean: object = 0.0,
        stddev: object = 1.0,
        dtype: Any = types.float32,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed floats."""
        return _scaled(_normal, self._drawn(shape), shape, mean, stddev, dtype)

    @recorded_method("Generator.truncated_normal")
    def truncated_normal(
        self,
        shape: object,
        mean: object = 0.0,
        stddev: object = 1.0,
        dtype: Any = types.float32,
        name: str | None = None,
    ) -> Tensor:
        """Truncated normally distributed floats."""
        return _scaled(_truncated, self._drawn(shape), shape, mean, stddev, dtype)

    @recorded_method("Generator.make_seeds")
    def make_seeds(self, count: object = 1) -> Tensor:
        """Seeds for stateless functions, one per column."""
        n = integer(count, "count")
        made = np.zeros((2, n), np.int64)
        made[0] = _whole(self._drawn([n]), [n], np.dtype(np.int64))
        return tensor_of(made)

    @per_element
    def skip(self, delta: object) -> Tensor:
        """Advances the state as if that many numbers had been drawn. Returns the state before."""
        before = self._skipped(integer(delta, "delta"))
        return tensor_of(np.array(before, np.uint64).view(np.int64))

    @per_element
    def split(self, count: int = 1) -> list[RandomGenerator]:
        """Independent generators."""
        keys = _whole(self._drawn([count]), [count], np.dtype(np.int64))
        return [RandomGenerator(state=[0, 0, int(key)]) for key in keys]

    def checkpoint_state(self) -> Any:
        """The state for `tf.train.Checkpoint`."""
        return list(self._state)

    def restore_checkpoint_state(self, state: Any) -> None:
        """Continues from a state."""
        self._state = _state_of(state)

    @per_element
    def reset(self, state: object) -> None:
        """Continues from a state."""
        self._state = _state_of(state)

    @per_element
    def reset_from_key_counter(self, key: object, counter: object) -> None:
        """Continues with a key and a counter."""
        self._state = _state_of([*_words_of(counter), *_words_of(key)])

    @per_element
    def reset_from_seed(self, seed: object) -> None:
        """Starts over from a seed."""
        self._state = _state_of(seed, seed=True)


_STATE_SIZE = 3
_moving = threading.Lock()


def _words_of(value: object) -> list[int]:
    """Integers of 64 bits, given as Python's of any size or as tensors."""
    flat = value if isinstance(value, (list, tuple)) else [value]
    return [int(v) & philox.MASK64 for item in flat for v in ([item] if isinstance(item, int) else _flat(item))]


def _flat(value: object) -> list[Any]:
    array = as_tensor(value)._array
    if array.dtype.kind not in "iu":
        raise InvalidTypeError(f"a random state is of integers, not {array.dtype}")
    found: list[Any] = array.ravel().tolist()
    return found


def _state_of(value: object, seed: bool = False) -> list[int]:
    """A state. A `seed` may be a number of any size, or have fewer numbers: zeros come before them."""
    if seed and isinstance(value, int):
        return [value >> 64 * i & philox.MASK64 for i in range(_STATE_SIZE)]
    words = _words_of(value)
    if seed:
        return [0] * (_STATE_SIZE - len(words)) + words[:_STATE_SIZE]
    if len(words) != _STATE_SIZE:
        raise InvalidArgumentError(f"the state of a Philox generator has {_STATE_SIZE} numbers, got {len(words)}")
    return words


def _check_algorithm(alg: object) -> None:
    if alg is None or str(getattr(alg, "name", alg)).lower() in ("philox", "auto_select", "1", "3"):
        return
    if str(getattr(alg, "name", alg)).lower() in ("threefry", "2"):
        raise UnimplementedError("ThreeFry is TensorFlow's on TPUs; use alg='philox'")
    raise InvalidArgumentError(f"Generator: alg must be 'philox' or 'auto_select', got {alg!r}")


def _words_at(low: int, high: int, key: int, start: int, n: int) -> Array:
    """The words from a counter on; the counter may exceed 64 bits."""
    first, last = start // 4, -(-(start + n) // 4)
    lows = np.uint64(low) + np.arange(first, last, dtype=np.uint64)
    highs = np.where(lows < np.uint64(low), np.uint64((high + 1) & philox.MASK64), np.uint64(high))
    parts = [lows & np.uint64(0xFFFFFFFF), lows >> np.uint64(32), highs & np.uint64(0xFFFFFFFF), highs >> np.uint64(32)]
    keys = np.tile(np.array([[key & 0xFFFFFFFF, key >> 32]], np.uint32), (last - first, 1))
    blocks: Array = kernels.philox_blocks(np.stack(parts, -1).astype(np.uint32), keys)
    return blocks.ravel()[start - 4 * first :][:n]


_generators: list[RandomGenerator] = []


def get_global_generator() -> RandomGenerator:
    """The generator of the process.

    >>> import feedline.tf as tf
    >>> tf.random.get_global_generator() is tf.random.get_global_generator()
    True
    """
    if not _generators:
        _generators.append(RandomGenerator.from_non_deterministic_state())
    return _generators[0]


def random_crop(value: object, size: object, seed: object = None, name: str | None = None) -> Tensor:
    """A part of a tensor of the given size, at a random place.

    >>> import feedline.tf as tf
    >>> tf.image.random_crop(tf.zeros([8, 8, 3]), [4, 4, 3]).shape
    fl.TensorShape([4, 4, 3])
    """
    return _cropped(value, size, lambda n: uniform([n], maxval=2**31 - 1, dtype=types.int32, seed=seed))


def stateless_random_crop(value: object, size: object, seed: object, name: str | None = None) -> Tensor:
    """`random_crop` at a place that depends on the seed alone.

    >>> import feedline.tf as tf
    >>> tf.image.stateless_random_crop(tf.zeros([8, 8, 3]), [4, 4, 3], seed=[1, 2]).shape
    fl.TensorShape([4, 4, 3])
    """
    dtype = as_tensor(size).dtype
    return _cropped(value, size, lambda n: stateless_uniform([n], seed, maxval=dtype.max, dtype=dtype))


def _cropped(value: object, size: object, draw: Callable[[int], Tensor]) -> Tensor:
    array, wanted = as_tensor(value)._array, ints(size, "size")
    if len(wanted) != array.ndim or any(w > d for w, d in zip(wanted, array.shape, strict=True)):
        raise InvalidArgumentError(f"Need value.shape >= size, got {list(array.shape)} and {wanted}")
    offsets = [int(o) % (d - w + 1) for o, d, w in zip(draw(array.ndim)._array, array.shape, wanted, strict=True)]
    return tensor_of(array[tuple(slice(o, o + w) for o, w in zip(offsets, wanted, strict=True))])
