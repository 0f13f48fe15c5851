"""Datasets as parts of elements: lists and batches of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.harness import check

import feedline as fl
from feedline.structure.datasets import Datasets

INTS = [[np.int64(i) for i in range(n)] for n in range(5)]


def r(n: int) -> fl.Dataset[np.int64]:
    return fl.Dataset.range(n)


def test_lists_of_datasets() -> None:
    check(fl.Dataset.from_tensor_slices([r(2), r(3)]), [INTS[2], INTS[3]])
    check(fl.experimental.from_list([r(2), r(3)]), [INTS[2], INTS[3]])
    check(fl.Dataset.from_tensors([r(2), r(3)]).unbatch(), [INTS[2], INTS[3]])
    both = fl.Dataset.from_tensor_slices({"a": [r(2), r(3)], "b": [1, 2]})
    check(both, [{"a": INTS[2], "b": 1}, {"a": INTS[3], "b": 2}])
    check(fl.Dataset.from_tensor_slices([r(2), r(3)]).flat_map(lambda x: x), [*INTS[2], *INTS[3]])


def test_batches_of_datasets() -> None:
    windows = r(6).window(2)
    batches = windows.batch(2)
    pairs = [[np.int64(i), np.int64(i + 1)] for i in (0, 2, 4)]
    assert [[list(w) for w in batch] for batch in batches] == [pairs[:2], pairs[2:]]
    check(batches.unbatch(), pairs)
    check(batches.flat_map(fl.Dataset.from_tensor_slices), pairs)
    check(windows.batch(2).batch(2).unbatch().unbatch(), pairs)
    check(fl.Dataset.zip(windows, r(3)).batch(2).unbatch(), list(zip(pairs, INTS[3], strict=True)))
    check(batches.rebatch(3).unbatch(), pairs)
    spec = fl.TensorSpec([], fl.int64)
    assert batches.element_spec == fl.DatasetSpec(spec, [None])
    assert batches.unbatch().element_spec == windows.element_spec == fl.DatasetSpec(spec)
    assert windows.batch(3, drop_remainder=True).unbatch().cardinality() == 3


def test_a_batch_is_a_sequence_that_pickles() -> None:
    (batch,) = r(4).window(2).batch(2)
    again = pickle.loads(pickle.dumps(batch))
    assert isinstance(again, Datasets) and len(again) == 2 and list(again[1]) == [2, 3]
    assert [list(w) for w in again[:1]] == [[0, 1]] and "Datasets([" in repr(batch)


@pytest.mark.parametrize("ds", [r(4).window(2), r(4).window(2).batch(2), fl.Dataset.from_tensor_slices([r(2)])])
def test_refused(ds: fl.Dataset[object]) -> None:
    with pytest.raises(TypeError, match="only arrays can be padded"):
        ds.padded_batch(2)
    with pytest.raises(TypeError, match="NumPy has no type"):
        ds.as_numpy_iterator()


def test_lists_that_do_not_go_together() -> None:
    for bad in ([r(2), fl.Dataset.from_tensors("a")], [r(2), 3], [[r(1), r(2)], [r(3)]]):
        with pytest.raises(ValueError, match=r"dataset|inside a list") as raised:
            fl.Dataset.from_tensor_slices(bad)
        assert isinstance(raised.value, TypeError)
    with pytest.raises(ValueError, match="a single dataset"):
        r(4).window(2).unbatch()
