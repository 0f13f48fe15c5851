from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import feedline as fl
from feedline.engine.run import blocks
from feedline.errors import InvalidArgumentError, InvalidTypeError

D = fl.Dataset


def opaque(x: Any) -> Any:
    return {"n": int(x), "row": np.arange(int(x) % 3), "text": str(int(x))}


def test_columns_are_called_by_their_paths() -> None:
    ds = D.from_tensor_slices(({"a": [1, 2], "b": {"c": [1.5, 2.5], "no name": [True, False]}}, ["x", "y"]))
    frame = ds.to_pandas()
    assert list(frame.columns) == ["0.a", "0.b.c", "0.b.no name", "1"]
    assert list(frame["0.a"]) == [1, 2]
    assert [str(t) for t in frame.dtypes] == ["int32", "float32", "bool", "object"]
    assert list(frame["1"]) == [b"x", b"y"]
    assert ds.to_arrow().schema.names == list(frame.columns)
    assert list(D.range(3).to_pandas().columns) == ["value"]


@pytest.mark.parametrize("size", [1, 7, None])
def test_rows_in_blocks_of_any_size(size: int | None) -> None:
    ds = D.range(30).map(opaque)
    with blocks(size) if size else blocks(64):
        frame, table = ds.to_pandas(), ds.to_arrow()
    assert list(frame["n"]) == list(range(30))
    assert [r.tolist() for r in frame["row"]] == [list(range(i % 3)) for i in range(30)]
    assert list(frame["text"]) == [b"%d" % i for i in range(30)]
    assert table["row"].to_pylist() == [list(range(i % 3)) for i in range(30)]
    assert table["n"].to_pylist() == list(range(30))
    assert table["text"].type == pa.binary()
    assert len(D.range(20_000).to_pandas()) == D.range(20_000).to_arrow().num_rows == 20_000


def test_limit_asks_for_no_more() -> None:
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x))
        return x

    ds = D.range(100).map(note)
    assert list(ds.to_pandas(limit=3)["value"]) == [0, 1, 2]
    assert seen == [0, 1, 2]
    assert D.range(5).repeat().to_arrow(limit=7)["value"].to_pylist() == [0, 1, 2, 3, 4, 0, 1]
    assert len(D.range(5).to_pandas(limit=10)) == 5
    for method in (D.to_pandas, D.to_arrow):
        with pytest.raises(InvalidArgumentError, match="the dataset is infinite; give a limit"):
            method(D.range(5).repeat())
        with pytest.raises(InvalidArgumentError, match="limit must be zero or more, got -1"):
            method(D.range(5), limit=-1)


def test_arrays_ragged_and_sparse_values() -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    frame = D.from_tensor_slices(images).to_pandas()
    assert frame["value"].dtype == object
    np.testing.assert_array_equal(frame["value"][1], images[1])
    table = D.from_tensor_slices(images).to_arrow()
    assert table.schema.field("value").type == pa.list_(pa.list_(pa.uint8(), 4), 3)
    assert table["value"].to_pylist() == images.tolist()
    assert D.from_tensor_slices(images).batch(2).to_arrow()["value"].to_pylist() == [images.tolist()]
    ragged = D.from_tensors(fl.ragged.constant([[1, 2], [3]]))
    assert [r.tolist() for r in ragged.to_pandas()["value"][0]] == [[1, 2], [3]]
    assert ragged.to_arrow()["value"].to_pylist() == [[[1, 2], [3]]]
    sparse = D.from_tensors(fl.SparseTensor([[0, 1]], [5], [2, 2]))
    assert sparse.to_pandas()["value"][0].tolist() == [[0, 5], [0, 0]]
    assert sparse.to_arrow()["value"].to_pylist() == [[[0, 5], [0, 0]]]
    strings = D.from_tensor_slices([["a", "b"], ["c", "d"]])
    assert strings.to_arrow()["value"].to_pylist() == [[b"a", b"b"], [b"c", b"d"]]
    nothing = D.range(2).map(lambda x: (x, None))
    assert nothing.to_arrow()["1"].to_pylist() == [None, None]
    assert list(nothing.to_pandas()["1"]) == [None, None]


