"""from_list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.data.experimental import from_list


def test_items() -> None:
    check(from_list([1, 2, 3]), [1, 2, 3])
    check(from_list([(1, "a"), (2, "b")]), [(1, "a"), (2, "b")])
    check(from_list([(1, None), (2, None)]), [(1, None), (2, None)])


def test_shapes_may_differ() -> None:
    check(from_list([[1], [2, 3], 4]), [[1], [2, 3], 4])
    ds = from_list([{"b": 1, "a": [1]}, {"a": [2, 3], "b": 2}])
    check(ds, [{"b": 1, "a": [1]}, {"b": 2, "a": [2, 3]}])
    assert ds.element_spec == {"b": fl.TensorSpec([], fl.int32), "a": fl.TensorSpec([None], fl.int32)}


def test_ragged_and_sparse_items() -> None:
    ragged = [fl.ragged.constant([[1], [2, 3]]), fl.ragged.constant([[1]])]
    check(from_list(ragged), ragged)


def test_keeps_nothing_of_the_callers() -> None:
    item = np.zeros(2)
    ds = from_list([item, np.ones(3)])
    item[:] = 7
    check(ds, [np.zeros(2), np.ones(3)])


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        ([], "must not be empty"),
        ((1, 2), "must be a list, got tuple"),
        (np.arange(3), "must be a list, got ndarray"),
        ([1, 2.5], r"differ in type at \$: int32, float32"),
        ([{"a": 1}, {"a": "x"}], r"differ in type at \$\.a"),
        ([(1,), 2], "differs in structure from the first"),
        ([None], "no values"),
        ([(), ()], "no values"),
    ],
)
def test_arguments(elements: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"from_list: .*{text}"):
        from_list(elements)
