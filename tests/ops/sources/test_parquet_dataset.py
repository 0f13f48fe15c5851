"""`ParquetDataset`: rows, columns, nulls, bad files, places, random access."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.harness import Raises, check, check_errors
from tests.io.arrow_tables import rows, table

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError


def write(path: Path, data: Any, **how: Any) -> str:
    pq.write_table(pa.table(data) if isinstance(data, dict) else data, path, **how)
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "a.parquet", table(10), row_group_size=4)


def test_rows_of_every_kind(path: str) -> None:
    ds = fl.ParquetDataset(path)
    assert type(ds) is fl.ParquetDataset and ds.cardinality() == 10
    check(ds, rows(10))


def test_several_files_and_columns_in_another_order(tmp_path: Path, path: str) -> None:
    other = write(tmp_path / "b.parquet", table(3).select(["s", "i", "f"]))
    empty = write(tmp_path / "c.parquet", table(1).slice(0, 0))
    ds = fl.ParquetDataset([path, empty, other, Path(path)], columns=["s", "i"])
    expect = [{"s": r["s"], "i": r["i"]} for n in (10, 3, 10) for r in rows(n)]
    assert list(ds.element_spec) == ["s", "i"]
    check(ds, expect, sizes=(1, 7, None), optimizer=[True])
    check(fl.ParquetDataset(empty), [])


def test_batches(path: str) -> None:
    ds = fl.ParquetDataset(path, ["i", "l", "fixed", "s"], batch_size=4)
    assert ds.cardinality() == 3 and isinstance(ds.element_spec["l"], fl.RaggedTensorSpec)
    first = next(iter(ds))
    assert first["i"].tolist() == [0, 1, 2, 3] and first["fixed"].shape == (4, 2)
    assert first["l"].to_list() == [[], [1], [2, 2], [3, 3, 3]]
    assert len(list(fl.ParquetDataset(path, batch_size=4, drop_remainder=True))) == 2
    plain = fl.ParquetDataset(path, ["i"]).batch(4)
    assert [b["i"].tolist() for b in plain] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    padded = fl.ParquetDataset(path, ["l"]).padded_batch(4)
    assert next(iter(padded))["l"].tolist() == [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]]


def test_what_comes_out_may_not_be_written_into_but_batches_may(path: str) -> None:
    row = next(iter(fl.ParquetDataset(path)))
    assert not row["fixed"].flags.writeable and not row["l"].flags.writeable
    batch = next(iter(fl.ParquetDataset(path, ["i", "fixed"]).batch(2)))
    assert batch["i"].flags.writeable and batch["fixed"].flags.writeable


def test_a_null_is_an_error_in_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "n", {"x": [0, 1, None, 3, None], "y": ["a", "b", "c", None, "e"]}, row_group_size=2)
    bad = [Raises(InvalidArgumentError, rf"n, row {i}: the column '{c}' is null.*fill_null={{'{c}'") for i, c in
        ((2, "x"), (3, "y"), (4, "x"))]  # fmt: skip
    ds = fl.ParquetDataset(path)
    check_errors(ds, [{"x": np.int64(0), "y": b"a"}, {"x": np.int64(1), "y": b"b"}, *bad])
    assert ds.cardinality() == 5
    with pytest.raises(InvalidArgumentError, match="row 3"):
        fl.experimental.at(ds, 3)
    filled = fl.ParquetDataset(path, fill_null={"x": -1, "y": "?"})
    expect = [(0, b"a"), (1, b"b"), (-1, b"c"), (3, b"?"), (-1, b"e")]
    check(filled, [{"x": np.int64(x), "y": y} for x, y in expect])


def test_nulls_in_lists_and_structs(tmp_path: Path) -> None:
    data = {
        "l": pa.array([[1, None], None, [3]], pa.list_(pa.int32())),
        "f": pa.array([[1.0, 2.0], [None, 4.0], None], pa.list_(pa.float32(), 2)),
        "st": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "c"}]),
        "w": pa.array([["a", None], [], None]),
    }
    path = write(tmp_path / "n", data)
    check_errors(fl.ParquetDataset(path), [InvalidArgumentError] * 3)
    fill = {"l": 9, "f": np.float32("nan"), "st.x": 7, "st.y": b"none", "w": ""}
    nan = float("nan")
    expect = [
        ([1, 9], [1.0, 2.0], 1, b"a", [b"a", b""]),
        ([], [nan, 4.0], 7, b"none", []),
        ([3], [nan, nan], 7, b"c", []),
    ]
    check(
        fl.ParquetDataset(path, fill_null=fill),
        [
            {
                "l": np.array(li, np.int32),
                "f": np.array(f, np.float32),
                "st": {"x": np.int64(x), "y": y},
                "w": np.array(w, object),
            }
            for li, f, x, y, w in expect
        ],
    )


@pytest.mark.parametrize(
    ("fill", "match"),
    [
        ({"nope": 1}, "fill_null names 'nope', which is not among the columns"),
        ({"i": 1.5}, "has 1.5 for 'i', which is not a valid int32"),
        ({"i": 1 << 40}, "which is not a valid int32"),
        ({"s": 3}, "which is not a valid string"),
        ({"l": [1]}, "which is not a valid int64"),
        ([1], "fill_null must be a dict"),
    ],
)
def test_values_for_nulls_are_checked(path: str, fill: Any, match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match):
        fl.ParquetDataset(path, fill_null=fill)
    assert fl.ParquetDataset(path, fill_null={"f": 0.1}).cardinality() == 10


def test_random_access(path: str, tmp_path: Path) -> None:
    second = write(tmp_path / "b", table(7), row_group_size=3)
    ds = fl.ParquetDataset([path, second], ["i", "s", "l"])
    everything = [str(row) for row in ds]
    assert sorted(map(str, ds.global_shuffle(seed=3))) == sorted(everything)
    assert [str(fl.experimental.at(ds, i)) for i in (16, 0, 9, 10)] == [everything[i] for i in (16, 0, 9, 10)]
    assert ds._plan.rows(np.array([12, 0, 12, 9])).columns[0].tolist() == [2, 0, 2, 9]
    assert [str(x) for x in ds.skip(5).take(7)] == everything[5:12]


def test_a_restored_iterator_reads_from_its_row_group_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a", {"x": list(range(20_000))}, row_group_size=1000)
    ds = fl.ParquetDataset(path)
    with iter(ds) as it:
        for _ in range(15_500):
            next(it)
        state = it.save()
    groups: list[Any] = []
    plain = pq.ParquetFile.iter_batches

    def iter_batches(self: Any, *args: Any, row_groups: Any, **kwargs: Any) -> Iterator[Any]:
        groups.append(list(row_groups))
        return plain(self, *args, row_groups=row_groups, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    with iter(ds) as it:
        it.restore(state)
        assert [int(e["x"]) for e in it] == list(range(15_500, 20_000))
    assert groups and all(g[0] >= 7 for g in groups)  # the block that it was in has 8192 rows at most


def test_bad_files(tmp_path: Path, path: str) -> None:
    data = Path(path).read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(data[:-20])
    text = tmp_path / "text"
    text.write_text("this is no table")
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    damage = bytearray(data)
    damage[20:200] = bytes(180)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(bytes(damage))
    for bad in (cut, text, empty):
        with pytest.raises(DataLossError, match=f"{bad}: not a valid Parquet file, or truncated"):
            fl.ParquetDataset(bad)
    with pytest.raises(NotFoundError, match="nope: No such file"):
        fl.ParquetDataset(tmp_path / "nope")
    with pytest.raises(fl.errors.FailedPreconditionError, match="directory"):
        fl.ParquetDataset(tmp_path)
    good = rows(10)
    for bad in (cut, text, damaged):
        ds = fl.ParquetDataset([path, str(bad), path])
        check_errors(ds, [*good, Raises(DataLossError, str(bad)), *good], sizes=(1, 7, None), optimizer=[True])
    assert fl.ParquetDataset([path, str(cut)]).cardinality() == fl.UNKNOWN_CARDINALITY
    with pytest.raises(fl.errors.FailedPreconditionError, match="random access, which ParquetDataset"):
        fl.ParquetDataset([path, str(cut)]).global_shuffle()


def test_columns_that_do_not_fit(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a.parquet: it has no column named 'nope'; its columns are \['i'"):
        fl.ParquetDataset(path, ["i", "nope"])
    with pytest.raises(InvalidArgumentError, match="a column is named twice"):
        fl.ParquetDataset(path, ["i", "i"])
    other = write(tmp_path / "other", {"i": ["text"]})
    lacking = write(tmp_path / "lacking", {"j": [1]})
    expect = [{"i": r["i"]} for r in rows(10)]
    bad = [
        Raises(InvalidArgumentError, r"other: the column 'i' is .*string.*, and in the first file .*int32"),
        Raises(InvalidArgumentError, r"lacking: it has no column named 'i'"),
    ]
    check_errors(fl.ParquetDataset([path, other, lacking], ["i"]), [*expect, *bad], sizes=(1, None), optimizer=[True])
    decimal = write(tmp_path / "decimal", {"d": pa.array([1], pa.decimal128(5, 2)), "x": [1]})
    with pytest.raises(InvalidArgumentError, match=r"decimal: the column 'd' has type decimal128\(5, 2\).*no dtype"):
        fl.ParquetDataset(decimal)
    assert list(fl.ParquetDataset(decimal, ["x"])) == [{"x": 1}]
    deep = write(tmp_path / "deep", {"d": [[[[1]]]]})
    with pytest.raises(InvalidArgumentError, match="two deep"):
        fl.ParquetDataset(deep)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"filenames": []}, InvalidArgumentError, "filenames is empty"),
        ({"filenames": fl.Dataset.from_tensor_slices(["a"])}, TypeError, "use interleave"),
        ({"filenames": 3}, TypeError, "a file name must be"),
        ({"columns": "i"}, InvalidArgumentError, "columns must be a list of one or more names"),
        ({"columns": []}, InvalidArgumentError, "one or more names"),
        ({"columns": [1]}, InvalidArgumentError, "columns must be a list of one or more names"),
        ({"batch_size": 0}, InvalidArgumentError, "batch_size must be greater than zero"),
        ({"batch_size": "x"}, TypeError, "batch_size must be an integer"),
        ({"drop_remainder": True}, InvalidArgumentError, "drop_remainder requires a batch_size"),
    ],
)
def test_arguments(path: str, arguments: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        fl.ParquetDataset(**{"filenames": path, **arguments})


def test_names_from_a_dataset_through_interleave(path: str) -> None:
    ds = fl.Dataset.list_files(path).interleave(lambda name: fl.ParquetDataset(name, ["i"]))
    assert [int(e["i"]) for e in ds] == list(range(10))


def test_the_error_names_the_package_that_is_missing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'feedline\[parquet\]'"):
        fl.ParquetDataset(path)


def test_a_table_in_memory_elsewhere(path: str) -> None:
    fl.io.gfile.copy(path, "memory://tables/a.parquet", overwrite=True)
    ds = fl.ParquetDataset("memory://tables/a.parquet")
    assert ds.cardinality() == 10
    check(ds, rows(10), sizes=(7,), optimizer=[True])
    fl.io.gfile.rmtree("memory://tables")


def test_a_file_is_not_read_ahead_as_a_whole(tmp_path: Path) -> None:
    data = [os.urandom(1 << 16) for _ in range(600)]
    pq.write_table(pa.table({"data": data}), tmp_path / "large.parquet", row_group_size=30)
    before = most = pa.total_allocated_bytes()
    for row, want in zip(fl.ParquetDataset(str(tmp_path / "large.parquet")), data, strict=True):
        assert row["data"] == want
        most = max(most, pa.total_allocated_bytes())
    assert most - before < 12 << 20
