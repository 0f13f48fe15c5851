"""`parse_example`: every kind of feature, one example and a batch, good bytes and odd ones."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness import compare

import feedline as fl
from feedline import wire
from feedline.io.parsing.assemble import assembled, composed
from feedline.io.parsing.example import ExampleParser, _parser

io, train = fl.io, fl.train


def feature(values: list[Any]) -> train.Feature:
    if values and isinstance(values[0], bytes):
        return train.Feature(bytes_list=train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values))


def example(**features: list[Any]) -> bytes:
    message = train.Example()
    for key, values in features.items():
        message.features.feature[key].CopyFrom(feature(values))
    return message.SerializeToString()


BATCH = [example(a=[1, 2], f=[0.5], s=[b"x", b""]), example(z=[0]), example(a=[3])]


def sparse(indices: list[Any], values: Any, shape: list[int]) -> fl.SparseTensor:
    return fl.SparseTensor(np.array(indices, np.int64).reshape(-1, len(shape)), values, shape)


def test_fixed() -> None:
    data = [example(a=[1, 2, 3, 4], f=[0.5], s=[b"x"]), example(a=[-1, -2, -3, -4], f=[1.5], s=[b""])]
    features = {
        "s": io.FixedLenFeature([], fl.string),
        "a": io.FixedLenFeature([2, 2], np.int64),
        "f": io.FixedLenFeature([1], "float32"),
    }
    got = io.parse_example(data, features)
    assert list(got) == ["s", "a", "f"]
    compare(got["a"], np.array([[[1, 2], [3, 4]], [[-1, -2], [-3, -4]]]))
    compare(got["f"], np.array([[0.5], [1.5]], np.float32))
    compare(got["s"], np.array([b"x", b""], object))
    assert all(array.flags.writeable for array in got.values())
    one = io.parse_single_example(data[0], features)
    compare(one, {"s": b"x", "a": np.array([[1, 2], [3, 4]]), "f": np.array([0.5], np.float32)})
    compare(io.parse_example(data[0], features), one)


def test_defaults() -> None:
    features = {
        "a": io.FixedLenFeature([], fl.int64, -1),
        "s": io.FixedLenFeature([2], fl.string, ["p", "q"]),
    }
    got = io.parse_example([example(a=[5]), example(s=[b"x", b"y"])], features)
    assert got["a"].tolist() == [5, -1] and got["s"].tolist() == [[b"p", b"q"], [b"x", b"y"]]


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (example(b=[1]), "example 1 has no feature 'a', which is required; add it, or give a default_value"),
        (example(a=[1, 2]), "example 1 has 2 values in the feature 'a', expected 1"),
        (example(a=[1.5]), "example 1, feature 'a' has values of type float32, expected int64"),
        (b"\xff\xff", "example 1 is not a serialized Example"),
    ],
)
def test_errors_name_the_example_and_the_key(data: bytes, match: str) -> None:
    features = {"a": io.FixedLenFeature([], fl.int64)}
    with pytest.raises(fl.errors.InvalidArgumentError, match=f"^parse_example: {match}"):
        io.parse_example([example(a=[1]), data], features)


@pytest.mark.parametrize(
    ("bad", "asked"),
    [
        (example(a=[1.5]), io.VarLenFeature(fl.int64)),
        (example(a=[1.5]), io.FixedLenFeature([1], fl.int64)),
        (example(), io.FixedLenFeature([1], fl.int64)),
        (example(a=[1, 2]), io.FixedLenFeature([1], fl.int64)),
        (example(a=[1, 2, 3]), io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True)),
        (example(a=[1, 2], b=[3]), io.RaggedFeature(fl.int64, "a", [io.RaggedFeature.RowLengths("b")])),
        (example(a=[1, 2, 3]), io.RaggedFeature(fl.int64, "a", [io.RaggedFeature.UniformRowLength(2)])),
        (example(a=[1, 2], b=[3]), io.SparseFeature("b", "a", fl.int64, 9)),
        (b"\xff\xff", io.VarLenFeature(fl.int64)),
    ],
)
def test_names_of_examples_are_in_every_error(bad: bytes, asked: Any) -> None:
    features = {"a": asked}
    good = io.parse_single_example(example(a=[1]), features) if isinstance(asked, io.FixedLenFeature) else None
    first = b"" if good is None else example(a=[1])
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"^parse_example: example 1 \(second\)[ ,:]"):
        io.parse_example([first, bad], features, example_names=["first", "second"])
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"^parse_single_example: example 0 \(only\)[ ,:]"):
        io.parse_single_example(bad, features, example_names="only")
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"^parse_example: example 1[ ,:] ?[^(]"):
        io.parse_example([first, bad], features, example_names=[])


def test_names_are_as_many_as_examples() -> None:
    features = {"a": io.VarLenFeature(fl.int64)}
    with pytest.raises(fl.errors.InvalidArgumentError, match="a name for each example, or none; got 1 for 2"):
        io.parse_example([b"", b""], features, example_names=["first"])
    with pytest.raises(TypeError, match="example_names must be strings, got int32"):
        io.parse_example([b"", b""], features, example_names=[1, 2])


def test_an_empty_list_is_no_missing_feature() -> None:
    default = {"a": io.FixedLenFeature([], fl.int64, 4)}
    assert io.parse_single_example(raw(a=b""), default) == {"a": 4}
    with pytest.raises(fl.errors.InvalidArgumentError, match="has 0 values in the feature 'a', expected 1"):
        io.parse_single_example(raw(a=b"\x1a\x00"), default)


def test_varlen() -> None:
    features = {"a": io.VarLenFeature(fl.int64), "s": io.VarLenFeature(fl.string), "f": io.VarLenFeature(fl.float32)}
    got = io.parse_example(BATCH, features)
    compare(got["a"], sparse([[0, 0], [0, 1], [2, 0]], np.array([1, 2, 3]), [3, 2]))
    compare(got["s"], sparse([[0, 0], [0, 1]], np.array([b"x", b""], object), [3, 2]))
    compare(got["f"], sparse([[0, 0]], np.array([0.5], np.float32), [3, 1]))
    one = io.parse_single_example(BATCH[0], features)
    compare(one["a"], sparse([[0], [1]], np.array([1, 2]), [2]))
    none = io.parse_single_example(b"", features)
    compare(none["s"], sparse([], np.array([], object), [0]))
    with pytest.raises(fl.errors.InvalidArgumentError, match="has values of type string"):
        io.parse_single_example(example(a=[b"x"]), features)


def test_sequence_features_are_filled_up() -> None:
    features = {
        "a": io.FixedLenSequenceFeature([], fl.int64, allow_missing=True, default_value=-5),
        "s": io.FixedLenSequenceFeature([], fl.string, allow_missing=True),
    }
    got = io.parse_example(BATCH, features)
    assert got["a"].tolist() == [[1, 2], [-5, -5], [3, -5]]
    assert got["s"].tolist() == [[b"x", b""], [b"", b""], [b"", b""]]
    pairs = {"a": io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True)}
    assert io.parse_single_example(example(a=[1, 2, 3, 4]), pairs)["a"].tolist() == [[1, 2], [3, 4]]
    assert io.parse_single_example(b"", pairs)["a"].shape == (0, 2)
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"3 values in .* 'a', which is not a multiple of 2"):
        io.parse_single_example(example(a=[1, 2, 3]), pairs)


def test_ragged() -> None:
    features = {"a": io.RaggedFeature(fl.int64), "s": io.RaggedFeature(fl.string, row_splits_dtype=fl.int64)}
    got = io.parse_example(BATCH, features)
    assert got["a"].to_list() == [[1, 2], [], [3]] and got["a"].row_splits.dtype == np.int32
    assert got["s"].to_list() == [[b"x", b""], [], []] and got["s"].row_splits.dtype == np.int64
    compare(io.parse_single_example(BATCH[0], features)["a"], np.array([1, 2]))


def test_sparse_features() -> None:
    features = {"s": io.SparseFeature("ix", "v", fl.float32, 10)}
    data = [example(ix=[3, 1], v=[0.5, 1.5]), example(z=[1]), example(ix=[0], v=[2.5])]
    values = np.array([1.5, 0.5, 2.5], np.float32)
    compare(io.parse_example(data, features)["s"], sparse([[0, 1], [0, 3], [2, 0]], values, [3, 10]))
    compare(io.parse_single_example(data[0], features)["s"], sparse([[1], [3]], values[:2], [10]))
    kept = {"s": io.SparseFeature("ix", "v", fl.float32, 10, already_sorted=True)}
    compare(io.parse_single_example(data[0], kept)["s"], sparse([[3], [1]], values[1::-1], [10]))
    plane = {"s": io.SparseFeature(["i", "j"], "v", fl.int64, [4, 5])}
    got = io.parse_single_example(example(i=[3, 0], j=[1, 2], v=[5, 6]), plane)["s"]
    compare(got, sparse([[0, 2], [3, 1]], np.array([6, 5]), [4, 5]))
    with pytest.raises(fl.errors.InvalidArgumentError, match="different numbers of indices in 'ix' and values in 'v'"):
        io.parse_single_example(example(ix=[1, 2], v=[0.5]), features)


def test_shapes_of_the_input() -> None:
    features = {
        "a": io.FixedLenFeature([2], fl.int64, [0, 0]),
        "v": io.VarLenFeature(fl.int64),
        "r": io.RaggedFeature(fl.int64),
    }
    none = io.parse_example([], features)
    assert none["a"].shape == (0, 2) and none["v"].dense_shape.tolist() == [0, 0] and len(none["r"]) == 0
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"takes a string or a list of strings, got shape \[1, 1"):
        io.parse_example([[b""]], features)
    with pytest.raises(ValueError, match="takes one string"):
        io.parse_single_example([b""], features)
    with pytest.raises(fl.errors.InvalidArgumentError, match="which are strings, got int32"):
        io.parse_example([1], features)


# Bytes that protobuf would write otherwise, or not at all.

ANY = {"a": io.VarLenFeature(fl.int64), "f": io.VarLenFeature(fl.float32), "s": io.VarLenFeature(fl.string)}


def entry(key: str, value: bytes) -> bytes:
    return wire.delimited(1, wire.delimited(1, key.encode()) + wire.delimited(2, value))


def raw(**features: bytes) -> bytes:
    return wire.delimited(1, b"".join(entry(key, value) for key, value in features.items()))


def ints(*values: int) -> bytes:
    return wire.delimited(3, wire.delimited(1, wire.packed(values)))


def found(data: bytes) -> dict[str, list[Any]]:
    got = io.parse_single_example(data, ANY)
    return {key: tensor.values.tolist() for key, tensor in got.items() if len(tensor.values)}


def test_lists_that_are_not_packed() -> None:
    numbers = wire.delimited(3, b"\x08\x01\x08" + wire.varint(-2))
    floats = wire.delimited(2, b"".join(b"\x0d" + struct.pack("<f", x) for x in (1.5, 2.5)))
    assert found(raw(a=numbers, f=floats)) == {"a": [1, -2], "f": [1.5, 2.5]}


def test_of_a_list_in_pieces_the_first_counts() -> None:
    pieces = wire.delimited(3, wire.delimited(1, b"\x01\x02") + b"\x08\x03" + wire.delimited(1, b"\x04"))
    assert found(raw(a=pieces)) == {"a": [1, 2]}
    assert found(raw(a=ints(1) + ints(2))) == {"a": [1]}


def test_of_entries_with_one_key_the_last_counts() -> None:
    twice = wire.delimited(1, entry("a", ints(1, 2)) + entry("a", ints(3)))
    assert found(twice) == {"a": [3]}
    assert found(raw(a=ints(1)) + raw(a=ints(4), s=b"")) == {"a": [4]}
    emptied = wire.delimited(1, entry("a", ints(1)) + entry("a", b""))
    fixed = {"a": io.FixedLenFeature([], fl.int64)}
    assert io.parse_single_example(emptied, fixed) == {"a": 1}
    assert found(emptied) == {"a": [1]}
    assert io.parse_example([emptied], ANY)["a"].values.tolist() == []


def test_unknown_fields_are_skipped_outside_and_refused_inside() -> None:
    unknown = wire.tag(15, wire.VARINT) + b"\x07" + wire.delimited(14, b"junk") + wire.tag(13, wire.FIXED32) + b"1234"
    assert found(unknown + raw(a=ints(1)) + unknown) == {"a": [1]}
    for bad in (
        wire.delimited(1, wire.delimited(2, b"")),
        wire.delimited(1, wire.delimited(1, wire.delimited(1, b"a"))),
        wire.delimited(1, wire.delimited(1, wire.delimited(2, ints(1)))),
        wire.delimited(1, wire.delimited(1, wire.delimited(1, b"a") + wire.delimited(2, ints(1)) + b"\x18\x01")),
        raw(a=wire.delimited(4, b"")),
        raw(a=wire.delimited(3, b"\x12\x00")),
        raw(s=wire.delimited(1, b"\x0a\x05abc")),
        raw(f=wire.delimited(2, b"\x0a\x08\x00\x00\x00\x00")),
        b"\x0a\x05abc",
        b"hello",
    ):
        with pytest.raises(fl.errors.InvalidArgumentError):
            io.parse_single_example(bad, ANY)


def test_value_before_key_and_lengths_that_are_too_long() -> None:
    turned = wire.delimited(2, ints(5)) + wire.delimited(1, b"a")
    assert found(wire.delimited(1, wire.delimited(1, turned))) == {"a": [5]}
    data = raw(a=ints(7))
    assert found(data[:1] + bytes([data[1] + 40]) + data[2:]) == {"a": [7]}


@pytest.mark.parametrize("length", [1 << 31, (1 << 63) - 1, (1 << 64) - 1])
def test_huge_lengths_cost_nothing(length: int) -> None:
    size = wire.varint(length)
    for data in (
        raw(f=wire.delimited(2, b"\x0a" + size + b"\x00" * 8)),
        raw(s=wire.delimited(1, b"\x0a" + size)),
        wire.delimited(1, b"\x0a" + size + wire.delimited(1, b"a") + b"\x12" + size),
    ):
        with pytest.raises(fl.errors.InvalidArgumentError):
            io.parse_single_example(data, ANY)


def test_agrees_with_the_messages_on_random_examples() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        kinds = {
            "a": rng.integers(-(1 << 62), 1 << 62, rng.integers(0, 5)).tolist(),
            "f": rng.normal(size=rng.integers(0, 5)).astype(np.float32).tolist(),
            "s": [bytes(rng.integers(0, 256, rng.integers(0, 4), np.uint8)) for _ in range(rng.integers(0, 4))],
        }
        filled = {key: values for key, values in kinds.items() if values}
        assert found(example(**filled)) == filled


MIXED = {
    "a": io.FixedLenFeature([2], fl.int64, [7, 8]),
    "f": io.FixedLenFeature([], fl.float32, 0.25),
    "s": io.FixedLenFeature([], fl.string, "none"),
    "v": io.VarLenFeature(fl.int64),
    "r": io.RaggedFeature(fl.float32),
    "q": io.FixedLenSequenceFeature([2], fl.string, allow_missing=True, default_value="-"),
}


def slowly(parser: ExampleParser, strings: list[bytes], batch: bool) -> dict[str, Any]:
    """What the parser gives without the kernel."""
    raw = assembled(parser.wanted, parser.columns(strings, batch), batch)
    return composed(parser.features, raw)


def agree(parser: ExampleParser, strings: list[bytes], batch: bool) -> bool:
    """Fails unless the parser gives, or refuses, what the slower code does. True where it gives something."""
    try:
        want = slowly(parser, strings, batch)
    except fl.errors.InvalidArgumentError:
        with pytest.raises(fl.errors.InvalidArgumentError):
            parser(strings if batch else strings[0])
        return False
    compare(parser(strings if batch else strings[0]), want)
    return True


@pytest.mark.parametrize("batch", [True, False])
def test_the_kernel_gives_what_the_slower_code_gives(batch: bool) -> None:
    whole = example(a=[1, 2], f=[0.5], s=[b"x"], v=[1, -1, 300], r=[1.0, 2.0], q=[b"a", b"b", b"c", b"d"])
    parser = ExampleParser(MIXED, "parse_example")
    for strings in ([whole], [b""], [example(v=[])]):
        assert agree(parser, strings, batch)
    if batch:
        for several in ([], [whole, b"", whole], [b"", example(q=[b"a", b"b"]), whole]):
            assert agree(parser, several, batch)


@pytest.mark.parametrize("batch", [True, False])
def test_damaged_bytes_mean_to_the_kernel_what_they_mean_to_the_slower_code(batch: bool) -> None:
    whole = example(a=[1, 2], f=[0.5], s=[b"x"], v=[300], r=[1.0], q=[b"a", b"b"])
    parser = ExampleParser(MIXED, "parse_example")
    damaged = [whole[:at] for at in range(len(whole))]
    damaged += [whole[:at] + whole[at + 1 :] for at in range(len(whole))]
    for at in range(len(whole)):
        for new in {*(whole[at] ^ 1 << bit for bit in range(8)), 0x0A, 0x12, 0x1A}:
            damaged.append(whole[:at] + bytes([new]) + whole[at + 1 :])
    accepted = sum(agree(parser, [data], batch) for data in damaged)
    assert 100 < accepted < len(damaged)


@pytest.mark.parametrize("batch", [True, False])
@given(st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_mutated_records_mean_the_same_to_both(batch: bool, data: st.DataObject) -> None:
    """Real records with bytes changed, left out, doubled and moved; lengths and varints among them."""
    record = bytearray(example(a=[1, -2], f=[0.5], s=[b"x"], v=[300, 4], r=[1.0], q=[b"a", b"b", b"c", b"d"], z=[7]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(record)))
        match data.draw(st.sampled_from(["set", "cut", "drop", "insert", "copy"])):
            case "set":
                new = st.one_of(st.integers(0, 255), st.sampled_from([0x0A, 0x12, 0x1A, 0x80, 0xFF]))
                record[at : at + 1] = bytes([data.draw(new)])
            case "cut":
                del record[at:]
            case "drop":
                del record[at : at + data.draw(st.integers(1, 8))]
            case "insert":
                record[at:at] = data.draw(st.binary(min_size=1, max_size=12))
            case "copy":
                start = data.draw(st.integers(0, len(record)))
                record[at:at] = record[start : start + data.draw(st.integers(1, 40))]
    parser = ExampleParser(MIXED, "parse_example")
    good = example(a=[1, 2], f=[0.5], s=[b"x"])
    agree(parser, [good, bytes(record), good] if batch else [bytes(record)], batch)
    done, columns = parser.rows([good, bytes(record), good])
    if done:  # what many at once give is what each by itself gives
        compare(columns["a"][0], parser(good)["a"])
        assert (done == 3) == agree(parser, [bytes(record)], False)


def test_the_first_bad_example_is_named() -> None:
    features = {"a": io.FixedLenFeature([], fl.int64), "b": io.FixedLenFeature([], fl.float32, 0.0)}
    good = example(a=[1], b=[1.5])
    for bad, text in (
        (example(b=[1.5]), "example 2 has no feature 'a', which is required"),
        (example(a=[1], b=[2]), "example 2, feature 'b' has values of type int64, expected float32"),
        (good[:-3], "example 2"),
        (raw(**{"a": b"\x1a\x03\x0a\x01"}) + b"\x80", "example 2 is not a serialized Example: truncated varint"),
    ):
        with pytest.raises(fl.errors.InvalidArgumentError, match=text):
            io.parse_example([good, good, bad, b"?", good], features)


def test_examples_before_one_with_half_a_step_are_what_they_are_by_themselves() -> None:
    records = [example(a=[i], s=[i] * (3 if i == 5 else 2)) for i in range(10)]
    features = {
        "a": io.FixedLenFeature([], fl.int64),
        "s": io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True),
    }
    done, columns = _parser(features, "parse_single_example").rows(records)
    assert done == 5 and columns["a"].tolist() == [0, 1, 2, 3, 4]
    ds = fl.Dataset.from_tensor_slices(records).map(lambda record: io.parse_single_example(record, features))
    (batch,) = ds.ignore_errors().batch(10)
    assert batch["a"].tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9] == batch["s"][:, 0, 0].tolist()


def test_keys_that_are_no_text() -> None:
    odd = wire.delimited(1, wire.delimited(1, wire.delimited(1, b"\xff\xfe") + wire.delimited(2, ints(1))))
    assert found(odd + raw(a=ints(2))) == {"a": [2]}


def test_what_is_prepared_is_prepared_once() -> None:
    again = {key: type(feature)(*feature) for key, feature in MIXED.items() if key != "r"}
    first = _parser(again, "parse_example")
    assert _parser(again, "parse_example") is first
    assert _parser({key: type(feature)(*feature) for key, feature in again.items()}, "parse_example") is first
    assert _parser(dict(reversed(again.items())), "parse_example") is not first
    assert _parser(again, "parse_single_example") is not first


def test_features_that_change_or_only_look_alike_are_prepared_anew() -> None:
    shape: list[int] = [1]
    features: dict[str, Any] = {"a": io.FixedLenFeature(shape, fl.int64)}
    data = example(a=[1, 2], b=[3])
    with pytest.raises(fl.errors.InvalidArgumentError):
        io.parse_example([data], features)
    shape[0] = 2
    compare(io.parse_example([data], features), {"a": np.array([[1, 2]])})
    features["b"] = io.FixedLenFeature([], fl.int64)
    compare(io.parse_example([data], features), {"a": np.array([[1, 2]]), "b": np.array([3])})
    for default in (0.0, -0.0):
        got = io.parse_example([b""], {"x": io.FixedLenFeature([], fl.float32, default)})
        assert np.signbit(got["x"][0]) == np.signbit(default)
    given = np.array([1, 2])
    features = {"x": io.FixedLenFeature([2], fl.int64, given)}
    compare(io.parse_example([b""], features), {"x": np.array([[1, 2]])})
    given[0] = 9
    compare(io.parse_example([b""], features), {"x": np.array([[9, 2]])})
    assert io.parse_example([b""], {"x": io.FixedLenFeature([], fl.int64, 1)})["x"] == [1]
    with pytest.raises(TypeError):
        io.parse_example([b""], {"x": io.FixedLenFeature([], fl.int64, 1.0)})


def test_many_different_features() -> None:
    for i in range(200):
        compare(io.parse_example([b""], {f"x{i}": io.FixedLenFeature([], fl.int64, i)}), {f"x{i}": np.array([i])})
