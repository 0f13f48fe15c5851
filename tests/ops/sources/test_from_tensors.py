"""Dataset.from_tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@pytest.mark.parametrize(
    "value", [42, 0.1, "é", [1, 2], {"a": ([1], 2.0), "b": None}, np.zeros((0, 3)), fl.ragged.constant([[1], []])]
)
def test_one_element(value: Any) -> None:
    check(fl.Dataset.from_tensors(value), [value])
    assert len(fl.Dataset.from_tensors(value)) == 1


def test_the_source_is_not_touched() -> None:
    source = np.zeros(3)
    ds = fl.Dataset.from_tensors(source)
    source[0] = 1
    element = next(iter(ds.repeat(2)))
    assert not element.any()
    with pytest.raises(ValueError, match="read-only"):
        element[0] = 1


@pytest.mark.parametrize("value", [None, (), {}, (None, None)])
def test_nothing_is_no_element(value: Any) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="at least one"):
        fl.Dataset.from_tensors(value)
