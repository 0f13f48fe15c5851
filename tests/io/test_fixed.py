"""Records of one length, and `decode_raw`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import feedline as fl
from feedline.io.fixed import FixedLengthReader
from feedline.io.reader import END, Place

LETTERS = b"ABCDEFGHIJKL"


@pytest.mark.parametrize("buffer_size", [None, 1, 5])
@pytest.mark.parametrize("want", [1, 2, 100])
def test_records_and_places(tmp_path: Path, buffer_size: int | None, want: int) -> None:
    (tmp_path / "a").write_bytes(b"hh" + LETTERS + b"f")
    reader = FixedLengthReader(os.fsencode(tmp_path / "a"), 3, 2, 1, "", buffer_size)
    place, rows = Place(), []
    while (got := reader.read(place, want)) != END:
        assert got.rows is not None and got.place is not None and 1 <= got.rows.n <= want
        rows += got.rows.rows()
        place = got.place
        assert place == Place(2 + 3 * len(rows), len(rows))
    assert rows == [b"ABC", b"DEF", b"GHI", b"JKL"]
    reader.close()


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8", "c8"])
def test_decode_raw_is_the_inverse_of_tobytes(dtype: str) -> None:
    numbers = np.array([[1, 2], [100, 3]], dtype)
    raw = [row.tobytes() for row in numbers]
    np.testing.assert_array_equal(fl.io.decode_raw(raw, dtype), numbers)
    swapped = [row.astype(numbers.dtype.newbyteorder(">")).tobytes() for row in numbers]
    if dtype != "c8":
        np.testing.assert_array_equal(fl.io.decode_raw(swapped, dtype, little_endian=False), numbers)
    one = fl.io.decode_raw(raw[0], dtype)
    assert one.shape == (2,) and one.dtype == dtype and one.flags.writeable


def test_decode_raw_of_bools_and_shapes() -> None:
    assert fl.io.decode_raw(b"\x00\x01\x07", fl.bool).tolist() == [False, True, True]
    assert fl.io.decode_raw([[b"ab"], [b"cd"]], fl.uint8).shape == (2, 1, 2)
    assert fl.io.decode_raw(b"", fl.int32).shape == (0,)
    assert fl.io.decode_raw([b"ab", b"cdef", b""], fl.uint8, fixed_length=3).tolist() == [
        [97, 98, 0], [99, 100, 101], [0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("strings", "dtype", "length", "match"),
    [
        (b"abcde", fl.int32, None, "a string of 5 bytes cannot be a row of int32"),
        ([b"ab", b"cde"], fl.uint8, None, "string 1 has 3 bytes and the first 2"),
        (b"ab", fl.int32, 6, "fixed_length must be a positive multiple"),
        (b"ab", fl.uint8, 0, "fixed_length must be a positive multiple"),
        (b"ab", fl.string, None, "out_type must be a number type"),
        ([1, 2], fl.uint8, None, "takes strings, got int32"),
    ],
)
def test_what_decode_raw_refuses(strings: object, dtype: object, length: int | None, match: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=match):
        fl.io.decode_raw(strings, dtype, fixed_length=length)
