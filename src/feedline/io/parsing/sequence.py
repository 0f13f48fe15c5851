"""`parse_sequence_example`: serialized `SequenceExample` messages to arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.parsing.assemble import assembled, composed, in_tensors, joined, lengths_of, row_splits
from feedline.io.parsing.culprit import BadExample, numbered
from feedline.io.parsing.example import (
    TOO_MANY,
    Dims,
    as_strings,
    column_of,
    feature_specs,
    fixed_places,
    for_kernel,
    in_columns,
    in_shape,
    is_strings,
    numbers_of,
    one_by_one,
    read_feature,
    read_with,
    request,
)
from feedline.io.parsing.features import (
    Dense,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    named,
    wanted,
)
from feedline.io.parsing.prepared import prepared
from feedline.kernels.entries import Span, holds_more, sequence_entries, spans
from feedline.kernels.threads import team
from feedline.structure import types
from feedline.structure.block import Column, Objects, rows_of, slice_column
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorSpec
from feedline.structure.types import DType
from feedline.wire import WireError

Array = np.ndarray[Any, Any]
Steps = list[Any]
"""The values of a feature, per step."""

Columns = tuple[dict[str, Any], ...]
"""A value, column or spec for each context feature, for each sequence feature, and optionally for the sequence lengths.
"""

List = tuple[Array, Array, Any]
Lists = list[List]
"""The kernel's output for each list: its values, the number of steps of each example, and for a ragged tensor the
number of values of each step, for a sparse one the position of each value. The values of an array are padded.
"""


def parse_sequence_example(
    serialized: object,
    context_features: object = None,
    sequence_features: object = None,
    example_names: object = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Array]]:
    """Parses a batch of serialized `SequenceExample` messages. Returns the context features, the sequence features, and
    the lengths of the sequences that are arrays.

    `context_features` are `FixedLenFeature`, `VarLenFeature` and `RaggedFeature`, as in `parse_example`.
    `sequence_features` are `FixedLenSequenceFeature` (an array [batch, steps, ...], padded with zeros to the longest),
    `VarLenFeature` (a `SparseTensor` [batch, steps, values]) and `RaggedFeature` (a `RaggedTensor` of that shape).

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
    serialized: object,
    context_features: object = None,
    sequence_features: object = None,
    example_name: object = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized `SequenceExample`: `parse_sequence_example` without the batch dimension.

    >>> example = fl.train.SequenceExample()
    >>> example.feature_lists.feature_list["x"].feature.add().float_list.value.extend([0.5, 1.5])
    >>> sequences = {"x": fl.io.FixedLenSequenceFeature([2], fl.float32)}
    >>> fl.io.parse_single_sequence_example(example.SerializeToString(), sequence_features=sequences)
    ({}, {'x': array([[0.5, 1.5]], dtype=float32)})
    """
    parser = prepared(SequenceParser, "parse_single_sequence_example", context_features, sequence_features)
    if as_strings(serialized, parser.op).ndim:
        raise InvalidArgumentError(f"{parser.op} takes one string, got {serialized!r}")
    return parser(serialized, None if example_name is None else [example_name])[:2]


class SequenceForm:
    """The column form of one of the two functions: see plan/vectorize/registry.py."""

    def __init__(self, op: str) -> None:
        self.op = op

    def columns(
        self,
        column: Column,
        context_features: object = None,
        sequence_features: object = None,
        names: object = None,
        name: object = None,
    ) -> tuple[int, Columns] | None:
        """A row that is a string is one example; a row that is an array of strings is a batch."""
        if names is not None or for_kernel(column) is None:
            return None
        parser = prepared(SequenceParser, self.op, context_features, sequence_features)
        if self.op == "parse_sequence_example":
            return parser.parse_separately(rows_of(column))
        return parser.rows(for_kernel(column)) if is_strings(column) else None

    def spec(
        self,
        spec: object,
        context_features: object = None,
        sequence_features: object = None,
        names: object = None,
        name: object = None,
    ) -> Columns | None:
        """The specs of the features; a batch of strings adds its dimension in front."""
        single = self.op == "parse_single_sequence_example"
        spec = TensorSpec([], types.string) if spec is None else spec
        if names is not None or not isinstance(spec, TensorSpec) or spec.dtype != types.string:
            return None
        if spec.shape.rank not in ((0,) if single else (0, 1)):
            return None
        parser = prepared(SequenceParser, self.op, context_features, sequence_features)
        return parser.spec(tuple(spec.shape), lengths=not single, in_function=True)


class SequenceParser:
    """`parse_sequence_example` with features that are validated once."""

    def __init__(self, context: Any, sequences: Any, op: str) -> None:
        context, sequences = ({} if given is None else named(given, op) for given in (context, sequences))
        if not context and not sequences:
            raise InvalidArgumentError(f"{op}: give context_features or sequence_features")
        self.op = op
        self.context: Mapping[str, Any] = context
        self.sequences: Mapping[str, Any] = sequences
        self.in_context = wanted(self.context, (VarLenFeature, FixedLenFeature, RaggedFeature), op)
        self.in_lists = wanted(self.sequences, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature), op)
        for key, feature in self.sequences.items():
            if isinstance(feature, FixedLenSequenceFeature) and feature.default_value is not None:
                raise InvalidArgumentError(f"{op}: the FixedLenSequenceFeature {key!r} must have no default_value here")
        self._request = self._requested()
        self._fixed = fixed_places(self.context, self.in_context)
        self._uneven = {key: feature for key, feature in self.sequences.items() if key not in self.in_lists.dense}

    def _requested(self) -> tuple[Any, ...] | None:
        """The request to the kernel; None if it does not support a shape."""
        context, kinds, dense = request(self.in_context, False), self.in_lists.kinds(), self.in_lists.dense
        any_number = dict.fromkeys(self.in_lists.sparse, -2) | dict.fromkeys(self.in_lists.ragged, -1)
        sizes = [math.prod(d.shape) for d in dense.values()] + list(any_number.values())
        if context is None or max(sizes, default=0) >= TOO_MANY:
            return None
        needed = [key in dense and not self.sequences[key].allow_missing for key in map(bytes.decode, kinds)]
        lists = list(kinds), numbers_of(kinds), np.array(sizes, np.int64), np.array(needed, np.uint8)
        return *context, *lists

    def __call__(
        self, serialized: object, names: object = None
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Array]]:
        """The context features, the sequences, and the lengths of those that are arrays."""
        context, lists, lengths = read_with(self._parsed, serialized, self.op, names)
        return context, lists, lengths

    def _parsed(self, examples: Any, batch: bool) -> tuple[dict[str, Any], dict[str, Any], dict[str, Array]]:
        if self._request is not None:
            done, context, lists = kernels.parse_sequences(*(examples, *self._request, team()))
            if done == len(examples):
                whole = composed(self.context, in_tensors(self.in_context, context, batch))
                return whole, *self._sequences(lists, batch)
        # Any of the examples may be bad: all are decoded before their values are counted.
        contexts, rows = self._values(list(examples))
        whole = composed(self.context, assembled(self.in_context, contexts, batch))
        return whole, *self._sequences(self._columns(rows), batch)

    def _sequences(self, columns: Lists, batch: bool) -> tuple[dict[str, Any], dict[str, Array]]:
        """The sequences, from the kernel's output for the keys in the order of `kinds()`, and their lengths."""
        out: dict[str, Any] = {}
        lengths: dict[str, Array] = {}
        found = iter(columns)
        for key, d in self.in_lists.dense.items():
            flat, steps, _ = next(found)
            array = flat.reshape(len(steps), int(steps.max(initial=0)), *d.shape)
            out[key], lengths[key] = (array, steps) if batch else (array[0], steps[0])
        out |= self._tensors(found, batch)
        return composed(self.sequences, out), {key: lengths[key] for key in self.sequences if key in lengths}

    def _tensors(self, found: Iterator[List], batch: bool) -> dict[str, Any]:
        """The sequences that do not become arrays."""
        out: dict[str, Any] = {}
        for key in self.in_lists.sparse:
            out[key] = _sparse(*next(found), batch)
        for key, (_, splits) in self.in_lists.ragged.items():
            flat, steps, counts = next(found)
            inner = RaggedTensor.from_row_splits(flat, row_splits(counts, splits))
            out[key] = RaggedTensor.from_row_splits(inner, row_splits(steps, splits)) if batch else inner
        return out

    # Many elements at once, if the parser is the function of a map.

    def rows(self, strings: object) -> tuple[int, Columns]:
        """The features of many examples, each parsed by itself: the number of examples before the first bad one, and a
        column per feature of those. `strings` is in the form that `kernels.parse_sequences` takes.
        """
        if self._request is None:
            return 0, ({}, {})
        read, context, lists = kernels.parse_sequences(*(strings, *self._request, team(), False))
        if self._fixed is None:
            singles = (in_tensors(self.in_context, one, False) for one in one_by_one(context, read))
            done, whole = in_columns(self.context, singles)
        else:
            done, whole = read, in_shape(self._fixed, context)
        arrays = len(self.in_lists.dense)
        steps = {key: _arrays(d, *lists[i][:2]) for i, (key, d) in enumerate(self.in_lists.dense.items())}
        if self._uneven:
            placed = [i < len(self.in_lists.sparse) for i in range(len(lists) - arrays)]
            cut = [_one_by_one(*one, is_placed) for one, is_placed in zip(lists[arrays:], placed, strict=True)]
            tensors = (self._tensors(iter(one), False) for one in zip(*cut, strict=True))
            good, columns = in_columns(self._uneven, tensors)
            done, steps = min(done, good), steps | columns
        if not done:
            return 0, ({}, {})
        return done, (_first(whole, done), _first({key: steps[key] for key in self.sequences}, done))

    def parse_separately(self, elements: list[Any]) -> tuple[int, Columns]:
        """Like `rows`, for elements that are batches or single strings, with the lengths of the sequences."""
        done: list[Columns] = []
        for strings in elements:
            try:
                done.append(self(strings))
            except InvalidArgumentError:
                break
        return len(done), tuple([_columns(dicts) for dicts in zip(*done, strict=True)])

    def spec(self, batch: Dims, lengths: bool, in_function: bool = False) -> Columns:
        """The specs of the results for strings of the shape `batch`, with or without the lengths of sequences."""
        arrays = {key: self.sequences[key] for key in self.in_lists.dense}
        lists = feature_specs(arrays, self.in_lists, batch)
        lists |= feature_specs(self._uneven, self.in_lists, (*batch, None), in_function)
        counted = {key: TensorSpec(batch, types.int64) for key in self.sequences if key in arrays}
        context = feature_specs(self.context, self.in_context, batch, in_function)
        return context, {key: lists[key] for key in self.sequences}, *([counted] if lengths else [])

    # One step of a plan: single records, or batches of them.

    def column(self, column: Column) -> tuple[int, Columns]:
        """The features of a column of records, or of batches of them with the lengths of their sequences."""
        return self.rows(for_kernel(column)) if is_strings(column) else self.parse_separately(rows_of(column))

    def element(self, serialized: object) -> Columns:
        """The same for one element."""
        found = self(serialized)
        return found[:2] if type(serialized) is bytes else found

    def element_spec(self, batch: Dims) -> Columns:
        """The specs of that, for elements of the shape `batch`."""
        return self.spec(batch, lengths=bool(batch))

    # One example after another, for input the kernel rejects: finds the error to report.

    def _values(self, examples: list[bytes]) -> tuple[dict[str, list[Any]], dict[str, list[Steps | None]]]:
        """For each key the values of each example, or of each of its steps; None if it has none."""
        context_kinds, list_kinds = self.in_context.kinds(), self.in_lists.kinds()
        contexts: dict[str, list[Any]] = {key.decode(): [] for key in context_kinds}
        lists: dict[str, list[Steps | None]] = {key.decode(): [] for key in list_kinds}
        for i, data in enumerate(examples):
            with numbered(i):
                context, steps = parts(data, "")
                for key, kind in context_kinds.items():
                    at = f", context feature {key.decode()!r}"
                    found = read_feature(data, context[key], kind, at, strict=True) if key in context else None
                    if found is None and key in context and key.decode() in self.in_context.dense:
                        raise InvalidArgumentError(f"{at} has no list; omit it to use the default_value")
                    contexts[key.decode()].append(found)
                for key, kind in list_kinds.items():
                    at = f", feature list {key.decode()!r}"
                    lists[key.decode()].append(_steps(data, steps[key], kind, at) if key in steps else None)
        return contexts, lists

    def _columns(self, lists: dict[str, list[Steps | None]]) -> Lists:
        """Converts them to the form of the kernel's output."""
        out: Lists = []
        for key, kind in self.in_lists.kinds().items():
            rows, d = lists[key.decode()], self.in_lists.dense.get(key.decode())
            if d is not None:
                whole = [self._whole(key.decode(), d, i, steps) for i, steps in enumerate(rows)]
                out.append((_stacked(d, whole), lengths_of(whole), None))
            else:
                flat = [values for steps in rows for values in steps or []]
                steps, lengths = lengths_of(rows), lengths_of(flat)
                where = _places(steps, lengths) if key.decode() in self.in_lists.sparse else lengths
                out.append((joined(kind, flat), steps, where))
        return out

    def _whole(self, key: str, d: Dense, i: int, steps: Steps | None) -> Steps:
        """The steps of an example, verified to have the right number of values each."""
        if steps is None:
            if not self.sequences[key].allow_missing:
                raise BadExample(
                    i,
                    f" has no feature list {key!r}, which is required; add it, or give allow_missing=True",
                )
            return []
        size = int(np.prod(d.shape, dtype=np.int64))
        for number, values in enumerate(steps):
            have = 0 if values is None else len(values)
            if have != size:
                raise BadExample(
                    i,
                    f" has {have} values in step {number} of the feature list {key!r}, expected {size} of shape "
                    f"{list(d.shape)}",
                )
        return steps


