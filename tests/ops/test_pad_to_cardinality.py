"""pad_to_cardinality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.data.experimental import pad_to_cardinality


@pytest.mark.parametrize("to", [2, 3, 20])
def test_zeros_at_the_end(to: int) -> None:
    ds = fl.Dataset.from_tensor_slices({"a": [1, 2]}).apply(pad_to_cardinality(to))
    check(ds, [{"a": 1, "valid": True}, {"a": 2, "valid": True}, *[{"a": 0, "valid": False}] * (to - 2)])


def test_structures_and_another_key() -> None:
    ds = fl.Dataset.from_tensor_slices({"b": (["x"], {"c": [[1.5, 2.5]]})}).apply(pad_to_cardinality(2, mask_key="m"))
    check(ds, [{"b": ("x", {"c": [1.5, 2.5]}), "m": True}, {"b": ("", {"c": [0.0, 0.0]}), "m": False}])
    assert list(ds.element_spec) == ["b", "m"]


def test_a_key_that_is_there_is_replaced() -> None:
    ds = fl.Dataset.from_tensor_slices({"valid": ([1], [2]), "a": [3]}).apply(pad_to_cardinality(2))
    check(ds, [{"valid": True, "a": 3}, {"valid": False, "a": 0}])


def test_elements_that_a_function_makes() -> None:
    ds = fl.Dataset.range(2).map(lambda x: {"x": np.full(3, x)}).apply(pad_to_cardinality(3))
    check(ds, [{"x": np.full(3, i), "valid": True} for i in range(2)] + [{"x": np.zeros(3, np.int64), "valid": False}])
    none = fl.Dataset.range(0).map(lambda x: {"x": x + 1}).apply(pad_to_cardinality(1))
    check(none, [{"x": np.int64(0), "valid": False}])


def test_elements_must_be_dicts() -> None:
    with pytest.raises(ValueError, match="elements must be dicts"):
        fl.Dataset.range(2).apply(pad_to_cardinality(4))
    ds = fl.Dataset.range(2).map(lambda x: int(x)).apply(pad_to_cardinality(4))
    check_errors(lambda: ds, [Raises(ValueError, "elements must be dicts")] * 2, endless=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda ds: ds.repeat(), "cardinality is infinite"),
        (lambda ds: ds.filter(lambda e: True), "cardinality is unknown; state it with"),
        (lambda ds: ds.repeat(3), "has 6 elements, more than 4"),
        (lambda ds: ds.batch(2), r"shape \(None,\) at \$\.a is not fully known"),
    ],
)
def test_what_cannot_be_padded(change: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        change(fl.Dataset.from_tensor_slices({"a": [1, 2]})).apply(pad_to_cardinality(4))
