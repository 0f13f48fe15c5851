"""Ragged features cut by other features, alone and in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.structure.spec import RaggedTensorSpec, TensorSpec

io, train = fl.io, fl.train
RF = io.RaggedFeature

ROWS = [[[1, 2, 3], [], [4]], [], [[5]]]
"""Three examples: rows of rows."""


def example(**features: list[int]) -> bytes:
    message = train.Example()
    for key, values in features.items():
        message.features.feature[key].int64_list.value.extend(values)
    return message.SerializeToString()


def cut_by(partition: type, rows: list[list[int]]) -> dict[str, list[int]]:
    lengths = [len(row) for row in rows]
    splits = [0, *np.cumsum(lengths).tolist()]
    by = {
        RF.RowSplits: splits,
        RF.RowLengths: lengths,
        RF.RowStarts: splits[:-1],
        RF.RowLimits: splits[1:],
        RF.ValueRowIds: [i for i, n in enumerate(lengths) for _ in range(n)],
    }
    return {"v": [x for row in rows for x in row], "p": by[partition]}


@pytest.mark.parametrize("partition", [RF.RowSplits, RF.RowLengths, RF.RowStarts, RF.RowLimits, RF.ValueRowIds])
@pytest.mark.parametrize("splits", [fl.int32, fl.int64])
def test_one_partition(partition: Any, splits: fl.DType) -> None:
    features = {"r": RF(fl.int64, value_key="v", partitions=[partition("p")], row_splits_dtype=splits)}
    data = [example(**cut_by(partition, rows)) for rows in ROWS]
    batch = io.parse_example(data, features)["r"]
    assert batch.to_list() == ROWS and batch.row_splits.dtype == splits
    for one, rows in zip(data, ROWS, strict=True):
        got = io.parse_single_example(one, features)["r"]
        assert got.to_list() == rows and got.row_splits.dtype == splits


def test_rows_of_one_length() -> None:
    features = {"r": RF(fl.int64, value_key="v", partitions=[RF.UniformRowLength(2)])}
    data = [example(v=[1, 2, 3, 4]), example(v=[]), example(v=[5, 6])]
    assert io.parse_single_example(data[0], features)["r"].tolist() == [[1, 2], [3, 4]]
    assert io.parse_example(data, features)["r"].to_list() == [[[1, 2], [3, 4]], [], [[5, 6]]]


def test_the_outermost_partition_comes_first() -> None:
    features = {"r": RF(fl.int64, value_key="v", partitions=[RF.RowLengths("outer"), RF.RowLengths("inner")])}
    data = [example(v=[1, 2, 3], outer=[2, 0], inner=[1, 2]), example(v=[4], outer=[1], inner=[1])]
    assert io.parse_example(data, features)["r"].to_list() == [[[[1], [2, 3]], []], [[[4]]]]
    assert io.parse_single_example(data[0], features)["r"].to_list() == [[[1], [2, 3]], []]
    mixed = {"r": RF(fl.int64, value_key="v", partitions=[RF.UniformRowLength(2), RF.RowLengths("inner")])}
    assert io.parse_example(data[:1], mixed)["r"].to_list() == [[[[1], [2, 3]]]]
    turned = {"r": RF(fl.int64, value_key="v", partitions=[RF.RowLengths("n"), RF.UniformRowLength(2)])}
    assert io.parse_example([example(v=[1, 2, 3, 4], n=[0, 2])], turned)["r"].to_list() == [[[], [[1, 2], [3, 4]]]]


@pytest.mark.parametrize("cut", [[3], [1, 1], [-1, 5]])
def test_partitions_that_do_not_fit(cut: list[int]) -> None:
    features = {"r": RF(fl.int64, value_key="v", partitions=[RF.RowLengths("p")])}
    data = example(v=[1, 2, 3, 4], p=cut)
    for parse, given in ((io.parse_single_example, data), (io.parse_example, [data])):
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"'r' cannot be partitioned by RowLengths\(key='p'\)"):
            parse(given, features)


def test_specs() -> None:
    def spec(partitions: list[Any], batch: tuple[int | None, ...]) -> Any:
        parser = fl.io.parsing.example.ExampleParser({"r": RF(fl.int64, "v", partitions)}, "op")
        return parser.spec(batch)["r"]

    lengths, pairs = RF.RowLengths("p"), RF.UniformRowLength(2)
    assert spec([], ()) == TensorSpec([None], fl.int64)
    assert spec([pairs], ()) == TensorSpec([None, 2], fl.int64)
    assert spec([lengths], ()) == RaggedTensorSpec([None, None], fl.int64, 1, fl.int32)
    assert spec([], (4,)) == RaggedTensorSpec([4, None], fl.int64, 1, fl.int32)
    assert spec([lengths, pairs], (None,)) == RaggedTensorSpec([None, None, None, 2], fl.int64, 2, fl.int32)
    assert spec([pairs, lengths], (None,)) == RaggedTensorSpec([None, None, 2, None], fl.int64, 3, fl.int32)


def test_examples_and_batches_without_the_feature() -> None:
    for partition in (RF.RowSplits, RF.RowLengths, RF.RowStarts, RF.RowLimits, RF.ValueRowIds):
        features = {"r": RF(fl.int64, value_key="v", partitions=[partition("p")])}
        alone = io.parse_single_example(example(), features)["r"]
        assert alone.to_list() == [] and alone.row_splits.tolist() == [0]
        assert io.parse_example([example(), example()], features)["r"].to_list() == [[], []]
        empty = io.parse_example(np.empty(0, object), features)["r"]
        assert empty.to_list() == [] and empty.row_splits.tolist() == [0] and empty.values.row_splits.tolist() == [0]
    checked = {"r": RF(fl.int64, value_key="v", partitions=[RF.RowSplits("p")], validate=True)}
    with pytest.raises(fl.errors.InvalidArgumentError, match="row_splits must not be empty"):
        io.parse_single_example(example(), checked)


@pytest.mark.parametrize("row", [2**62, 2**63 - 1])
def test_more_rows_than_fit_in_memory(row: int) -> None:
    features = {"r": RF(fl.int64, value_key="v", partitions=[RF.ValueRowIds("p")], row_splits_dtype=fl.int64)}
    bad = example(v=[1], p=[row])
    with pytest.raises(fl.errors.InvalidArgumentError, match="the ragged feature 'r' cannot be partitioned"):
        io.parse_single_example(bad, features)
    with pytest.raises(fl.errors.InvalidArgumentError, match="the ragged feature 'r' cannot be partitioned"):
        io.parse_example([bad], features)


def test_values_that_are_no_whole_number_of_rows() -> None:
    values = fl.train.Feature(int64_list=fl.train.Int64List(value=[1, 2, 3]))
    data = fl.train.Example(features=fl.train.Features(feature={"a": values})).SerializeToString()
    features = {"r": fl.io.RaggedFeature(fl.int64, "a", [fl.io.RaggedFeature.UniformRowLength(2)])}
    with pytest.raises(fl.errors.InvalidArgumentError, match="3 values are not a whole number of rows of 2"):
        fl.io.parse_single_example(data, features)
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"example 1: .*3 values are not a whole number of rows"):
        fl.io.parse_example([b"", data], features)
