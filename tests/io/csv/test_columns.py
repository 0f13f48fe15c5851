"""Columns, and text to numbers with the last bit right, by both sets of kernels."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feedline as fl
from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import Column, columns_of, problem, table
from feedline.kernels import reference_csv

GOOD_INTS = {b"1": 1, b" 1\t": 1, b"\n\v\f\r1": 1, b"+1": 1, b"-1": -1, b"007": 7, b"2147483647": 2**31 - 1}
BAD_INTS = [b"1.0", b"1e3", b"0x10", b"1_000", b"1 2", b"-", b"+-1", b"- 1", b"1\x00", "٣".encode(), b"9" * 5000]
GOOD_FLOATS = {
    **{b"1": 1.0, b" 1.5 ": 1.5, b"+1.5": 1.5, b"-1E-3": -1e-3, b".5": 0.5, b"5.": 5.0, b"1e+05": 1e5, b"00.5": 0.5},
    **{b"inf": math.inf, b"-INF": -math.inf, b"Infinity": math.inf, b"1e400": math.inf, b"1e-400": 0.0},
    **{b"0x1p3": 8.0, b"0X1.8P1": 3.0, b"-0x10": -16.0, b"0x.8": 0.5, b"0x8.": 8.0, b"0x1p99999": math.inf},
    **{b"-0x1p99999": -math.inf, b"1e99999999999": math.inf},
}
BAD_FLOATS = [b"1e", b"e3", b".", b"1.5f", b"1_0", b"1,5", b"infin", b"nanx", b"0x", b"0x1p", b"1..5", b"--1", b"- 1"]


def read(field: bytes, dtype: fl.DType) -> object:
    """The field as a value, None if it is none."""
    fields = table([Column(dtype, None)])
    got = []
    for kernel in (kernels, reference_csv):
        (column,), stop, number, text = kernel.csv_strings([b'"' + field + b'"'], *fields)
        assert (stop, number, text) in ((0, 0, b""), (7, 0, field))
        got.append(column[0] if len(column) else None)
    np.testing.assert_equal(*got)
    return got[0]


@pytest.mark.parametrize("dtype", [fl.int32, fl.int64])
def test_integers(dtype: fl.DType) -> None:
    for text, value in GOOD_INTS.items():
        got = read(text, dtype)
        assert got == value and got.dtype == dtype, text  # type: ignore[attr-defined]
    for text in BAD_INTS:
        assert read(text, dtype) is None, text
    for value in (dtype.min, dtype.max):
        assert read(b"%d" % value, dtype) == value
    for value in (dtype.min - 1, dtype.max + 1, 10 * dtype.max, -(10**30)):
        assert read(b"%d" % value, dtype) is None


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64])
def test_floats(dtype: fl.DType) -> None:
    for text, value in GOOD_FLOATS.items():
        got = read(text, dtype)
        assert got == dtype.dtype.type(value) and got.dtype == dtype, text  # type: ignore[attr-defined]
    for text in (b"nan", b"NaN", b"-nan", b"nan(1)", b" nan "):
        assert np.isnan(read(text, dtype))  # type: ignore[call-overload]
    for text in BAD_FLOATS:
        assert read(text, dtype) is None, text


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        (b"1.0000000596046448", 0x3F800001),
        (b"1.00000005960464477539", 0x3F800000),
        (b"1.000000059604644775390625", 0x3F800000),  # exactly between two floats: to the even one
        (b"1.0000000596046447753906251", 0x3F800001),
        (b"-1.0000000596046447753906251", 0xBF800001),
        (b"1.0000001788139343261718749", 0x3F800001),
        (b"1.000000178813934326171875", 0x3F800002),
        (b"0x1.000001p0", 0x3F800000),
        (b"0x1.00000100000000000001p0", 0x3F800001),
        (b"16777219", 0x4B800002),
        (b"3.4028235677973366e38", 0x7F7FFFFF),
        (b"3.4028235677973367e38", 0x7F800000),
        (b"-340282356779733661637539395458142568447", 0xFF7FFFFF),
        (b"-340282356779733661637539395458142568448", 0xFF800000),
        (b"7.0064923216240854e-46", 0x00000001),
        (b"7.0064923216240853e-46", 0x00000000),
        (b"1e39", 0x7F800000),
    ],
)
def test_float32_is_rounded_once(text: bytes, bits: int) -> None:
    assert np.float32(read(text, fl.float32)).view(np.uint32) == bits  # type: ignore[arg-type]


@given(st.integers(1, (1 << 24) - 1), st.integers(-40, 40), st.integers(-3, 3))
def test_float32_near_the_middle(mantissa: int, exponent: int, nudge: int) -> None:
    middle = (Fraction(mantissa) + Fraction(1, 2)) * Fraction(2) ** exponent
    value = middle + Fraction(nudge, 10**30)
    text = b"%d.%060d" % (int(value), int((value - int(value)) * 10**60))
    exact = Fraction(text.decode())
    got = np.float32(read(text, fl.float32))  # type: ignore[arg-type]
    below, above = np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))
    off = abs(Fraction(float(got)) - exact)
    assert off <= abs(Fraction(float(below)) - exact) and off <= abs(Fraction(float(above)) - exact)


def test_what_the_kernels_are_told() -> None:
    columns = columns_of([[0.5], "x", fl.int64], "op", dtypes_allowed=True)
    got = table(columns, b";", False, b"NA", exclude=[1, 3])
    assert got[:3] == (59, False, b"NA") and got.defaults == [0.5, b"x", None] and got.rest is True
    assert got.kinds.tolist() == [1, 5, 4] and got.wanted.tolist() == [1, 0, 1, 0]
    got = table(columns, select=[0, 2, 3])
    assert got.wanted.tolist() == [1, 0, 1, 1] and got.rest is False
    assert table(columns).wanted.tolist() == [] and table(columns).rest is True


def test_problems_in_words() -> None:
    columns = columns_of([[0.5], fl.int64], "op", dtypes_allowed=True)
    assert problem(5, 3, b"", columns) == "expected 2 fields, got 3"
    assert problem(6, 1, b"", columns) == "field 1 is missing and has no default"
    assert problem(7, 1, b"x" * 100, columns) == f"field 1 is not a valid int64: '{'x' * 77}...'"
    assert problem(7, 0, b"\xff", columns) == "field 0 is not a valid float32: '\ufffd'"


def test_columns() -> None:
    given = [fl.int64, [1.5], "x", np.array([], np.float64), 7, [7], []]  # 7 is the number of the dtype string
    kinds = [(c.dtype.name, c.default) for c in columns_of(given, "op", dtypes_allowed=True)]
    assert kinds == [
        ("int64", None), ("float32", np.float32(1.5)), ("string", b"x"), ("float64", None), ("string", None),
        ("int32", 7), ("float32", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([], "at least one column"),
        ([[1, 2]], r"record_defaults\[0\] must be one value or none, got an array of shape \[2\]"),
        ([[0], [True]], "the type of column 1 must be one of .*, got bool"),
        ([fl.int8], "the type of column 0 must be one of"),
        ("ab", "must be a list"),
    ],
)
def test_columns_that_cannot_be(given: object, match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match):
        columns_of(given, "op", dtypes_allowed=True)
    with pytest.raises(TypeError, match="must be a value, got the type"):
        columns_of([fl.int32], "op", dtypes_allowed=False)
