"""`decode_csv`: what is a field and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import feedline as fl


def test_columns_have_the_shape_of_the_records() -> None:
    numbers, words = fl.io.decode_csv([["1,a"], ["2,b"]], [[0], [""]])
    assert numbers.tolist() == [[1], [2]] and words.tolist() == [[b"a"], [b"b"]]
    number, word = fl.io.decode_csv("1,a", [[0], [""]])
    assert number == np.int32(1) and word == b"a" and type(word) is bytes


@pytest.mark.parametrize(
    ("record", "expect"),
    [
        ('"a,b",1', b"a,b"),
        ('"a""b",1', b'a"b'),
        ('"a\nb",1', b"a\nb"),
        ('" a ",1', b" a "),
        ('"",1', b"default"),
        (",1", b"default"),
        ("\n\ra,1", b"a"),
        ("x\x00y,1", b"x\x00y"),
    ],
)
def test_fields(record: str, expect: bytes) -> None:
    assert fl.io.decode_csv(record, [["default"], [0]]) == [expect, 1]


@pytest.mark.parametrize(
    ("record", "match"),
    [
        ('a"b,1', "an unquoted field contains a quote or a line end"),
        (' "ab",1', "an unquoted field contains a quote"),
        ("a\n,1", "an unquoted field contains a quote or a line end"),
        ('"ab"c,1', "a quote inside a quoted field must be doubled"),
        ('"ab,1', "a quoted field must end with a quote before a delimiter or the end"),
        ('"', "a quoted field must end"),
        ("a", "expected 2 fields, got 1"),
        ("a,1,2", "expected 2 fields, got 3"),
        ("", "expected 2 fields, got 0"),
        ("a,x", "field 1 is not a valid int32: 'x'"),
    ],
)
def test_records_that_cannot_be_read(record: str, match: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"decode_csv: record 1 cannot be read: {match}"):
        fl.io.decode_csv(["a,1", record], [[""], [0]])


def test_options() -> None:
    assert fl.io.decode_csv('"a;1', [[""], [0]], field_delim=";", use_quote_delim=False) == [b'"a', 1]
    assert fl.io.decode_csv("NA,NA", [[7], ["x"]], na_value="NA") == [7, b"x"]
    assert fl.io.decode_csv("bad,2,bad,4,bad", [[0], [0]], select_cols=[1, 3]) == [2, 4]
    assert fl.io.decode_csv("1,", [[0], [9]], select_cols=[0, 1]) == [1, 9]
    with pytest.raises(fl.errors.InvalidArgumentError, match="expected 2 fields, got 1"):
        fl.io.decode_csv("1,2", [[0], [0]], select_cols=[1, 9])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"field_delim": ",,"}, "field_delim must be a single ASCII character"),
        ({"select_cols": [3, 1]}, "select_cols must be increasing"),
        ({"select_cols": [-1, 1]}, "select_cols must be increasing and non-negative"),
        ({"select_cols": [1]}, "must have the same length, got 1 and 2"),
    ],
)
def test_arguments(arguments: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        fl.io.decode_csv("1,2", [[0], [0]], **arguments)  # type: ignore[arg-type]


def test_records_must_be_strings() -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="records must be strings, got int32"):
        fl.io.decode_csv([1], [[0]])
