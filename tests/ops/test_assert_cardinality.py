"""assert_cardinality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.data.experimental import assert_cardinality
from feedline.errors import FailedPreconditionError


def test_a_true_statement() -> None:
    ds = fl.Dataset.range(9).filter(lambda x: x % 2 == 0).apply(assert_cardinality(5))
    check(ds, [np.int64(i) for i in (0, 2, 4, 6, 8)])
    assert len(ds) == 5


def test_too_few() -> None:
    text = "assert_cardinality at step 2: the dataset was asserted to have 7 elements, but it has only 5"
    expect = [*np.arange(5), *[Raises(FailedPreconditionError, text)] * 3]
    check_errors(lambda: fl.Dataset.range(5).apply(assert_cardinality(7)), expect, endless=True)


def test_too_many() -> None:
    expect = [
        *np.arange(3),
        Raises(FailedPreconditionError, "it has at least 4"),
        Raises(FailedPreconditionError, "it has at least 5"),
        Raises(FailedPreconditionError, "it has 5"),
        Raises(FailedPreconditionError, "it has 5"),
    ]
    check_errors(lambda: fl.Dataset.range(5).apply(assert_cardinality(3)), expect, endless=True)


def test_without_end() -> None:
    forever = fl.Dataset.range(5).repeat().apply(assert_cardinality(fl.INFINITE_CARDINALITY))
    check(forever, [np.int64(i % 5) for i in range(12)], endless=True)
    ends = fl.Dataset.range(2).apply(assert_cardinality(fl.INFINITE_CARDINALITY))
    text = "asserted to be infinite, but it has only 2"
    check_errors(lambda: ends, [*np.arange(2), Raises(FailedPreconditionError, text)], endless=True)
    assert ends.cardinality() == fl.INFINITE_CARDINALITY


def test_elements_that_fail_do_not_count() -> None:
    def f(x: Any) -> Any:
        if x == 4:
            raise ValueError("bad")
        return x + 0

    early = fl.Dataset.range(6).map(f).apply(assert_cardinality(6))
    expect = [*np.arange(4), ValueError, np.int64(5), FailedPreconditionError, FailedPreconditionError]
    check_errors(lambda: early, expect, endless=True)
    late = fl.Dataset.range(5).map(f).apply(assert_cardinality(3))
    expect = [*np.arange(3), Raises(FailedPreconditionError, "at least 4"), ValueError, FailedPreconditionError]
    check_errors(lambda: late, expect, endless=True)


def test_argument() -> None:
    with pytest.raises(TypeError, match="assert_cardinality: expected_cardinality must be an integer"):
        assert_cardinality(1.5)  # type: ignore[arg-type]


def test_a_cache_is_complete_with_the_number_that_was_said() -> None:
    """Is an error in the pass that has it, as in TensorFlow."""

    def cached() -> Any:
        return fl.Dataset.range(6).apply(fl.experimental.assert_cardinality(4)).cache()

    ds = cached()
    it = iter(ds)
    assert [int(next(it)) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(FailedPreconditionError, match="asserted to have 4 elements"):
        next(it)
    assert [int(x) for x in ds] == [0, 1, 2, 3]
