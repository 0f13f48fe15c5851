"""`experimental.make_csv_dataset`: names and types from the file, batches, order."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl

TEXT = "i,f,s,mixed\n1,1.5,a,1\n2,2,b,2.5\n3,3.25,c,3\n4,,d,\n"


def write(path: Path, text: str = TEXT) -> str:
    path.write_text(text)
    return str(path)


def make(file: Any, batch_size: int = 4, **arguments: Any) -> Any:
    return fl.experimental.make_csv_dataset(file, batch_size, **{"num_epochs": 1, "shuffle": False, **arguments})


def numbers(*values: float) -> Any:
    return np.array(values, np.float32)


def test_a_batch(tmp_path: Path) -> None:
    expect = OrderedDict(
        i=np.array([1, 2, 3, 4], np.int32),
        f=numbers(1.5, 2, 3.25, 0),
        s=np.array([b"a", b"b", b"c", b"d"], object),
        mixed=numbers(1, 2.5, 3, 0),
    )
    ds = make(write(tmp_path / "a"))
    check(ds, [expect])
    assert list(ds.element_spec) == ["i", "f", "s", "mixed"]
    assert ds.element_spec["i"] == fl.TensorSpec([None], fl.int32)
    assert ds.cardinality() == fl.UNKNOWN_CARDINALITY


def test_a_label(tmp_path: Path) -> None:
    batches = list(make(write(tmp_path / "a"), 3, label_name="s"))
    assert [label.tolist() for _, label in batches] == [[b"a", b"b", b"c"], [b"d"]]
    assert list(batches[0][0]) == ["i", "f", "mixed"]


def test_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "a")
    assert list(next(iter(make(file, select_columns=["s", "i"])))) == ["i", "s"]
    assert list(next(iter(make(file, select_columns=[1, 3])))) == ["f", "mixed"]
    batch = next(iter(make(file, column_defaults=[fl.int64, [9.0], fl.string, [0.0]])))
    assert batch["i"].dtype == np.int64 and batch["f"].tolist() == [1.5, 2, 3.25, 9]
    plain = write(tmp_path / "b", "1,x\n2,y\n")
    batch = next(iter(make(plain, header=False, column_names=["a", "b"])))
    assert batch["a"].tolist() == [1, 2] and batch["b"].tolist() == [b"x", b"y"]


def test_batches_go_on_from_one_epoch_to_the_next(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "a\n1\n2\n3\n")
    assert [b["a"].tolist() for b in make(file, 2, num_epochs=3)] == [[1, 2], [3, 1], [2, 3], [1, 2], [3]]
    endless = make(file, 2, num_epochs=None)
    assert [b["a"].tolist() for b in endless.take(4)] == [[1, 2], [3, 1], [2, 3], [1, 2]]
    assert endless.cardinality() == fl.INFINITE_CARDINALITY
    assert endless.element_spec["a"] == fl.TensorSpec([2], fl.int32)


def test_several_files_in_turn(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"{i}.csv", f"x\n{i}0\n{i}1\n")
    pattern = f"{tmp_path}/*.csv"
    assert next(iter(make(pattern, 9)))["x"].tolist() == [0, 1, 10, 11, 20, 21]
    assert next(iter(make(pattern, 9, num_parallel_reads=2)))["x"].tolist() == [0, 10, 1, 11, 20, 21]
    assert next(iter(make([f"{tmp_path}/2.csv", f"{tmp_path}/0.csv"], 9)))["x"].tolist() == [0, 1, 20, 21]


def test_the_order_is_tensorflows(tmp_path: Path) -> None:
    for i, n in enumerate((3, 2)):
        write(tmp_path / f"{i}.csv", "x\n" + "".join(f"{i * 100 + j}\n" for j in range(n)))

    def orders(**arguments: Any) -> list[list[int]]:
        ds = make(f"{tmp_path}/*.csv", 10, shuffle=True, shuffle_buffer_size=10, **arguments)
        return [next(iter(ds))["x"].tolist() for _ in range(2)]

    first = orders(shuffle_seed=5)
    assert first == orders(shuffle_seed=5) and first[0] != first[1]
    assert all(sorted(order) == [0, 1, 2, 100, 101] for order in first)
    fl.random.set_seed(3)
    seedless = orders()
    fl.random.set_seed(3)
    assert orders() == seedless


def test_checkpoints_and_blocks(tmp_path: Path) -> None:
    for i, n in enumerate((3, 0, 4)):
        write(tmp_path / f"{i}.csv", "x\n" + "".join(f"{i}{j}\n" for j in range(n)))

    def build() -> Any:
        return make(f"{tmp_path}/*.csv", 2, num_epochs=2, shuffle=True, shuffle_seed=4, num_parallel_reads=2)

    expect = list(build())
    assert sum(len(b["x"]) for b in expect) == 14
    check(build, expect, second=None, sizes=(1, 7, None))


def test_errors_can_be_ignored(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "a,b\n1,2\n3\nx,y\n4,5\n")
    ds = make(file, 1, column_defaults=[0, 0], ignore_errors=True)
    assert [(b["a"].tolist(), b["b"].tolist()) for b in ds] == [([1], [2]), ([4], [5])]
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"record 1 \(byte 8\): expected 2 fields"):
        list(make(file, 1, column_defaults=[0, 0]))


def test_errors_that_are_ignored_use_no_turn(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "x\n1\nbad\n2\n")
    write(tmp_path / "b.csv", "x\n3\n4\n")
    ds = make(f"{tmp_path}/*.csv", 9, column_defaults=[0], ignore_errors=True, num_parallel_reads=2)
    assert next(iter(ds))["x"].tolist() == [1, 3, 2, 4]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"label_name": "nope"}, r"label_name must be one of the columns \['i', 'f', 's', 'mixed'\], got 'nope'"),
        ({"select_columns": ["nope"]}, "select_columns must be among the columns"),
        ({"select_columns": [4]}, "select_columns must be from 0 to 3, got 4"),
        ({"select_columns": [0, "i"]}, "select_columns names a column twice"),
        ({"select_columns": [0], "column_defaults": [0, 0]}, "must have the same length, got 2 and 1"),
        ({"column_defaults": [0]}, r"a default for each of the 4 columns \['i', 'f', 's', 'mixed'\], got 1"),
        ({"column_names": ["a", "a", "b", "c"]}, r"duplicate column names \['a'\]"),
        ({"header": False}, "column_names is required for files without a header"),
        ({"compression_type": "LZ4"}, "compression_type must be"),
        ({"file_pattern": "nope*"}, "no files match nope"),
        ({"file_pattern": []}, "file_pattern must not be empty"),
    ],
)
def test_arguments(tmp_path: Path, arguments: dict[str, Any], match: str) -> None:
    given = {"file_pattern": write(tmp_path / "a"), "batch_size": 1, **arguments}
    with pytest.raises(ValueError, match=match):
        fl.experimental.make_csv_dataset(**given)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"animal,age\ncat,3\nd\xffg,5\n")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"table\.csv, line 3 is not valid utf-8"):
        fl.experimental.make_csv_dataset(str(path), 2, num_epochs=1)
    path.write_bytes(b"anim\xffl,age\ncat,3\n")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"table\.csv, line 1 is not valid utf-8"):
        fl.experimental.make_csv_dataset(str(path), 2, num_epochs=1)


@pytest.mark.parametrize("delimiter", ["", "ab", "é", 5])
def test_delimiters(delimiter: Any, tmp_path: Path) -> None:
    """TensorFlow raises the one where it looks at files, and the other where it reads them."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="field_delim must be a single ASCII character"):
            fl.experimental.make_csv_dataset(str(tmp_path / "a.csv"), 1, field_delim=delimiter)
