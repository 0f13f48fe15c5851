"""The targets that parse `Example` and `SequenceExample` messages."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.outcomes import outcome

import feedline as fl
from feedline import kernels


def _feature(numbers: random.Random) -> fl.train.Feature:
    n = numbers.choice((0, 1, 2, 2, 3, 20))
    kind = numbers.randrange(3)
    if kind == 0:
        ints = [numbers.choice((-1, 0, 1, 300, 1 << 62)) for _ in range(n)]
        return fl.train.Feature(int64_list=fl.train.Int64List(value=ints))
    if kind == 1:
        return fl.train.Feature(float_list=fl.train.FloatList(value=[numbers.random() for _ in range(n)]))
    return fl.train.Feature(bytes_list=fl.train.BytesList(value=[numbers.randbytes(i % 5) for i in range(n)]))


def examples(folder: Path) -> list[bytes]:
    """Examples, some with the requested types, some with others."""
    return _examples()


@functools.cache
def _examples() -> list[bytes]:
    numbers, made = random.Random(1), []
    for i in range(12):
        given = {"i": 1, "f": 2, "s": 3, "v": 4, "r": 5, "odd": 6} if i % 3 else {"i": 1, "s": 2}
        features = {key: _feature(numbers) for key in given}
        if i % 4:
            features["i"] = fl.train.Feature(int64_list=fl.train.Int64List(value=[i, -i]))
            features["f"] = fl.train.Feature(float_list=fl.train.FloatList(value=[0.5 * i]))
            features["s"] = fl.train.Feature(bytes_list=fl.train.BytesList(value=[b"text" * i]))
        made.append(fl.train.Example(features=fl.train.Features(feature=features)).SerializeToString())
    return made


SPECS: tuple[dict[str, Any], ...] = (
    {"i": fl.io.FixedLenFeature([2], fl.int64), "f": fl.io.FixedLenFeature([], fl.float32)},
    {
        "i": fl.io.FixedLenFeature([2], fl.int64, [7, 7]),
        "f": fl.io.FixedLenFeature([], fl.float32, 1.5),
        "s": fl.io.FixedLenFeature([], fl.string, "x"),
    },
    {"i": fl.io.VarLenFeature(fl.int64), "f": fl.io.VarLenFeature(fl.float32), "s": fl.io.VarLenFeature(fl.string)},
    {
        "i": fl.io.FixedLenSequenceFeature([2], fl.int64, allow_missing=True),
        "s": fl.io.FixedLenSequenceFeature([], fl.string, allow_missing=True),
        "f": fl.io.RaggedFeature(fl.float32),
    },
    {
        "v": fl.io.SparseFeature("i", "f", fl.float32, 100),
        "r": fl.io.RaggedFeature(fl.string, "s", [fl.io.RaggedFeature.RowSplits("i")]),
    },
)


def _each_spec(parse: Callable[[Any, Any], Any], data: Any) -> list[Any]:
    return [outcome(lambda spec=spec: parse(data, spec)) for spec in SPECS]


def parse_example(data: bytes, folder: Path) -> Any:
    """Parses one message among valid ones, with every spec."""
    good = _examples()
    return _each_spec(fl.io.parse_example, [good[1], data, good[2]])


def parse_single_example(data: bytes, folder: Path) -> Any:
    """Parses one message, with every spec."""
    return _each_spec(fl.io.parse_single_example, data)


def sequences(folder: Path) -> list[bytes]:
    """Sequence examples: a context, and lists of features. Most have the requested types."""
    return _sequences()


@functools.cache
def _sequences() -> list[bytes]:
    numbers, made = random.Random(2), []
    train = fl.train
    for i in range(12):
        context = {key: _feature(numbers) for key in ("odd", "f", "s")}
        lists = {key: [_feature(numbers) for _ in range(i % 4)] for key in ("fi", "ff", "fs")}
        if i % 4:
            context["i"] = train.Feature(int64_list=train.Int64List(value=[i, -i]))
            context["f"] = train.Feature(float_list=train.FloatList(value=[0.5] * i))
            context["s"] = train.Feature(bytes_list=train.BytesList(value=[b"text"] * i))
            context["n"] = train.Feature(int64_list=train.Int64List(value=[1] * i))
            lists["fi"] = [train.Feature(int64_list=train.Int64List(value=[k])) for k in range(i)]
            lists["ff"] = [train.Feature(float_list=train.FloatList(value=[k, 0.5])) for k in range(i % 5)]
            lists["fs"] = [train.Feature(bytes_list=train.BytesList(value=[b"x" * k] * (k % 3))) for k in range(i % 6)]
            lists["fn"] = [train.Feature(int64_list=train.Int64List(value=[k % 3])) for k in range(i % 6)]
        message = train.SequenceExample(
            context=train.Features(feature=context),
            feature_lists=train.FeatureLists(
                feature_list={key: train.FeatureList(feature=steps) for key, steps in lists.items()}
            ),
        )
        made.append(message.SerializeToString())
    return made


def scan_examples(data: bytes, folder: Path) -> Any:
    """Scans one message among valid ones."""
    good = _sequences()
    return kernels.scan_examples([good[1], data, good[2]])


SEQUENCE_SPECS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"i": fl.io.FixedLenFeature([2], fl.int64, [0, 0])},
        {"fi": fl.io.FixedLenSequenceFeature([], fl.int64, allow_missing=True)},
    ),
    (
        {"i": fl.io.FixedLenFeature([2], fl.int64), "f": fl.io.VarLenFeature(fl.float32)},
        {"ff": fl.io.FixedLenSequenceFeature([2], fl.float32), "fs": fl.io.VarLenFeature(fl.string)},
    ),
    (
        {"s": fl.io.RaggedFeature(fl.string, partitions=[fl.io.RaggedFeature.RowLengths("n")])},
        {"fi": fl.io.VarLenFeature(fl.int64), "ff": fl.io.RaggedFeature(fl.float32, row_splits_dtype=fl.int64)},
    ),
    (
        {"i": fl.io.RaggedFeature(fl.int64), "s": fl.io.VarLenFeature(fl.string)},
        {
            "fs": fl.io.RaggedFeature(fl.string, partitions=[fl.io.RaggedFeature.RowLengths("fn")]),
            "fi": fl.io.FixedLenSequenceFeature([1, 1], fl.int64, allow_missing=True),
        },
    ),
    ({}, {"fs": fl.io.FixedLenSequenceFeature([], fl.string, allow_missing=True)}),
)


def parse_sequence_example(data: bytes, folder: Path) -> Any:
    """Parses one message among valid ones, with every spec."""
    good = _sequences()
    batch = [good[1], data, good[2]]
    return [outcome(lambda spec=spec: fl.io.parse_sequence_example(batch, *spec)) for spec in SEQUENCE_SPECS]


def parse_single_sequence_example(data: bytes, folder: Path) -> Any:
    """Parses one message, with every spec."""
    return [outcome(lambda spec=spec: fl.io.parse_single_sequence_example(data, *spec)) for spec in SEQUENCE_SPECS]
