from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import feedline as fl
from feedline.compat import v1
from feedline.compat.v1.symbolic import SymbolicCall, map_nest, resolved
from feedline.compat.v1.tensor import SessionRun

Pair = namedtuple("Pair", "a b")


@pytest.fixture
def three() -> v1.Tensor:
    return v1.placeholder(fl.int64, [])


def frame(tensor: v1.Tensor, value: int) -> SessionRun:
    return SessionRun(None, {tensor: value})


def test_map_nest_keeps_containers():
    nest = [1, (2, Pair(3, 4)), {"a": 5}, OrderedDict(b=6), slice(7, None)]
    got = map_nest(lambda x: x if x is None else x + 1, nest)
    assert got == [2, (3, Pair(4, 5)), {"a": 6}, OrderedDict(b=7), slice(8, None)]
    assert type(got[3]) is OrderedDict


def test_tensors_are_found_everywhere(three: v1.Tensor):
    for nest in ([three], (1, three), {"a": three}, slice(None, three), functools.partial(pow, three)):
        assert SymbolicCall(print, (nest,), {}).tensors == (three,)
    assert SymbolicCall(print, (three,), {"end": three}).tensors == (three,)


def test_what_holds_nothing_symbolic_stays_as_it_is(three: v1.Tensor):
    nest = [1, {"a": lambda: 2}]
    assert resolved(nest, frame(three, 3)) is nest


@pytest.mark.parametrize("kind", ["closure", "default", "keyword default", "partial", "inner"])
def test_functions_see_values(three: v1.Tensor, kind: str):
    function = {
        "closure": lambda x: x + three,
        "default": lambda x, y=three: x + y,
        "keyword default": lambda x, *, y=three: x + y,
        "partial": functools.partial(lambda y, x: x + y, three),
        "inner": lambda x: max(x + three for _ in "a"),
    }[kind]
    call = SymbolicCall(map, (function, [10]), {})
    assert call.pending
    assert list(call(frame(three, 3))) == [13]
    assert list(call(frame(three, 4))) == [14]


scale = None


def test_functions_see_values_of_globals(three: v1.Tensor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "scale", three)
    call = SymbolicCall(map, (lambda x: x * scale, [10]), {})
    assert call.tensors == (three,)
    assert list(call(frame(three, 3))) == [30]
    assert scale is three


def test_a_global_that_shares_its_name_with_an_attribute_is_no_capture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "shape", v1.placeholder(fl.int64))
    assert not SymbolicCall(map, (lambda x: x.shape, [np.zeros(2)]), {}).pending


def test_a_variable_without_a_value_is_no_capture():
    def function(x):
        return later + x

    assert not SymbolicCall(map, (function, []), {}).pending
    later = 1
    assert function(1) == 2


def test_datasets_wait_only_if_they_have_to(three: v1.Tensor):
    fixed = v1.data.Dataset.range(2)
    waiting = v1.data.Dataset.range(three)
    assert not SymbolicCall(print, (fixed,), {}).pending
    assert SymbolicCall(print, (waiting,), {}).pending
    assert SymbolicCall(print, (lambda x: fixed,), {}).pending  # starts anew with the iterator