def parts(data: bytes, where: str) -> tuple[dict[bytes, Span], dict[bytes, Span]]:
    """The spans of the context features and of the feature lists; of a key that occurs twice, the last."""
    try:
        return sequence_entries(data)
    except WireError as e:
        raise InvalidArgumentError(f"{where} is not a serialized SequenceExample: {e}") from None


def _steps(data: bytes, span: Span, kind: DType, where: str) -> Steps:
    try:
        found = spans(data, *span)
    except WireError as e:
        raise InvalidArgumentError(f"{where} cannot be read: {e}") from None
    return [_read(data, step, kind, f"{where}, step {i}") for i, step in enumerate(found)]


def _read(data: bytes, span: Span, kind: DType, where: str) -> Any:
    """Like `read_feature`, but here TensorFlow rejects a Feature with two lists, or a list in pieces."""
    found = read_feature(data, span, kind, where, strict=True)
    if found is not None and holds_more(data, span):
        raise InvalidArgumentError(f"{where} cannot be read: there is data after its list")
    return found


def _stacked(d: Dense, rows: list[Steps]) -> Array:
    out = np.empty((len(rows), max(map(len, rows), default=0), *d.shape), d.dtype.dtype)
    out[...] = d.default
    for i, steps in enumerate(rows):
        if steps:
            out[i, : len(steps)] = joined(d.dtype, steps).reshape(len(steps), *d.shape)
    return out


