"""get_single_element."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import compare

import feedline as fl


def test_the_only_element() -> None:
    compare(fl.Dataset.range(5).batch(10).get_single_element(), np.arange(5))
    compare(fl.Dataset.from_tensors({"a": (1, "s")}).get_single_element(), {"a": (1, "s")})


def test_none_or_many() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="the dataset is empty"):
        fl.Dataset.range(0).get_single_element()
    with pytest.raises(fl.errors.InvalidArgumentError, match="more than one element"):
        fl.Dataset.range(2).get_single_element()


def test_an_error_of_the_dataset() -> None:
    with pytest.raises(ZeroDivisionError, match="element 0"):
        fl.Dataset.range(1).map(lambda x: 1 // int(x)).get_single_element()


def test_as_a_function() -> None:
    assert fl.experimental.get_single_element(fl.Dataset.from_tensors(7)) == 7
    with pytest.raises(TypeError, match="dataset must be a Dataset"):
        fl.experimental.get_single_element(7)
