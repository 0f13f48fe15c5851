"""`parse_sequence_example`: serialized `SequenceExample` messages to arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.parsing.assemble import assembled, composed, joined, lengths_of, row_splits
from feedline.io.parsing.example import as_strings, named, read_feature
from feedline.io.parsing.features import (
    Dense,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    wanted,
)
from feedline.io.parsing.prepared import prepared
from feedline.kernels.entries import Span, holds_more, read_entries, skip, spans
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.types import DType
from feedline.wire import WireError, read_varint

Array = np.ndarray[Any, Any]
Steps = list[Any]
"""The values of a feature step by step."""

CONTEXT, LISTS = 0x0A, 0x12
"""The tags of the two fields of a SequenceExample."""


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Array]]:
    """The features of a batch of serialized `SequenceExample` messages: those of the context, those that are sequences,
    and the lengths of the sequences that are arrays.

    `context_features` are `FixedLenFeature`, `VarLenFeature` and `RaggedFeature`, as in `parse_example`.
    `sequence_features` are `FixedLenSequenceFeature` (an array [batch, steps, ...], filled up with zeros to the
    longest), `VarLenFeature` (a `SparseTensor` [batch, steps, values]) and `RaggedFeature` (a `RaggedTensor` of that
    shape).

    >>> example = fl.train.SequenceExample()
    >>> for number in (1, 2):
    ...     example.feature_lists.feature_list["x"].feature.add().int64_list.value.append(number)
    >>> sequences = {"x": fl.io.FixedLenSequenceFeature([], fl.int64, allow_missing=True)}
    >>> fl.io.parse_sequence_example([example.SerializeToString(), b""], sequence_features=sequences)
    ({}, {'x': array([[1, 2],
           [0, 0]])}, {'x': array([2, 0])})
    """
    parser = prepared(SequenceParser, "parse_sequence_example", context_features, sequence_features)
    return parser(serialized, example_names)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of one serialized `SequenceExample`. See `parse_sequence_example`; there is no batch dimension.

    >>> example = fl.train.SequenceExample()
    >>> example.feature_lists.feature_list["x"].feature.add().float_list.value.extend([0.5, 1.5])
    >>> sequences = {"x": fl.io.FixedLenSequenceFeature([2], fl.float32)}
    >>> fl.io.parse_single_sequence_example(example.SerializeToString(), sequence_features=sequences)
    ({}, {'x': array([[0.5, 1.5]], dtype=float32)})
    """
    parser = prepared(SequenceParser, "parse_single_sequence_example", context_features, sequence_features)
    if as_strings(serialized, parser.op).ndim:
        raise InvalidArgumentError(f"{parser.op}: takes one string, got {serialized!r}")
    return parser(serialized, None if example_name is None else [example_name])[:2]


