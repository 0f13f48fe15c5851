"""take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@pytest.mark.parametrize("count", [0, 1, 3, 10, 99, -1, -2])
def test_count(count: int) -> None:
    expect = list(range(10)) if count < 0 else list(range(10))[:count]
    check(fl.Dataset.range(10).take(count), [np.int64(i) for i in expect])


@pytest.mark.parametrize(
    ("count", "cardinality"), [(3, 3), (30, 10), (-1, 10), (-2, fl.UNKNOWN_CARDINALITY), (0, 0)]
)
def test_cardinality(count: int, cardinality: int) -> None:
    assert fl.Dataset.range(10).take(count).cardinality() == cardinality


def test_reads_no_more_than_it_takes() -> None:
    read: list[int] = []

    def generate() -> Any:
        for i in range(100):
            read.append(i)
            yield i

    ds = fl.Dataset.from_generator(generate, output_signature=fl.TensorSpec([], fl.int64)).take(3)
    assert len(list(ds)) == 3
    assert read == [0, 1, 2]
    assert list(ds.take(0)) == [] and read == [0, 1, 2]


@pytest.mark.parametrize("count", ["x", 1.5, None, [2]])
def test_bad_count(count: Any) -> None:
    with pytest.raises(TypeError, match="take: count must be an integer"):
        fl.Dataset.range(3).take(count)
