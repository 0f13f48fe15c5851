"""Functions that are asked about elements do not change them, whatever they write into what they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import BLOCK_SIZES

import feedline as fl
from feedline.engine.run import blocks


def writes(answer: Any) -> Callable[[Any], Any]:
    """A function that overwrites what it is given."""

    def function(x: Any) -> Any:
        x[:] = -1
        return answer(x)

    return function


def yes(x: Any) -> Any:
    return True


def zero(x: Any) -> Any:
    return np.int64(0)


def first(x: Any) -> Any:
    return x[:]


ASKED: list[Any] = [
    lambda ds: ds.filter(writes(yes)),
    lambda ds: ds.filter(writes(yes), num_parallel_calls=2),
    lambda ds: ds.filter(writes(yes)).filter(writes(yes)),
    lambda ds: ds.map(first).filter(writes(yes)),
    lambda ds: ds.filter(writes(yes)).map(first),
    lambda ds: ds.take_while(writes(yes)),
    lambda ds: ds.group_by_window(writes(zero), lambda key, window: window, 2),
    lambda ds: ds.bucket_by_sequence_length(writes(len), [9], [1, 1]).unbatch(),
    lambda ds: ds.rejection_resample(writes(zero), [1.0], [1.0]).map(lambda label, x: x),
    lambda ds: ds.apply(
        fl.experimental.group_by_reducer(
            writes(zero), fl.experimental.Reducer(lambda k: np.zeros((0, 3), np.int64), _appended, lambda state: state)
        )
    ).unbatch(),
]


def _appended(state: Any, x: Any) -> Any:
    return np.concatenate([state, x[None]])


@pytest.mark.parametrize("size", BLOCK_SIZES)
@pytest.mark.parametrize("asked", ASKED)
def test_elements_stay_as_they_are(asked: Any, size: int | None) -> None:
    rows = np.arange(12).reshape(4, 3)
    with blocks(size):
        slices = fl.Dataset.from_tensor_slices(rows)
        for source in (slices, slices.shuffle(1), fl.Dataset.range(4).map(lambda x: np.arange(x * 3, x * 3 + 3))):
            assert [x.tolist() for x in asked(source)] == rows.tolist()
    assert rows[0, 0] == 0


def test_elements_of_several_parts() -> None:
    def writes_both(a: Any, b: Any) -> bool:
        a[:], b["x"][:] = 0, 0
        b["y"] = 5
        return True

    ds = fl.Dataset.range(1, 3).map(lambda x: (np.full(2, x), {"x": np.full(1, x)})).filter(writes_both)
    assert [(a.tolist(), b["x"].tolist(), len(b)) for a, b in ds] == [([1, 1], [1], 1), ([2, 2], [2], 1)]


def test_rows_of_unequal_length() -> None:
    ds = fl.Dataset.range(1, 4).map(lambda x: np.arange(x)).filter(writes(yes))
    assert [x.tolist() for x in ds] == [[0], [0, 1], [0, 1, 2]]


def test_what_passes_belongs_to_the_user() -> None:
    for x in fl.Dataset.range(3).map(lambda x: np.full(2, x)).filter(writes(yes)):
        x += 1


@pytest.mark.parametrize("how", ["save", "snapshot"])
def test_shard_functions(how: str, tmp_path: Path) -> None:
    ds = fl.Dataset.range(3).map(lambda x: np.full(2, x))
    if how == "save":
        ds.save(tmp_path, shard_func=writes(zero))
        ds = fl.Dataset.load(tmp_path)
    else:
        ds = ds.snapshot(tmp_path, shard_func=writes(zero))
    for _ in range(2):
        assert [x.tolist() for x in ds] == [[0, 0], [1, 1], [2, 2]]
