"""`FixedLengthRecordDataset`: headers, footers, and files that do not come out even."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.mark.parametrize(
    ("record", "header", "footer"), [(2, 0, 0), (3, 0, 2), (3, 2, 0), (3, 1, 1), (26, 0, 0), (1, 20, 0), (4, 3, 3)]
)
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records(tmp_path: Path, record: int, header: int, footer: int, compression: str) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(LETTERS) if compression else LETTERS)
    body = LETTERS[header : len(LETTERS) - footer]
    expect = [body[i : i + record] for i in range(0, len(body), record)]
    ds = fl.FixedLengthRecordDataset(tmp_path / "a", record, header, footer, compression_type=compression)
    check(ds, expect, sizes=(1, 7, None))


def test_each_file_has_its_header(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hhAABBf")
    (tmp_path / "b").write_bytes(b"hhCCf")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    check(fl.FixedLengthRecordDataset(files, 2, header_bytes=2, footer_bytes=1), [b"AA", b"BB", b"CC"])
    ds = fl.FixedLengthRecordDataset(files, 2, header_bytes=2, footer_bytes=1, num_parallel_reads=2)
    check(ds, [b"AA", b"CC", b"BB"])


def test_nothing_between_header_and_footer(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    check(fl.FixedLengthRecordDataset(tmp_path / "a", 4), [])
    (tmp_path / "a").write_bytes(b"HH")
    check(fl.FixedLengthRecordDataset(tmp_path / "a", 4, header_bytes=2), [])


@pytest.mark.parametrize(
    ("data", "arguments"), [(b"ABC", (2,)), (b"ABCD", (4, 1)), (b"H", (4, 2)), (b"ABC", (4,)), (b"ABCDE", (2, 1, 1))]
)
def test_a_file_that_does_not_come_out_even_is_refused_whole(
    tmp_path: Path, data: bytes, arguments: tuple[int, ...]
) -> None:
    (tmp_path / "a").write_bytes(data)
    uneven = Raises(InvalidArgumentError, "a has .* without its header .* which is not a multiple of record_bytes")
    ds = fl.FixedLengthRecordDataset([str(tmp_path / "a"), str(tmp_path / "a")], *arguments)
    check_errors(ds, [uneven, uneven, uneven], endless=True)


def test_in_a_compressed_file_the_whole_records_come_first(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(b"hAABBCf"))
    (tmp_path / "b").write_bytes(gzip.compress(b"hDDf"))
    ds = fl.FixedLengthRecordDataset([str(tmp_path / "a"), str(tmp_path / "b")], 2, 1, 1, compression_type="GZIP")
    check_errors(ds, [b"AA", b"BB", DataLossError, b"DD"])


@pytest.mark.parametrize("arguments", [{"record_bytes": 0}, {"record_bytes": 2, "header_bytes": -1}])
def test_bad_sizes_are_errors_of_each_file(tmp_path: Path, arguments: dict[str, Any]) -> None:
    (tmp_path / "a").write_bytes(LETTERS)
    check_errors(fl.FixedLengthRecordDataset(tmp_path / "a", **arguments), [InvalidArgumentError])


def test_sizes_must_be_integers() -> None:
    with pytest.raises(TypeError, match="record_bytes must be an integer"):
        fl.FixedLengthRecordDataset("a", 2.5)  # type: ignore[arg-type]


def test_numbers_from_records(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(8)))
    ds = fl.FixedLengthRecordDataset(tmp_path / "a", 4).map(lambda r: fl.io.decode_raw(r, fl.uint8))
    assert [x.tolist() for x in ds] == [[0, 1, 2, 3], [4, 5, 6, 7]]