def _places(steps: Array, lengths: Array) -> Array:
    step_of = np.repeat(np.arange(len(lengths)), lengths)
    row_of = np.repeat(np.arange(len(steps)), steps)
    number = np.arange(len(lengths)) - (np.cumsum(steps) - steps)[row_of]
    place = np.arange(len(step_of)) - (np.cumsum(lengths) - lengths)[step_of]
    return np.stack([row_of[step_of], number[step_of], place], axis=1).ravel()


def _sparse(flat: Array, steps: Array, places: Array, batch: bool) -> SparseTensor:
    """Indices [batch, step, value]; without the first for a single example."""
    indices = places.reshape(-1, 3)
    shape = [len(steps), int(steps.max(initial=0)), int(indices[:, 2].max(initial=-1)) + 1]
    first = 0 if batch else 1
    return SparseTensor(indices[:, first:], flat, shape[first:])


def _columns(dicts: tuple[dict[str, Any], ...]) -> dict[str, Column]:
    return {key: column_of([one[key] for one in dicts]) for key in dicts[0]}


def _arrays(d: Dense, flat: Array, steps: Array) -> Column:
    """A column of the steps of each example."""
    if len(steps) and (steps == steps[0]).all():
        return flat.reshape(len(steps), int(steps[0]), *d.shape)
    ends = np.cumsum(steps * math.prod(d.shape)).tolist()
    rows = [flat[a:b].reshape(-1, *d.shape).copy() for a, b in pairwise([0, *ends])]
    return Objects(rows, TensorSpec([None, *d.shape], d.dtype))


def _one_by_one(flat: Array, steps: Array, where: Any, placed: bool) -> Iterator[List]:
    """Splits the kernel's output for a list of variable length into the output for each example. `where` holds the
    position of each value if the list is `placed`, otherwise the number of values of each step.
    """
    if placed:
        where = where.reshape(-1, 3)
        ends = values = np.searchsorted(where[:, 0], np.arange(len(steps) + 1))
    else:
        ends = np.concatenate([[0], np.cumsum(steps)])
        values = np.concatenate([[0], np.cumsum(where)])[ends]
    spans = zip(pairwise(values.tolist()), pairwise(ends.tolist()), strict=True)
    for i, ((first, last), (begin, end)) in enumerate(spans):
        yield flat[first:last], steps[i : i + 1], where[begin:end]


def _first(columns: dict[str, Any], count: int) -> dict[str, Any]:
    return {key: column if len(column) == count else slice_column(column, 0, count) for key, column in columns.items()}
