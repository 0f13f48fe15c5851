"""sample_from_datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks

sample = fl.Dataset.sample_from_datasets


def numbers(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def ranges(*sizes: int) -> list[Any]:
    return [fl.Dataset.range(i * 100, i * 100 + n) for i, n in enumerate(sizes)]


def drawn(ds: Any) -> list[int]:
    return [int(x) for x in ds]


def test_draws_as_recorded_from_tensorflow() -> None:
    expect = [200, 0, 100, 1, 101, 2, 3, 102, 103, 4, 5, 201, 6, 7, 104, 202]
    expect += [203, 105, 106, 204, 205, 107, 206, 207]
    check(lambda: sample(ranges(8, 8, 8), [0.5, 0.3, 0.2], seed=2), numbers(*expect))
    expect = [100, 0, 101, 1, 102, 103, 2, 104, 105, 106, 3, 107]
    check(lambda: sample(ranges(8, 8), [0.3, 0.7], seed=2, stop_on_empty_dataset=True), numbers(*expect))


def test_scaled_weights_draw_the_same() -> None:
    assert drawn(sample(ranges(9, 9), [1.0, 3.0], seed=5)) == drawn(sample(ranges(9, 9), [0.25, 0.75], seed=5))


def test_equal_odds_without_weights() -> None:
    ds = sample([fl.Dataset.from_tensors(np.int64(i)).repeat() for i in range(4)], seed=1)
    counts = np.bincount(drawn(ds.take(4000)))
    assert (abs(counts - 1000) < 120).all()


def test_each_iteration_draws_the_same_unless_told_otherwise() -> None:
    for flag in (None, False):
        ds = sample(ranges(6, 6), seed=3, rerandomize_each_iteration=flag)
        assert drawn(ds) == drawn(ds)
    ds = sample(ranges(6, 6), seed=3, rerandomize_each_iteration=True)
    first, second = drawn(ds), drawn(ds)
    assert first != second
    check(
        lambda: sample(ranges(6, 6), seed=3, rerandomize_each_iteration=True), numbers(*first), second=numbers(*second)
    )


def test_datasets_without_weight_are_left_out() -> None:
    only = sample(ranges(4, 4, 4), [0.0, 1.0, -1.0], seed=1)
    assert only.cardinality() == 4
    check(only, numbers(100, 101, 102, 103))
    check(sample(ranges(4, 4), [0.0, 0.0]), [])
    check(sample(ranges(4, 4), np.array([0.0, 2.0])), numbers(100, 101, 102, 103))
    check(sample(ranges(4)), numbers(0, 1, 2, 3))


def test_a_dataset_that_can_not_be_drawn_is_not_waited_for() -> None:
    ds = sample(ranges(2, 2, 2), [float("inf"), 1.0, 1.0], seed=1)
    assert sorted(drawn(ds)) == [100, 101, 200, 201]


@pytest.mark.parametrize("weights", [[0.2, 0.8], np.array([0.2, 0.8], np.float32)])
def test_weights_of_each_type(weights: Any) -> None:
    expect = [100, 101, 102, 0, 103, 104, 1, 105, 2, 3, 4, 5]
    assert drawn(sample(ranges(6, 6), weights, seed=2)) == expect
    rows = fl.Dataset.from_tensors(np.array(weights)).repeat()
    assert drawn(sample(ranges(6, 6), rows, seed=2)) == expect


def test_a_dataset_of_weights() -> None:
    rows = fl.Dataset.from_tensor_slices(np.eye(2, dtype=np.float32)[[0, 1, 1, 0]])
    check(lambda: sample(ranges(3, 3), rows, seed=1), numbers(0, 100, 101, 1))
    lengths = fl.Dataset.range(3).map(lambda i: np.array([1.0, 0.0, 0.0], np.float32)[: i + 1])
    assert drawn(sample(ranges(3, 3, 3), lengths, seed=1)) == [0, 1, 2]
    check_errors(
        lambda: sample(ranges(2), fl.Dataset.from_tensors([0.0, 1.0]).repeat(1)),
        [Raises(ValueError, "choice 1 is out of range")],
    )
    with pytest.raises(TypeError, match="weights must be vectors of floats"):
        list(sample(ranges(3, 3), fl.Dataset.from_tensors([1, 1])))


def test_weights_that_fail_use_up_a_draw() -> None:
    def f(i: Any) -> Any:
        if i == 1:
            raise ValueError("bad")
        return np.full(2, 0.5, np.float32)

    good = drawn(sample(ranges(9, 9), fl.Dataset.range(8).map(lambda i: np.full(2, 0.5, np.float32)), seed=3))
    rest = [x - 1 if x // 100 == good[1] // 100 else x for x in good[2:]]
    expect = [np.int64(good[0]), ValueError, *numbers(*rest)]
    check_errors(lambda: sample(ranges(9, 9), fl.Dataset.range(8).map(f), seed=3), expect)


def test_global_seed() -> None:
    def make() -> Any:
        fl.random.set_seed(11)
        return sample(ranges(5, 5))

    check(make, list(make()))


def test_cardinality() -> None:
    assert sample(ranges(3, 3)).cardinality() == fl.UNKNOWN_CARDINALITY
    endless = [fl.Dataset.range(3).repeat(), fl.Dataset.range(3)]
    assert sample(endless, stop_on_empty_dataset=True).cardinality() == fl.INFINITE_CARDINALITY


def test_arguments() -> None:
    with pytest.raises(ValueError, match="datasets is empty"):
        sample([])
    with pytest.raises(ValueError, match="one entry per dataset, got 3 for 2"):
        sample(ranges(2, 2), [0.1, 0.2, 0.7])
    for weights in ([1, 1], np.array([1, 1]), np.array([1, 1], np.float16), [True, True]):
        with pytest.raises(TypeError, match="weights must be float32 or float64"):
            sample(ranges(2, 2), weights)
    with pytest.raises(TypeError):
        sample(ranges(2, 2), "ab")
    with pytest.raises(TypeError, match="same structure and types"):
        sample([fl.Dataset.range(2), fl.Dataset.from_tensors(0.5)], seed=1)


def test_an_iterator_left_early_has_taken_the_seeds_it_needed_and_no_others() -> None:
    def orders(rows: int | None) -> list[list[int]]:
        with blocks(rows):
            endless = fl.Dataset.range(4).shuffle(4, seed=5).repeat()
            ds = fl.Dataset.sample_from_datasets([endless, fl.Dataset.range(9)], [0.9, 0.1], seed=1)
            return [[int(x) for x, _ in zip(ds, range(30), strict=False)] for _ in range(3)]

    assert orders(None) == orders(1)
