"""Text to numbers, with the last bit right."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.io.csv.columns import BadField, Column, columns_of, converted

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
    return converted([field], Column(dtype, None), b"", 0)[0]


@pytest.mark.parametrize("dtype", [fl.int32, fl.int64])
def test_integers(dtype: fl.DType) -> None:
    for text, value in GOOD_INTS.items():
        got = read(text, dtype)
        assert got == value and got.dtype == dtype, text  # type: ignore[attr-defined]
    for text in BAD_INTS:
        with pytest.raises(BadField):
            read(text, dtype)
    for value in (dtype.min, dtype.max):
        assert read(b"%d" % value, dtype) == value
    for value in (dtype.min - 1, dtype.max + 1):
        with pytest.raises(BadField):
            read(b"%d" % value, dtype)


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64])
def test_floats(dtype: fl.DType) -> None:
    for text, value in GOOD_FLOATS.items():
        got = read(text, dtype)
        assert got == dtype.dtype.type(value) and got.dtype == dtype, text  # type: ignore[attr-defined]
    for text in (b"nan", b"NaN", b"-nan", b"nan(1)", b" nan "):
        assert np.isnan(read(text, dtype))  # type: ignore[call-overload]
    for text in BAD_FLOATS:
        with pytest.raises(BadField):
            read(text, dtype)


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
        (b"3.4028235677973366e38", 0x7F800000),
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


def test_missing_fields() -> None:
    column = Column(fl.int32, np.int32(-1))
    got = converted([b"1", b"", b"NA", b"4"], column, b"NA", 0)
    assert got.dtype == np.int32 and got.tolist() == [1, -1, -1, 4]
    assert converted([b"", b"x"], Column(fl.string, b"d"), b"x", 0).tolist() == [b"d", b"d"]
    with pytest.raises(BadField) as missing:
        converted([b"1", b"", b"x"], Column(fl.int32, None), b"", 3)
    assert missing.value.row == 1 and missing.value.problem == "field 3 is missing, and it has no default"
    with pytest.raises(BadField) as earlier:
        converted([b"1", b"x", b""], Column(fl.int32, None), b"", 3)
    assert earlier.value.row == 1 and earlier.value.problem == "field 3 is no valid int32: 'x'"


def test_columns() -> None:
    given = [fl.int64, [1.5], "x", np.array([], np.float64), 7, []]
    kinds = [(c.dtype.name, c.default) for c in columns_of(given, "op", dtypes_allowed=True)]
    assert kinds == [
        ("int64", None), ("float32", np.float32(1.5)), ("string", b"x"), ("float64", None), ("int32", 7),
        ("float32", None),
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
