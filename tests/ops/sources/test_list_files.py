"""`Dataset.list_files`: sorted, then shuffled as TensorFlow does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.harness import check

import feedline as fl


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(6):
        (tmp_path / f"f{i}").touch()
    return tmp_path


def names(ds: fl.Dataset[bytes]) -> list[str]:
    return [os.path.basename(os.fsdecode(name)) for name in ds]


def test_sorted(folder: Path) -> None:
    ds = fl.Dataset.list_files(f"{folder}/f*", shuffle=False)
    check(ds, [os.fsencode(folder / f"f{i}") for i in range(6)])
    assert ds.cardinality() == 6 and ds.element_spec == fl.TensorSpec([], fl.string)
    two = fl.Dataset.list_files([folder / "f[01]", f"{folder}/f0"], shuffle=False)
    assert names(two) == ["f0", "f0", "f1"]


def test_shuffled_in_tensorflows_order(folder: Path) -> None:
    assert names(fl.Dataset.list_files(f"{folder}/f*", seed=1)) == ["f4", "f5", "f1", "f2", "f3", "f0"]
    ds = fl.Dataset.list_files(f"{folder}/f*", shuffle=True, seed=3)
    assert names(ds) == ["f0", "f1", "f2", "f3", "f4", "f5"]
    assert names(ds) == ["f0", "f4", "f1", "f5", "f3", "f2"]


def test_seeds(folder: Path) -> None:
    def order() -> list[str]:
        fl.random.set_seed(7)
        return names(fl.Dataset.list_files(f"{folder}/*"))

    assert order() == order() and sorted(order()) == [f"f{i}" for i in range(6)]
    fl.random.set_seed(7)
    fl.Dataset.list_files(f"{folder}/*", shuffle=False)  # draws no seed
    assert fl.random.get_seed(None) == (7, 1390851128)


def test_the_folder_is_looked_at_once(folder: Path) -> None:
    ds = fl.Dataset.list_files(f"{folder}/f*", shuffle=False)
    (folder / "f9").touch()
    assert len(names(ds)) == 6


def test_nothing_matches(folder: Path) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"list_files: no files matched the pattern .*/\*.nope"):
        fl.Dataset.list_files(f"{folder}/*.nope")
    with pytest.raises(fl.errors.InvalidArgumentError, match="an empty list"):
        fl.Dataset.list_files([])
    assert names(fl.Dataset.list_files([f"{folder}/*.nope", f"{folder}/f0"], shuffle=False)) == ["f0"]
