"""data/iterator.py."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from tests.engine.outcomes import got_by_threads

import feedline as fl
from feedline.random import seeds


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


def test_numpy_iterator_gives_types_of_numpy_only() -> None:
    rows = fl.ragged.constant([[[1], [2, 3]], [], [[5, 6]]])
    sparse = fl.SparseTensor([[1, 0], [0, 1]], ["a", "b"], [2, 2])
    ds = fl.Dataset.from_tensor_slices({"r": rows, "n": [7, 8, 9]})
    ds = fl.Dataset.zip((ds, fl.Dataset.from_tensors((sparse, None)).repeat()))
    it = ds.as_numpy_iterator()
    first, (dense, none) = next(it)
    assert [r.tolist() for r in first["r"]] == [[1], [2, 3]] and first["r"].dtype == object and first["n"] == 7
    assert dense.tolist() == [[b"", b"b"], [b"a", b""]] and none is None
    other = ds.as_numpy_iterator()
    other.restore(it.save())
    assert next(other)[0]["r"].shape == (0, 0) and next(other)[0]["r"].tolist() == [[5, 6]]


def test_numpy_iterator_refuses_nested_datasets() -> None:
    windows = fl.Dataset.range(4).window(2)
    with pytest.raises(TypeError, match="NumPy has no type for a DatasetSpec"):
        windows.as_numpy_iterator()
    with pytest.raises(TypeError, match="NumPy has no type for a DatasetSpec"):
        next(windows.map(lambda w: w.skip(1)).as_numpy_iterator())


def test_an_optional_where_the_first_elements_fail() -> None:
    def fails(x: Any) -> Any:
        if x < 30:
            raise ValueError("bad")
        return x

    it = iter(fl.Dataset.range(32).map(fails).skip(1))
    for _ in range(30):
        with pytest.raises(ValueError, match="bad"):
            it.get_next_as_optional()
    got = it.get_next_as_optional()
    assert got.get_value() == 31 and got.element_spec == fl.TensorSpec([], fl.int64)


def test_numpy_iterator() -> None:
    it = fl.Dataset.range(3).as_numpy_iterator()
    assert isinstance(it, fl.NumpyIterator) and it.next() == 0 and [int(x) for x in it] == [1, 2]


def test_two_iterators_are_independent() -> None:
    ds = fl.Dataset.range(3)
    a, b = iter(ds), iter(ds)
    assert [next(a), next(a), next(b), next(a), next(b)] == [0, 1, 0, 2, 1]


def test_states_in_the_ways_of_others() -> None:
    ds = fl.Dataset.range(50).shuffle(20, seed=1).batch(3)
    it = iter(ds)
    next(it), next(it)
    state = it.state_dict()
    assert json.loads(it.save()) == json.loads(it.get_state()) == state == json.loads(json.dumps(state))
    copies = [state, copy.deepcopy(state), pickle.loads(pickle.dumps(state)), it.save(), it.save().decode()]
    rest = [x.tolist() for x in it]
    for given in copies:
        for load in ("restore", "load_state_dict", "set_state"):
            other = iter(fl.Dataset.range(50).shuffle(20, seed=1).batch(3))
            getattr(other, load)(given)
            assert [x.tolist() for x in other] == rest
    assert state == copies[1], "loading changes no state"


def test_a_state_of_an_iterator_that_has_given_nothing_or_everything() -> None:
    for at in (0, 5):
        it = iter(fl.Dataset.range(5).shuffle(3, seed=1))
        head = [int(next(it)) for _ in range(at)]
        if at:
            assert next(it, None) is None
        other = iter(fl.Dataset.range(5).shuffle(3, seed=1))
        other.restore(it.save())
        assert head + [int(x) for x in other] == [int(x) for x in fl.Dataset.range(5).shuffle(3, seed=1)]


@pytest.mark.parametrize("name", ["__next__", "_next_of_many"])
def test_threads_that_share_an_iterator_get_each_element_once(name: str) -> None:
    """The second way is the only one where Python has no GIL."""
    got = got_by_threads(getattr(iter(fl.Dataset.range(20_000)), name))
    assert sorted(x for mine in got for x in mine) == list(range(20_000))
    assert all(mine == sorted(mine) for mine in got)


def test_an_interrupt_leaves_no_function_scope_behind() -> None:
    """Seedless operators that are made later are not taken for those of the function that was interrupted."""

    def interrupted(x: Any) -> Any:
        seeds.FunctionScope().__enter__()  # as where Ctrl-C comes before the block that leaves it
        raise KeyboardInterrupt

    with iter(fl.Dataset.range(3).map(interrupted)) as it, pytest.raises(KeyboardInterrupt):
        next(it)
    assert seeds.current_scope() is None
