"""`experimental.SqlDataset`: rows of a query, saved and restored, and queries that fail."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError, UnknownError

Sql = fl.experimental.SqlDataset
ALL = "select i, f, s from t order by i"


@pytest.fixture
def path(tmp_path: Path) -> str:
    connection = sqlite3.connect(tmp_path / "x.db")
    connection.execute("create table t (i integer, f real, s text)")
    connection.executemany("insert into t values (?, ?, ?)", [(1, 1.5, "a"), (2, 2.5, "b"), (-3, 0.25, "")])
    connection.commit()
    connection.close()
    return str(tmp_path / "x.db")


def test_rows(path: str) -> None:
    ds = Sql("sqlite", path, ALL, (fl.int64, fl.float64, fl.string))
    rows = [(-3, 0.25, b""), (1, 1.5, b"a"), (2, 2.5, b"b")]
    check(ds, [(np.int64(i), np.float64(f), s) for i, f, s in rows])
    assert ds.element_spec[1] == fl.TensorSpec([], fl.float64) and ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert isinstance(ds, fl.Dataset) and type(ds.take(1)) is fl.Dataset


def test_structures(path: str) -> None:
    check(Sql("sqlite", path, "select i from t where i = 2", fl.int32), [np.int32(2)])
    named = Sql("sqlite", path, "select i, f from t where i = 2", {"b": fl.float64, "a": fl.int64})
    check(named, [{"b": np.float64(2.5), "a": np.int64(2)}])
    check(Sql("sqlite", path, "select i from t where i = 9", (fl.int32,)), [])


def test_queries_that_fail(path: str) -> None:
    failed = Raises(UnknownError, "no such table: nope")
    check_errors(Sql("sqlite", path, "select * from nope", (fl.int64,)), [failed, failed], endless=True)
    wide = Raises(InvalidArgumentError, "the query has 3 columns, but output_types has 1")
    check_errors(Sql("sqlite", path, ALL, (fl.int64,)), [wide, wide], endless=True)
    late = "select abs(-9223372036854775808 * (i < 0) - (i > 0)) from t"
    overflow = Raises(UnknownError, "the query failed after row 1: integer overflow")
    check_errors(Sql("sqlite", path, late, (fl.int64,)), [(np.int64(1),), overflow])


@pytest.mark.parametrize(
    ("driver", "types", "error"),
    [
        ("mysql", fl.int64, InvalidArgumentError),
        ("sqlite", fl.float32, InvalidArgumentError),
        ("sqlite", (fl.int64, fl.uint32), InvalidArgumentError),
        ("sqlite", [fl.int64], TypeError),
    ],
)
def test_arguments(path: str, driver: str, types: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Sql(driver, path, "select i from t", types)
