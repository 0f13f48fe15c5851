"""Random numbers of the distributions that draw until a number is accepted: gamma, Poisson, binomial, truncated normal.

TensorFlow gives each number its own part of the Philox stream, so all numbers can be drawn at once: a number that is
not accepted is drawn again, from the next words of its part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InternalError, InvalidArgumentError
from feedline.structure.dense import Array

Blocks = Callable[[Array], Array]
"""Blocks of four words of a random stream, [n, 4], by their numbers."""
RESERVED = 256
"""How many blocks each number has."""
_RESERVED_INVERSION = 42
"""The same for small binomial numbers."""
_MOST_TRIALS = 1000
_NORMAL_WITHIN = 1.3
_STIRLING = np.array(
    [
        *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
        *(0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287),
    ]
)


def unit_doubles(blocks: Array) -> Array:
    """Two doubles in [0, 1) for each block."""
    wide = blocks.astype(np.uint64)
    mantissa = (wide[:, 0::2] & np.uint64(0xFFFFF)) << np.uint64(32) | wide[:, 1::2]
    return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0


def unit_floats(blocks: Array) -> Array:
    """Four floats in [0, 1) for each block, or for each word of any array."""
    made: Array = ((blocks & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
    return made


def unit_halves(blocks: Array) -> Array:
    """Four float16 in [0, 1) for each block, or for each word of any array."""
    bits = (blocks & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(15 << 10)
    return bits.view(np.float16) - np.float16(1)


def unit_of(blocks: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in [0, 1) of a dtype, for each block."""
    if dtype == np.float64:
        return unit_doubles(blocks)
    if dtype == np.float16:
        return unit_halves(blocks)
    if dtype == np.float32:
        return unit_floats(blocks)
    return ((blocks & np.uint32(0x7F)) / 128).astype(dtype)


def box_muller(unit: Array) -> Array:
    """Two normally distributed numbers for each pair in [0, 1)."""
    first = np.maximum(unit[..., 0::2], np.asarray(1e-7, unit.dtype)).astype(np.float64)
    angle = (np.asarray(2 * math.pi, unit.dtype) * unit[..., 1::2]).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log(first)).astype(unit.dtype)
    out = np.empty_like(unit)
    out[..., 0::2] = np.sin(angle).astype(unit.dtype) * radius
    out[..., 1::2] = np.cos(angle).astype(unit.dtype) * radius
    return out


class _Source:
    """The blocks of many numbers, each at a place of its own in the stream."""

    def __init__(self, blocks: Blocks, first: Array) -> None:
        self._blocks = blocks
        self._next = first.astype(np.uint64)

    def take(self, which: Array) -> Array:
        """The next block of some of the numbers."""
        at = self._next[which]
        self._next[which] = at + np.uint64(1)
        return self._blocks(at)


class _Buffer:
    """Numbers for many streams: made a block at a time, and used from the last of a block to the first."""

    def __init__(self, source: _Source, make: Callable[[Array], Array], count: int, per_block: int, dtype: Any) -> None:
        self._source, self._make, self._per_block = source, make, per_block
        self._held = np.empty((count, per_block), dtype)
        self._left = np.zeros(count, np.intp)

    def take(self, which: Array) -> Array:
        """A number for each of some streams."""
        empty = which[self._left[which] == 0]
        if len(empty):
            self._held[empty] = self._make(self._source.take(empty))
            self._left[empty] = self._per_block
        self._left[which] -= 1
        return self._held[which, self._left[which]]


def _numbers(per: int, count: int, reserved: int) -> Array:
    """The first block of each number, where all of a parameter follow one another in the stream: [per, count]."""
    order = np.arange(count, dtype=np.uint64) * np.uint64(per) + np.arange(per, dtype=np.uint64)[:, None]
    return (order * np.uint64(reserved)).ravel()


