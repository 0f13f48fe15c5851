"""Functions that only parse sequences: two dicts instead of one, found and run as those that parse examples."""

from __future__ import annotations

import functools
import re
import tracemalloc
from typing import Any

import pytest
from tests.harness import Raises, check, check_errors, elements
from tests.plan.vectorize.test_parse_calls import opaque

import feedline as fl
from feedline.errors import InvalidArgumentError
from feedline.plan.function import Function
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.specs import spec_known
from feedline.structure.nest import flatten

io = fl.io
NUMBER = io.FixedLenFeature([], fl.int64)
CONTEXT = {"id": NUMBER, "name": io.FixedLenFeature([], fl.string, "none")}
STEPS: dict[str, Any] = {
    "x": io.FixedLenSequenceFeature([2], fl.int64),
    "y": io.FixedLenSequenceFeature([], fl.int64, allow_missing=True),
}
EVERY_CONTEXT = {**CONTEXT, "v": io.VarLenFeature(fl.int64), "r": io.RaggedFeature(fl.int64)}
UNEVEN = {"v": io.VarLenFeature(fl.int64), "r": io.RaggedFeature(fl.int64)}
EVERY_LIST = {
    **STEPS,
    "v": io.VarLenFeature(fl.int64),
    "r": io.RaggedFeature(fl.int64),
    "cut": io.RaggedFeature(fl.int64, "b", [io.RaggedFeature.RowLengths("lengths")]),
    "s": io.FixedLenSequenceFeature([1], fl.string, allow_missing=True),
}


def sequence(context: dict[str, list[int]], **lists: list[list[Any]]) -> bytes:
    message = fl.train.SequenceExample()
    for key, values in context.items():
        message.context.feature[key].int64_list.value.extend(values)
    for key, steps in lists.items():
        for values in steps:
            step = message.feature_lists.feature_list[key].feature.add()
            (step.bytes_list if key == "s" else step.int64_list).value.extend(values)
    return message.SerializeToString()


def sequences(n: int, most: int = 4) -> list[bytes]:
    return [
        sequence(
            {"id": [i], "v": [i] * (i % 3), "r": [5] * (i % 2)},
            x=[[i, j] for j in range(1 + i % most)],
            y=[[j] for j in range(2)],
            v=[[i] * j for j in range(i % 3)],
            r=[[1] * j for j in range(3)],
            b=[[i, 1]] * 2,
            lengths=[[1, 0, 1]] * 2,
            s=[[b"a%d" % i]] * (i % 2),
        )
        for i in range(n)
    ]


def unpacked(record: Any) -> Any:
    context, steps = io.parse_single_sequence_example(record, CONTEXT, STEPS)
    label = context.pop("id")
    return steps["x"], {"label": label}


def part_by_name(record: Any) -> Any:
    parsed = io.parse_single_sequence_example(record, CONTEXT, STEPS)
    context = parsed[0]
    return context.pop("id"), context


def merged(record: Any) -> Any:
    context, steps = fl.io.parse_single_sequence_example(record, CONTEXT, STEPS)
    return {**context, **steps}


PARSING_SEQUENCES: dict[str, Any] = {
    "lambda": lambda record: fl.io.parse_single_sequence_example(record, CONTEXT, STEPS),
    "keywords": lambda r: io.parse_single_sequence_example(sequence_features=STEPS, serialized=r),
    "context alone": lambda record: io.parse_single_sequence_example(record, CONTEXT),
    "partial": functools.partial(io.parse_single_sequence_example, context_features=CONTEXT, sequence_features=STEPS),
    "one of them": lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)[1],
    "a part of one": lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)[-1]["y"],
    "unpacked": unpacked,
    "merged": merged,
    "part popped": lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)[0].pop("id"),
    "part by name": part_by_name,
    "every kind": lambda record: io.parse_single_sequence_example(record, EVERY_CONTEXT, EVERY_LIST),
    "uneven alone": lambda record: io.parse_single_sequence_example(record, UNEVEN, UNEVEN),
}


@pytest.mark.parametrize("name", PARSING_SEQUENCES)
@pytest.mark.parametrize("most", [1, 4])
def test_functions_that_only_parse_sequences(name: str, most: int) -> None:
    function = PARSING_SEQUENCES[name]
    assert Function(function).only_parses
    ds = fl.Dataset.from_tensor_slices(sequences(6, most))
    mapped = ds.map(function)
    assert side_effect_free(mapped._plan) and spec_known(mapped._plan)
    check(mapped, elements(ds.map(opaque(function))))


def test_the_spec_of_sequences_is_that_of_tensorflow() -> None:
    ds = fl.Dataset.from_tensor_slices(sequences(1))
    context, steps = ds.map(PARSING_SEQUENCES["every kind"]).element_spec
    assert context["name"] == fl.TensorSpec([], fl.string) and context["v"] == fl.SparseTensorSpec([None], fl.int64)
    assert context["r"] == fl.TensorSpec([None], fl.int64)
    assert steps["x"] == fl.TensorSpec([None, 2], fl.int64) and steps["y"] == fl.TensorSpec([None], fl.int64)
    assert steps["v"] == fl.SparseTensorSpec([None, None], fl.int64)
    assert steps["r"] == fl.RaggedTensorSpec([None, None], fl.int64, 1, fl.int32)
    assert steps["cut"] == fl.RaggedTensorSpec([None, None, None], fl.int64, 2, fl.int32)
    got = fl.Dataset.from_tensor_slices(sequences(5)).map(PARSING_SEQUENCES["every kind"])
    for one in got:
        values = zip(flatten(got.element_spec)[0], flatten(one)[0], strict=True)
        assert all(spec.is_compatible_with(value) for spec, value in values)


