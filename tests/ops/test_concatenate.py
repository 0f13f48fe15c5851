"""concatenate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 3), (3, 0), (4, 9)])
def test_one_after_the_other(a: int, b: int) -> None:
    expect = [*np.arange(a), *np.arange(100, 100 + b)]
    check(fl.Dataset.range(a).concatenate(fl.Dataset.range(100, 100 + b)), expect)
    check(fl.Dataset.range(a).map(lambda x: np.positive(x)).concatenate(fl.Dataset.range(100, 100 + b)), expect)


def test_shapes_may_differ() -> None:
    ds = fl.Dataset.from_tensors([1, 2]).concatenate(fl.Dataset.from_tensors([3]))
    check(ds, [[1, 2], [3]])
    assert ds.element_spec == fl.TensorSpec([None], fl.int32)


def test_keys_come_in_the_order_of_the_first() -> None:
    a, b = {"b": [1], "a": [2]}, {"a": [3], "b": [4]}
    expect = [{"b": 1, "a": 2}, {"b": 4, "a": 3}]
    check(fl.Dataset.from_tensor_slices(a).concatenate(fl.Dataset.from_tensor_slices(b)), expect)
    check(fl.Dataset.from_tensor_slices(a).take(0).concatenate(fl.Dataset.from_tensor_slices(b)), expect[1:])
    second = fl.Dataset.from_tensor_slices(b).map(lambda e: {"a": np.int32(e["a"]), "b": np.int32(e["b"])})
    check(fl.Dataset.from_tensor_slices(a).concatenate(second), expect)


def test_none_and_strings() -> None:
    ds = fl.Dataset.from_tensors((1, None, "x")).concatenate(fl.Dataset.from_tensors((2, None, "y")))
    check(ds, [(1, None, "x"), (2, None, "y")])


@pytest.mark.parametrize("other", [[1.5], ([1], [2]), {"a": [1]}])
def test_types_must_agree_at_once_where_they_are_known(other: Any) -> None:
    with pytest.raises(TypeError, match="concatenate: the elements of the two datasets differ"):
        fl.Dataset.from_tensor_slices([1]).concatenate(fl.Dataset.from_tensor_slices(other))


def test_types_must_agree_where_functions_make_them() -> None:
    ds = fl.Dataset.range(2).concatenate(fl.Dataset.range(2).map(lambda x: float(x)))
    expect = [np.int64(0), np.int64(1), *[Raises(TypeError, "concatenate: .*int64.* and .*float32")] * 3]
    check_errors(lambda: ds, expect, endless=True)
    with pytest.raises(TypeError, match="concatenate"):
        _ = ds.element_spec


def test_errors_of_both_inputs() -> None:
    def f(x: Any) -> Any:
        if x % 3 == 0:
            raise ValueError(f"bad {x}")
        return x + 0

    check_errors(
        lambda: fl.Dataset.range(2).map(f).concatenate(fl.Dataset.range(3, 5).map(f)),
        [Raises(ValueError, "bad 0"), np.int64(1), Raises(ValueError, "bad 3"), np.int64(4)],
    )


def test_the_second_starts_when_the_first_has_ended() -> None:
    a = fl.Dataset.range(4).shuffle(4, seed=7)
    it = iter(a.concatenate(a))
    first = [int(next(it)) for _ in range(4)]
    between = [int(x) for x in a]
    last = [int(x) for x in it]
    b = fl.Dataset.range(4).shuffle(4, seed=7)
    assert [first, between, last] == [[int(x) for x in b] for _ in range(3)]


def test_cardinality() -> None:
    n, endless, unknown = fl.Dataset.range(3), fl.Dataset.range(3).repeat(), fl.Dataset.range(3).filter(lambda x: x > 0)
    pairs = [(n, n, 6), (n, endless, -1), (endless, unknown, -1), (unknown, endless, -1), (n, unknown, -2)]
    for a, b, expect in pairs:
        assert a.concatenate(b).cardinality() == expect


def test_random_access() -> None:
    plan = fl.Dataset.range(3).concatenate(fl.Dataset.range(10, 13))._plan
    assert plan.indexable
    assert plan.rows(np.array([4, 0, 5, 2])).rows() == [11, 0, 12, 2]
    assert plan.rows(np.array([2, 1])).rows() == [2, 1] and plan.rows(np.array([5])).rows() == [12]


def test_argument() -> None:
    with pytest.raises(TypeError, match="concatenate: dataset must be a Dataset, got 5"):
        fl.Dataset.range(3).concatenate(5)


def test_rows_that_are_gathered_when_seeds_are_due_are_saved() -> None:
    def make() -> Any:
        ds = fl.Dataset.range(3).group_by_window(lambda x: 0, lambda _, w: w, 3)
        return ds.concatenate(ds.shuffle(5, seed=9)).batch(2, num_parallel_calls=-1)

    expected = [x.tolist() for x in make()]
    for at in range(len(expected) + 1):
        with iter(make()) as it, iter(make()) as other:
            taken = [next(it).tolist() for _ in range(at)]
            other.restore(it.save())
            assert taken + [x.tolist() for x in other] == expected
