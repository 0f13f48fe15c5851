"""cache."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors, compare

import feedline as fl
from feedline.engine.run import blocks
from feedline.ops import cache as cache_module


def counting(n: int) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(int(x))
        return x * 2

    return fl.Dataset.range(n).map(f), calls


@pytest.mark.parametrize("n", [0, 1, 20])
def test_elements(n: int) -> None:
    check(lambda: fl.Dataset.range(n).cache(), np.arange(n))
    check(lambda: fl.Dataset.range(n).map(lambda x: np.positive(x)).cache().repeat(2), [*np.arange(n), *np.arange(n)])


def test_every_kind_of_leaf() -> None:
    rows = {
        "m": np.arange(12.0).reshape(3, 2, 2),
        "s": ["a", "", "c"],
        "r": fl.ragged.constant([[1], [], [2, 3]]),
    }
    expect = [
        {"m": rows["m"][i], "s": rows["s"][i], "r": np.array(r, np.int32)} for i, r in enumerate([[1], [], [2, 3]])
    ]
    check(lambda: fl.Dataset.from_tensor_slices(rows).cache(), expect)


def test_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "CHUNK_ROWS", 3)
    sizes = fl.Dataset.range(10).map(lambda n: np.full([n], n))
    check(lambda: sizes.cache(), [np.full(n, n) for n in range(10)])
    monkeypatch.setattr(cache_module, "CHUNK_BYTES", 20)
    check(lambda: fl.Dataset.range(10).cache(), np.arange(10))


@pytest.mark.parametrize("size", [1, 7, None])
def test_runs_its_input_once(size: int | None) -> None:
    ds, calls = counting(5)
    with blocks(size):
        cached = ds.cache().map(lambda x: x + 1)
        for _ in range(3):
            assert [int(x) for x in cached] == [1, 3, 5, 7, 9]
    assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 7, None])
def test_keeps_nothing_of_a_pass_that_was_left_early(size: int | None) -> None:
    ds, calls = counting(4)
    cached = ds.cache()
    with blocks(size):
        assert len(list(cached.take(2))) == 2
        assert len(list(cached.take(4))) == 4  # the end was not seen
        assert len(list(cached)) == 4
        del calls[:]
        assert len(list(cached)) == 4
    assert calls == []


def test_freezes_the_order_before_it() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=1).cache()
    first = [int(x) for x in ds]
    assert [int(x) for x in ds] == first != list(range(6))
    assert [int(x) for x in fl.Dataset.range(6).shuffle(6, seed=1)] == first


def test_takes_no_seeds_once_it_is_full() -> None:
    source = fl.Dataset.range(6).shuffle(6, seed=1)
    cached = source.cache()
    fresh = fl.Dataset.range(6).shuffle(6, seed=1)
    assert [list(cached), list(source)] == [list(fresh), list(fresh)]
    list(cached)
    assert list(source) == list(fresh)


def test_each_dataset_has_its_own() -> None:
    source = fl.Dataset.range(6).shuffle(6, seed=9)
    a, b = source.cache(), source.cache()
    assert list(a) != list(b) and list(a) == list(a)


def test_the_first_complete_pass_serves_all_that_begin_later() -> None:
    ds = fl.Dataset.range(6).shuffle(6, seed=9).cache()
    slow, quick = iter(ds), iter(ds)
    next(slow)
    order = list(quick)
    rest = list(slow)
    assert len(rest) == 5 and list(ds) == order


def test_errors_are_passed_on_and_good_elements_kept() -> None:
    def f(x: Any) -> Any:
        if x == 2:
            raise ValueError("two")
        return x + 0

    def cached() -> Any:
        return fl.Dataset.range(4).map(f).cache()

    expect = [np.int64(0), np.int64(1), Raises(ValueError, "two"), np.int64(3)]
    check_errors(cached, expect, second=None)
    check_errors(cached, expect, second=[np.int64(0), np.int64(1), np.int64(3)], restore=False)


def test_a_restored_iterator_brings_the_rows_along() -> None:
    def make() -> Any:
        return fl.Dataset.range(6).shuffle(6, seed=1).cache().shuffle(6, seed=2).repeat(3)

    check(make, list(make()), second=None)


def test_rows_that_fail_stay_away_after_a_restore() -> None:
    def f(x: Any) -> Any:
        if x == 0:
            raise ValueError("zero")
        return x + 0

    check_errors(
        lambda: fl.Dataset.range(5, 7).concatenate(fl.Dataset.range(2).map(f).cache()).repeat(2),
        [np.int64(5), np.int64(6), ValueError, np.int64(1), np.int64(5), np.int64(6), np.int64(1)],
        second=None,
    )


def test_elements_are_read_only() -> None:
    ds = fl.Dataset.range(4).batch(2).cache()
    for _ in range(2):
        for row in ds:
            with pytest.raises(ValueError, match="read-only"):
                row[0] = 7
    compare(list(ds)[1], np.array([2, 3]))


def test_a_look_at_the_spec_is_no_pass() -> None:
    ds, calls = counting(2)
    cached = ds.cache()
    assert cached.element_spec == fl.TensorSpec([], fl.int64)
    del calls[:]
    list(cached)
    assert calls == [0, 1]


def test_a_copy_starts_empty() -> None:
    ds = fl.Dataset.range(3).cache()
    list(ds)
    copy = pickle.loads(pickle.dumps(ds))
    assert copy._plan.memory.rows is None and copy._plan == ds._plan
    assert list(copy) == [0, 1, 2]


def test_random_access(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "CHUNK_ROWS", 3)
    with blocks(1):
        ds = fl.Dataset.range(10, 20).cache()
        for _ in range(2):
            assert ds._plan.rows(np.array([9, 0, 4, 3, 9])).rows() == [19, 10, 14, 13, 19]
            assert ds._plan.rows(np.array([1])).rows() == [11]
            assert ds._plan.indexable and len(list(ds)) == 10


def test_file_names() -> None:
    with pytest.raises(fl.errors.UnimplementedError, match="kept in memory only, not in the file 'f'"):
        fl.Dataset.range(3).cache("f")
    with pytest.raises(TypeError):
        fl.Dataset.range(3).cache(5)  # type: ignore[arg-type]
