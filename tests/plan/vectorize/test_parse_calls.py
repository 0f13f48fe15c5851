"""Functions that only parse: found by their code, run on whole columns, and never seen to be."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness import Raises, check, check_errors, compare, elements

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.io import parse_single_example
from feedline.plan.function import Function
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.specs import spec_known

io = fl.io
NUMBER = io.FixedLenFeature([], fl.int64)
NUMBERS = io.FixedLenFeature([2], fl.int64)
FEATURES = {"a": NUMBER, "s": io.FixedLenFeature([], fl.string, "none")}
TABLE = {"features": FEATURES}
EVERY_KIND: dict[str, Any] = {
    "a": io.FixedLenFeature([], fl.int64, -1),
    "v": io.VarLenFeature(fl.int64),
    "r": io.RaggedFeature(fl.int64),
    "q": io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True),
    "cut": io.RaggedFeature(fl.int64, "b", [io.RaggedFeature.RowLengths("lengths")]),
    "s": io.SparseFeature("ix", "value", fl.int64, 9),
    "w": io.FixedLenFeature([2], fl.string, ["x", "y"]),
}


def example(**features: list[int]) -> bytes:
    message = fl.train.Example()
    for key, values in features.items():
        message.features.feature[key].int64_list.value.extend(values)
    return message.SerializeToString()


def records(n: int) -> list[bytes]:
    return [
        example(
            a=[i], b=[i, i + 1], lengths=[1, 0, 1], v=[i] * (i % 3), q=[i] * 4, ix=[1, 3], value=[i, 2], r=[5] * (i % 2)
        )
        for i in range(n)
    ]


def opaque(function: Any) -> Any:
    """The same function, as nobody could tell."""

    def call(*args: Any) -> Any:
        return [function(*args)][0]

    assert not Function(call).vectorized
    return call


def with_dict_inside(record: Any) -> Any:
    """Its features are written in its body."""
    features = {"a": fl.io.FixedLenFeature([], fl.int64), "b": io.FixedLenFeature([2], fl.int64, default_value=[0, 0])}
    parsed = fl.io.parse_single_example(record, features)
    label = parsed.pop("a")
    return parsed, label


def with_nothing_left(record: Any) -> Any:
    parsed = fl.io.parse_single_example(record, {"a": NUMBER})
    label = parsed.pop("a")
    return parsed, label


def with_many_inside(record: Any) -> Any:
    return parse_single_example(
        record,
        {
            **FEATURES,
            "k1": io.FixedLenFeature((), fl.int64, 1),
            "k2": io.FixedLenFeature((), fl.int64, 2),
            "k3": io.VarLenFeature(dtype=fl.float32),
        },
    )


class Parser:
    def __init__(self, features: dict[str, Any]) -> None:
        self.features = features

    def parse(self, record: Any) -> Any:
        return fl.io.parse_single_example(serialized=record, features=self.features)


def enclosing(features: dict[str, Any]) -> Any:
    return lambda record: parse_single_example(record, features)


def take_default(record: Any, features: Any = FEATURES) -> Any:
    return parse_single_example(record, features)


def of_many_features(record: Any) -> Any:
    return parse_single_example(record, {
        "f01": io.FixedLenFeature([], fl.int64, 1), "f02": io.FixedLenFeature([], fl.int64, 1),
        "f03": io.FixedLenFeature([], fl.int64, 1), "f04": io.FixedLenFeature([], fl.int64, 1),
        "f05": io.FixedLenFeature([], fl.int64, 1), "f06": io.FixedLenFeature([], fl.int64, 1),
        "f07": io.FixedLenFeature([], fl.int64, 1), "f08": io.FixedLenFeature([], fl.int64, 1),
        "f09": io.FixedLenFeature([], fl.int64, 1), "f10": io.FixedLenFeature([], fl.int64, 1),
        "f11": io.FixedLenFeature([], fl.int64, 1), "f12": io.FixedLenFeature([], fl.int64, 1),
        "f13": io.FixedLenFeature([], fl.int64, 1), "f14": io.FixedLenFeature([], fl.int64, 1),
        "f15": io.FixedLenFeature([], fl.int64, 1), "f16": io.FixedLenFeature([], fl.int64, 1),
        "f17": io.FixedLenFeature([], fl.int64, 1), "f18": io.FixedLenFeature([], fl.int64, 1),
    })  # fmt: skip


def popped_by_another_name(record: Any) -> Any:
    parsed = parse_single_example(record, FEATURES)
    same = parsed
    return same.pop("a"), parsed


PARSER = Parser(FEATURES)
MANY = {f"k{i}": io.FixedLenFeature([1], fl.int64, [i]) for i in range(400)}
PARSING: dict[str, Any] = {
    "lambda": lambda record: fl.io.parse_single_example(record, FEATURES),
    "keywords": lambda record: io.parse_single_example(features=FEATURES, serialized=record),
    "dict in it": with_dict_inside,
    "dicts joined": with_many_inside,
    "a large dict": of_many_features,
    "method": Parser(FEATURES).parse,
    "closure": enclosing(FEATURES),
    "default": take_default,
    "partial": functools.partial(parse_single_example, features=FEATURES),
    "partial of a def": functools.partial(take_default, features={"a": NUMBER}),
    "one of them": lambda record: parse_single_example(record, FEATURES)["a"],
    "some of them": lambda record: {"x": (parse_single_example(record, FEATURES)["s"],)},
    "item of a dict": lambda record: parse_single_example(record, TABLE["features"]),
    "one example": lambda record: io.parse_example(record, FEATURES),
    "every kind": lambda record: parse_single_example(record, EVERY_KIND),
    "in another dict": lambda record: {**parse_single_example(record, FEATURES)},
    "with nothing left": with_nothing_left,
    "popped at once": lambda record: parse_single_example(record, FEATURES).pop("a"),
    "popped by another name": popped_by_another_name,
    "hundreds": lambda record: parse_single_example(record, MANY),
    "attribute of an object": lambda record: parse_single_example(record, PARSER.features),
}


@pytest.mark.parametrize("name", PARSING)
def test_functions_that_only_parse(name: str) -> None:
    function = PARSING[name]
    assert Function(function).only_parses
    ds = fl.Dataset.from_tensor_slices(records(5))
    want = elements(ds.map(opaque(function)))
    mapped = ds.map(function)
    assert side_effect_free(mapped._plan) and spec_known(mapped._plan)
    check(mapped, want)


def effect(record: Any) -> Any:
    SEEN.append(record)
    return parse_single_example(record, FEATURES)


SEEN: list[bytes] = []


def branch(record: Any) -> Any:
    return parse_single_example(record, FEATURES) if len(record) > 3 else None


def loop(record: Any) -> Any:
    for _ in range(2):
        parsed = parse_single_example(record, FEATURES)
    return parsed


def generator(record: Any) -> Any:
    yield parse_single_example(record, FEATURES)


class Sly(dict):  # type: ignore[type-arg]
    def __getitem__(self, key: Any) -> Any:
        SEEN.append(key)
        return super().__getitem__(key)


SLY = Sly(TABLE)


class Property:
    @property
    def features(self) -> Any:
        SEEN.append(b"")
        return FEATURES

    def parse(self, record: Any) -> Any:
        return parse_single_example(record, self.features)


@pytest.mark.parametrize(
    "function",
    [
        effect,
        branch,
        loop,
        generator,
        Property().parse,
        lambda record: parse_single_example(record, SLY["features"]),
        lambda record: (parse_single_example(record, FEATURES), 1),
        lambda record: (parse_single_example(record, FEATURES), record),
        lambda record: [parse_single_example(record, FEATURES)],
        lambda record: parse_single_example(record, FEATURES)["a"] + 1,
        lambda record: (parse_single_example(record, FEATURES), parse_single_example(record, FEATURES)),
        lambda record: parse_single_example(record[1:], FEATURES),
        lambda record: parse_single_example(record, {"a": io.FixedLenFeature([], fl.int64, record)}),
        lambda record: parse_single_example(record, {"a": [record]}),
        lambda record: str(parse_single_example(record, FEATURES)),
        lambda *record: parse_single_example(record[0], FEATURES),
        lambda record: io.FixedLenFeature([], fl.int64),
        lambda record: FEATURES,
        lambda record: parse_single_example(record, not_there),  # type: ignore[name-defined]  # noqa: F821
        lambda record: parse_single_example(record, None),
        lambda record: parse_single_example(record, FEATURES)["not there"],
        print,
    ],
)
def test_functions_that_do_something_else(function: Any) -> None:
    SEEN.clear()
    assert not Function(function).only_parses
    assert not SEEN


def test_names_are_looked_up_anew() -> None:
    space: dict[str, Any] = {"fl": fl, "F": {"a": NUMBER}}
    function = eval("lambda record: fl.io.parse_single_example(record, F)", space)
    ds = fl.Dataset.from_tensor_slices(records(4)).map(function)
    it = iter(ds)
    compare(next(it), {"a": np.int64(0)})
    space["F"] = {"a": io.FixedLenFeature([], fl.int64), "b": io.FixedLenFeature([2], fl.int64)}
    fresh = eval("lambda record: fl.io.parse_single_example(record, F)", space)
    compare(next(iter(fl.Dataset.from_tensor_slices(records(4)).map(fresh)))["b"], np.array([0, 1]))
    calls = []

    class Other:
        class io:
            @staticmethod
            def parse_single_example(record: Any, features: Any) -> Any:
                calls.append(record)
                return {"a": np.int64(7)}

    space["fl"] = Other
    assert [int(e["a"]) for e in ds] == [7] * 4 and len(calls) == 4


def test_features_that_change_under_a_running_iterator_are_told() -> None:
    features: dict[str, Any] = {"a": NUMBER}
    it = iter(fl.Dataset.from_tensor_slices(records(3000)).map(lambda record: parse_single_example(record, features)))
    compare(next(it), {"a": np.int64(0)})
    features["b"] = io.FixedLenFeature([2], fl.int64)
    with pytest.raises(TypeError, match="expected a mapping with keys"):
        list(it)


@pytest.mark.parametrize("batch_size", [None, 2, 3])
def test_errors_are_those_of_single_calls(batch_size: int | None) -> None:
    strings = [*records(3), example(b=[1]), *records(2), b"?", b"?", *records(1), example(a=[1, 2])]
    ds = fl.Dataset.from_tensor_slices(strings)

    def parse(record: Any) -> Any:
        return parse_single_example(record, {"a": io.FixedLenFeature([], fl.int64)})

    def outcome(function: Any) -> list[Any]:
        mapped = ds.map(function)
        it = iter(mapped if batch_size is None else mapped.batch(batch_size))
        seen: list[Any] = []
        while True:
            try:
                seen.append(next(it)["a"].tolist())
            except StopIteration:
                return seen
            except InvalidArgumentError as e:
                seen.append(Raises(type(e), re.escape(str(e).split("failed")[1])))

    expect = outcome(opaque(parse))
    mapped = ds.map(parse)
    assert Function(parse).vectorized
    got: list[Any] = [e if isinstance(e, Raises) else {"a": np.array(e)[()]} for e in expect]
    if batch_size is None:
        check_errors(mapped, got)
    else:
        check_errors(mapped.batch(batch_size), got, optimizer=[True])


def test_batches_are_parsed_at_once() -> None:
    def parse(strings: Any) -> Any:
        return fl.io.parse_example(strings, FEATURES)

    for n, size in ((10, 5), (11, 4), (3, 7)):
        ds = fl.Dataset.from_tensor_slices(records(n)).batch(size)
        assert ds.map(parse).element_spec["a"] == fl.TensorSpec([None], fl.int64)
        check(ds.map(parse), elements(ds.map(opaque(parse))))

    def every_kind(strings: Any) -> Any:
        return fl.io.parse_example(strings, EVERY_KIND)

    ds = fl.Dataset.from_tensor_slices(records(9)).batch(3)
    check(ds.map(every_kind), elements(ds.map(opaque(every_kind))))


def test_a_bad_batch_is_one_error() -> None:
    strings = [*records(5), b"?", *records(2)]
    ds = fl.Dataset.from_tensor_slices(strings).batch(2).map(lambda x: fl.io.parse_example(x, {"a": NUMBER}))
    bad = Raises(InvalidArgumentError, "failed on element 2: parse_example: example 1 is not a serialized Example")
    expect = [{"a": np.array([0, 1])}, {"a": np.array([2, 3])}, bad, {"a": np.array([0, 1])}]
    check_errors(ds, expect)


def test_results_belong_to_the_user() -> None:
    twice = fl.Dataset.from_tensor_slices(records(6)).map(
        lambda r: (lambda e: (e["b"], e["b"]))(parse_single_example(r, {"b": io.FixedLenFeature([2], fl.int64)}))
    )
    assert not Function(twice._plan.function.call).only_parses  # a function inside is not looked into
    for first, second in twice:
        first[:] = -1
        assert (second >= 0).all()

    def both(record: Any) -> Any:
        parsed = parse_single_example(record, {"b": io.FixedLenFeature([2], fl.int64)})
        return parsed["b"], parsed["b"]

    for first, second in fl.Dataset.from_tensor_slices(records(6)).map(both):
        first[:] = -1
        assert (second >= 0).all()


def test_elements_with_several_parts() -> None:
    ds = fl.Dataset.zip((fl.Dataset.range(4), fl.Dataset.from_tensor_slices(records(4))))
    mapped = ds.map(lambda number, record: parse_single_example(record, {"a": NUMBER}))
    assert side_effect_free(mapped._plan)
    check(mapped, [{"a": np.int64(i)} for i in range(4)])
    in_dicts = fl.Dataset.from_tensor_slices({"r": records(2)}).map(lambda e: parse_single_example(e["r"], FEATURES))
    assert [e["a"] for e in in_dicts] == [0, 1]


def test_what_is_no_string_fails_as_ever(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="serialized messages, which are strings, got int64"):
        list(fl.Dataset.range(3).map(PARSING["lambda"]))
    with fl.io.TFRecordWriter(str(tmp_path / "data")) as writer:
        writer.write_many(records(4))
    for ds in (fl.Dataset.from_tensor_slices(records(4)), fl.TFRecordDataset(str(tmp_path / "data"))):
        with pytest.raises(InvalidArgumentError, match=r"takes one string, got shape \[2\]"):
            list(ds.batch(2).map(PARSING["lambda"]))


def test_functions_that_parse_and_compute_run_for_many_rows_too() -> None:
    def scaled(record: Any) -> Any:
        parsed = parse_single_example(record, {"a": io.FixedLenFeature([], fl.int64), "b": NUMBERS})
        return parsed["b"] * 2, parsed["a"] + 1

    function = Function(scaled)
    assert function.vectorized and not function.only_parses
    ds = fl.Dataset.from_tensor_slices(records(40))
    check(ds.map(scaled), elements(ds.map(opaque(scaled))))
    strings = [*records(20), b"?", *records(20)]
    bad = fl.Dataset.from_tensor_slices(strings).map(scaled)
    rows = [(np.array([2 * i, 2 * i + 2]), np.int64(i + 1)) for i in range(20)]
    check_errors(bad, [*rows, Raises(InvalidArgumentError, "failed on element 20: .*not a serialized Example"), *rows])
