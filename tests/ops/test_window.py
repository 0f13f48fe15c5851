"""window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.engine.run import blocks


def expected(n: int, size: int, shift: int, stride: int, drop: bool) -> list[list[Any]]:
    windows = [[i for i in range(start, start + size * stride, stride) if i < n] for start in range(0, n, shift)]
    return [[np.int64(i) for i in w] for w in windows if len(w) == size or not drop]


@pytest.mark.parametrize(
    "size, shift, stride", [(3, 3, 1), (3, 1, 1), (2, 5, 1), (3, 1, 2), (3, 4, 3), (1, 1, 1), (20, 2, 1)]
)
@pytest.mark.parametrize("drop", [False, True])
def test_windows(size: int, shift: int, stride: int, drop: bool) -> None:
    check(fl.Dataset.range(11).window(size, shift, stride, drop), expected(11, size, shift, stride, drop))


def test_shift_is_the_size_by_default() -> None:
    check(fl.Dataset.range(5).window(2), expected(5, 2, 2, 1, False))
    check(fl.Dataset.range(0).window(2), [])


def test_structures_become_structures_of_datasets() -> None:
    ds = fl.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": (["x", "y", "z"], [1.5, 2.5, 3.5])}).window(2)
    check(ds, [{"a": [1, 2], "b": ([b"x", b"y"], [1.5, 2.5])}, {"a": [3], "b": ([b"z"], [3.5])}])
    assert ds.element_spec == {
        "a": fl.DatasetSpec(fl.TensorSpec([], fl.int32)),
        "b": (fl.DatasetSpec(fl.TensorSpec([], fl.string)), fl.DatasetSpec(fl.TensorSpec([], fl.float32))),
    }


def test_windows_of_windows() -> None:
    ds = fl.Dataset.range(5).window(2).window(2)
    check(ds, [[numbers(0, 1), numbers(2, 3)], [numbers(4)]])
    check(ds.flat_map(lambda w: w).flat_map(lambda w: w.batch(2)), [np.array([0, 1]), np.array([2, 3]), np.array([4])])


def numbers(*values: int) -> list[Any]:
    return [np.int64(v) for v in values]


def test_rows_of_differing_shape_and_ragged_ones() -> None:
    rows = fl.ragged.constant([[1], [2, 3], []])
    (window,) = fl.Dataset.from_tensor_slices(rows).window(3)
    (batch,) = window.batch(3)
    assert isinstance(batch, fl.RaggedTensor)
    ds = fl.Dataset.range(3).map(lambda x: np.zeros(x)).window(2)
    check(ds, [[np.zeros(0), np.zeros(1)], [np.zeros(2)]])


def test_a_window_can_be_iterated_often_and_has_a_length() -> None:
    for window in fl.Dataset.range(5).window(2):
        assert list(window) == list(window)
        assert len(window) == len(list(window)) == window.cardinality()


def test_elements_of_a_window_are_read_only() -> None:
    (window,) = fl.Dataset.from_tensor_slices(np.zeros((3, 2))).window(3)
    with pytest.raises(ValueError, match="read-only"):
        next(iter(window))[0] = 1


@pytest.mark.parametrize(
    "n, shift, drop, expect", [(10, 3, False, 4), (10, 2, True, 4), (2, 1, True, 0), (0, 1, False, 0)]
)
def test_cardinality(n: int, shift: int, drop: bool, expect: int) -> None:
    assert fl.Dataset.range(n).window(3, shift, drop_remainder=drop).cardinality() == expect
    assert fl.Dataset.range(2).repeat().window(3).cardinality() == fl.INFINITE_CARDINALITY
    assert fl.Dataset.range(2).filter(lambda x: x > 0).window(3).cardinality() == fl.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": 2, "shift": 0}, {"size": 2, "stride": -1}])
def test_arguments(wrong: dict[str, int]) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"{list(wrong)[-1]} must be greater than zero"):
        fl.Dataset.range(3).window(**wrong)


def bad(n: int, *at: int) -> Any:
    def f(x: Any) -> Any:
        if x in at:
            raise ValueError(f"bad {x}")
        return np.positive(x)

    return fl.Dataset.range(n).map(f)


BAD = Raises(ValueError, "bad")


def test_an_error_has_a_place_and_spoils_every_window_that_holds_it() -> None:
    check_errors(lambda: bad(6, 3).window(2), [numbers(0, 1), BAD, numbers(4, 5)])
    check_errors(lambda: bad(5, 2).window(3, 1), [BAD, BAD, BAD, numbers(3, 4), numbers(4)])
    check_errors(lambda: bad(5, 2).window(3, 1, drop_remainder=True), [BAD, BAD, BAD])
    check_errors(lambda: bad(5, 4).window(2), [numbers(0, 1), numbers(2, 3), BAD])
    two = [Raises(ValueError, "bad 0"), Raises(ValueError, "bad 3"), numbers(4, 5)]
    check_errors(lambda: bad(6, 0, 3).window(2), two)


def test_an_error_between_windows_or_strides_is_not_seen() -> None:
    check_errors(lambda: bad(9, 2).window(2, 4), [numbers(0, 1), numbers(4, 5), numbers(8)])
    check_errors(
        lambda: bad(5, 1).window(2, 1, 2), [numbers(0, 2), BAD, numbers(2, 4), numbers(3), numbers(4)]
    )


@pytest.mark.parametrize("size", [1, 7, None])
def test_reads_no_more_than_the_window_and_the_gap_after_it(size: int | None) -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    with blocks(size):
        next(iter(fl.Dataset.range(50).map(note).window(2, 5).take(1)))
    assert seen == [0, 1, 2, 3, 4]
