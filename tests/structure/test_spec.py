"""structure/spec.py: shapes with unknown dimensions, and specs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import feedline as fl
from feedline.structure.spec import general


def test_shape() -> None:
    s = fl.TensorShape([None, 3])
    assert s.rank == 2 and s.as_list() == [None, 3] and s[1] == 3 and s[1:] == [3] and len(s) == 2
    assert not s.is_fully_defined() and s.num_elements() is None and fl.TensorShape([2, 3]).num_elements() == 6
    assert s.concatenate([4]) == [None, 3, 4] and s == (None, 3) and s != [2, 3]
    assert s.merge_with([2, None]) == [2, 3]
    assert s.most_specific_compatible_shape([2, 4]) == [None, None]
    assert s.is_compatible_with(None) and not s.is_compatible_with([3])
    assert str(s) == "(None, 3)" and hash(s) == hash(fl.TensorShape((None, 3)))


def test_unknown_rank() -> None:
    s = fl.TensorShape(None)
    assert s.rank is None and not s and str(s) == "<unknown>"
    with pytest.raises(ValueError, match="unknown rank"):
        list(s)


@pytest.mark.parametrize(("dims", "error"), [([-1], ValueError), (["a"], TypeError), ([1.5], TypeError)])
def test_bad_dimensions(dims: list[object], error: type[Exception]) -> None:
    with pytest.raises(error):
        fl.TensorShape(dims)


@pytest.mark.parametrize(
    "spec",
    [
        fl.TensorSpec([None], fl.int32),
        fl.RaggedTensorSpec([None, None], fl.string, 1, fl.int32),
        fl.SparseTensorSpec([3], fl.float64),
        fl.OptionalSpec({"a": fl.TensorSpec([], fl.bool)}),
        fl.DatasetSpec((fl.TensorSpec([], fl.bool), None)),
    ],
)
def test_specs_are_values(spec: object) -> None:
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec and hash(again) == hash(spec) and repr(again) == repr(spec)


def test_compatibility() -> None:
    spec = fl.TensorSpec([None, 2], fl.float32)
    assert spec.is_compatible_with(np.zeros((5, 2), np.float32))
    assert not spec.is_compatible_with(np.zeros((5, 2)))
    assert not spec.is_compatible_with(fl.SparseTensorSpec([None, 2], fl.float32))
    assert spec.most_specific_common_supertype([fl.TensorSpec([3, 2], fl.float32)]) == spec


def test_general() -> None:
    a = {"x": fl.TensorSpec([2], fl.int32), "n": None}
    b = {"n": None, "x": fl.TensorSpec([3], fl.int32)}
    assert general(a, b) == {"x": fl.TensorSpec([None], fl.int32), "n": None}
    assert general(a, {"x": fl.TensorSpec([2], fl.int64), "n": None}) is None
    assert general(a, (1, 2)) is None


def test_ragged_spec_checks() -> None:
    with pytest.raises(ValueError, match="must be less than"):
        fl.RaggedTensorSpec([None, None], fl.int32, 2)
    with pytest.raises(ValueError, match="row_splits_dtype"):
        fl.RaggedTensorSpec([None, None], fl.int32, row_splits_dtype=fl.float32)


def test_dimensions_before_a_shape() -> None:
    shape = fl.TensorShape([2, None])
    for before in ([1], (1,), 1, fl.TensorShape([1])):
        assert before + shape == fl.TensorShape([1, 2, None])
    assert (fl.TensorShape(None) + shape).rank is None
    with pytest.raises(TypeError):
        "a" + shape


def test_parts_of_an_unknown_shape() -> None:
    unknown = fl.TensorShape(None)
    assert unknown[0] is None and unknown[-1] is None
    assert unknown[:2] == unknown[1:3] == fl.TensorShape([None, None]) and unknown[3:1] == fl.TensorShape([])
    assert all(unknown[key].rank is None for key in (slice(1, None), slice(-2, None), slice(-2, -1), slice(0, 4, 2)))
