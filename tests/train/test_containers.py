"""Lists and maps in messages behave like lists and dicts, with protobuf's exceptions."""

from __future__ import annotations

import pytest

from feedline.train import Feature, FeatureList, Features, Int64List


def test_lists() -> None:
    message = Int64List(value=[3, 1])
    values = message.value
    values.append(2)
    values.insert(0, 9)
    values += [5]
    assert values == [9, 3, 1, 2, 5] and len(values) == 5 and 3 in values and values.index(1) == 2
    assert values[1:3] == [3, 1] and values[-1] == 5 and next(reversed(values)) == 5
    values[1:3] = [7, 8, 9]
    del values[0]
    assert values.pop() == 5
    values.remove(8)
    values.sort(reverse=True)
    assert values == [9, 7, 2] and repr(values) == "[9, 7, 2]" and message.value is values
    values.reverse()
    values.MergeFrom([1])
    assert values == Int64List(value=[2, 7, 9, 1]).value and values != (2, 7, 9, 1)
    values.clear()
    assert values == [] and not values
    with pytest.raises(IndexError):
        values[0]
    with pytest.raises(TypeError):
        values[:] = ["x"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(values)


def test_a_list_that_refuses_a_value_stays_as_it_was() -> None:
    values = Int64List(value=[1]).value
    with pytest.raises(TypeError):
        values.extend([2, "x"])
    assert values == [1]


def test_lists_of_messages() -> None:
    steps = FeatureList().feature
    one = steps.add(int64_list=Int64List(value=[1]))
    given = Feature(int64_list=Int64List(value=[2]))
    steps.append(given)
    given.int64_list.value.append(9)
    assert [s.int64_list.value for s in steps] == [[1], [2]] and steps[0] is one
    steps.extend([one])
    del steps[0]
    assert len(steps) == 2 and steps == [steps[0], one]
    with pytest.raises(TypeError, match="cannot be assigned"):
        steps[0] = one
    with pytest.raises(TypeError, match="expected a Feature"):
        steps.append(3)


def test_maps() -> None:
    message = Features()
    features = message.feature
    assert "a" not in features and features.get("a") is None and features.get("a", 1) == 1
    features["a"].int64_list.value.append(1)
    features.get_or_create("b")
    assert features[b"a"].int64_list.value == [1] and "b" in features
    assert list(features) == ["a", "b"] and len(features) == 2 and list(features.keys()) == ["a", "b"]
    assert dict(features.items())["a"] is features["a"]
    with pytest.raises(ValueError, match="cannot be assigned"):
        features["c"] = Feature()
    del features["a"]
    assert features.pop("b") == Feature() and features.pop("b", None) is None and not features
    with pytest.raises(KeyError):
        del features["a"]
    with pytest.raises(TypeError, match="a key must be a str, got 1"):
        features[1]


def test_a_change_deep_inside_reaches_the_outermost_message() -> None:
    message = Features()
    inner = message.feature["a"].float_list.value
    inner.append(0.5)
    assert message.SerializeToString() == b"\n\r\n\x01a\x12\x08\x12\x06\n\x04\x00\x00\x00?"
