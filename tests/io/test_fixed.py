"""Records of one length, and `decode_raw`."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.io.fixed import FixedLengthReader
from feedline.io.reader import END, FilePosition
from feedline.structure.nest import flatten

LETTERS = b"ABCDEFGHIJKL"


@pytest.mark.parametrize("buffer_size", [None, 1, 5])
@pytest.mark.parametrize("want", [1, 2, 100])
def test_records_and_places(tmp_path: Path, buffer_size: int | None, want: int) -> None:
    (tmp_path / "a").write_bytes(b"hh" + LETTERS + b"f")
    reader = FixedLengthReader(os.fsencode(tmp_path / "a"), 3, 2, 1, "", buffer_size)
    place, rows = FilePosition(), []
    while (got := reader.read(place, want)) != END:
        assert got.rows is not None and got.place is not None and 1 <= got.rows.n <= want
        rows += got.rows.rows()
        place = got.place
        assert place == FilePosition(2 + 3 * len(rows), len(rows))
    assert rows == [b"ABC", b"DEF", b"GHI", b"JKL"]
    reader.close()


@pytest.mark.parametrize(
    ("compression", "lengths", "size", "error"),
    [
        ("", (1, 3, 0), 2, fl.errors.InternalError),
        ("", (3, 1, 0), 0, fl.errors.InternalError),
        ("", (2, 3, 0), 2, fl.errors.InvalidArgumentError),
        ("", (1, 1, 2), 1, None),
        ("", (1, 0, 2), 0, None),
        ("GZIP", (1, 3, 0), 2, fl.errors.InternalError),
        ("GZIP", (2, 3, 0), 3, None),
        ("GZIP", (2, 3, 2), 4, fl.errors.InternalError),
        ("ZLIB", (2, 0, 1), 0, fl.errors.InternalError),
        ("ZLIB", (2, 0, 1), 2, fl.errors.DataLossError),
    ],
)
def test_files_that_are_too_short(
    tmp_path: Path, compression: str, lengths: tuple[int, int, int], size: int, error: type[Exception] | None
) -> None:
    """As in TensorFlow, which goes on with the next file, except after an InvalidArgumentError."""
    record, header, footer = lengths
    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[compression]
    (tmp_path / "short").write_bytes(pack(LETTERS[:size]))
    (tmp_path / "good").write_bytes(pack(b"h" * header + b"R" * record + b"f" * footer))
    files = [str(tmp_path / "short"), str(tmp_path / "good")]
    elements = iter(fl.FixedLengthRecordDataset(files, *lengths, compression_type=compression))
    if error is not None:
        with pytest.raises(error, match=r"short has \d+ bytes"):
            next(elements)
    if error is not fl.errors.InvalidArgumentError:
        assert list(elements) == [b"R" * record]


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8", "c8"])
def test_decode_raw_is_the_inverse_of_tobytes(dtype: str) -> None:
    numbers = np.array([[1, 2], [100, 3]], dtype)
    raw = [row.tobytes() for row in numbers]
    np.testing.assert_array_equal(fl.io.decode_raw(raw, dtype), numbers)
    swapped = [row.astype(numbers.dtype.newbyteorder(">")).tobytes() for row in numbers]
    np.testing.assert_array_equal(fl.io.decode_raw(swapped, dtype, little_endian=False), numbers)
    for order in (True, False):
        one = fl.io.decode_raw(raw[0], dtype, order)
        assert one.shape == (2,) and one.dtype == dtype and one.flags.writeable


def test_decode_raw_of_bools_and_shapes() -> None:
    assert fl.io.decode_raw(b"\x00\x01\x07", fl.bool).tolist() == [False, True, True]
    assert fl.io.decode_raw([[b"ab"], [b"cd"]], fl.uint8).shape == (2, 1, 2)
    assert fl.io.decode_raw(b"", fl.int32).shape == (0,)
    assert fl.io.decode_raw(np.empty(0, object), fl.int16).shape == (0, 0)
    assert fl.io.decode_raw(np.empty(0, object), fl.int16, fixed_length=8).shape == (0, 4)
    assert fl.io.decode_raw([b"ab", b"cdef", b""], fl.uint8, fixed_length=3).tolist() == [
        [97, 98, 0], [99, 100, 101], [0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("strings", "dtype", "length", "match"),
    [
        (b"abcde", fl.int32, None, "a string of 5 bytes is not a whole number of int32 values"),
        ([b"ab", b"cde"], fl.uint8, None, "string 1 has 3 bytes and the first 2"),
        (b"ab", fl.int32, 6, "fixed_length must be a positive multiple"),
        (b"ab", fl.uint8, 0, "fixed_length must be a positive multiple"),
        (b"ab", fl.uint8, 2**31, "fixed_length must be .* at most 2147483647, got 2147483648"),
        (b"ab", fl.uint8, 2**40, "fixed_length must be .* at most 2147483647"),
        (b"ab", fl.string, None, "out_type must be a number type"),
        ([1, 2], fl.uint8, None, "takes strings, got int32"),
    ],
)
def test_what_decode_raw_refuses(strings: object, dtype: object, length: int | None, match: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=match):
        fl.io.decode_raw(strings, dtype, fixed_length=length)


@pytest.mark.parametrize(
    "decode",
    [
        lambda r: fl.io.decode_raw(r, fl.float32),
        lambda r: fl.io.decode_raw(r, fl.int16, little_endian=False),
        lambda r: fl.io.decode_raw(r, fl.complex64, False),
        lambda r: fl.io.decode_raw(r, fl.bool),
        lambda r: fl.io.decode_raw(r, fl.uint8, fixed_length=16),
        lambda r: fl.io.decode_raw(r, fl.uint8, fixed_length=8),
        lambda r: (fl.io.decode_raw(r, fl.float64), fl.io.decode_raw(r, fl.int64) + 1),
    ],
)
@pytest.mark.parametrize("sizes", [[16], [16, 8], [16, 16, 0], [0]])
def test_decode_raw_of_many_records(decode: Any, sizes: list[int], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    records = [rng.bytes(sizes[i // 40 % len(sizes)]) for i in range(200)]
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_many(records)
    ds = fl.TFRecordDataset(tmp_path / "a").map(decode)
    for got, record in zip(ds, records, strict=True):
        for a, b in zip(flatten(got)[0], flatten(decode(record))[0], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype and a.flags.writeable


def test_a_record_that_is_no_whole_number_is_named(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write_many([bytes(8)] * 50 + [bytes(7)] + [bytes(8)] * 50)
    it = iter(fl.TFRecordDataset(tmp_path / "a").map(lambda r: fl.io.decode_raw(r, fl.float32)))
    assert [next(it).tolist() for _ in range(50)] == [[0, 0]] * 50
    with pytest.raises(fl.errors.InvalidArgumentError, match="7 bytes is not a whole number"):
        next(it)
    assert len(list(it)) == 50
