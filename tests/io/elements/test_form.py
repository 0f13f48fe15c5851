"""Structures and specs as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.errors import InvalidTypeError
from feedline.io.elements.form import ObservedSpecs, described, form, form_text, has_classes, leaf_order, spec_of_text
from feedline.structure.block import Block, Objects
from feedline.structure.nest import LEAF, flat, flatten

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


INT, TEXT = fl.TensorSpec([], fl.int32), fl.TensorSpec([None, 2], fl.string)
PLAIN: list[Any] = [
    INT,
    fl.TensorSpec(None, fl.bool),
    (INT, TEXT),
    (),
    {"b": INT, "a": (TEXT, {"c": None})},
    OrderedDict([("z", INT), ("y", TEXT)]),
    {1: INT, b"k": TEXT, (2, "x"): INT, None: INT, 1.5: INT},
    fl.RaggedTensorSpec([None, None, 3], fl.float32, 1, fl.int32),
    fl.SparseTensorSpec([None, 4], fl.complex64),
    fl.TensorSpec([2], "bfloat16"),
]


@pytest.mark.parametrize("spec", PLAIN, ids=repr)
def test_comes_back_as_it_was(spec: Any) -> None:
    again = spec_of_text(form_text(spec))
    assert again == spec and type(again) is type(spec)
    assert not has_classes(flatten(spec)[1])
    if isinstance(spec, dict):
        assert list(again) == list(spec)


def test_classes_come_back_as_what_is_like_them() -> None:
    again = spec_of_text(form_text((Point(INT, TEXT), Pair(INT, (TEXT,)))))
    point, pair = again
    assert type(point).__name__ == "Point" and point == Point(INT, TEXT) and point.y == TEXT
    assert pair == {"a": INT, "b": (TEXT,)}
    assert type(spec_of_text(form_text(Point(INT, INT)))) is type(point)
    assert has_classes(flatten((1, {"a": Point(1, 2)}))[1]) and has_classes(flatten(Pair(1, 2))[1])


@pytest.mark.parametrize(
    ("have", "want", "order"),
    [
        (1, 1, [0]),
        ((1, (2, 3)), Point(1, Point(2, 3)), [0, 1, 2]),
        ({"a": 1, "b": (2, 3)}, {"b": (2, 3), "a": 1}, [1, 2, 0]),
        ({"b": 1, "a": 2}, Pair(1, 2), [1, 0]),
        ((1, 2), {"a": 1, "b": 2}, None),
        ((1, 2), (1, 2, 3), None),
        ({"a": 1}, {"b": 1}, None),
        (1, (1,), None),
        ((1,), 1, None),
    ],
)
def test_lined_up(have: Any, want: Any, order: list[int] | None) -> None:
    assert leaf_order(flatten(have)[1], flatten(want)[1]) == order


@pytest.mark.parametrize("spec", [fl.DatasetSpec(INT), (INT, fl.OptionalSpec(INT))])
def test_what_has_no_place_in_a_file(spec: Any) -> None:
    with pytest.raises(InvalidTypeError, match="cannot be written to a file"):
        described(spec)


def test_keys_that_have_no_place_in_a_file() -> None:
    with pytest.raises(InvalidTypeError, match=r"the key frozenset\(\) cannot be written"):
        described({frozenset(): INT})


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "[]",
        '[null, []]',
        '[[null], [["tensor", "int32", []], null]]',
        '[null, [["tensor", "object", []]]]',
        '[null, [["tensor", "i4,O", []]]]',
        '[null, [["tensor", "(2,)f8", []]]]',
        '[null, [["tensor", "int32", [-1]]]]',
        '[null, [["tensor", "int32", [1.5]]]]',
        '[null, [["ragged", "int32", [1], 7, "int64"]]]',
        '[null, [["odd", "int32", []]]]',
        '[{"namedtuple": ["import os", ["a"], [null]]}, [null]]',
        '[{"namedtuple": ["P", ["_a"], [null]]}, [null]]',
        '[{"namedtuple": ["P", ["a", "a"], [null, null]]}, [null, null]]',
        '[{"dict": [["a"], [null, null]]}, [null, null]]',
        '[{"dict": [[{"bytes": "zz"}], [null]]}, [null]]',
        '[{"os.system": [["a"], [null]]}, [null]]',
        "[" * 100_000 + "]" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_what_is_no_form(text: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, RecursionError)):
        form(json.loads(text))


def test_seen_specs_are_the_narrowest_for_all_rows() -> None:
    seen = ObservedSpecs()
    assert seen.spec() is None and seen.spec(INT) == INT
    seen.add(Block([np.zeros((2, 3)), Objects([None, None])], 2, flat(2)))
    assert seen.spec() == (fl.TensorSpec([3], fl.float64), None)
    seen.add(Block([np.zeros((1, 4)), Objects([None])], 1, flat(2)))
    assert seen.spec() == (fl.TensorSpec([None], fl.float64), None)
    assert seen.spec((fl.TensorSpec(None, fl.float64), None)) == (fl.TensorSpec(None, fl.float64), None)
    assert seen.spec(INT) == seen.spec((INT, None)) == seen.spec()
    with pytest.raises(InvalidTypeError, match="differ in structure"):
        seen.add(Block([np.zeros(1)], 1, LEAF))