class SequenceParser:
    """`parse_sequence_example` with the features checked once."""

    def __init__(self, context: Any, sequences: Any, op: str) -> None:
        if not context and not sequences:
            raise InvalidArgumentError(f"{op}: give context_features or sequence_features")
        self.op = op
        self.context: Mapping[str, Any] = context or {}
        self.sequences: Mapping[str, Any] = sequences or {}
        self.in_context = wanted(self.context, (VarLenFeature, FixedLenFeature, RaggedFeature), op)
        self.in_lists = wanted(self.sequences, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature), op)
        self.context_kinds, self.list_kinds = self.in_context.kinds(), self.in_lists.kinds()
        for key, feature in self.sequences.items():
            if isinstance(feature, FixedLenSequenceFeature) and feature.default_value is not None:
                raise InvalidArgumentError(f"{op}: the FixedLenSequenceFeature {key!r} must have no default_value here")

    def __call__(self, serialized: Any, names: Any = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Array]]:
        """The features of the context, the sequences, and the lengths of those that are arrays."""
        strings = as_strings(serialized, self.op)
        if strings.ndim > 1:
            raise InvalidArgumentError(f"{self.op}: takes a string or a list of them, got shape {list(strings.shape)}")
        contexts: dict[str, list[Any]] = {key.decode(): [] for key in self.context_kinds}
        lists: dict[str, list[Steps | None]] = {key.decode(): [] for key in self.list_kinds}
        for i, data in enumerate(strings.ravel().tolist()):
            where = named(self.op, i, names)
            context, steps = parts(data, where)
            for key, kind in self.context_kinds.items():
                at = f"{where}, context feature {key.decode()!r}"
                found = read_feature(data, context[key], kind, at) if key in context else None
                if found is None and key in context and key.decode() in self.in_context.dense:
                    raise InvalidArgumentError(f"{at} holds no list; leave it out for the default_value to count")
                contexts[key.decode()].append(found)
            for key, kind in self.list_kinds.items():
                at = f"{where}, feature list {key.decode()!r}"
                lists[key.decode()].append(_steps(data, steps[key], kind, at) if key in steps else None)
        batch = strings.ndim > 0
        whole = composed(self.context, assembled(self.in_context, contexts, batch, self.op))
        return whole, *self._sequences(lists, batch)

    def _sequences(self, lists: dict[str, list[Steps | None]], batch: bool) -> tuple[dict[str, Any], dict[str, Array]]:
        out: dict[str, Any] = {}
        lengths: dict[str, Array] = {}
        for key, d in self.in_lists.dense.items():
            rows = [self._whole(key, d, i, steps) for i, steps in enumerate(lists[key])]
            counts = np.array([len(steps) for steps in rows], np.int64)
            array = _stacked(d, rows, int(counts.max(initial=0)))
            out[key], lengths[key] = (array, counts) if batch else (array[0], counts[0])
        for key, kind in self.in_lists.sparse.items():
            out[key] = _sparse(kind, [steps or [] for steps in lists[key]], batch)
        for key, (kind, splits) in self.in_lists.ragged.items():
            flat = [values for steps in lists[key] for values in steps or []]
            inner = RaggedTensor.from_row_splits(joined(kind, flat), row_splits(lengths_of(flat), splits))
            outer = row_splits(lengths_of(lists[key]), splits)
            out[key] = RaggedTensor.from_row_splits(inner, outer) if batch else inner
        return composed(self.sequences, out), {key: lengths[key] for key in self.sequences if key in lengths}

    def _whole(self, key: str, d: Dense, i: int, steps: Steps | None) -> Steps:
        """The steps of an example, if each has as many values as it must."""
        if steps is None:
            if not self.sequences[key].allow_missing:
                raise InvalidArgumentError(
                    f"{self.op}: example {i} has no feature list {key!r}, which is needed; add it, or say "
                    "allow_missing=True"
                )
            return []
        size = int(np.prod(d.shape, dtype=np.int64))
        for number, values in enumerate(steps):
            have = 0 if values is None else len(values)
            if have != size:
                raise InvalidArgumentError(
                    f"{self.op}: example {i} has {have} values in step {number} of the feature list {key!r}, and "
                    f"{size} are asked for, of shape {list(d.shape)}"
                )
        return steps


def parts(data: bytes, where: str) -> tuple[dict[bytes, Span], dict[bytes, Span]]:
    """Where the features of the context and the feature lists are; of a key that is there twice, the last."""
    context: list[tuple[bytes, Span]] = []
    lists: list[tuple[bytes, Span]] = []
    at, end = 0, len(data)
    try:
        while at < end:
            if data[at] in (CONTEXT, LISTS):
                found = context if data[at] == CONTEXT else lists
                length, at = read_varint(data, at + 1, end)
                at = read_entries(data, at, min(at + length, end), found)
            else:
                at = skip(data, at, end)
    except WireError as e:
        raise InvalidArgumentError(f"{where} is no serialized SequenceExample: {e}") from None
    return dict(context), dict(lists)


def _steps(data: bytes, span: Span, kind: DType, where: str) -> Steps:
    try:
        found = spans(data, *span)
    except WireError as e:
        raise InvalidArgumentError(f"{where} cannot be read: {e}") from None
    return [_read(data, step, kind, f"{where}, step {i}") for i, step in enumerate(found)]


def _read(data: bytes, span: Span, kind: DType, where: str) -> Any:
    """As `read_feature`, but here TensorFlow does not take a Feature with two lists."""
    found = read_feature(data, span, kind, where)
    if found is not None and holds_more(data, span):
        raise InvalidArgumentError(f"{where} cannot be read: there is something after its list")
    return found


def _stacked(d: Dense, rows: list[Steps], longest: int) -> Array:
    out = np.empty((len(rows), longest, *d.shape), d.dtype.dtype)
    out[...] = d.default
    for i, steps in enumerate(rows):
        if steps:
            out[i, : len(steps)] = joined(d.dtype, steps).reshape(len(steps), *d.shape)
    return out


def _sparse(kind: DType, rows: list[Steps], batch: bool) -> SparseTensor:
    """Places [batch, step, value]; for one example without the first."""
    flat = [values for steps in rows for values in steps]
    lengths = [0 if values is None else len(values) for values in flat]
    example = np.repeat([i for i, steps in enumerate(rows) for _ in steps], lengths).astype(np.int64)
    step = np.repeat([j for steps in rows for j in range(len(steps))], lengths).astype(np.int64)
    place = np.concatenate([np.arange(n) for n in lengths]) if lengths else np.empty(0, np.int64)
    shape = [len(rows), max(map(len, rows), default=0), max(lengths, default=0)]
    indices = np.stack([example, step, place], axis=1)
    first = 0 if batch else 1
    return SparseTensor(indices[:, first:], joined(kind, flat), shape[first:])
