"""What may be asked of an Example, and what is an error before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

import feedline as fl

io = fl.io
RF = io.RaggedFeature


def test_features_are_tuples_as_in_tensorflow() -> None:
    assert io.FixedLenFeature([2], fl.int64) == ([2], fl.int64, None)
    assert io.FixedLenSequenceFeature([], fl.int64) == ([], fl.int64, False, None)
    assert io.VarLenFeature(fl.string) == (fl.string,)
    assert io.SparseFeature("i", "v", fl.int64, 3) == ("i", "v", fl.int64, 3, False)
    ragged = RF(fl.int64, "v", [RF.RowLengths("n")])
    assert ragged == (fl.int64, "v", (RF.RowLengths("n"),), fl.int32, False)
    assert ragged.row_splits_dtype is fl.int32


@pytest.mark.parametrize(
    ("feature", "error", "match"),
    [
        (io.FixedLenFeature([], fl.int32), TypeError, "the dtype of 'a' must be int64, float32 or string, got int32"),
        (io.VarLenFeature(fl.float64), TypeError, "the dtype of 'a' must be"),
        (io.FixedLenFeature([None], fl.int64), ValueError, "all dimensions of 'a' must be known"),
        (io.FixedLenFeature(None, fl.int64), ValueError, "'a' has no shape"),
        (io.FixedLenFeature([], None), ValueError, "'a' has no dtype"),
        (io.FixedLenFeature([3], fl.float32, 7.0), ValueError, r"the default_value of 'a' must have the shape \[3\]"),
        (io.FixedLenFeature([], fl.int64, "x"), ValueError, "cannot be converted to int64"),
        (io.FixedLenSequenceFeature([], fl.int64), ValueError, "'a' must have allow_missing=True here"),
        (io.FixedLenSequenceFeature([], fl.int64, True, [1, 2]), ValueError, "must have one value"),
        (io.SparseFeature("", "v", fl.int64, 3), ValueError, "needs an index_key and a value_key"),
        (fl.int64, ValueError, "the feature 'a' must be one of"),
    ],
)
def test_features_that_cannot_be(feature: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as raised:
        io.parse_example([b""], {"a": feature})
    assert isinstance(raised.value, fl.errors.InvalidArgumentError)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"dtype": fl.int32}, ValueError),
        ({"dtype": fl.int64, "value_key": ""}, ValueError),
        ({"dtype": fl.int64, "row_splits_dtype": fl.float32}, ValueError),
        ({"dtype": fl.int64, "partitions": RF.RowLengths("n")}, TypeError),
        ({"dtype": fl.int64, "partitions": ["n"]}, TypeError),
        ({"dtype": fl.int64, "validate": 1}, TypeError),
    ],
)
def test_ragged_features_that_cannot_be(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        RF(**arguments)


def test_one_key_has_one_type() -> None:
    with pytest.raises(ValueError, match="the key 'v' is requested with two types"):
        io.parse_example(
            [b""], {"v": io.VarLenFeature(fl.string), "s": io.SparseFeature("i", "v", fl.int64, 3)}
        )
    with pytest.raises(ValueError, match="the key 'v' cannot be read as two kinds"):
        io.parse_example([b""], {"v": io.VarLenFeature(fl.string), "r": RF(fl.string, value_key="v")})


@pytest.mark.parametrize("features", [None, {}])
def test_there_must_be_features(features: Any) -> None:
    for parse in (io.parse_example, io.parse_single_example):
        with pytest.raises(ValueError, match="must name at least one feature"):
            parse(b"", features)
