"""rebatch: batches of other sizes."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import FailedPreconditionError, InvalidArgumentError


def _groups(n: int, sizes: list[int], drop: bool) -> list[Any]:
    groups, at = [], 0
    for size in cycle(sizes):
        if at == n and size:
            break
        if at + size <= n or not drop:
            groups.append(np.arange(at, min(at + size, n)))
        if at + size > n:
            break
        at += size
    return groups


@pytest.mark.parametrize("n", [0, 1, 6, 12, 13])
@pytest.mark.parametrize("before", [1, 4, 20])
@pytest.mark.parametrize("sizes", [[2], [5], [2, 1, 3], [3, 0], [3, 0, 0, 2]])
@pytest.mark.parametrize("drop", [False, True])
def test_sizes(n: int, before: int, sizes: list[int], drop: bool) -> None:
    ds = fl.Dataset.range(n).batch(before).rebatch(sizes, drop_remainder=drop)
    check(ds, _groups(n, sizes, drop), sizes=(1, 7, None))
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY


def test_one_size() -> None:
    ds = fl.Dataset.from_tensor_slices(([1, 2, 3, 4, 5], ["a", "b", "c", "d", "e"])).batch(2).rebatch(3)
    words = np.array([b"a", b"b", b"c", b"d", b"e"], object)
    check(ds, [([1, 2, 3], words[:3]), ([4, 5], words[3:])])


def test_an_empty_batch_comes_before_anything_is_read() -> None:
    check(fl.Dataset.range(4).batch(2).rebatch([0, 3]), [np.arange(0), np.arange(3), np.arange(0), np.array([3])])
    check(fl.Dataset.range(0).batch(2).rebatch([0, 3]), [np.arange(0)])
    check(fl.Dataset.range(4).batch(2).rebatch(0), [np.arange(0)] * 5, endless=True)


def test_empty_batches_of_every_kind() -> None:
    rows = fl.Dataset.from_tensor_slices((fl.ragged.constant([[1], [2, 3]]), np.ones((2, 3)), ["a", "b"]))
    full, empty = rows.batch(2).rebatch([2, 0])
    assert empty[0].to_list() == [] and empty[0].ragged_rank == 1 and empty[0].dtype == full[0].dtype
    assert empty[1].shape == (0, 3) and empty[2].shape == (0,) and empty[2].dtype == object
    empty, full, _ = fl.Dataset.from_tensors(fl.SparseTensor([[0, 1]], [5], [1, 2])).rebatch([0, 1])
    assert empty.dense_shape.tolist() == [0, 2] and full.values.tolist() == [5]


def test_elements_without_rows_and_of_any_length() -> None:
    ds = fl.Dataset.from_tensor_slices(np.array([0, 2, 0, 3, 0])).map(lambda n: np.full(n, n)).rebatch(2)
    check(ds, [np.array([2, 2]), np.array([3, 3]), np.array([3])])


def test_ragged_tensors() -> None:
    ragged = fl.Dataset.from_tensor_slices(fl.ragged.constant([[1], [2, 3], []])).batch(3).rebatch(2)
    check(ragged, [fl.ragged.constant([[1], [2, 3]]), fl.ragged.constant([[]], fl.int32, ragged_rank=1)])


def test_spec() -> None:
    six = fl.Dataset.range(6).batch(6, drop_remainder=True)
    sizes: list[tuple[Any, Any]] = [(3, 3), ([3, 3], 3), (4, None), ([1, 2], None), (0, None)]
    for size, known in sizes:
        assert six.rebatch(size).element_spec == fl.TensorSpec([known], fl.int64)
    assert fl.Dataset.range(6).batch(4).rebatch(2, drop_remainder=True).element_spec == fl.TensorSpec([2], fl.int64)


def _fails_on(bad: int) -> Any:
    def fails(x: Any) -> Any:
        if x == bad:
            raise ValueError(f"no {bad}")
        return np.positive(x)

    return fails


def test_an_error_of_the_input_loses_the_batch_in_hand_and_keeps_the_turn() -> None:
    ds = fl.Dataset.range(12).map(_fails_on(5)).batch(2).rebatch([1, 2, 3])
    expect = [[0], [1, 2], None, [6, 7, 8], [9], [10, 11]]
    check_errors(ds, [ValueError if e is None else np.array(e) for e in expect])


def test_components_of_different_lengths() -> None:
    ds = fl.Dataset.range(1, 5).map(lambda n: (np.full(n, n), np.full(2, n))).rebatch(2)
    two = np.array([2, 2])
    check_errors(ds, [InvalidArgumentError, (two, two), InvalidArgumentError, InvalidArgumentError])


def test_rows_that_do_not_go_together_lose_their_batch() -> None:
    ds = fl.Dataset.range(1, 6).map(lambda n: np.full((2, n), n)).rebatch([3, 1])
    bad = Raises(FailedPreconditionError, r"rebatch: cannot batch arrays of different shapes")
    check_errors(ds, [bad, np.full((1, 2), 2), bad, np.full((1, 4), 4), np.full((2, 5), 5)])


def test_refused_when_made() -> None:
    batches = fl.Dataset.range(4).batch(2)
    with pytest.raises(ValueError, match="is a scalar"):
        fl.Dataset.range(4).rebatch(2)
    with pytest.raises(ValueError, match="different numbers of rows"):
        fl.Dataset.from_tensors(([1, 2, 3], [1, 2])).rebatch(2)
    for wrong in (-1, [2, -1], [], [[1]]):
        with pytest.raises(InvalidArgumentError, match="rebatch: "):
            batches.rebatch(wrong)
    for wrong in ("a", 1.5):
        with pytest.raises(TypeError, match="must be an integer"):
            batches.rebatch(wrong)


def test_no_element_is_read_before_its_rows_are_needed() -> None:
    seen: list[int] = []

    def noted(x: Any) -> Any:
        seen.append(int(x))
        return np.full(3, x)

    it = iter(fl.Dataset.range(9).map(noted).rebatch(2))
    for elements in (1, 2, 2, 3):
        next(it)
        assert len(seen) == elements


def test_batches_belong_to_the_caller() -> None:
    source = np.arange(6)
    first, second = fl.Dataset.from_tensors(source).rebatch(3)
    first[:] = 9
    assert second.tolist() == [3, 4, 5] and source.tolist() == [0, 1, 2, 3, 4, 5]