def gamma(blocks: Blocks, alpha: Array, per: int) -> Array:
    """`per` numbers for each alpha, [per, number of alphas], as doubles: the method of Marsaglia and Tsang."""
    shapes = np.tile(alpha.astype(np.float64).ravel(), per)
    source = _Source(blocks, _numbers(per, alpha.size, RESERVED))
    out = np.empty(len(shapes))
    single = np.flatnonzero(shapes == 1)
    if len(single):
        out[single] = -np.log1p(-unit_doubles(source.take(single))[:, 1])
    uniform = _Buffer(source, unit_doubles, len(shapes), 2, np.float64)
    normal = _Buffer(source, lambda b: box_muller(unit_doubles(b)), len(shapes), 2, np.float64)
    small = shapes < 1
    with np.errstate(all="ignore"):
        d = shapes + np.where(small, 2.0 / 3, -1.0 / 3)
        c = 1.0 / 3 / np.sqrt(d)
        left = np.flatnonzero(shapes != 1)
        while len(left):
            x = normal.take(left)
            v = 1 + c[left] * x
            fits = ~(v <= 0)
            trial, x, v = left[fits], x[fits], v[fits] ** 3
            u, scale = uniform.take(trial), d[trial]
            accepted = u < 1 - 0.0331 * (x * x) * (x * x)
            accepted |= np.log(u) < 0.5 * x * x + scale * (1 - v + np.log(v))
            done = trial[accepted]
            out[done] = (scale * v)[accepted]
            powers = done[small[done]]
            if len(powers):
                out[powers] *= uniform.take(powers) ** (1 / shapes[powers])
            keep = np.ones(len(shapes), bool)
            keep[done] = False
            left = left[keep[left]]
    return out.reshape(per, alpha.size)


def poisson(blocks: Blocks, rate: Array, per: int) -> Array:
    """`per` numbers for each rate, [per, number of rates], as floats: products of uniform numbers for rates below 10,
    and Hörmann's transformed rejection for others. A rate that is negative or not finite gives nan.
    """
    kind = np.dtype(np.float32 if rate.dtype.itemsize == 2 else rate.dtype if rate.dtype.kind == "f" else np.float64)
    rates = np.tile(rate.astype(kind).ravel(), per)
    source = _Source(blocks, _numbers(per, rate.size, RESERVED))
    width = 2 if kind == np.float64 else 4
    uniform = _Buffer(source, lambda b: unit_of(b, kind), len(rates), width, kind)
    out = np.full(len(rates), np.nan, kind)
    _poisson_products(uniform, rates, out)
    _poisson_rejection(uniform, rates, out)
    return out.reshape(per, rate.size)


def _poisson_products(uniform: _Buffer, rates: Array, out: Array) -> None:
    left = np.flatnonzero((rates >= 0) & (rates < 10))
    product = np.ones(len(left), rates.dtype)
    bound = np.exp(-rates[left].astype(np.float64)).astype(rates.dtype)
    events = 0
    while len(left):
        product = product * uniform.take(left)
        more = product > bound
        out[left[~more]] = events
        left, product, bound = left[more], product[more], bound[more]
        events += 1


def _poisson_rejection(uniform: _Buffer, rates: Array, out: Array) -> None:
    of = rates.dtype.type
    left = np.flatnonzero((rates >= 10) & np.isfinite(rates))
    wide = np.log(rates[left].astype(np.float64)).astype(rates.dtype)
    logs = dict(zip(left.tolist(), wide, strict=True)) if len(left) else {}
    while len(left):
        rate = rates[left]
        b = of(0.931) + of(2.53) * np.sqrt(rate)
        a = of(-0.059) + of(0.02483) * b
        u = uniform.take(left) - of(0.5)
        v = uniform.take(left)
        with np.errstate(all="ignore"):
            edge = of(0.5) - np.abs(u)
            k = np.floor((of(2) * a / edge + b) * u + rate + of(0.43))
            accepted = (edge >= of(0.07)) & (v <= of(0.9277) - of(3.6224) / (b - of(2)))
            open_ = np.flatnonzero(~accepted & ~((k < 0) | ((edge < of(0.013)) & (v > edge))))
            inverse = of(1.1239) + of(1.1328) / (b - of(3.4))
            s = _log((v * inverse / (a / (edge * edge) + b))[open_])
            log_rate = np.array([logs[i] for i in left[open_].tolist()], rates.dtype)
            t = -rate[open_] + k[open_] * log_rate - _lgamma(k[open_] + of(1))
            accepted[open_[s <= t]] = True
        out[left[accepted]] = k[accepted]
        left = left[~accepted]


def _log(x: Array) -> Array:
    return np.log(x.astype(np.float64)).astype(x.dtype)


