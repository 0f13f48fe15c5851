"""Dataset.from_tensor_slices."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from tests.harness import check

import feedline as fl


@dataclasses.dataclass
class Sample:
    x: Any
    y: Any


@attrs.define
class Boxed:
    x: Any


def test_structures() -> None:
    check(
        fl.Dataset.from_tensor_slices({"a": [1, 2], "b": ([1.0, 2.0], ["x", "y"])}),
        [{"a": 1, "b": (1.0, "x")}, {"a": 2, "b": (2.0, "y")}],
    )
    check(fl.Dataset.from_tensor_slices(Sample([1, 2], [[3], [4]])), [Sample(1, [3]), Sample(2, [4])])
    check(fl.Dataset.from_tensor_slices(Boxed([1])), [Boxed(1)])


def test_ragged_and_sparse_rows() -> None:
    ragged = fl.ragged.constant([[1, 2], [], [3]])
    check(fl.Dataset.from_tensor_slices(ragged), [[1, 2], np.zeros(0, np.int32), [3]])
    sparse = fl.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    check(
        fl.Dataset.from_tensor_slices(sparse),
        [
            fl.SparseTensor([[1]], [5], [2]),
            fl.SparseTensor(np.zeros((0, 1), np.int64), np.zeros(0, np.int32), [2]),
            fl.SparseTensor([[0]], [6], [2]),
        ],
    )


def test_small_arrays_are_copied_large_ones_are_not() -> None:
    small, large = np.zeros(3), np.zeros((1 << 18, 1))
    ds_small, ds_large = fl.Dataset.from_tensor_slices(small), fl.Dataset.from_tensor_slices(large)
    small[0] = large[0] = 7
    assert next(iter(ds_small)) == 0
    row = next(iter(ds_large))
    assert row[0] == 7 and np.shares_memory(row, large)


def test_memory_mapped_arrays_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1 << 18).reshape(-1, 2))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    ds = fl.Dataset.from_tensor_slices(mapped)
    assert np.shares_memory(next(iter(ds)), mapped)
    assert next(iter(ds.shuffle(10, seed=1).batch(4))).shape == (4, 2)


def test_elements_are_read_only_and_batches_and_arguments_of_functions_are_not() -> None:
    source = np.zeros((4, 2))
    ds = fl.Dataset.from_tensor_slices(source)

    def spoil(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        spoil(next(iter(ds)))
    check(ds.map(spoil), [np.ones(2)] * 4)
    check(ds.map(lambda x: spoil(x)), [np.ones(2)] * 4)  # in a function that it calls
    check(ds.map(lambda x: np.add(x, 1, out=x)), [np.ones(2)] * 4)
    check(fl.Dataset.zip(ds, {"x": ds}).map(lambda x, y: spoil(y["x"]) + x), [np.ones(2)] * 4)
    check(fl.Dataset.from_tensors(source).repeat(2).map(spoil), [np.ones((4, 2))] * 2)
    assert not source.any()
    batch = next(iter(ds.batch(2)))
    batch += 1
    assert not next(iter(ds.batch(2))).any()
    assert next(iter(ds.batch(2).map(spoil))).all()
    assert not next(iter(ds.batch(2))).any()


class Rows:
    """A dataset of another library, which is read by index."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return [3, 4][i]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "a scalar at \\$ has no rows"),
        ({"a": [1, 2], "b": 3}, "at \\$.b"),
        (([1, 2, 3], [1, 2]), "\\$\\[0\\] has 3 rows, \\$\\[1\\] has 2"),
        ([[1, 2], [3]], "differ in length"),
        ((), "no arrays"),
        (object(), "cannot be part of an element"),
        ([{"a": 1}, {"a": 2}], "a dict cannot be part of a list in an element: .*; for rows as dicts, make one"),
        (Rows(), "are a fl.Source, for Dataset.from_source"),
        (None, "no arrays"),
        ((None, None), "no arrays"),
    ],
)
def test_bad_values(value: Any, text: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=text):
        fl.Dataset.from_tensor_slices(value)


def test_a_component_may_be_none() -> None:
    check(fl.Dataset.from_tensor_slices((None, [1, 2])), [(None, 1), (None, 2)])
    ds = fl.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": (None, ["x", "y", "z"])})
    check(ds.batch(2), [{"a": [1, 2], "b": (None, ["x", "y"])}, {"a": [3], "b": (None, ["z"])}])


def test_numpy_scalars_in_a_list_count_as_python_numbers() -> None:
    assert fl.Dataset.from_tensor_slices([np.int64(1), 2]).element_spec == fl.TensorSpec([], fl.int32)
    assert fl.Dataset.from_tensor_slices([np.float64(1)]).element_spec == fl.TensorSpec([], fl.float64)
    assert fl.Dataset.from_tensor_slices([np.arange(2), np.arange(2)]).element_spec == fl.TensorSpec([2], fl.int64)


def test_tables_keep_their_names_or_say_what_to_do() -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    table = pa.table({"a": [1, 2], "b": [0.5, 1.5]})
    for value in (table, table.to_batches()[0]):
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"dict\(zip\(table.column_names, table.columns\)\)"):
            fl.Dataset.from_tensor_slices(value)
    by_name = fl.Dataset.from_tensor_slices(dict(zip(table.column_names, table.columns, strict=True)))
    check(by_name, [{"a": np.int64(1), "b": np.float64(0.5)}, {"a": np.int64(2), "b": np.float64(1.5)}])
    frame = pd.DataFrame({"animal": ["cat", "dog"], "age": [3, 5]})
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"dict\(df\)"):
        fl.Dataset.from_tensor_slices(frame)
    check(fl.Dataset.from_tensor_slices(dict(frame)), [
        {"animal": b"cat", "age": np.int64(3)},
        {"animal": b"dog", "age": np.int64(5)},
    ])
    check(fl.Dataset.from_tensor_slices(frame[["age"]]), [np.array([3]), np.array([5])])
