"""data/iterator.py."""

from __future__ import annotations

import pytest

import feedline as fl


def test_protocol() -> None:
    it = iter(fl.Dataset.range(2))
    assert iter(it) is it and next(it) == 0 and it.get_next() == 1
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(it)
        with pytest.raises(fl.errors.OutOfRangeError, match="end of sequence"):
            it.get_next()
    assert not it.get_next_as_optional().has_value()
    assert it.element_spec == fl.TensorSpec([], fl.int64)


def test_numpy_iterator() -> None:
    it = fl.Dataset.range(3).as_numpy_iterator()
    assert isinstance(it, fl.NumpyIterator) and it.next() == 0 and [int(x) for x in it] == [1, 2]


def test_two_iterators_are_independent() -> None:
    ds = fl.Dataset.range(3)
    a, b = iter(ds), iter(ds)
    assert [next(a), next(a), next(b), next(a), next(b)] == [0, 1, 0, 2, 1]