def _lgamma(x: Array) -> Array:
    return np.array([math.lgamma(v) if math.isfinite(v) else math.inf for v in x.tolist()], x.dtype)


def binomial(blocks: Blocks, counts: Array, probs: Array, per: int) -> Array:
    """`per` numbers for each count and probability (of one shape), [per, number of them], as doubles: sums of
    geometric numbers if fewer than 10 are expected, and Hörmann's transformed rejection otherwise.
    """
    counts, probs = counts.ravel(), probs.ravel()
    with np.errstate(all="ignore"):
        flipped = probs > counts.dtype.type(0.5)
        rare = np.where(flipped, probs.dtype.type(1) - probs, probs)
        often = counts * rare >= counts.dtype.type(10)
        never = (counts.astype(np.float64) <= 0) | (probs <= 0)
        always = ~never & (probs >= 1)
    fixed = never | always | np.isnan(probs)
    n, p = counts.astype(np.float64), rare.astype(np.float64)
    out = np.where(never, 0.0, np.where(always, n, np.nan))[None].repeat(per, 0)
    chosen = np.flatnonzero(~fixed)
    for which, reserved, draw in (
        (chosen[often[chosen]], RESERVED, _binomial_rejection),
        (chosen[~often[chosen]], _RESERVED_INVERSION, _binomial_inversion),
    ):
        if len(which):
            first = _numbers(per, len(counts), reserved).reshape(per, -1)[:, which].ravel()
            uniform = _Buffer(_Source(blocks, first), unit_doubles, len(first), 2, np.float64)
            made = draw(uniform, np.tile(n[which], per), np.tile(p[which], per)).reshape(per, -1)
            out[:, which] = np.where(flipped[which], n[which] - made, made)
    return out


def _binomial_inversion(uniform: _Buffer, n: Array, p: Array) -> Array:
    out = np.zeros(len(n))
    total = np.zeros(len(n))
    left = np.arange(len(n))
    scale = np.log1p(-p)
    while len(left):
        with np.errstate(all="ignore"):
            total[left] += np.ceil(np.log(uniform.take(left)) / scale[left])
        left = left[total[left] <= n[left]]
        out[left] += 1
    return out


def _binomial_rejection(uniform: _Buffer, n: Array, p: Array) -> Array:
    out = np.empty(len(n))
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c, most = n * p + 0.5, 0.92 - 4.2 / b
    odds, alpha, mode = p / (1 - p), (2.83 + 5.1 / b) * spread, np.floor((n + 1) * p)
    left = np.arange(len(n))
    while len(left):
        u, v = uniform.take(left), uniform.take(left)
        u = u - 0.5
        with np.errstate(all="ignore"):
            edge = 0.5 - np.abs(u)
            k = np.floor((2 * a[left] / edge + b[left]) * u + c[left])
            accepted = (edge >= 0.07) & (v <= most[left])
            where = np.flatnonzero(~accepted & ~((k < 0) | (k > n[left])))
            i = left[where]
            k1, n1, m1, r1, e1 = k[where], n[i], mode[i], odds[i], edge[where]
            bound = (
                (m1 + 0.5) * np.log((m1 + 1) / (r1 * (n1 - m1 + 1)))
                + (n1 + 1) * np.log((n1 - m1 + 1) / (n1 - k1 + 1))
                + (k1 + 0.5) * np.log(r1 * (n1 - k1 + 1) / (k1 + 1))
                + _stirling_tail(m1)
                + _stirling_tail(n1 - m1)
                - _stirling_tail(k1)
                - _stirling_tail(n1 - k1)
            )
            accepted[where[np.log(v[where] * alpha[i] / (a[i] / (e1 * e1) + b[i])) <= bound]] = True
        out[left[accepted]] = k[accepted]
        left = left[~accepted]
    return out


def _stirling_tail(k: Array) -> Array:
    """The difference between log(k!) and Stirling's formula."""
    square = (k + 1) * (k + 1)
    far = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    return np.where(k <= 9, _STIRLING[np.clip(k, 0, 9).astype(np.intp)], far)


