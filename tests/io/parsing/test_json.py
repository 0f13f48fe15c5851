"""What is wanted here is what TensorFlow gives, but for the order of keys and the packing of numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.train import Example


def text(kind: str, value: Any) -> str:
    return json.dumps({"features": {"feature": {"a": {kind: {"value": value}}}}})


def values(kind: str, value: Any) -> list[Any]:
    """What is in the list, which must be there."""
    feature = Example.FromString(fl.io.decode_json_example(text(kind, value))).features.feature["a"]
    name = {"int64List": "int64_list", "floatList": "float_list", "bytesList": "bytes_list"}.get(kind, kind)
    assert feature.WhichOneof("kind") == name
    return list(getattr(feature, name).value)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("int64List", [1, "2", 3.0, 1e3, "1.0"], [1, 2, 3, 1000, 1]),
        ("int64_list", [-(2**63), str(2**63 - 1)], [-(2**63), 2**63 - 1]),
        ("int64List", None, []),
        ("int64List", 5, [5]),
        ("int64List", [None], [0]),
        ("floatList", [1, "2.5", 1e38, "1e3", "-Infinity"], [1, 2.5, float(np.float32(1e38)), 1000, -math.inf]),
        ("float_list", ["inf", None], [math.inf, 0]),
        ("bytesList", ["YQ==", "YQ", "_-8=", "/+8=", "", None], [b"a", b"a", b"\xff\xef", b"\xff\xef", b"", b""]),
    ],
)
def test_lists(kind: str, value: Any, wanted: list[Any]) -> None:
    assert values(kind, value) == wanted


def test_not_a_number() -> None:
    assert all(map(math.isnan, values("floatList", ["NaN", "nan"])))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("{}", b""),
        ('{"features": {}}', b"\n\x00"),
        ('{"features": null}', b""),
        ('{"features": {"feature": {"a": {}}}}', b"\n\x07\n\x05\n\x01a\x12\x00"),
        ('{"features": {"feature": {"a": null}}}', b"\n\x07\n\x05\n\x01a\x12\x00"),
        ('{"features": {"feature": {"a": {"int64List": {}}}}}', b"\n\t\n\x07\n\x01a\x12\x02\x1a\x00"),
        ('{"features": {"feature": {"a": {"int64List": null}}}}', b"\n\x07\n\x05\n\x01a\x12\x00"),
    ],
)
def test_what_is_empty(given: str, wanted: bytes) -> None:
    assert fl.io.decode_json_example(given) == wanted


def test_keys_and_shapes() -> None:
    given = '{"features": {"feature": {"é": {"int64List": {"value": [1]}}, "a": {"floatList": {"value": [1]}}}}}'
    wanted = fl.train.example({"é": 1, "a": 1.0}).SerializeToString()
    assert fl.io.decode_json_example([[given], ["{}"]]).tolist() == [[wanted], [b""]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "not valid JSON"),
        ("x", "not valid JSON"),
        ("[]", r"\$ must be an object, got \[\]"),
        ("null", r"\$ must be an object, got None"),
        ("{} x", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"unknown": 1}', r"\$ has no field 'unknown'; its fields are features"),
        ('{"features": {"feature": []}}', r"\$.features.feature must be an object"),
        ('{"features": {"feature": {"a": {"intList": {}}}}}', r"\$.features.feature.a has no field 'intList'"),
        ('{"features": {"feature": {"a": {}, "a": {}}}}', r"\$.features.feature.a is repeated"),
        ('{"features": {"feature": {"\\ud800": {}}}}', "which is not valid Unicode"),
        ('{"features": {}, "features": {}}', "is repeated"),
        ('{"features": {"feature": {"a": {"int64List": {}, "floatList": {}}}}}', "has two lists"),
        (text("int64List", [1, 1.5]), r"a.int64List.value\[1\] must be an integer, got 1.5"),
        (text("int64List", ["x"]), "must be a number, got 'x'"),
        (text("int64List", [" 1"]), "must be a number"),
        (text("int64List", [2**63]), "does not fit int64: 9223372036854775808"),
        (text("int64List", ["1e999999999"]), "does not fit int64"),
        (text("int64List", [True]), "must be a number, got True"),
        (text("int64List", [[1]]), r"must be a number, got \[1\]"),
        (text("floatList", [1e40]), r"value\[0\] does not fit float32"),
        (text("floatList", ["abc"]), "must be a number, got 'abc'"),
        (text("floatList", [True]), "must be a number, got True"),
        (text("floatList", [float("nan")]), "NaN must be quoted"),
        (text("bytesList", ["!"]), "must be base64, got '!'"),
        (text("bytesList", ["Y"]), "must be base64"),
        (text("bytesList", ["YQ="]), "must be base64, got 'YQ='"),
        (text("bytesList", ["YWJj="]), "must be base64"),
        (text("bytesList", ["===="]), "must be base64"),
        (text("bytesList", [1]), "must be a base64 string, got 1"),
    ],
)
def test_what_is_wrong_is_said(given: Any, said: str) -> None:
    with pytest.raises(fl.errors.InvalidArgumentError, match="decode_json_example: .*" + said):
        fl.io.decode_json_example(given)
    with pytest.raises(fl.errors.InvalidArgumentError, match="decode_json_example: string 1: "):
        fl.io.decode_json_example(["{}", given])


def test_only_strings() -> None:
    with pytest.raises(TypeError, match="takes strings, got int32"):
        fl.io.decode_json_example(3)
