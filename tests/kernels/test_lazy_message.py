"""A message that is built in C++ has the bytes, and refuses the values, of one that is built in Python."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.kernels import NATIVE
from feedline.train import BytesList, Example, Feature, Features, FloatList, Int64List

LISTS = {BytesList: "bytes_list", FloatList: "float_list", Int64List: "int64_list"}


def built(cls: Any, **values: Any) -> Any:
    """A message made the long way."""
    made = cls.__new__(cls)
    made.serialized = None
    made._build(**values)
    return made


def outcome(make: Any, cls: Any, **values: Any) -> Any:
    try:
        return make(cls, **values).SerializeToString()
    except Exception as e:
        return type(e), str(e)


ITEMS = [
    *([], [0.0], [-0.0, 1.5, 1e300, -1e300, 1e-46], [float("nan")], [1, 2], [2**1023], [2**1024], [-(2**70)], [True]),
    *([0], [127, 128, -1], [2**63 - 1, -(2**63)], [2**63], (3, 4), [np.int8(3), np.float32(2)], list(range(100))),
    *([b""], [b"a", b"x" * 200], (b"y",), [b"a", "b"], "text", b"bytes", 3, {1: 2}, {1.5}, range(3), iter([1])),
    *(np.arange(5), np.arange(3, dtype=np.int32), np.arange(3, dtype=np.uint8), np.arange(6.0)[::2], np.zeros((2, 2))),
    *(np.arange(3, dtype=">f4"), np.arange(3, dtype=">i8"), np.array([1e300, np.nan]), np.zeros(0, np.float32)),
    *(np.array([b"ab"]), np.array(["ab"]), np.float16([1, 2]), np.array(3), np.array([True]), bytearray(b"abc")),
]


@pytest.mark.parametrize("cls", LISTS)
@pytest.mark.parametrize("items", ITEMS, ids=[f"{i}" for i in range(len(ITEMS))])
def test_lists(cls: Any, items: Any) -> None:
    if type(items).__name__ == "list_iterator":
        assert outcome(lambda c, value: c(value=value), cls, value=iter([1])) == outcome(built, cls, value=iter([1]))
        return
    assert outcome(lambda c, value: c(value=value), cls, value=items) == outcome(built, cls, value=items)


VALUES = st.one_of(
    st.lists(st.binary(max_size=9)).map(lambda v: (BytesList, v)),
    st.lists(st.floats()).map(lambda v: (FloatList, v)),
    st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda v: (Int64List, v)),
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), VALUES))
def test_examples(features: dict[str, Any]) -> None:
    def example(make: Any) -> Any:
        made = {k: make(Feature, **{LISTS[cls]: make(cls, value=v)}) for k, (cls, v) in features.items()}
        return make(Example, features=make(Features, feature=made))

    short, long = example(lambda cls, **values: cls(**values)), example(built)
    assert short.SerializeToString() == long.SerializeToString()
    assert short.ByteSize() == len(short.SerializeToString())
    assert repr(short) == repr(long)
    assert Example.FromString(long.SerializeToString()).SerializeToString() == short.SerializeToString()


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        (Feature, {"float_list": FloatList(value=[1.0]), "int64_list": Int64List(value=[2])}),
        (Feature, {"int64_list": Int64List(value=[2]), "float_list": None}),
        (Feature, {"float_list": Int64List()}),
        (Feature, {"float_list": {"value": [1.0]}}),
        (Feature, {"floats": 1}),
        (Feature, {}),
        (Features, {"feature": {"a": 3}}),
        (Features, {"feature": {"a": {"int64_list": {"value": [1]}}}}),
        (Features, {"feature": {b"a": Feature()}}),
        (Features, {"feature": {"\udcff": Feature()}}),
        (Features, {"feature": [1]}),
        (Example, {"features": Feature()}),
        (Example, {"features": Features()}),
    ],
)
def test_what_is_unusual(cls: Any, values: dict[str, Any]) -> None:
    assert outcome(lambda c, **v: c(**v), cls, **values) == outcome(built, cls, **values)


def test_what_was_given_can_change_afterwards() -> None:
    numbers = [1, 2]
    inner = Int64List(value=numbers)
    feature = Feature(int64_list=inner)
    features = Features(feature={"a": feature})
    numbers.append(3)
    inner.value.append(4)
    feature.int64_list.value.append(5)
    features.feature["a"].int64_list.value.append(6)
    assert (inner.value, feature.int64_list.value) == ([1, 2, 4], [1, 2, 5])
    assert features.feature["a"].int64_list.value == [1, 2, 6]
    assert Feature(int64_list=inner).int64_list.value == [1, 2, 4]
    feature.Clear()
    assert feature.SerializeToString() == b""


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="'Int64List' object has no attribute 'values'"):
        _ = Int64List(value=[1]).values  # type: ignore[attr-defined]
    message = Int64List(value=[1])
    assert (message.serialized is not None) == NATIVE
    with pytest.raises(AttributeError, match="no attribute 'values'"):
        message.values = 3  # type: ignore[attr-defined]


def test_nothing_is_held_too_long() -> None:
    text = b"some text" * 3
    before = sys.getrefcount(text)
    for _ in range(3):
        message = Example(features=Features(feature={"a": Feature(bytes_list=BytesList(value=[text]))}))
        assert message.features.feature["a"].bytes_list.value == [text]
    del message
    gc.collect()  # messages and the lists in them refer to each other
    assert sys.getrefcount(text) == before