EMPTY: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "numbers": (lambda: D.from_tensor_slices(np.zeros(3, np.int16)), "int16", pa.int16()),
    "strings": (lambda: D.from_tensor_slices(["a"]), "object", pa.binary()),
    "arrays": (lambda: D.from_tensor_slices(np.zeros((3, 2))), "object", pa.list_(pa.float64(), 2)),
    "batches": (lambda: D.range(3).batch(2), "object", pa.large_list(pa.int64())),
}


@pytest.mark.parametrize("name", EMPTY)
def test_no_rows_keep_the_types(name: str) -> None:
    make, dtype, kind = EMPTY[name]
    frame, table = make().to_pandas(limit=0), make().take(0).to_arrow()
    assert len(frame) == table.num_rows == 0
    assert str(frame["value"].dtype) == dtype
    assert table.schema.field("value").type == kind


def test_what_arrow_has_no_type_for() -> None:
    with pytest.raises(InvalidArgumentError, match="the column value is complex64, for which Arrow has no type"):
        D.from_tensor_slices(np.zeros(2, np.complex64)).to_arrow()
    with pytest.raises(InvalidTypeError, match=r"the leaf value holds datasets.*flat_map"):
        D.range(4).window(2).to_arrow()


def test_the_round_trip_through_a_frame() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "f": [0.5, 1.0, 2.0]})
    pd.testing.assert_frame_equal(D.from_tensor_slices(dict(frame)).to_pandas(), frame)


@pytest.mark.parametrize(
    ("method", "package", "extra"), [("to_pandas", "pandas", "pandas"), ("to_arrow", "pyarrow", "parquet")]
)
def test_without_the_library(monkeypatch: pytest.MonkeyPatch, method: str, package: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{method} needs the package {package}: pip install 'feedline\[{extra}\]'"):
        getattr(D.range(3), method)()


@pytest.mark.parametrize("shape", [(2, 0), (2, 0, 3), (2, 3, 0), (2, 1, 0, 0), (0, 3)])
def test_arrays_without_items(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.float32)
    table = D.from_tensor_slices(array).to_arrow()
    assert table["value"].to_pylist() == array.tolist()
    assert table.num_rows == len(D.from_tensor_slices(array).to_pandas()) == shape[0]
    assert str(table.schema.field("value").type).startswith("fixed_size_list<")
    table.validate(full=True)


def test_ragged_and_sparse_values_keep_their_dtype() -> None:
    ragged = D.from_tensor_slices(fl.ragged.constant([[[1.5], [2.0, 3.0]], [], [[4.0]]], dtype=np.float32)).to_arrow()
    assert ragged["value"].to_pylist() == [[[1.5], [2.0, 3.0]], [], [[4.0]]]
    assert str(ragged.schema.field("value").type) == "large_list<item: large_list<item: float>>"
    words = D.from_tensor_slices(fl.ragged.constant([["a"], ["b", "c"]])).to_arrow()
    assert words["value"].to_pylist() == [[b"a"], [b"b", b"c"]]
    uneven = D.range(1, 3).map(lambda i: np.ones((int(i), 2), np.int8)).to_arrow()
    assert uneven["value"].to_pylist() == [[[1, 1]], [[1, 1], [1, 1]]]
    assert str(uneven.schema.field("value").type) == "large_list<item: large_list<item: int8>>"


def test_names_that_would_be_the_same() -> None:
    ds = D.from_tensor_slices({"a.b": [1], "a": {"b": [2]}, "c": [3]})
    assert ds.to_arrow().to_pydict() == {"$.a.b": [2], "$['a.b']": [1], "c": [3]}
    assert ds.to_pandas().to_dict("list") == {"$.a.b": [2], "$['a.b']": [1], "c": [3]}
