"""batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


@pytest.mark.parametrize("n", [0, 1, 6, 10])
@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("drop", [False, True])
def test_sizes(n: int, size: int, drop: bool) -> None:
    groups = [np.arange(i, min(i + size, n)) for i in range(0, n, size)]
    ds = fl.Dataset.range(n).batch(size, drop_remainder=drop)
    check(ds, [g for g in groups if len(g) == size or not drop])
    assert ds.element_spec == fl.TensorSpec([size if drop else None], fl.int64)


def test_every_kind_of_leaf() -> None:
    ds = fl.Dataset.from_tensor_slices(
        {
            "m": np.arange(12.0).reshape(3, 2, 2),
            "s": ["a", "", "c"],
            "r": fl.ragged.constant([[1], [], [2, 3]]),
            "p": fl.SparseTensor([[1, 0]], [7], [3, 2]),
        }
    )
    (first, _) = list(ds.batch(2))
    assert first["m"].shape == (2, 2, 2) and first["s"].tolist() == [b"a", b""]
    assert first["r"].to_list() == [[1], []]
    assert first["p"].indices.tolist() == [[1, 0]] and first["p"].dense_shape.tolist() == [2, 2]


def test_none_stays_none() -> None:
    check(fl.Dataset.range(2).map(lambda x: (np.positive(x), None)).batch(2), [(np.arange(2), None)])


def test_shapes_must_agree() -> None:
    sizes = fl.Dataset.from_tensor_slices(np.array([2, 2, 2, 3, 1, 1]))
    text = r"component \$: the first has shape \[2\], element 1 of the batch has \[3\]; use padded_batch"
    check_errors(
        lambda: sizes.map(lambda n: np.full([n], n)).batch(2),
        [np.full((2, 2), 2), Raises(ValueError, text), np.full((2, 1), 1)],
    )


def test_an_error_of_the_input_loses_the_batch_in_hand() -> None:
    def f(x: Any) -> Any:
        if x == 4:
            raise ValueError("four")
        return np.positive(x)

    check_errors(
        lambda: fl.Dataset.range(11).map(f).prefetch(1).batch(3),
        [np.arange(3), ValueError, np.arange(5, 8), np.arange(8, 11)],
    )


def test_batches_belong_to_the_caller() -> None:
    ds = fl.Dataset.range(6).batch(3)
    it = iter(ds)
    first, second = next(it), next(it)
    first[:] = -1
    assert second.tolist() == [3, 4, 5] and first.flags.writeable


@pytest.mark.parametrize("size", [0, -1])
def test_bad_size(size: int) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"batch_size must be greater than zero, got {size}"):
        fl.Dataset.range(3).batch(size)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="batch_size must be an integer"):
        fl.Dataset.range(3).batch("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="drop_remainder must be True or False"):
        fl.Dataset.range(3).batch(2, drop_remainder=3)  # type: ignore[arg-type]


def test_batches_of_datasets() -> None:
    (windows,) = fl.Dataset.range(4).window(2).batch(2)
    assert [list(window) for window in windows] == [[0, 1], [2, 3]]
