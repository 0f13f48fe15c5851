"""The functions of experimental on datasets and iterators, and methods as functions for apply."""

from __future__ import annotations

import inspect

import pytest

import feedline as fl


def test_cardinality() -> None:
    assert fl.experimental.cardinality(fl.Dataset.range(3)) == 3
    with pytest.raises(TypeError, match="cardinality: dataset must be a Dataset, got 5"):
        fl.experimental.cardinality(5)  # type: ignore[arg-type]


def test_get_structure() -> None:
    ds = fl.Dataset.from_tensor_slices(([1], ["a"]))
    assert fl.experimental.get_structure(ds) == fl.experimental.get_structure(iter(ds)) == ds.element_spec
    with pytest.raises(TypeError, match="must be a Dataset or an Iterator, got int"):
        fl.experimental.get_structure(5)


def test_get_next_as_optional() -> None:
    it = iter(fl.Dataset.range(1))
    assert fl.experimental.get_next_as_optional(it).get_value() == 0
    assert not fl.experimental.get_next_as_optional(it).has_value()
    with pytest.raises(TypeError, match="iterator must be an Iterator"):
        fl.experimental.get_next_as_optional(5)


def test_functions_for_apply_tell_their_arguments() -> None:
    taken = inspect.signature(fl.experimental.enumerate_dataset).replace(return_annotation=inspect.Signature.empty)
    assert str(taken) == "(start: 'Integer' = 0)"
    assert "`Dataset.unique` as a function for `apply`" in (fl.experimental.unique.__doc__ or "")
    with pytest.raises(TypeError, match="missing a required argument: 'predicate'"):
        fl.experimental.take_while()