def truncated_normal(blocks: Blocks, parameters: list[Array], per: int) -> Array:
    """`per` numbers for each mean, deviation, least and greatest value (of one shape and dtype), [per, number of
    them]. They are drawn one after the other from one stream, as one thread of TensorFlow does.
    """
    count = parameters[0].size
    dtype = parameters[0].dtype
    out = np.empty((per, count), dtype)
    at = 0
    for i, (mean, deviation, least, greatest) in enumerate(zip(*(p.ravel() for p in parameters), strict=True)):
        if not (deviation > 0 and least < greatest and (np.isfinite(least) or np.isfinite(greatest))):
            raise InvalidArgumentError(
                f"Invalid parameters: need stddev > 0 and minval < maxval, one of them finite, got stddev {deviation}, "
                f"minval {least}, maxval {greatest}"
            )
        if least == -np.inf or greatest < mean:
            least, greatest, deviation = greatest, least, -deviation
        with np.errstate(all="ignore"):
            low, high = (least - mean) / deviation, (greatest - mean) / deviation
            made, at = _between(blocks, at, low, high, per)
            out[:, i] = made * deviation + mean
    return out


def _between(blocks: Blocks, at: int, low: Any, high: Any, per: int) -> tuple[Array, int]:
    """`per` normally distributed numbers between two bounds, and the number of the next block."""
    of = low.dtype.type
    root = np.sqrt(low * low + of(4))
    cutoff = of(2) * np.exp(of(0.5) + (low * (low - root)) / of(4)) / (low + root)
    if (low < -of(_NORMAL_WITHIN) and high >= 0) or (high > of(_NORMAL_WITHIN) and low <= 0):
        return _accepted(blocks, at, 1, per, lambda b: _from_normal(b, low, high), _MOST_TRIALS + 1)
    if high - low < cutoff:
        return _accepted(blocks, at, 2, per, lambda b: _from_uniform(b, low, high), _MOST_TRIALS)
    return _accepted(blocks, at, 1, per, lambda b: _from_exponential(b, low, high), _MOST_TRIALS)


def _accepted(
    blocks: Blocks, at: int, group: int, per: int, draw: Callable[[Array], tuple[Array, Array]], most: int
) -> tuple[Array, int]:
    """The first `per` numbers that are accepted of those drawn from groups of blocks, and the next block."""
    found: list[Array] = []
    missing, refused = per, 0
    while missing:
        rounds = missing // 2 + 8
        drawn = blocks(np.arange(at, at + rounds * group, dtype=np.uint64))
        values, good = draw(drawn)
        width = values.shape[1]
        where = np.flatnonzero(good)[:missing]
        gaps = np.diff(np.concatenate([[-1 - refused], where])) - 1
        refused = values.size - 1 - where[-1] if len(where) else refused + values.size
        if np.any(gaps >= most) or (len(where) < missing and refused >= most):
            raise InternalError(f"TruncatedNormal: none of {_MOST_TRIALS} numbers was between the bounds")
        found.append(values.ravel()[where])
        missing -= len(where)
        at += rounds * group if missing else (where[-1] // width + 1) * group
    return np.concatenate(found) if found else np.empty(0), at


def _normals(blocks: Array, dtype: np.dtype[Any]) -> Array:
    wide = box_muller(unit_doubles(blocks) if dtype == np.float64 else unit_floats(blocks))
    return wide.astype(dtype)


def _from_normal(blocks: Array, low: Any, high: Any) -> tuple[Array, Array]:
    made = _normals(blocks, low.dtype)
    return made, (made >= low) & (made <= high)


def _from_uniform(blocks: Array, low: Any, high: Any) -> tuple[Array, Array]:
    of = low.dtype.type
    z = unit_of(blocks[0::2], low.dtype) * (high - low) + low
    bound = ((of(0) if low < 0 else low * low) - z * z) / of(2)
    return z, unit_of(blocks[1::2], low.dtype) <= np.exp(bound)


def _from_exponential(blocks: Array, low: Any, high: Any) -> tuple[Array, Array]:
    of = low.dtype.type
    unit = unit_of(blocks, low.dtype)
    alpha = (low + np.sqrt(low * low + of(4))) / of(2)
    z = -np.log(unit[:, 0::2]) / alpha + low
    x = alpha - z if low < alpha else np.full_like(z, low - alpha)
    return z, (unit[:, 1::2] <= np.exp(-x * x / of(2))) & (z < high)
