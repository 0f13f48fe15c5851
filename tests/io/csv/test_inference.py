"""Names and types that a CSV file tells of itself."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import feedline as fl
from feedline.io.csv.inference import Dialect, column_names, column_types

TEXT = "i,l,f,d,s,empty\n1,3000000000,1.5,1e300,x,\n2,1,,7,5,\n"


def write(path: Path, text: str | bytes) -> bytes:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return os.fsencode(path)


def kinds(file: bytes, rows: int | None = None, select: range = range(6), na: str = "") -> list[str]:
    return [c.dtype.name for c in column_types([file], Dialect(), 6, True, na, rows, select, "op")]


def test_names(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", TEXT), write(tmp_path / "b", '"i",l,f,d,s,empty\r\n')
    assert column_names([a, b], Dialect(), "op") == ["i", "l", "f", "d", "s", "empty"]
    packed = write(tmp_path / "c", gzip.compress("é;ö\n".encode("latin-1")))
    assert column_names([packed], Dialect(";", True, "GZIP", "latin-1"), "op") == ["é", "ö"]


def test_names_that_cannot_be_had(tmp_path: Path) -> None:
    a, b, empty = write(tmp_path / "a", "x,y\n"), write(tmp_path / "b", "x,z\n"), write(tmp_path / "c", "")
    with pytest.raises(ValueError, match=r"the same column names; .*a has \['x', 'y'\], .*b has \['x', 'z'\]"):
        column_names([a, b], Dialect(), "op")
    with pytest.raises(ValueError, match="c has no header line"):
        column_names([empty], Dialect(), "op")
    with pytest.raises(fl.errors.NotFoundError):
        column_names([b"nope"], Dialect(), "op")


def test_types(tmp_path: Path) -> None:
    file = write(tmp_path / "a", TEXT)
    assert kinds(file) == ["int32", "int64", "float32", "float64", "string", "string"]
    assert kinds(file, select=range(1, 3)) == ["int64", "float32"]
    defaults = [c.default for c in column_types([file], Dialect(), 6, True, "", None, range(6), "op")]
    assert defaults == [0, 0, 0, 0, b"", b""]


def test_only_the_first_rows_count(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "i,l,f,d,s,e\n1,1,1,1,1,1\n1.5,x,1,1,1,1\n")
    assert kinds(file, 1) == ["int32"] * 6
    assert kinds(file, 2)[:2] == ["float32", "string"]
    assert kinds(file, 0) == ["string"] * 6


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5"], "float32"),
        (["2.5", "1"], "float32"),
        (["1", "x"], "string"),
        (["3000000000", "1.5"], "float32"),
        (["1", "NA", ""], "int32"),
        (["inf"], "string"),
        (["nan"], "string"),
        (["-2147483648"], "int32"),
        (["99999999999999999999"], "float32"),
        (["True"], "string"),
    ],
)
def test_the_least_type_that_takes_all(tmp_path: Path, values: list[str], kind: str) -> None:
    file = write(tmp_path / "a", "".join(f"{v},0\n" for v in values))
    found = column_types([file], Dialect(), 2, False, "NA", 100, [0], "op")
    assert [c.dtype.name for c in found] == [kind]


def test_a_row_of_another_length(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="a, line 3 has 1 fields, expected 2; give column_defaults"):
        column_types([file], Dialect(), 2, True, "", 100, [0, 1], "op")


def test_long_lines_and_damage(tmp_path: Path) -> None:
    names = [f"{i:01000}" for i in range(3000)]
    file = write(tmp_path / "a", ",".join(names) + "\n")
    assert column_names([file], Dialect(), "op") == names
    cut = write(tmp_path / "b", gzip.compress(b"a\n1\n")[:-6])
    with pytest.raises(fl.errors.DataLossError):
        column_types([cut], Dialect(compression="GZIP"), 1, True, "", None, [0], "op")
