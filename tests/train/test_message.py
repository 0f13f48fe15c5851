"""What all messages can do: presence, merging, unknown fields."""

from __future__ import annotations

import pytest

from feedline import wire
from feedline.train import BytesList, Example, Feature, FeatureList, Features, FloatList, Int64List


def ints(*values: int) -> Feature:
    return Feature(int64_list=Int64List(value=values))


def test_a_message_inside_is_there_once_something_is_done_to_it() -> None:
    feature = Feature()
    assert feature.int64_list.value == [] and feature.WhichOneof("kind") is None
    feature.int64_list.value.extend([])
    assert feature.WhichOneof("kind") == "int64_list" and feature.SerializeToString() == b"\x1a\x00"
    other = Feature()
    other.float_list.SetInParent()
    assert other.HasField("float_list") and not other.HasField("int64_list") and other.HasField("kind")
    assert Feature(int64_list=None) == Feature() and Feature(int64_list={"value": [1]}) == ints(1)


def test_of_fields_that_exclude_each_other_the_last_stays() -> None:
    feature = ints(1)
    old = feature.int64_list
    feature.float_list.value.append(2.0)
    assert feature.WhichOneof("kind") == "float_list" and feature.int64_list.value == []
    old.value.append(3)
    assert feature.WhichOneof("kind") == "float_list" and old.value == [1, 3]
    both = Feature(int64_list=Int64List(value=[1]), float_list=FloatList(value=[1.0]))
    assert both.WhichOneof("kind") == "float_list"
    joined = ints(1).SerializeToString() + Feature(float_list=FloatList(value=[2])).SerializeToString()
    assert Feature.FromString(joined).WhichOneof("kind") == "float_list"


def test_merging() -> None:
    feature = ints(1)
    feature.MergeFrom(ints(2))
    assert feature == ints(1, 2)
    features = Features(feature={"a": ints(1), "b": ints(2)})
    features.MergeFrom(Features(feature={"a": ints(3)}))
    assert features == Features(feature={"a": ints(3), "b": ints(2)})
    assert Feature.FromString(ints(1).SerializeToString() * 2) == ints(1, 1)
    steps = FeatureList(feature=[ints(1)])
    steps.MergeFrom(FeatureList(feature=[ints(2)]))
    assert steps == FeatureList(feature=[ints(1), ints(2)])
    with pytest.raises(TypeError, match="expected a Feature, got"):
        feature.MergeFrom(Int64List())


def test_copying_and_clearing() -> None:
    feature = ints(1)
    feature.CopyFrom(Feature(bytes_list=BytesList(value=[b"x"])))
    assert feature.bytes_list.value == [b"x"] and feature.WhichOneof("kind") == "bytes_list"
    feature.CopyFrom(feature)
    assert feature.bytes_list.value == [b"x"]
    feature.ClearField("bytes_list")
    assert feature == Feature()
    feature = ints(1)
    feature.ClearField("kind")
    assert feature == Feature()
    example = Example(features=Features(feature={"a": ints(1)}))
    example.Clear()
    assert example == Example() and example.IsInitialized()
    with pytest.raises(TypeError, match="expected a Feature"):
        feature.CopyFrom(3)


def test_equality() -> None:
    assert ints() != Feature() and ints() != Feature(float_list=FloatList())
    assert ints(1) == ints(1) and ints(1) != ints(2) and ints(1) != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(ints(1))


def test_unknown_fields_are_kept() -> None:
    data = b"\n\x01\x01" + wire.tag(15, wire.VARINT) + b"\x07" + wire.delimited(14, b"junk")
    message = Int64List.FromString(data)
    assert message.value == [1] and message.SerializeToString() == data and message != Int64List(value=[1])
    wrong_kind = wire.tag(1, wire.FIXED32) + b"1234"
    assert Int64List.FromString(wrong_kind).value == [] and Int64List.FromString(wrong_kind).ByteSize() == 5


def test_lists_that_are_not_packed() -> None:
    assert Int64List.FromString(b"\x08\x01\x08\x02\n\x01\x03").value == [1, 2, 3]
    assert FloatList.FromString(b"\x0d\x00\x00\x80?").value == [1.0]


def test_fields_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError, match=r"Feature.int64_list cannot be assigned; .* with CopyFrom"):
        Feature().int64_list = Int64List()
    with pytest.raises(AttributeError, match=r"Int64List.value cannot be assigned; .* with extend"):
        Int64List().value = [1]
    with pytest.raises(AttributeError):
        Int64List().values = [1]  # type: ignore[attr-defined]


def test_names_that_do_not_exist() -> None:
    for call in (Feature().HasField, Feature().ClearField, Feature().WhichOneof):
        with pytest.raises(ValueError, match="Feature has no"):
            call("nope")
    with pytest.raises(ValueError, match="is a list or map"):
        Int64List().HasField("value")
    with pytest.raises(ValueError, match="Int64List has no oneof"):
        Int64List().WhichOneof("kind")
    assert [field.name for field, _ in ints(1).ListFields()] == ["int64_list"]
