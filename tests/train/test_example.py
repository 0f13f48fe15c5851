"""`Example` and the other messages: protobuf's constructors, attributes and bytes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.train import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)


def ints(*values: int) -> Feature:
    return Feature(int64_list=Int64List(value=values))


EXAMPLE = Example(
    features=Features(
        feature={
            "b": ints(1, 300, -1),
            "a": Feature(float_list=FloatList(value=[1.5, -0.0])),
            "c": Feature(bytes_list=BytesList(value=[b"x", b"", b"\xff"])),
            "e": Feature(int64_list=Int64List()),
            "none": Feature(),
        }
    )
)


def test_the_bytes_are_protobufs_with_sorted_keys() -> None:
    assert EXAMPLE.SerializeToString(deterministic=True) == (
        b"\nO\n\x11\n\x01a\x12\x0c\x12\n\n\x08\x00\x00\xc0?\x00\x00\x00\x80"
        b"\n\x16\n\x01b\x12\x11\x1a\x0f\n\r\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        b"\n\x0f\n\x01c\x12\n\n\x08\n\x01x\n\x00\n\x01\xff\n\x07\n\x01e\x12\x02\x1a\x00\n\x08\n\x04none\x12\x00"
    )
    assert EXAMPLE.SerializeToString() == EXAMPLE.SerializeToString(deterministic=True)
    assert EXAMPLE.ByteSize() == len(EXAMPLE.SerializeToString())
    assert [m.SerializeToString() for m in (Example(), Example(features=Features()), Feature(), FeatureLists())] == [
        b"", b"\n\x00", b"", b"",
    ]  # fmt: skip


def test_it_comes_back() -> None:
    data = EXAMPLE.SerializeToString()
    back = Example.FromString(data)
    assert back == EXAMPLE and back.SerializeToString() == data
    feature = back.features.feature
    assert sorted(feature) == ["a", "b", "c", "e", "none"]
    assert feature["b"].int64_list.value == [1, 300, -1]
    assert [feature[k].WhichOneof("kind") for k in "abce"] == ["float_list", "int64_list", "bytes_list", "int64_list"]
    assert feature["none"].WhichOneof("kind") is None
    again = Example()
    assert again.ParseFromString(bytearray(data)) == len(data) and again == EXAMPLE
    assert pickle.loads(pickle.dumps(EXAMPLE)) == EXAMPLE
    deep = copy.deepcopy(EXAMPLE)
    deep.features.feature["b"].int64_list.value.append(2)
    assert deep != EXAMPLE and EXAMPLE.features.feature["b"].int64_list.value == [1, 300, -1]


def test_building_in_place() -> None:
    example = Example()
    assert not example.HasField("features")
    example.features.feature["x"].int64_list.value.extend([1, 2])
    example.features.feature["x"].int64_list.value[0] = 5
    example.features.feature["y"].bytes_list.value[:] = [b"a"]
    example.features.feature["z"].float_list.value.append(0.5)
    assert example.HasField("features")
    expect = {"x": ints(5, 2), "y": Feature(bytes_list=BytesList(value=[b"a"]))}
    expect["z"] = Feature(float_list=FloatList(value=[0.5]))
    assert example == Example(features=Features(feature=expect))


def test_sequence_examples() -> None:
    example = SequenceExample(
        context=Features(feature={"c": ints(7)}),
        feature_lists=FeatureLists(
            feature_list={"t": FeatureList(feature=[ints(1, 2), Feature(float_list=FloatList(value=[0.5]))])}
        ),
    )
    assert example.SerializeToString() == (
        b"\n\x0c\n\n\n\x01c\x12\x05\x1a\x03\n\x01\x07\x12\x19\n\x17\n\x01t\x12\x12\n\x06\x1a\x04\n\x02\x01\x02\n\x08\x12"
        b"\x06\n\x04\x00\x00\x00?"
    )
    back = SequenceExample.FromString(example.SerializeToString())
    assert back == example
    steps = back.feature_lists.feature_list["t"].feature
    assert len(steps) == 2 and steps[0].int64_list.value == [1, 2]
    steps.add().int64_list.value.append(3)
    assert len(back.feature_lists.feature_list["t"].feature) == 3 and back != example


def test_text() -> None:
    features = {"é\n": ints(1), "b": Feature(bytes_list=BytesList(value=[b'"\xff\n']))}
    example = Example(features=Features(feature=features))
    assert str(example) == repr(example) == (
        'features {\n  feature {\n    key: "b"\n    value {\n      bytes_list {\n'
        '        value: "\\"\\377\\n"\n      }\n    }\n  }\n'
        '  feature {\n    key: "é\\n"\n    value {\n      int64_list {\n'
        "        value: 1\n      }\n    }\n  }\n}\n"
    )
    numbers = [1, 2.5, 0.1, 1e300, float("nan"), 16777217, 1e10, 123456789.0, 1e-5]
    shown = ["1", "2.5", "0.1", "inf", "nan", "16777216", "1e+10", "123456792", "1e-05"]
    assert str(FloatList(value=numbers)) == "".join(f"value: {text}\n" for text in shown)
    assert str(FeatureList(feature=[Feature()])) == "feature {\n}\n" and str(Example()) == ""


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Int64List(value=[1.0]), TypeError),
        (lambda: Int64List(value=[True]), TypeError),
        (lambda: Int64List(value=["1"]), TypeError),
        (lambda: Int64List(value=[1 << 63]), ValueError),
        (lambda: Int64List(value=3), TypeError),
        (lambda: FloatList(value=["1"]), TypeError),
        (lambda: FloatList(value=[None]), TypeError),
        (lambda: BytesList(value=["text"]), TypeError),
        (lambda: BytesList(value=b"ab"), TypeError),
        (lambda: Feature(integers=[1]), ValueError),
        (lambda: Feature(int64_list=FloatList()), TypeError),
        (lambda: Features(feature={1: Feature()}), TypeError),
        (lambda: Features(feature={"\udcff": Feature()}), ValueError),
        (lambda: Int64List([1]), TypeError),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_numpy_values_are_taken() -> None:
    assert Int64List(value=np.arange(3, dtype=np.int32)).value == [0, 1, 2]
    assert Int64List(value=[np.int8(3)]).value == [3]
    assert FloatList(value=np.array([0.1])).value == [float(np.float32(0.1))]
    assert FloatList(value=[np.float64(1e300), 2, True]).value == [float("inf"), 2.0, 1.0]
    assert BytesList(value=np.array([b"a", b"bc"])).value == [b"a", b"bc"]


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff\xff", b"\n\x05abc", b"\x00\x01", b"\n\x05\n\x03\n\x01\xff", b"\n\x04\n\x02\x1a\xff", b"hello"],
)
def test_bytes_that_are_no_example(data: bytes) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="not a serialized Example"):
        Example.FromString(data)
    with pytest.raises(TypeError, match="a serialized message must be bytes"):
        Example.FromString("text")
