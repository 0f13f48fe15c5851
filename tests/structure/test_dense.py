from __future__ import annotations

import numpy as np
import pytest

from feedline.errors import InvalidArgumentError
from feedline.structure import types
from feedline.structure.dense import dense, same, text


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (5, np.int32),
        ([1, 2], np.int32),
        ([2**31], np.int64),
        ([1, 2.5], np.float32),
        ([True], np.bool_),
        ([1 + 2j, 1], np.complex128),
        ([], np.float32),
        ([[], []], np.float32),
        (range(3), np.int32),
        ([np.int64(3), 4], np.int32),
        ([np.int64(2**40)], np.int64),
        ([np.array([1, 2]), [3, 4]], np.int32),
        ([np.float64(3), 1.5], np.float64),
        ([1.5, np.float64(3)], np.float32),
        ([np.float16(3)], np.float16),
        (np.int64(3), np.int64),
        (np.array([1], np.uint8), np.uint8),
        (np.array([1], ">i4"), np.int32),
    ],
)
def test_dtype_is_tensorflows(value: object, dtype: type) -> None:
    made = dense(value)
    assert made.dtype == dtype
    assert made.dtype.isnative


@pytest.mark.parametrize("value", [["a", b"b\x00"], np.array(["a", "b"]), np.array([b"a", b"b"]), [np.str_("a"), "é"]])
def test_strings_become_bytes(value: object) -> None:
    made = dense(value)
    assert made.dtype == object
    assert all(type(item) is bytes for item in made)


def test_nul_bytes_are_kept() -> None:
    assert dense([b"a\x00"]).tolist() == [b"a\x00"]
    assert dense(np.bytes_(b"a\x00")).item() == b"a\x00"


def test_an_array_that_fits_is_shared() -> None:
    for array in (np.arange(3), np.array([b"a"], object)):
        assert dense(array) is array
        assert dense(array, array.dtype) is array


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        ([1, "a"], None, ValueError),
        ([True, 2], None, ValueError),
        ([2**70], None, ValueError),
        ([2**63], None, ValueError),
        ([1e300], None, ValueError),
        ([None], None, ValueError),
        ([[1], [2, 3]], None, ValueError),
        ([["a"], ["b", "c"]], None, ValueError),
        (np.array([object()]), None, TypeError),
        (np.array(["2020"], "datetime64[Y]"), None, TypeError),
        ([1.5], np.int32, TypeError),
        (["a"], np.int32, TypeError),
        ([1], types.string, TypeError),
        ([1], np.bool_, TypeError),
        (np.array([1.5]), np.int32, TypeError),
        ([300], np.uint8, ValueError),
        (np.array([-1]), np.uint8, ValueError),
    ],
)
def test_what_cannot_be_converted_raises(value: object, dtype: object, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        dense(value, dtype)
    assert isinstance(caught.value, InvalidArgumentError)


def test_dtype_is_followed() -> None:
    assert dense([2**63], np.uint64).tolist() == [2**63]
    assert dense([True, False], np.float32).tolist() == [1.0, 0.0]
    assert dense([1.1], np.float64).tolist() == [1.1]
    assert dense([], types.string).dtype == object


def test_same() -> None:
    a = np.array([1.0, np.nan])
    assert same(a, a.copy())
    assert not same(a, a.astype(np.float32))
    assert not same(np.array([b"a"], object), np.array([b"b"], object))
    assert not same(a, a[:1])


def test_text() -> None:
    assert text(np.array([[1.5, 2], [3, 4]], np.float32)) == "[[1.5, 2.0], [3.0, 4.0]]"
    assert text(np.array([b"a"], object)) == "[b'a']"
    assert text(np.zeros((5000, 1), int)) == "[[0], [0], [0], ..., [0], [0], [0]]"
