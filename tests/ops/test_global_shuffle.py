"""global_shuffle: a permutation of everything that is computed, not stored."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.harness import check, check_errors

import feedline as fl
from feedline.errors import FailedPreconditionError, InvalidArgumentError
from feedline.random.index_shuffle import permute

# range(10).global_shuffle(seed=42), two iterations, from TensorFlow.
FIRST, SECOND = [0, 6, 9, 4, 8, 1, 2, 5, 3, 7], [3, 9, 8, 5, 2, 7, 1, 0, 6, 4]


def test_the_order_is_tensorflows() -> None:
    check(lambda: fl.Dataset.range(10).global_shuffle(seed=42), np.array(FIRST), second=np.array(SECOND))


def test_without_reshuffling_every_iteration_is_the_same() -> None:
    ds = fl.Dataset.range(10).global_shuffle(seed=42, reshuffle_each_iteration=False)
    first = [int(x) for x in ds]
    assert first == [int(x) for x in ds] == permute(np.arange(10), (87654321, 42, 87654321), 9, 8).tolist()
    check(lambda: fl.Dataset.range(10).global_shuffle(seed=42, reshuffle_each_iteration=False), np.array(first))


def test_epochs() -> None:
    check(lambda: fl.Dataset.range(10).global_shuffle(seed=42).repeat(2), np.array(FIRST + SECOND), second=None)


@pytest.mark.parametrize(
    "below",
    [
        lambda r: r.map(lambda x: {"x": x, "y": str(x)}),
        lambda r: r.batch(1, drop_remainder=True),
        lambda r: fl.Dataset.range(5, 30).skip(3).take(10),
        lambda r: fl.Dataset.range(30).shard(3, 2),
        lambda r: fl.Dataset.zip(r, r.map(lambda x: -x)),
        lambda r: r.take(4).concatenate(fl.Dataset.range(6)),
        lambda r: r.take(5).repeat(2).prefetch(1),
        lambda r: r.cache(),
        lambda r: fl.Dataset.from_tensor_slices((np.ones((10, 2)), list("abcdefghij"))),
    ],
)
def test_over_everything_with_random_access(below: Any) -> None:
    rows = list(below(fl.Dataset.range(10)))
    first, second = [rows[i] for i in FIRST], [rows[i] for i in SECOND]
    check(lambda: below(fl.Dataset.range(10)).global_shuffle(seed=42), first, second=second)


def test_another_below_has_its_own_order() -> None:
    def make() -> Any:
        return fl.Dataset.range(10).global_shuffle(seed=42).map(lambda x: x + 100).global_shuffle(seed=42)

    first = [100 + FIRST[i] for i in FIRST]
    check(make, np.array(first), second=np.array([100 + SECOND[i] for i in SECOND]))


def test_two_uses_of_one_below_take_seeds_in_turn() -> None:
    def make() -> Any:
        below = fl.Dataset.range(10).global_shuffle(seed=42)
        return fl.Dataset.zip(below, below).global_shuffle(seed=42)

    check(make, [(np.int64(FIRST[i]), np.int64(SECOND[i])) for i in FIRST], second=None)


def _fails_on(bad: int) -> Any:
    def fails(x: Any) -> Any:
        if x == bad:
            raise ValueError(f"no {bad}")
        return np.positive(x)

    return fails


def test_a_failing_element_has_its_turn() -> None:
    expect = [ValueError if x == 9 else np.int64(x) for x in FIRST]
    again = [ValueError if x == 9 else np.int64(x) for x in SECOND]
    check_errors(lambda: fl.Dataset.range(10).map(_fails_on(9)).global_shuffle(seed=42), expect, second=again)


def test_batches_that_cannot_be_made_have_their_turn() -> None:
    rows = [np.zeros(1 + (i == 7)) for i in range(20)]
    good, bad = np.zeros((2, 1)), InvalidArgumentError

    def make() -> Any:
        return fl.experimental.from_list(rows).batch(2, drop_remainder=True).global_shuffle(seed=42)

    check_errors(make, [bad if i == 3 else good for i in FIRST], second=[bad if i == 3 else good for i in SECOND])


def test_functions_below_run_once_for_each_element_and_no_earlier() -> None:
    seen: list[int] = []

    def noted(x: Any) -> Any:
        seen.append(int(x))
        return np.positive(x)

    it = iter(fl.Dataset.range(10).map(noted).global_shuffle(seed=42).batch(3))
    next(it)
    assert seen == FIRST[:3]
    list(it)
    assert seen == FIRST


def test_large() -> None:
    got = np.concatenate(list(fl.Dataset.range(100_003).global_shuffle(seed=1).batch(10_000)))
    assert not np.array_equal(got, np.arange(100_003)) and np.array_equal(np.sort(got), np.arange(100_003))


def test_a_pickled_copy_goes_on_with_its_own_seeds() -> None:
    ds = pickle.loads(pickle.dumps(fl.Dataset.range(10).global_shuffle(seed=42)))
    assert [int(x) for x in ds] == FIRST


@pytest.mark.parametrize(
    ("below", "text"),
    [
        (lambda r: r.batch(2), r"batch without drop_remainder \(step 2\)"),
        (lambda r: r.filter(lambda x: x > 2).map(lambda x: x), r"filter \(step 2\)"),
        (lambda r: r.shuffle(3), "shuffle"),
        (lambda r: r.padded_batch(2, drop_remainder=True), "padded_batch"),
        (lambda r: r.batch(2, drop_remainder=True).unbatch(), "unbatch"),
    ],
)
def test_needs_random_access(below: Any, text: str) -> None:
    with pytest.raises(FailedPreconditionError, match=text):
        below(fl.Dataset.range(6)).global_shuffle()


def test_needs_a_known_number_of_elements() -> None:
    with pytest.raises(InvalidArgumentError, match="got none"):
        fl.Dataset.range(0).global_shuffle()
    with pytest.raises(FailedPreconditionError):
        fl.Dataset.range(6).repeat().global_shuffle()
    check(lambda: fl.Dataset.range(1).global_shuffle(), [np.int64(0)])


@pytest.mark.parametrize(
    "make", [lambda ds: ds.repeat(0), lambda ds: ds.skip(-1), lambda ds: ds.repeat(), lambda ds: ds.take(0)]
)
def test_no_number_of_elements(make: Any) -> None:
    """TensorFlow raises the one or the other."""
    for kind in (fl.errors.FailedPreconditionError, fl.errors.InvalidArgumentError):
        with pytest.raises(kind, match="requires a known number of elements, at least one"):
            make(fl.Dataset.range(5)).global_shuffle()
