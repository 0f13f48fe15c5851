"""prefetch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@pytest.mark.parametrize("size", [0, 1, 5, fl.AUTOTUNE, None])
def test_order_stays(size: int | None) -> None:
    check(fl.Dataset.range(5).prefetch(size), [np.int64(i) for i in range(5)])


def test_bad_size() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="prefetch: buffer_size must be zero or more"):
        fl.Dataset.range(3).prefetch(-2)
