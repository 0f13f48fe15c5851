"""Ragged features: values partitioned into rows by other features of the same example."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.parsing.features import (
    RaggedFeature,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    UniformRowLength,
)
from feedline.structure.ragged import RaggedTensor
from feedline.structure.spec import RaggedTensorSpec, TensorSpec

Array = np.ndarray[Any, Any]


def in_rows(key: str, feature: RaggedFeature, raw: dict[str, Any]) -> Any:
    """The value of a ragged feature: an array or ragged tensor for one example, a ragged tensor for a batch.

    `raw` holds the values of each key: arrays for one example, ragged tensors for a batch. The steps of a sequence are
    treated as a batch; those of a batch of sequences as one batch that is split into sequences again.
    """
    value_key = feature.value_key or key
    value, sequences = raw[value_key], None
    if feature.partitions and isinstance(value, RaggedTensor) and value.ragged_rank > 1:
        keys = [p.key for p in feature.partitions if not isinstance(p, UniformRowLength)]
        raw = {k: raw[k].values for k in (value_key, *keys)}
        value, sequences = raw[value_key], value.row_splits
    for partition in reversed(feature.partitions):
        try:
            if isinstance(raw[value_key], RaggedTensor):
                value = _cut_batch(value, partition, raw)
            else:
                value = _cut(value, partition, raw, feature)
        except (ValueError, OverflowError, MemoryError) as e:  # row ids may imply more rows than fit in memory
            raise InvalidArgumentError(
                f"the ragged feature {key!r} cannot be partitioned by {partition!r}: {e}"
            ) from None
    return value if sequences is None else _in_sequences(key, value, sequences)


def _in_sequences(key: str, steps: object, sequences: Array) -> RaggedTensor:
    try:
        return RaggedTensor.from_row_splits(steps, sequences)
    except ValueError as e:
        raise InvalidArgumentError(
            f"the ragged feature {key!r} has a different number of steps than its partition: {e}"
        ) from None


def ragged_spec(feature: RaggedFeature, batch: tuple[int | None, ...]) -> Any:
    """The spec of a ragged feature. Inner rows of uniform length are dense."""
    inner = [p.length if isinstance(p, UniformRowLength) else None for p in feature.partitions]
    rank = len(inner)
    while rank and inner[rank - 1] is not None:
        rank -= 1
    shape = [*batch, None, *inner]
    rank += len(batch)
    if not rank:
        return TensorSpec(shape, feature.dtype)
    return RaggedTensorSpec(shape, feature.dtype, rank, feature.row_splits_dtype)


def _cut(value: Any, partition: Any, raw: dict[str, Any], feature: RaggedFeature) -> Any:
    dtype = feature.row_splits_dtype.dtype
    if isinstance(partition, UniformRowLength):
        return _uniform(value, partition.length, dtype)
    by: Array = raw[partition.key].astype(dtype)
    if isinstance(partition, RowSplits):
        if not len(by) and not len(value) and not feature.validate:  # an example without the feature has no rows
            by = np.zeros(1, dtype)
        return RaggedTensor.from_row_splits(value, by)
    if isinstance(partition, RowLengths):
        return RaggedTensor.from_row_lengths(value, by)
    if isinstance(partition, RowStarts):
        return RaggedTensor.from_row_starts(value, by)
    if isinstance(partition, RowLimits):
        return RaggedTensor.from_row_limits(value, by)
    return RaggedTensor.from_value_rowids(value, by)


def _cut_batch(batch: Any, partition: Any, raw: dict[str, Any]) -> Any:
    """Like `_cut`, for a batch: partitions count from the start of their example."""
    dtype = batch.row_splits.dtype
    if isinstance(partition, UniformRowLength):
        rows = _uniform(batch.values, partition.length, dtype)
        return RaggedTensor.from_row_splits(rows, batch.row_splits // dtype.type(partition.length))
    by = raw[partition.key]
    numbers, splits = by.values.astype(dtype), by.row_splits.astype(dtype)
    counts = np.diff(splits)
    if isinstance(partition, RowLengths):
        return RaggedTensor.from_row_splits(RaggedTensor.from_row_lengths(batch.values, numbers), splits)
    if isinstance(partition, (RowSplits, RowLimits, RowStarts)):
        if len(by) != len(batch):
            raise ValueError(f"it has {len(batch)} steps, and {len(by)} in {partition.key!r}")
        shifted = numbers + np.repeat(batch.row_splits[:-1], counts)
        if isinstance(partition, RowStarts):
            return RaggedTensor.from_row_splits(RaggedTensor.from_row_starts(batch.values, shifted), splits)
        if isinstance(partition, RowSplits):  # the first split of each example adds nothing to the limits
            first = splits[:-1][counts > 0]
            shifted = np.delete(shifted, first)
            splits = np.concatenate([[0], np.cumsum(np.maximum(counts - 1, 0))]).astype(dtype)
        return RaggedTensor.from_row_splits(RaggedTensor.from_row_limits(batch.values, shifted), splits)
    rows_of_each = [int(numbers[start:end].max(initial=-1)) + 1 for start, end in pairwise(splits)]
    before = np.concatenate([[0], np.cumsum(np.array(rows_of_each, np.int64))]).astype(dtype)
    ids = numbers + np.repeat(before[:-1], counts)
    return RaggedTensor.from_row_splits(
        RaggedTensor.from_value_rowids(batch.values, ids, nrows=int(before[-1])), before
    )


def _uniform(value: Any, length: int, dtype: Any) -> Any:
    if len(value) % length:
        raise ValueError(f"{len(value)} values are not a whole number of rows of {length}")
    if isinstance(value, RaggedTensor):
        return RaggedTensor.from_row_splits(value, np.arange(0, len(value) + 1, length, dtype=dtype))
    return value.reshape(-1, length, *value.shape[1:])
