"""Values of SQLite as the types that are asked for."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import feedline as fl
from feedline.io.sql import SqlReader, _integer, _text
from feedline.structure.types import DType


@pytest.fixture
def path(tmp_path: Path) -> str:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("create table t (i integer, f real, s text, b blob, n integer)")
    connection.execute("insert into t values (300, 2.75, '12abc', x'00ff41', null)")
    connection.execute("insert into t values (-3000000000, 1e300, 'x', '7', 5)")
    connection.commit()
    connection.close()
    return str(tmp_path / "x.db")


@pytest.mark.parametrize(
    ("dtype", "expect"),
    [
        (fl.int64, [[300, -3000000000], [2, 2**63 - 1], [12, 0], [0, 7], [0, 5]]),
        (fl.int32, [[300, 1294967296], [2, -1], [12, 0], [0, 7], [0, 5]]),
        (fl.uint8, [[44, 0], [2, 255], [12, 0], [0, 7], [0, 5]]),
        (fl.bool, [[True, True], [True, True], [True, False], [False, True], [False, True]]),
        (fl.float64, [[300, -3e9], [2.75, 1e300], [12, 0], [0, 7], [0, 5]]),
        (
            fl.string,
            [[b"300", b"-3000000000"], [b"2.75", b"1.0e+300"], [b"12abc", b"x"], [b"\x00\xffA", b"7"], [b"", b"5"]],
        ),
    ],
)
def test_casts(path: str, dtype: DType, expect: list[list[object]]) -> None:
    reader = SqlReader(path, "select i, f, s, b, n from t", (dtype,) * 5)
    columns = reader.read(10)
    assert columns is not None and [c.tolist() for c in columns] == expect
    assert all(c.dtype == dtype.dtype for c in columns)
    assert reader.read(10) is None and reader.at == 2
    reader.close()


def test_real_numbers_as_text() -> None:
    for value, text in ((1.0, b"1.0"), (-0.5, b"-0.5"), (1e20, b"1.0e+20"), (123456789.125, b"123456789.125")):
        assert _text(value) == text


def test_integers_in_text() -> None:
    assert [_integer(v) for v in (b" -7x", b"+8", b"x", b"9" * 30, -1e300, None)] == [
        -7, 8, 0, 2**63 - 1, -(2**63), 0,
    ]  # fmt: skip


def test_queries_that_fail(path: str) -> None:
    with pytest.raises(fl.errors.UnknownError, match="the query failed: no such table: nope"):
        SqlReader(path, "select * from nope", (fl.int64,))
    with pytest.raises(fl.errors.InvalidArgumentError, match="the query has 2 columns, but output_types has 1"):
        SqlReader(path, "select i, f from t", (fl.int64,))
    with pytest.raises(fl.errors.UnknownError, match="integer overflow"):
        SqlReader(path, "select abs(-9223372036854775808)", (fl.int64,))
    late = SqlReader(path, "select abs(-9223372036854775808 * (i < 0) - (i > 0)) from t", (fl.int64,))
    for _ in range(2):
        with pytest.raises(fl.errors.UnknownError, match="the query failed after row 0: integer overflow"):
            late.read(5)
    late.close()


def test_errors_have_the_class_of_tensorflow_and_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (i integer unique, s text)")
        connection.executemany("insert into t values (?, ?)", [(i, "x" * 100) for i in range(200)])
        connection.commit()
    (tmp_path / "text.db").write_bytes(b"no database " * 100)
    (tmp_path / "cut.db").write_bytes(path.read_bytes()[:8192])

    def query(name: str, text: str = "select i from t") -> None:
        SqlReader(str(tmp_path / name), text, (fl.int64,)).read(1000)

    with pytest.raises(fl.errors.InvalidArgumentError, match=r"text\.db: the query failed: file is not a database"):
        query("text.db")
    with pytest.raises(fl.errors.DataLossError, match=r"cut\.db: the query failed"):
        query("cut.db")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"cannot open .*no/folder\.db"):
        query("no/folder.db")
    with pytest.raises(fl.errors.InvalidArgumentError, match="constraint"):
        query("rows.db", "insert into t values (1, 'x') returning i")
