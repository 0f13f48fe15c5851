"""`experimental.at`: which elements there are by number, and what is said where there are none."""

import numpy as np
from harness import cases


def R(d, n=5):
    return d.Dataset.range(n)


def said(d, n):
    return d.experimental.assert_cardinality(n)


def big(d):
    return R(d).filter(lambda x: x > 1)


def pairs(d):
    return d.Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]])


AT = {
    "range": lambda d, xp: R(d), "range_empty": lambda d, xp: R(d, 0), "repeat": lambda d, xp: R(d, 3).repeat(2), "repeat_0": lambda d, xp: R(d, 3).repeat(0), "repeat_endless": lambda d, xp: R(d, 3).repeat(), "repeat_minus_2": lambda d, xp: R(d, 3).repeat(-2),
    "empty_repeat": lambda d, xp: R(d, 0).repeat(2), "empty_repeat_endless": lambda d, xp: R(d, 0).repeat(), "repeat_repeat": lambda d, xp: R(d, 3).repeat(2).repeat(2), "repeat_endless_skip": lambda d, xp: R(d, 3).repeat().skip(5),
    "skip_minus_1": lambda d, xp: R(d).skip(-1), "skip_minus_2": lambda d, xp: R(d).skip(-2), "take_minus_1": lambda d, xp: R(d).take(-1), "take_minus_2": lambda d, xp: R(d).take(-2), "skip_more": lambda d, xp: R(d).skip(9), "take_more": lambda d, xp: R(d).take(9), "take_0": lambda d, xp: R(d).take(0), "skip_none_take": lambda d, xp: R(d).skip(-1).take(3), "take_all_skip": lambda d, xp: R(d).take(-1).skip(2),
    "filter": lambda d, xp: big(d), "filter_said": lambda d, xp: big(d).apply(said(d, 3)), "filter_cache": lambda d, xp: big(d).cache(), "filter_cache_said": lambda d, xp: big(d).cache().apply(said(d, 3)), "filter_said_cache": lambda d, xp: big(d).apply(said(d, 3)).cache(),
    "said": lambda d, xp: R(d).apply(said(d, 5)), "said_more": lambda d, xp: R(d).apply(said(d, 7)), "said_fewer": lambda d, xp: R(d).apply(said(d, 3)), "said_endless": lambda d, xp: R(d).apply(said(d, -1)), "said_unknown": lambda d, xp: R(d).apply(said(d, -2)), "said_none": lambda d, xp: R(d).apply(said(d, 0)), "said_more_batch": lambda d, xp: R(d).apply(said(d, 7)).batch(2), "said_fewer_batch": lambda d, xp: R(d).apply(said(d, 3)).batch(2), "said_more_map": lambda d, xp: R(d).apply(said(d, 7)).map(lambda x: x * 2),
    "unbatch": lambda d, xp: R(d, 6).batch(2, drop_remainder=True).unbatch(), "unbatch_short": lambda d, xp: R(d).batch(2).unbatch(), "unbatch_rows": lambda d, xp: pairs(d).unbatch(), "unbatch_ragged": lambda d, xp: d.Dataset.from_tensor_slices(xp.ragged([[[1], [2, 3]], [[4]]])).unbatch(), "unbatch_one": lambda d, xp: d.Dataset.from_tensors([1, 2, 3]).unbatch(), "unbatch_tuple": lambda d, xp: d.Dataset.from_tensors(([1, 2, 3], ["a", "b", "c"])).unbatch(), "unbatch_nothing": lambda d, xp: d.Dataset.from_tensor_slices(np.zeros((2, 0), np.int32)).unbatch(), "unbatch_map": lambda d, xp: pairs(d).unbatch().map(lambda x: x * 2), "unbatch_repeat": lambda d, xp: pairs(d).unbatch().repeat(2), "unbatch_list": lambda d, xp: d.experimental.from_list([[1], [2, 3]]).unbatch(),
    "cache": lambda d, xp: R(d).cache(), "cache_repeat": lambda d, xp: R(d).cache().repeat(2), "repeat_cache": lambda d, xp: R(d, 3).repeat(2).cache(), "cache_take_while": lambda d, xp: R(d).take_while(lambda x: x < 3).cache(), "cache_flat_map": lambda d, xp: R(d, 3).flat_map(lambda x: d.Dataset.range(x)).cache(), "cache_generator": lambda d, xp: d.Dataset.from_generator(lambda: iter([1, 2, 3]), output_signature=xp.TensorSpec([], xp.int32)).cache(), "cache_scan": lambda d, xp: R(d).scan(np.int64(0), lambda s, x: (s + x, s)).cache(), "cache_shuffle": lambda d, xp: R(d).shuffle(5, seed=3).cache(), "cache_padded": lambda d, xp: R(d).padded_batch(2).cache(), "cache_interleave": lambda d, xp: R(d, 3).interleave(lambda x: d.Dataset.range(2), cycle_length=2).cache(), "cache_unbatch": lambda d, xp: R(d).batch(2).unbatch().cache(), "cache_unique": lambda d, xp: R(d).unique().cache(), "cache_empty": lambda d, xp: R(d, 0).cache(),
    "cache_map": lambda d, xp: big(d).cache().map(lambda x: x * 2), "cache_skip": lambda d, xp: big(d).cache().skip(1), "cache_take": lambda d, xp: big(d).cache().take(1), "cache_unknown_repeat": lambda d, xp: big(d).cache().repeat(2), "cache_zip": lambda d, xp: d.Dataset.zip((big(d).cache(), R(d))),
    "window_map": lambda d, xp: R(d).window(2).map(lambda w: np.int64(1)), "random_take": lambda d, xp: d.Dataset.random(1).take(3), "pad_to": lambda d, xp: d.Dataset.from_tensor_slices({"a": [1, 2]}).apply(d.experimental.pad_to_cardinality(4)), "scan": lambda d, xp: R(d).scan(np.int64(0), lambda s, x: (s + x, s)), "generator": lambda d, xp: d.Dataset.from_generator(lambda: iter([1, 2, 3]), output_signature=xp.TensorSpec([], xp.int32)),
}


@cases("random_access/at", sorted(AT))
def _(d, xp, io, tmp, k):
    ds = AT[k](d, xp)
    return [xp.attempt(d.experimental.at, ds, i) for i in (0, 1, 2, 3, 4, 5, 6, 9, -1)]


@cases("random_access/cache_from_the_end", ["filter_cache", "cache", "cache_flat_map", "cache_generator", "cache_shuffle", "cache_interleave", "cache_unknown_repeat"])
def _(d, xp, io, tmp, k):
    ds = AT[k](d, xp)
    return [xp.attempt(d.experimental.at, ds, i) for i in (9, 4, 3, 2, 0, 1)]
