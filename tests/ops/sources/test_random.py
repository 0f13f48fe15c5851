"""Dataset.random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl

FOUR = [3128586565, 2023892699, 452966358, 4293674553, 1485036815, 119868753]


def numbers(values: Any) -> list[Any]:
    return [np.int64(v) for v in values]


def test_tensorflows_numbers() -> None:
    check(lambda: fl.Dataset.random(seed=4), numbers(FOUR), endless=True)
    check(lambda: fl.Dataset.random(seed=4).take(6).batch(4), [np.array(FOUR[:4]), np.array(FOUR[4:])])


def test_each_iteration_is_the_same_unless_told_otherwise() -> None:
    ds = fl.Dataset.random(seed=3, rerandomize_each_iteration=True).take(4)
    first, second = list(ds), list(ds)
    assert [int(x) for x in first] == [2698304964, 3230936430, 2996270112, 3395308416]
    assert first != second
    check(lambda: fl.Dataset.random(seed=3, rerandomize_each_iteration=True).take(4), first, second=second)
    same = fl.Dataset.random(seed=3).take(4)
    assert list(same) == list(same)


def test_spec_and_cardinality() -> None:
    ds = fl.Dataset.random()
    assert ds.element_spec == fl.TensorSpec([], fl.int64)
    assert ds.cardinality() == fl.INFINITE_CARDINALITY


def test_looking_at_a_spec_takes_no_seeds() -> None:
    def ds() -> Any:
        return fl.Dataset.random(seed=3, rerandomize_each_iteration=True).map(lambda x: np.float32(x)).take(3)

    looked = ds()
    assert looked.element_spec == fl.TensorSpec([], fl.float32)
    assert list(looked) == list(ds())


def test_seeds_are_integers() -> None:
    with pytest.raises(TypeError, match="seed must be an integer"):
        fl.Dataset.random(seed=1.5)  # type: ignore[arg-type]
