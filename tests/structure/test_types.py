"""structure/types.py: dtypes with TensorFlow's names over NumPy's."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

import feedline as fl


@pytest.mark.parametrize("name", ["int8", "uint64", "float16", "float32", "complex128", "bool"])
def test_stands_where_numpy_takes_a_dtype(name: str) -> None:
    dtype = getattr(fl, name)
    assert dtype == np.dtype(name) and dtype == np.dtype(name).type and dtype == name
    assert np.dtype(name) == dtype
    assert np.zeros(2, dtype).dtype == np.dtype(name)
    assert np.ones(2).astype(dtype).dtype == np.dtype(name)
    assert hash(dtype) == hash(np.dtype(name))
    assert pickle.loads(pickle.dumps(dtype)) == dtype
    assert repr(dtype) == f"fl.{name}"


def test_strings_are_objects() -> None:
    assert all(fl.string == kind for kind in (object, str, bytes))
    assert fl.as_dtype(np.dtype("U3")) is fl.string and fl.as_dtype("S7") is fl.string
    assert fl.string != fl.int32 and fl.string.name == "string"


def test_bfloat16_comes_from_ml_dtypes() -> None:
    assert fl.bfloat16.name == "bfloat16" and fl.bfloat16.is_floating
    assert np.zeros(1, fl.bfloat16).dtype == ml_dtypes.bfloat16
    (element,) = list(fl.Dataset.from_tensor_slices(np.ones(1, ml_dtypes.bfloat16)))
    assert element.dtype == ml_dtypes.bfloat16
    assert fl.Dataset.from_tensor_slices(np.ones(3, ml_dtypes.bfloat16)).batch(2).element_spec.dtype == fl.bfloat16


def test_families() -> None:
    assert fl.int32.is_integer and not fl.int32.is_unsigned and fl.uint8.is_unsigned
    assert fl.float64.is_floating and fl.complex64.is_complex and fl.bool.is_bool
    assert fl.int8.min == -128 and fl.int8.max == 127 and fl.float32.size == 4
    assert fl.int64.is_numeric and not fl.string.is_numeric and not fl.bool.is_numeric


@pytest.mark.parametrize("bad", [None, "int31", "datetime64[s]", [("a", int)], 3.5])
def test_what_is_no_dtype(bad: object) -> None:
    with pytest.raises(TypeError):
        fl.as_dtype(bad)
    assert fl.int32 != bad
