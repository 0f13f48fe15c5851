"""A repeat after a shuffle: TensorFlow's order and seeds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


def _two_epochs() -> fl.Dataset:
    return fl.Dataset.range(4).shuffle(4, seed=1).repeat(2)


FIRST = [0, 3, 1, 2, 2, 3, 1, 0]
FUSED = [3, 0, 1, 2, 0, 2, 1, 3]
"""The second pass of a fused plan takes the third pair of seeds, that of an unfused one the fourth."""
UNFUSED = [0, 2, 1, 3, 2, 1, 0, 3]


def _numbers(values: list[int]) -> list[np.int64]:
    return [np.int64(v) for v in values]


def test_order_of_two_passes() -> None:
    check(_two_epochs, _numbers(FIRST), second=_numbers(FUSED), optimizer=[True])
    check(_two_epochs, _numbers(FIRST), second=_numbers(UNFUSED), optimizer=[False])


def test_without_end() -> None:
    first = _numbers([*FIRST, *FUSED])
    check(lambda: fl.Dataset.range(4).shuffle(4, seed=1).repeat(), first, endless=True, second=None)


def test_name_and_count() -> None:
    plan = _two_epochs()._prepared[0]
    assert plan.op == "shuffle_and_repeat"
    assert plan.cardinality() == 8


def test_as_a_function() -> None:
    shuffled = fl.experimental.shuffle_and_repeat
    check(lambda: fl.Dataset.range(3).apply(shuffled(3, 2, seed=1)), np.array([1, 2, 0, 1, 0, 2]), second=None)
    endless = fl.Dataset.range(3).apply(shuffled(3, seed=1))
    assert endless.cardinality() == fl.INFINITE_CARDINALITY
    assert [int(x) for x in endless.take(7)] == [1, 2, 0, 1, 0, 2, 0]
    for arguments, text in (((0,), "buffer_size"), ((3, 0), "count must be"), ((3, -5), "count must be")):
        with pytest.raises(fl.errors.InvalidArgumentError, match=f"shuffle_and_repeat: {text}"):
            shuffled(*arguments)


def test_every_dataset_made_from_it_begins_with_its_first_order() -> None:
    """TensorFlow's, where a `shuffle` would go on with the next seeds in each of them."""
    ds = fl.Dataset.range(4).apply(fl.experimental.shuffle_and_repeat(4, 1, seed=3))
    first, second = [int(x) for x in ds], [int(x) for x in ds]
    assert first != second
    derived = ds.map(lambda x: x + 10)
    assert [int(x) - 10 for x in derived] == first and [int(x) - 10 for x in derived] == second
    assert [(int(a), int(b)) for a, b in fl.Dataset.zip(ds, ds)] == [(v, v) for v in first]
