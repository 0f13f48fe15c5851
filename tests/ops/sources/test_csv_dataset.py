"""`experimental.CsvDataset`: rows as tuples, errors in the middle, arguments."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError

Csv = fl.experimental.CsvDataset


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def test_rows(tmp_path: Path) -> None:
    file = write(tmp_path / "a", '1,2.5,a\n2,,"b,\nb"\r\n,3.5,\n')
    expect = [
        (np.int32(1), np.float32(2.5), b"a"),
        (np.int32(2), np.float32(9), b"b,\nb"),
        (np.int32(0), np.float32(3.5), b"z"),
    ]
    check(Csv(file, [[0], [9.0], ["z"]]), expect)
    check(Csv(file, [[0], [9.0], ["z"]], buffer_size=1), expect)
    ds = Csv(file, [fl.int64, [0.0], fl.string])
    assert ds.element_spec == tuple(fl.TensorSpec([], t) for t in (fl.int64, fl.float32, fl.string))
    assert isinstance(ds, fl.Dataset) and ds.cardinality() == fl.UNKNOWN_CARDINALITY


def test_one_column_is_a_tuple_of_one(tmp_path: Path) -> None:
    check(Csv(write(tmp_path / "a", "1\n\n2"), [[7]]), [(1,), (7,), (2,)])


def test_several_files_with_headers(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", "x,y\n1,2\n"), write(tmp_path / "b", "x,y"), write(tmp_path / "c", "x,y\n3,4")]
    check(Csv(files, [fl.int32, fl.int32], header=True), [(1, 2), (3, 4)])


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "1,bad,3\n4,bad,6\n")
    expect = [(np.int64(1), np.float32(3)), (np.int64(4), np.float32(6))]
    check(Csv(file, [fl.int64, fl.float32], select_cols=[0, 2]), expect)
    check(Csv(file, [fl.int64, fl.float32], exclude_cols=[1]), expect)


def test_dialects(tmp_path: Path) -> None:
    check(Csv(write(tmp_path / "a", "NA;1\n2;NA"), [[-1], [-2]], field_delim=";", na_value="NA"), [(-1, 1), (2, -2)])
    check(Csv(write(tmp_path / "a", 'a"b,"c"\n'), [[""], [""]], use_quote_delim=False), [(b'a"b', b'"c"')])


def test_compressed(tmp_path: Path) -> None:
    packed = gzip.compress(b"1,a\n2,b\n")
    (tmp_path / "a").write_bytes(packed)
    check(Csv(str(tmp_path / "a"), [[0], [""]], compression_type="GZIP"), [(1, b"a"), (2, b"b")])
    (tmp_path / "a").write_bytes(packed[:-3])
    check_errors(Csv(str(tmp_path / "a"), [[0], [""]], "GZIP"), [(1, b"a"), (2, b"b"), DataLossError])


def test_rows_before_a_bad_one_come_first_and_those_after_it_next(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "1,2\nx,4\n3\n5,6\n,8\n")
    expect = [
        (1, 2),
        Raises(InvalidArgumentError, r"a, record 1 \(byte 4\): field 0 is not a valid int32: 'x'"),
        Raises(InvalidArgumentError, r"a, record 2 \(byte 8\): expected 2 fields, got 1"),
        (5, 6),
        Raises(InvalidArgumentError, r"a, record 4 \(byte 14\): field 0 is missing and has no default"),
    ]
    check_errors(Csv(file, [fl.int32, [0]]), expect)
    check(Csv(file, [fl.int32, [0]]).ignore_errors(), [(1, 2), (5, 6)])


def test_a_header_that_is_not_there(tmp_path: Path) -> None:
    files = [write(tmp_path / "a", ""), write(tmp_path / "b", "h\n1\n")]
    check_errors(Csv(files, [[0]], header=True), [Raises(InvalidArgumentError, "the header is missing"), (1,)])


def test_a_missing_file(tmp_path: Path) -> None:
    check_errors(Csv(str(tmp_path / "nope"), [[0]]), [NotFoundError, NotFoundError], endless=True)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"field_delim": ",,"}, "field_delim must be a single"),
        ({"select_cols": [1, 0]}, "select_cols must be increasing"),
        ({"exclude_cols": [-1]}, "exclude_cols must be increasing and not negative"),
        ({"select_cols": [0]}, "must have the same length, got 1 and 2"),
        ({"select_cols": [0, 1], "exclude_cols": [2]}, "pass either select_cols or exclude_cols, not both"),
        ({"compression_type": "BZ2"}, "compression_type must be"),
        ({"buffer_size": 0}, "buffer_size must be greater than zero"),
        ({"record_defaults": [[True]]}, "the type of column 0"),
        ({"filenames": fl.Dataset.from_tensor_slices(["a"])}, "filenames must be names, got a dataset"),
    ],
)
def test_arguments(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match):
        Csv(**{"filenames": "a", "record_defaults": [[0], [0]], **arguments})


def test_numbers_of_dtypes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,2,3,4,5\n")
    plain = fl.experimental.CsvDataset(str(file), [1, 2.0, True, 7, 9])
    names = [spec.dtype.name for spec in plain.element_spec]
    assert names == ["float32", "float64", "float32", "string", "int64"]
    defaults = fl.experimental.CsvDataset(str(file), [[1], 0, 4, [7.0], np.int64(9)])
    assert [spec.dtype.name for spec in defaults.element_spec] == ["int32", "int32", "int32", "float32", "int64"]
    file.write_text(",2\n")
    required = fl.experimental.CsvDataset(str(file), [1, [2]])
    with pytest.raises(fl.errors.InvalidArgumentError, match="field 0 is missing and has no default"):
        list(required)
    names = ["a", "b"]
    made = fl.experimental.make_csv_dataset(str(file), 1, column_names=names, column_defaults=[2, [1]], header=False)
    assert [spec.dtype.name for spec in made.element_spec.values()] == ["float64", "int32"]
