"""rejection_resample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl


def thirds(n: int) -> Any:
    return fl.Dataset.range(n).map(lambda x: x % 3)


def label(x: Any) -> Any:
    return np.int32(x)


def shares(ds: Any) -> Any:
    classes = np.array([int(c) for c, _ in ds])
    return np.bincount(classes) / len(classes)


def test_the_target_is_met() -> None:
    found = shares(thirds(3000).rejection_resample(label, [0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3], seed=4))
    assert np.allclose(found, [0.5, 0.3, 0.2], atol=0.04)
    found = shares(thirds(3000).rejection_resample(label, [0.5, 0.3, 0.2], seed=4))
    assert np.allclose(found, [0.5, 0.3, 0.2], atol=0.04)


@pytest.mark.parametrize("initial", [[1 / 3, 1 / 3, 1 / 3], None])
def test_runs_the_same_in_every_way(initial: Any) -> None:
    def make() -> Any:
        return thirds(40).rejection_resample(label, [0.5, 0.3, 0.2], initial, seed=4)

    check(make, list(make()), sizes=(1, 7, None), optimizer=[True])


@pytest.mark.parametrize("target", [[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]])
@pytest.mark.parametrize("initial", [[0.2, 0.3, 0.5], None])
def test_classes_by_arithmetic_and_by_plain_python(initial: Any, target: Any) -> None:
    def chosen(class_func: Any) -> list[int]:
        return [int(x) for _, x in fl.Dataset.range(300).rejection_resample(class_func, target, initial, seed=2)]

    assert chosen(lambda x: x % 3) == chosen(lambda x: np.int32(x % 3))


def test_elements_are_pairs_of_class_and_element() -> None:
    pairs = fl.Dataset.from_tensor_slices(([0, 1, 0], ["a", "b", "c"]))
    same = pairs.rejection_resample(lambda n, s: n, [0.5, 0.5], [0.5, 0.5])
    check(same, [(0, (0, b"a")), (1, (1, b"b")), (0, (0, b"c"))])
    assert same.element_spec == (
        fl.TensorSpec([], fl.int32),
        (fl.TensorSpec([], fl.int32), fl.TensorSpec([], fl.string)),
    )
    one = pairs.rejection_resample(lambda n, s: n, [1.0, 0.0], [0.5, 0.5], seed=1)
    check(one, [(0, (0, b"a")), (0, (0, b"c"))])


def test_cardinality() -> None:
    assert thirds(9).rejection_resample(label, [0.3, 0.3, 0.4]).cardinality() == fl.UNKNOWN_CARDINALITY


def test_classes_that_fail_or_are_none() -> None:
    def f(x: Any) -> Any:
        if x == 1:
            raise KeyError("class")
        return np.int32(7 if x == 3 else 0)

    check_errors(
        lambda: fl.Dataset.range(5).rejection_resample(f, [1.0, 0.0], [0.5, 0.5], seed=1),
        [
            (np.int32(0), np.int64(0)),
            Raises(KeyError, r"rejection_resample at step 2 \(test_rejection_resample.py:\d+ 'f'\).* element 1"),
            (np.int32(0), np.int64(2)),
            Raises(ValueError, "integer from 0 to 1"),
            (np.int32(0), np.int64(4)),
        ],
    )


def test_arguments() -> None:
    ds = thirds(3)
    with pytest.raises(ValueError, match="target_dist must be a vector"):
        ds.rejection_resample(label, 0.5)
    with pytest.raises(ValueError, match="the same length, got 2 and 3"):
        ds.rejection_resample(label, [0.3, 0.3, 0.4], [0.5, 0.5])
    with pytest.raises(TypeError, match="class_func must be a function"):
        ds.rejection_resample(3, [0.5, 0.5])  # type: ignore[arg-type]


def test_the_numbers_go_on_from_epoch_to_epoch() -> None:
    def make() -> Any:
        ds = fl.Dataset.range(18).map(lambda x: x % 3)
        return ds.rejection_resample(lambda x: np.int32(x), [0.0, 0.6, 0.4], [1 / 3] * 3, seed=4).repeat(3)

    classes = [1, 1, 2, 1, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 2, 1]  # TensorFlow's
    check(make, [(np.int32(c), np.int64(c)) for c in classes])


def test_estimates_where_nothing_comes_through(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("a\nbb\nc\n" * 20)
    words = fl.TextLineDataset(tmp_path / "words")
    step = {"target_dist": [0.5, 0.5], "seed": 92}
    assert list(words.take_while(lambda word: word > b"x").rejection_resample(lambda word: 0, **step)) == []
    some = words.filter(lambda word: word == b"c").rejection_resample(lambda word: len(word) - 1, **step)
    assert {element for _, element in some} == {b"c"}


def test_classes_that_are_no_numbers_cannot_be_estimated() -> None:
    ds = fl.Dataset.range(9).rejection_resample(lambda x: str(x), [0.5, 0.5], seed=1)
    with pytest.raises(TypeError, match="class_func must return an integer scalar"):
        list(ds)