def test_batches_of_sequences_are_parsed_as_they_are() -> None:
    def parse(strings: Any) -> Any:
        return io.parse_sequence_example(strings, EVERY_CONTEXT, EVERY_LIST)

    assert Function(parse).only_parses
    for n, size in ((10, 5), (7, 3), (3, 7)):
        ds = fl.Dataset.from_tensor_slices(sequences(n)).batch(size)
        check(ds.map(parse), elements(ds.map(opaque(parse))))
    batches = fl.Dataset.from_tensor_slices(sequences(4)).batch(2, drop_remainder=True)
    context, steps, lengths = batches.map(parse).element_spec
    assert context["id"] == fl.TensorSpec([2], fl.int64) and lengths["y"] == fl.TensorSpec([2], fl.int64)
    assert context["v"] == fl.SparseTensorSpec([None, None], fl.int64)
    assert steps["x"] == fl.TensorSpec([2, None, 2], fl.int64) and list(lengths) == ["x", "y", "s"]
    assert steps["v"] == fl.SparseTensorSpec([None, None, None], fl.int64)
    assert steps["cut"] == fl.RaggedTensorSpec([2, None, None, None], fl.int64, 3, fl.int32)
    strings = [*sequences(3), b"?", *sequences(4)]
    bad = fl.Dataset.from_tensor_slices(strings).batch(2).map(parse)
    wanted = [*elements(fl.Dataset.from_tensor_slices(strings[:2]).batch(2).map(parse))]
    wanted.append(Raises(InvalidArgumentError, "element 1: parse_sequence_example: example 1 is not a serialized"))
    check_errors(bad, [*wanted, *elements(fl.Dataset.from_tensor_slices(strings[4:]).batch(2).map(parse))])


@pytest.mark.parametrize(
    "function",
    [
        lambda record: [io.parse_single_sequence_example(record, CONTEXT, STEPS)],
        lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)[2],
        lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)["x"],
        lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS)[0]["x"],
        lambda record: io.parse_single_sequence_example(record, None, STEPS)[0],
        lambda record: io.parse_single_sequence_example(record, None, None),
        lambda record: io.parse_single_sequence_example(record, CONTEXT, STEPS, b"name"),
        lambda record: io.parse_single_sequence_example(record, {"a": record}),
        lambda record: {**io.parse_single_sequence_example(record, CONTEXT, STEPS)},  # type: ignore[dict-item]
        lambda r: io.parse_single_example(r, {"a": io.parse_single_sequence_example(r, CONTEXT)[0]["id"]}),
        lambda record: io.parse_sequence_example(record, CONTEXT, STEPS, [b"name"]),
    ],
)
def test_functions_that_do_something_else_with_sequences(function: Any) -> None:
    assert not Function(function).only_parses


@pytest.mark.parametrize("steps", [STEPS, EVERY_LIST])
@pytest.mark.parametrize("context", [CONTEXT, EVERY_CONTEXT])
def test_errors_of_sequences_are_those_of_single_calls(context: Any, steps: Any) -> None:
    good = sequences(7)
    uneven = sequence({"id": [1]}, x=[[1, 2]], b=[[1, 2]], lengths=[[1, 3]])  # only bad where it is cut
    strings = [*good[:3], b"?", good[3], sequence({}, x=[[1, 2]]), sequence({"id": [1]}), *good[4:6]]
    strings += [sequence({"id": [1]}, x=[[1, 2], [3]]), uneven, b"", good[6]]
    ds = fl.Dataset.from_tensor_slices(strings)

    def parse(record: Any) -> Any:
        return io.parse_single_sequence_example(record, context, steps)

    it, expect = iter(ds.map(opaque(parse))), []
    while True:
        try:
            expect.append(next(it))
        except StopIteration:
            break
        except InvalidArgumentError as e:
            expect.append(Raises(type(e), re.escape(str(e).split("failed")[1])))
    assert sum(isinstance(e, Raises) for e in expect) == (5 if steps is STEPS else 6)
    check_errors(ds.map(parse), expect)


def test_sequences_of_very_different_lengths_are_not_filled_up() -> None:
    long = sequence({"id": [1]}, y=[[i] for i in range(30_000)])
    ds = fl.Dataset.from_tensor_slices([long, *[sequence({"id": [1]}, y=[[1]])] * 2000])
    tracemalloc.start()
    got = list(ds.map(lambda r: io.parse_single_sequence_example(r, CONTEXT, {"y": STEPS["y"]})[1]["y"]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [len(y) for y in got] == [30_000, *[1] * 2000] and most < 30_000 * 8 * 100


def test_sequences_belong_to_the_user() -> None:
    ds = fl.Dataset.from_tensor_slices(sequences(6) * 20).map(PARSING_SEQUENCES["lambda"])
    want = [e[1]["x"].copy() for e in ds]
    seen = []
    for _, steps in ds:
        seen.append(steps["x"])
        steps["y"][:] = -1
        steps["x"][...] += 1
    assert all((a == b + 1).all() for a, b in zip(seen, want, strict=True))
