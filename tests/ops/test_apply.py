"""apply."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


def test_gives_what_the_function_gives() -> None:
    check(fl.Dataset.range(5).apply(lambda ds: ds.map(lambda x: x * 2).take(2)), [np.int64(0), np.int64(2)])


def test_arguments() -> None:
    with pytest.raises(TypeError, match="apply: transformation_func must return a Dataset, got 5 of type int"):
        fl.Dataset.range(5).apply(lambda ds: 5)
    with pytest.raises(TypeError, match="apply: transformation_func must be a function"):
        fl.Dataset.range(5).apply(5)  # type: ignore[arg-type]
