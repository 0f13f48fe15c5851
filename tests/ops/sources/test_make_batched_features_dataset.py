"""`experimental.make_batched_features_dataset`: files of Examples to batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import check

import feedline as fl

FEATURES = {"i": fl.io.FixedLenFeature([], fl.int64), "l": fl.io.FixedLenFeature([], fl.int64)}


def write(path: Path, numbers: range, options: str | None = None) -> str:
    with fl.io.TFRecordWriter(path, options) as writer:
        for i in numbers:
            example = fl.train.Example()
            example.features.feature["i"].int64_list.value.append(i)
            example.features.feature["l"].int64_list.value.append(i % 2)
            writer.write(example.SerializeToString())
    return str(path)


def make(pattern: Any, batch_size: int = 2, **arguments: Any) -> Any:
    arguments = {"features": FEATURES, "num_epochs": 1, "shuffle": False, **arguments}
    return fl.experimental.make_batched_features_dataset(pattern, batch_size, **arguments)


def test_batches(tmp_path: Path) -> None:
    ds = make(write(tmp_path / "a", range(5)))
    rows = [[0, 1], [2, 3], [4]]
    check(ds, [{"i": np.array(r), "l": np.array(r) % 2} for r in rows])
    assert ds.element_spec == {key: fl.TensorSpec([None], fl.int64) for key in "il"}


def test_a_label_and_epochs(tmp_path: Path) -> None:
    ds = make(write(tmp_path / "a", range(5)), label_key="l", num_epochs=2, drop_final_batch=True)
    rows = [[0, 1], [2, 3], [4, 0], [1, 2], [3, 4]]
    check(ds, [({"i": np.array(r)}, np.array(r) % 2) for r in rows])
    endless = make(write(tmp_path / "a", range(3)), num_epochs=None)
    assert [b["i"].tolist() for b in endless.take(3)] == [[0, 1], [2, 0], [1, 2]]


def test_files_in_turn_and_shuffled(tmp_path: Path) -> None:
    for k in range(2):
        write(tmp_path / f"{k}", range(10 * k, 10 * k + 3))
    pattern = f"{tmp_path}/*"
    assert next(iter(make(pattern, 9)))["i"].tolist() == [0, 1, 2, 10, 11, 12]
    assert next(iter(make(pattern, 9, reader_num_threads=2)))["i"].tolist() == [0, 10, 1, 11, 2, 12]

    def build() -> Any:
        return make(pattern, 9, shuffle=True, shuffle_seed=2)

    expect = list(build())
    assert sorted(expect[0]["i"].tolist()) == [0, 1, 2, 10, 11, 12]
    check(build, expect, second=None, sizes=(1, None))


def test_readers(tmp_path: Path) -> None:
    file = write(tmp_path / "a", range(3), "GZIP")
    assert next(iter(make(file, 3, reader_args=["GZIP"])))["i"].tolist() == [0, 1, 2]
    assert next(iter(make(file, 3, reader=fl.TFRecordDataset, reader_args=["GZIP"])))["i"].tolist() == [0, 1, 2]

    def pairs(name: bytes, compression: str) -> Any:
        return fl.TFRecordDataset(name, compression).map(lambda record: (name, record))

    for threads in (None, 2, fl.AUTOTUNE):
        ds = make(file, 3, reader=pairs, reader_args=["GZIP"], reader_num_threads=threads)
        assert next(iter(ds))["i"].tolist() == [0, 1, 2]


def test_an_example_without_a_feature(tmp_path: Path) -> None:
    with fl.io.TFRecordWriter(tmp_path / "a") as writer:
        writer.write(b"")
    with pytest.raises(fl.errors.InvalidArgumentError, match="example 0 has no feature 'i', which is required"):
        list(make(str(tmp_path / "a")))


def test_arguments(tmp_path: Path) -> None:
    file = write(tmp_path / "a", range(1))
    with pytest.raises(ValueError, match=r"label_key must be one of the features \['i', 'l'\], got 'q'"):
        make(file, label_key="q")
    with pytest.raises(fl.errors.InvalidArgumentError, match="no files matched"):
        make(str(tmp_path / "nope*"))
    with pytest.raises(ValueError, match="must name at least one feature"):
        make(file, features={})
