"""`parse_sequence_example`: context, sequences, lengths."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz import messages, mutate
from tests.fuzz.outcomes import outcome, plain
from tests.harness import compare

import feedline as fl
from feedline import wire
from feedline.io.parsing.sequence import SequenceParser
from feedline.structure.block import Block
from feedline.structure.nest import flatten

io, train = fl.io, fl.train


def example(context: dict[str, list[Any]], lists: dict[str, list[list[Any]]]) -> bytes:
    message = train.SequenceExample()
    for key, values in context.items():
        fill(message.context.feature[key], values)
    for key, steps in lists.items():
        holder = message.feature_lists.feature_list[key]
        for values in steps:
            fill(holder.feature.add(), values)
    return message.SerializeToString()


def fill(feature: train.Feature, values: list[Any]) -> None:
    if values:
        kinds = {bytes: feature.bytes_list, float: feature.float_list, int: feature.int64_list}
        kinds[type(values[0])].value.extend(values)


TWO = [
    example({"c": [7], "n": [b"x"]}, {"t": [[1, 2], [3], []], "f": [[0.5, 1.5], [2.5, 3.5]]}),
    example({"c": [8]}, {"t": [[4]], "f": []}),
]
CONTEXT = {"c": io.FixedLenFeature([], fl.int64), "n": io.VarLenFeature(fl.string)}
PAIRS = {"f": io.FixedLenSequenceFeature([2], fl.float32)}


def test_arrays_and_their_lengths() -> None:
    context, sequences, lengths = io.parse_sequence_example(TWO, CONTEXT, PAIRS)
    assert context["c"].tolist() == [7, 8]
    expect = np.array([[[0.5, 1.5], [2.5, 3.5]], [[0, 0], [0, 0]]], np.float32)
    compare(sequences, {"f": expect})
    compare(lengths, {"f": np.array([2, 0])})
    one, steps = io.parse_single_sequence_example(TWO[0], CONTEXT, PAIRS)
    assert one["c"] == 7
    compare(steps, {"f": expect[0]})


def test_sparse_steps_count_the_empty_ones() -> None:
    features = {"t": io.VarLenFeature(fl.int64)}
    _, sequences, lengths = io.parse_sequence_example(TWO, None, features)
    indices = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    compare(sequences["t"], fl.SparseTensor(indices, np.array([1, 2, 3, 4]), [2, 3, 2]))
    assert lengths == {}
    _, one = io.parse_single_sequence_example(TWO[0], None, features)
    compare(one["t"], fl.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 3]), [3, 2]))
    _, none = io.parse_single_sequence_example(b"", None, features)
    assert none["t"].dense_shape.tolist() == [0, 0]


def test_ragged_steps() -> None:
    features = {"t": io.RaggedFeature(fl.int64)}
    context, sequences, _ = io.parse_sequence_example(TWO, {"n": io.RaggedFeature(fl.string)}, features)
    assert context["n"].to_list() == [[b"x"], []]
    assert sequences["t"].to_list() == [[[1, 2], [3], []], [[4]]] and sequences["t"].row_splits.dtype == np.int32
    _, one = io.parse_single_sequence_example(TWO[0], None, features)
    assert one["t"].to_list() == [[1, 2], [3], []]


def test_missing_lists() -> None:
    data = example({"c": [1]}, {})
    with pytest.raises(fl.errors.InvalidArgumentError, match="example 0 has no feature list 'f', which is required"):
        io.parse_sequence_example([data], None, PAIRS)
    allowed = {"f": io.FixedLenSequenceFeature([2], fl.float32, allow_missing=True)}
    assert io.parse_single_sequence_example(data, None, allowed)[1]["f"].shape == (0, 2)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (example({}, {"f": [[0.5, 1.5], [2.5]]}), "1 values in step 1 of the feature list 'f', expected 2"),
        (example({}, {"f": [[0.5, 1.5], []]}), "has 0 values in step 1"),
        (example({}, {"f": [[1]]}), "feature list 'f', step 0 has values of type int64, expected float32"),
        (b"\xff\xff", "example 0 is not a serialized SequenceExample"),
        (wire.delimited(2, b"\x0a\x05abc"), "is not a serialized SequenceExample"),
    ],
)
def test_errors_name_the_place(data: bytes, match: str) -> None:
    for parse, given in ((io.parse_sequence_example, [data]), (io.parse_single_sequence_example, data)):
        with pytest.raises(fl.errors.InvalidArgumentError, match=match):
            parse(given, None, PAIRS)


def test_the_context_is_like_an_example() -> None:
    default = {"c": io.FixedLenFeature([], fl.int64, 3)}
    assert io.parse_single_sequence_example(b"", default, None)[0] == {"c": 3}
    with pytest.raises(fl.errors.InvalidArgumentError, match="no feature 'c', which is required"):
        io.parse_single_sequence_example(b"", {"c": io.FixedLenFeature([], fl.int64)}, None)
    kindless = wire.delimited(1, wire.delimited(1, wire.delimited(1, b"c") + wire.delimited(2, b"")))
    with pytest.raises(fl.errors.InvalidArgumentError, match="context feature 'c' has no list"):
        io.parse_single_sequence_example(kindless, default, None)


def test_the_same_features_in_the_context_and_in_lists() -> None:
    features = {"c": io.VarLenFeature(fl.int64)}
    data = example({"c": [7]}, {"c": [[8], [9]]})
    for _ in range(2):
        assert io.parse_single_sequence_example(data, features, None)[0]["c"].values.tolist() == [7]
        assert io.parse_single_sequence_example(data, None, features)[1]["c"].values.tolist() == [8, 9]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="give context_features or sequence_features"):
        io.parse_single_sequence_example(b"")
    with pytest.raises(ValueError, match="must have no default_value here"):
        io.parse_sequence_example([b""], None, {"f": io.FixedLenSequenceFeature([], fl.int64, True, 0)})
    with pytest.raises(ValueError, match="the feature 'f' must be one of"):
        io.parse_sequence_example([b""], None, {"f": io.FixedLenFeature([], fl.int64)})
    with pytest.raises(ValueError, match="takes one string"):
        io.parse_single_sequence_example([b""], None, PAIRS)
    with pytest.raises(ValueError, match="got shape"):
        io.parse_sequence_example([[b""]], None, PAIRS)


RAGGED = io.RaggedFeature
CUT = [
    example({}, {"v": [[1, 2, 3], [4], []], "n": [[2, 1], [1], [0]], "i": [[0, 0, 1], [0], []]}),
    example({}, {}),
    example({}, {"v": [[5, 6, 7]], "n": [[3]], "i": [[0, 2, 2]]}),
]


@pytest.mark.parametrize(
    ("partition", "expect"),
    [
        (RAGGED.RowLengths("n"), [[[[1, 2], [3]], [[4]], [[]]], [], [[[5, 6, 7]]]]),
        (RAGGED.ValueRowIds("i"), [[[[1, 2], [3]], [[4]], []], [], [[[5], [], [6, 7]]]]),
        (RAGGED.UniformRowLength(1), [[[[1], [2], [3]], [[4]], []], [], [[[5], [6], [7]]]]),
    ],
)
def test_partitions_cut_each_step(partition: Any, expect: Any) -> None:
    features = {"x": RAGGED(fl.int64, "v", [partition])}
    _, sequences, _ = io.parse_sequence_example(CUT, None, features)
    assert sequences["x"].to_list() == expect
    _, none, _ = io.parse_sequence_example([], None, features)
    assert none["x"].to_list() == []
    for data, one in zip(CUT, expect, strict=True):
        assert io.parse_single_sequence_example(data, None, features)[1]["x"].to_list() == one


def test_partitions_of_other_steps_are_refused() -> None:
    data = example({}, {"v": [[1, 2], [3]], "n": [[2, 1]]})
    for parse, given in ((io.parse_sequence_example, [data]), (io.parse_single_sequence_example, data)):
        with pytest.raises(fl.errors.InvalidArgumentError, match="the ragged feature 'x'"):
            parse(given, None, {"x": RAGGED(fl.int64, "v", [RAGGED.RowSplits("n")])})
    with pytest.raises(fl.errors.InvalidArgumentError, match="'x' has a different number of steps than its partition"):
        io.parse_sequence_example([data], None, {"x": RAGGED(fl.int64, "v", [RAGGED.RowLengths("n")])})


def test_what_is_damaged_comes_before_what_is_missing() -> None:
    features = {"f": io.FixedLenSequenceFeature([2], fl.float32), "g": io.FixedLenSequenceFeature([], fl.int64)}
    good = example({"c": [1]}, {"f": [[0.5, 1.5]], "g": [[1]]})
    no_list, short = example({"c": [1]}, {"f": [[0.5, 1.5]]}), example({"c": [1]}, {"f": [[0.5]], "g": [[1]]})
    kind, none = example({"c": [1]}, {"f": [[1]], "g": []}), example({}, {"f": [], "g": []})

    context = {"c": io.FixedLenFeature([], fl.int64)}

    def said(*given: bytes) -> str:
        found = outcome(lambda: io.parse_sequence_example(list(given), context, features))
        return str(found.text.removeprefix("parse_sequence_example: "))

    assert said(good, no_list, short, none, b"?").startswith("example 4 is not a serialized SequenceExample")
    assert said(good, no_list, short, none, kind, b"?").startswith("example 4, feature list 'f', step 0 has values of")
    assert said(good, no_list, short, none).startswith("example 3 has no feature 'c', which is required")
    assert said(good, no_list, short).startswith("example 2 has 1 values in step 0 of the feature list 'f'")
    assert said(good, no_list).startswith("example 1 has no feature list 'g', which is required")


def test_the_kernel_and_one_after_another_give_the_same(tmp_path: Path) -> None:
    """Features of every kind, of messages of which many are damaged."""
    rng, seeds = random.Random(4), messages.sequences(tmp_path)
    parsers = [SequenceParser(*spec, "parse") for spec in messages.SEQUENCE_SPECS]
    slow = [SequenceParser(*spec, "parse") for spec in messages.SEQUENCE_SPECS]
    for parser in slow:
        parser._request = None
    good = 0
    for _ in range(300):
        batch: Any = [rng.choice(seeds) for _ in range(rng.choice((1, 2, 5)))]
        if rng.random() < 0.7:
            batch[rng.randrange(len(batch))] = mutate.message(rng, rng.choice(seeds))
        for given in (batch, batch[0]):
            for fast, other in zip(parsers, slow, strict=True):
                found = plain(outcome(lambda fast=fast, given=given: fast(given)))
                assert found == plain(outcome(lambda other=other, given=given: other(given)))
                good += isinstance(found, tuple) and not hasattr(found, "kind")
    assert good > 300


def test_many_at_once_are_what_each_is_by_itself(tmp_path: Path) -> None:
    """Features of every kind, of messages of which some are damaged, up to the first that cannot be read."""
    rng, seeds = random.Random(5), messages.sequences(tmp_path)
    parsers = [SequenceParser(*spec, "parse") for spec in messages.SEQUENCE_SPECS]
    stopped = 0
    for _ in range(150):
        batch = [rng.choice(seeds) for _ in range(rng.choice((1, 2, 9)))]
        if rng.random() < 0.8:
            batch[rng.randrange(len(batch))] = mutate.message(rng, rng.choice(seeds))
        for parser in parsers:
            singles = [outcome(lambda parser=parser, data=data: parser.element(data)) for data in batch]
            done, columns = parser.rows(batch)
            good = next((i for i, one in enumerate(singles) if hasattr(one, "kind")), len(batch))
            assert done == good
            leaves, tree = flatten(columns)
            rows = Block(leaves, done, tree).rows() if done else []
            assert [plain(row) for row in rows] == [plain(one) for one in singles[:done]]
            stopped += 0 < done < len(batch)
    assert stopped > 20


SPLIT = fl.io.RaggedFeature(fl.int64, "a", [fl.io.RaggedFeature.RowSplits("b")])


@pytest.mark.parametrize(
    ("bad", "context", "sequences"),
    [
        (example({"a": [1.5]}, {}), {"a": fl.io.VarLenFeature(fl.int64)}, None),
        (example({}, {}), {"a": fl.io.FixedLenFeature([], fl.int64)}, None),
        (example({}, {"a": [[1.5]]}), None, {"a": fl.io.VarLenFeature(fl.int64)}),
        (example({}, {}), None, {"a": fl.io.FixedLenSequenceFeature([], fl.int64)}),
        (example({}, {"a": [[1, 2]]}), None, {"a": fl.io.FixedLenSequenceFeature([], fl.int64)}),
        (example({}, {"a": [[1, 2]], "b": [[0, 2], [0, 2]]}), None, {"a": SPLIT}),
        (example({}, {"a": [[1, 2]], "b": [[0, 3]]}), None, {"a": SPLIT}),
        (b"\xff\xff", None, {"a": fl.io.VarLenFeature(fl.int64)}),
    ],
)
def test_names_of_examples_are_in_every_error(bad: bytes, context: Any, sequences: Any) -> None:
    good = example({"a": [1]}, {"a": [[1]], "b": [[0, 1]]})
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"^parse_sequence_example: example 1 \(second\)[ ,:]"):
        fl.io.parse_sequence_example([good, bad], context, sequences, ["first", "second"])
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"_sequence_example: example 0 \(only\)[ ,:]"):
        fl.io.parse_single_sequence_example(bad, context, sequences, "only")


def test_row_splits_of_other_steps_than_the_values() -> None:
    data = example({}, {"a": [[1, 2]], "b": [[0, 2], [0, 2]]})
    with pytest.raises(fl.errors.InvalidArgumentError, match="it has 1 steps, and 2 in 'b'"):
        fl.io.parse_single_sequence_example(data, None, {"a": SPLIT})
