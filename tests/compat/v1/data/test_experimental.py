from __future__ import annotations

import pytest

import feedline as fl
from feedline.compat import v1

experimental = v1.data.experimental


def test_everything_experimental_is_there():
    missing = [n for n in fl.data.experimental.__all__ if not hasattr(experimental, n)]
    assert not missing
    assert set(fl.data.experimental.__all__) <= set(dir(experimental))
    with pytest.raises(AttributeError):
        _ = experimental.nothing_of_the_kind


def test_sources_give_v1_datasets(session: v1.Session):
    start = v1.placeholder(fl.int64, [])
    iterator = experimental.Counter(start).make_initializable_iterator()
    session.run(iterator.initializer, {start: 5})
    assert session.run(iterator.get_next()) == 5


def test_classes_are_v1_datasets():
    made = experimental.RandomDataset(seed=4)
    assert isinstance(made, v1.data.Dataset)
    assert next(iter(made)) == next(iter(fl.data.experimental.RandomDataset(seed=4)))
    assert experimental.RandomDataset is experimental.RandomDataset


def test_transformations_take_tensors(session: v1.Session):
    n = v1.placeholder(fl.int64, [])
    iterator = v1.data.Dataset.range(9).apply(experimental.enumerate_dataset(n)).make_initializable_iterator()
    session.run(iterator.initializer, {n: 7})
    assert session.run(iterator.get_next()) == (7, 0)


def test_values_are_tensors(session: v1.Session):
    n = v1.placeholder(fl.int64, [])
    ds = v1.data.Dataset.range(n)
    assert session.run([experimental.cardinality(ds), experimental.at(ds, 2)], {n: 4}) == [4, 2]


def test_structures():
    assert experimental.TensorStructure(fl.int32, [2]) == fl.TensorSpec([2], fl.int32)
    assert experimental.get_structure(v1.data.Dataset.range(2).make_one_shot_iterator()) == fl.TensorSpec([], fl.int64)
    assert experimental.DatasetStructure is fl.DatasetSpec
