"""random/element.py: random numbers of elements do not depend on who makes them, or when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.run import blocks
from feedline.random.element import Epochs, uncounted


def noisy(x: Any) -> Any:
    return x + fl.random.element_rng(seed=1).integers(1_000_000)


def unseeded(x: Any) -> Any:
    return x + fl.random.element_rng().integers(1_000_000)


def lucky(x: Any) -> bool:
    return bool(fl.random.element_rng(seed=2).random() < 0.5)


def numbers(dataset: Any) -> list[int]:
    return [int(x) for x in dataset]


def expected(n: int, epoch: int = 0, seed: int = 1) -> list[int]:
    return [i + int(np.random.default_rng([seed, epoch, i]).integers(1_000_000)) for i in range(n)]


def test_made_from_seed_epoch_and_row() -> None:
    ds = fl.Dataset.range(20).map(noisy)
    assert numbers(ds) == expected(20)
    assert numbers(ds) == expected(20, epoch=1)


@pytest.mark.parametrize("calls", [1, 2, 8, fl.AUTOTUNE])
@pytest.mark.parametrize("mode", [None, "thread", "loose"])
@pytest.mark.parametrize("size", [None, 1, 7])
def test_the_same_for_any_number_of_threads(calls: int, mode: str | None, size: int | None) -> None:
    ds = fl.Dataset.range(20).map(noisy, num_parallel_calls=calls)
    with blocks(size), forced(mode):
        assert [numbers(ds), numbers(ds)] == [expected(20), expected(20, epoch=1)]


def test_the_same_in_processes() -> None:
    ds = fl.Dataset.range(20).map(noisy, num_parallel_calls=2, workers="process")
    assert [numbers(ds), numbers(ds)] == [expected(20), expected(20, epoch=1)]


def test_the_same_after_restoring_at_every_element() -> None:
    check(lambda: fl.Dataset.range(6).map(noisy), [np.int64(v) for v in expected(6)], second=None)
    check(lambda: fl.Dataset.range(6).map(noisy, num_parallel_calls=3).prefetch(2), expected_values(6), second=None)
    kept = numbers(fl.Dataset.range(12).filter(lucky))
    check(lambda: fl.Dataset.range(12).filter(lucky), [np.int64(v) for v in kept], second=None)


def expected_values(n: int) -> list[Any]:
    return [np.int64(v) for v in expected(n)]


def test_restored_in_the_same_thread_right_after_the_element_was_made() -> None:
    it = iter(fl.Dataset.range(10).map(noisy))
    for i in range(10):
        state = it.save()
        for _ in range(3):
            it.restore(state)
            assert int(next(it)) == expected(10)[i]


def test_every_repetition_has_numbers_of_its_own() -> None:
    for calls in (None, 2):
        ds = fl.Dataset.range(5).map(noisy, num_parallel_calls=calls).repeat(3)
        assert numbers(ds) == [*expected(5), *expected(5, 1), *expected(5, 2)]
        # As in TensorFlow, a repeat begins one iteration more than it needs.
        assert numbers(ds) == [*expected(5, 4), *expected(5, 5), *expected(5, 6)]


@pytest.mark.parametrize("workers", ["thread", "process"])
def test_a_prefetch_begins_no_iteration_before_its_time(workers: str) -> None:
    """What is left early has begun one repetition; the next iterator begins the second."""

    def make(calls: int | None) -> Any:
        return fl.Dataset.range(8).map(noisy, num_parallel_calls=calls, workers=workers if calls else None).repeat()

    def left_early(ds: Any) -> list[int]:
        got = []
        for _ in range(4):
            with iter(ds) as it:
                got += [int(next(it)) for _ in range(7)]
        return got

    with forced("thread" if workers == "thread" else None):
        assert left_early(make(2).prefetch(5)) == left_early(make(None))


def test_parallel_calls_above_begin_no_iteration_before_its_time() -> None:
    """The second half of a concatenation is begun when its first element is asked for."""

    def left_early(calls: int | None) -> list[int]:
        ds = fl.Dataset.range(8).map(noisy)
        ds = ds.concatenate(ds).map(lambda x: int(x), num_parallel_calls=calls)
        got = []
        for _ in range(3):
            with iter(ds) as it:
                got += [int(next(it)) for _ in range(8)]
        return got

    with forced("thread"):
        assert left_early(4) == left_early(None) == [*expected(8), *expected(8, 1), *expected(8, 2)]


def test_the_global_seed_counts_where_the_function_names_none() -> None:
    fl.random.set_seed(5)
    assert numbers(fl.Dataset.range(4).map(unseeded, num_parallel_calls=2)) == expected(4, seed=5)
    fl.random.set_seed(6)
    assert numbers(fl.Dataset.range(4).map(unseeded)) == expected(4, seed=6)
    fl.random.set_seed(None)
    ds = fl.Dataset.range(4).map(unseeded)
    first, second = numbers(ds), numbers(ds)
    assert first != second and first != numbers(fl.Dataset.range(4).map(unseeded))


def test_asked_twice_it_goes_on_and_seeds_do_not_disturb_each_other() -> None:
    def twice(x: Any) -> Any:
        a, b = fl.random.element_rng(1), fl.random.element_rng(2)
        assert a is fl.random.element_rng(1) and b is fl.random.element_rng(2) and a is not b
        return np.array([a.integers(100), fl.random.element_rng(1).integers(100), b.integers(100)])

    def expect(i: int) -> list[int]:
        a, b = np.random.default_rng([1, 0, i]), np.random.default_rng([2, 0, i])
        return [int(a.integers(100)), int(a.integers(100)), int(b.integers(100))]

    for size in (None, 2):
        with blocks(size):
            assert [x.tolist() for x in fl.Dataset.range(5).map(twice)] == [expect(i) for i in range(5)]


def test_a_dataset_iterated_inside_the_function_has_numbers_of_its_own() -> None:
    def outer(x: Any) -> Any:
        inner = sum(numbers(fl.Dataset.range(3).map(noisy)))
        return np.array([inner, x + fl.random.element_rng(seed=1).integers(1_000_000)])

    expect = [[sum(expected(3)), v] for v in expected(6)]
    for calls in (None, 3):
        for size in (None, 1):
            with blocks(size):
                assert [x.tolist() for x in fl.Dataset.range(6).map(outer, num_parallel_calls=calls)] == expect


def test_looking_at_the_spec_is_no_iteration() -> None:
    ds = fl.Dataset.range(4).map(noisy)
    assert ds.element_spec == fl.TensorSpec([], fl.int64)
    assert numbers(ds) == expected(4)


def test_epochs_count_iterations_unless_told_not_to() -> None:
    fl.random.set_seed(3)
    epochs = Epochs()
    with uncounted:
        assert epochs.next() == (3, 0)
    assert [epochs.next(), epochs.next()] == [(3, 0), (3, 1)] and epochs.count == 2


def test_only_inside_functions_of_map_and_filter() -> None:
    with pytest.raises(fl.errors.FailedPreconditionError, match="no current element"):
        fl.random.element_rng()

    def make(x: Any) -> Any:
        fl.random.element_rng()
        return fl.Dataset.range(1)

    with pytest.raises(fl.errors.FailedPreconditionError, match="no current element"):
        list(fl.Dataset.range(2).flat_map(make))
