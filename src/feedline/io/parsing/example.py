"""`parse_example`: serialized `Example` messages to arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.parsing.assemble import Found, assembled, composed, in_tensors
from feedline.io.parsing.culprit import blamed, numbered
from feedline.io.parsing.features import (
    KINDS,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    Wanted,
    wanted,
)
from feedline.io.parsing.partitions import ragged_spec
from feedline.io.parsing.prepared import prepared
from feedline.kernels.entries import entries, kind_of, values
from feedline.kernels.threads import allowed
from feedline.structure import types
from feedline.structure.block import Bytes, Column, pack, rows_of
from feedline.structure.dense import dense
from feedline.structure.spec import SparseTensorSpec, TensorSpec
from feedline.structure.types import DType
from feedline.structure.whole import register_whole
from feedline.wire import WireError

Array = np.ndarray[Any, Any]
THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
"""At most so many threads read a large batch."""

TOO_MANY = 1 << 62
"""No example has so many values of one feature, nor a kernel numbers for them."""

ALLOWED = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)


def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of a batch of serialized `Example` messages, as arrays, sparse and ragged tensors.

    `features` says for each key what it is: a `FixedLenFeature` becomes an array [batch, ...], a `VarLenFeature` or
    `SparseFeature` a `SparseTensor`, a `RaggedFeature` a `RaggedTensor`, a `FixedLenSequenceFeature` an array that is
    filled up to the longest example. A single string gives the same without the batch dimension.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> def example(*numbers):
    ...     numbers = Feature(int64_list=Int64List(value=numbers))
    ...     return Example(features=Features(feature={"a": numbers})).SerializeToString()
    >>> fl.io.parse_example([example(1, 2), example(3, 4)], {"a": fl.io.FixedLenFeature([2], fl.int64)})
    {'a': array([[1, 2],
           [3, 4]])}
    >>> fl.io.parse_example([example(1), example(2, 3)], {"a": fl.io.RaggedFeature(fl.int64)})
    {'a': <fl.RaggedTensor [[1], [2, 3]]>}
    """
    return _parser(features, "parse_example")(serialized, example_names)


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of one serialized `Example`. See `parse_example`; there is no batch dimension.

    >>> from feedline.train import Example, Feature, Features, FloatList
    >>> data = Example(features=Features(feature={"x": Feature(float_list=FloatList(value=[0.5]))})).SerializeToString()
    >>> fl.io.parse_single_example(data, {"x": fl.io.FixedLenFeature([], fl.float32)})
    {'x': np.float32(0.5)}
    """
    parser = _parser(features, "parse_single_example")
    if type(serialized) is not bytes and as_strings(serialized, parser.op).ndim:
        shape = list(as_strings(serialized, parser.op).shape)
        raise InvalidArgumentError(f"parse_single_example: takes one string, got the shape {shape}")
    return parser(serialized, example_names)


def parse_rows(strings: Array, features: Any, example_names: Any = None) -> dict[str, Array]:
    """The features of many examples, each parsed by itself, as arrays that have the examples first. A ValueError where
    an example is bad, or a feature is no array of one shape for all.
    """
    if example_names is not None or strings.ndim != 1:
        raise ValueError("examples one by one")
    done, columns = _parser(features, "parse_single_example").rows(np.ascontiguousarray(strings))
    if done < len(strings) or not all(isinstance(column, np.ndarray) for column in columns.values()):
        raise ValueError("examples that are bad, or differ")
    return columns


class _Whole:
    """`parse_example` and `parse_single_example` for columns of elements: see structure/whole.py."""

    def __init__(self, op: str) -> None:
        self.op = op

    def columns(
        self, column: Column, features: Any, example_names: Any = None, name: Any = None
    ) -> tuple[int, dict[str, Column]] | None:
        """Strings are examples of their own, and arrays of strings are batches."""
        strings = isinstance(column, Bytes) or (isinstance(column, np.ndarray) and column.dtype.kind == "O")
        if example_names is not None or not strings:
            return None
        if self.op == "parse_single_example" and getattr(column, "ndim", 1) > 1:
            return None
        return _parser(features, self.op).column(column)

    def spec(self, spec: Any, features: Any, example_names: Any = None, name: Any = None) -> dict[str, Any] | None:
        """What the features are; a batch of strings has its dimension in front."""
        parser = _parser(features, self.op)
        if spec is None:
            return parser.spec(())
        if example_names is not None or not isinstance(spec, TensorSpec) or spec.dtype != types.string:
            return None
        if spec.shape.rank == 0 or (spec.shape.rank == 1 and self.op == "parse_example"):
            return parser.spec(tuple(spec.shape))
        return None


register_whole(parse_example, _Whole("parse_example"))
register_whole(parse_single_example, _Whole("parse_single_example"))


class ExampleParser:
    """`parse_example` with the features checked once."""

    def __init__(self, features: Any, op: str) -> None:
        if not features:
            raise InvalidArgumentError(f"{op}: features must name at least one feature, got {features!r}")
        self.op = op
        self.features: Mapping[str, Any] = features
        for key, feature in features.items():
            if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
                raise InvalidArgumentError(
                    f"{op}: the FixedLenSequenceFeature {key!r} must have allow_missing=True here; only "
                    "parse_sequence_example can do without"
                )
        self.wanted = wanted(features, ALLOWED, op)
        self.kinds = self.wanted.kinds()
        self._requests = request(self.wanted, False), request(self.wanted, True)
        self._fixed: list[tuple[str, int, tuple[int, ...]]] | None = None
        """For features that are all of a fixed size: key, place in the kernel's answer, and shape."""
        if all(isinstance(feature, FixedLenFeature) for feature in features.values()):
            place = {key.decode(): i for i, key in enumerate(self.kinds)}
            self._fixed = [(key, place[key], self.wanted.dense[key].shape) for key in features]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExampleParser) and dict(self.features) == dict(other.features)

    def __hash__(self) -> int:
        return hash(tuple(self.features))

    def __repr__(self) -> str:
        return repr(dict(self.features))

    def __call__(self, serialized: Any, names: Any = None) -> dict[str, Any]:
        """The features of one string, or of a batch of them."""
        single = type(serialized) is bytes
        examples, batch = ([serialized], False) if single else as_examples(serialized, self.op)
        try:
            return self._parsed(examples, batch, names)
        except InvalidArgumentError as e:
            raise blamed(e, self._parsed, examples) from None

    def _parsed(self, examples: Any, batch: bool, names: Any = None) -> dict[str, Any]:
        request = self._requests[batch]
        if request is not None:
            done, found = _read(examples, request)
            if self._fixed is None:
                done = min(done, self._whole_steps(found))
            if done == len(examples):
                if self._fixed is None:
                    return composed(self.features, in_tensors(self.wanted, found, batch))
                return _in_shape(self._fixed, found) if batch else _of_one(self._fixed, found)
            self._slow([examples[done]], batch, names, done)  # says what is wrong with the first that is bad
        return self._slow(list(examples), batch, names)

    def _slow(self, examples: list[bytes], batch: bool, names: Any, first: int = 0) -> dict[str, Any]:
        rows = self.columns(examples, batch, names, first)
        return composed(self.features, assembled(self.wanted, rows, batch, self.op, first))

    def _whole_steps(self, found: Found) -> int:
        """How many examples have whole steps in each sequence, before the first that has not."""
        least = min((len(n) for _, n in found if n is not None), default=0)
        for (_, lengths), key in zip(found, self.kinds, strict=True):
            d = self.wanted.dense.get(key.decode())
            if d is not None and lengths is not None:
                cut = np.flatnonzero(lengths % math.prod(d.shape))
                least = min(least, int(cut[0])) if len(cut) else least
        return least

    # Many elements at once, where the parser is the function of a map.

    def column(self, column: Column) -> tuple[int, dict[str, Column]]:
        """The features of a column of examples, or of batches of them: how many of its rows can be read before the
        first that cannot, and the columns of those.
        """
        if isinstance(column, Bytes):
            strings = column.data, np.ascontiguousarray(column.offsets), column.gap
            return self.rows(strings) if column.size is None else self._in_batches(column, strings)
        if not isinstance(column, np.ndarray) or column.dtype.kind != "O":
            return self._one_after_another(rows_of(column))
        if column.ndim == 1:
            return self.rows(np.ascontiguousarray(column))
        return self._in_batches(column, np.ascontiguousarray(column)) if column.ndim == 2 else (0, {})

    def rows(self, strings: Any) -> tuple[int, dict[str, Column]]:
        """The features of many examples, each read by itself: how many are good before the first that is not, and a
        column for each feature of those. `strings` is what `kernels.parse_examples` takes.
        """
        request = self._requests[False]
        if request is None:
            return 0, {}
        read, found = _read(strings, request, max(1, THREADS - 1))
        if self._fixed is not None:
            return read, _in_shape(self._fixed, found)
        done = min(read, self._whole_steps(found))
        rows: list[dict[str, Any]] = []
        for one in islice(_one_by_one(found, read), done):
            try:
                rows.append(composed(self.features, in_tensors(self.wanted, one, False)))
            except InvalidArgumentError:  # features that do not fit together
                break
        return len(rows), {key: pack([row[key] for row in rows]) for key in self.features} if rows else {}

    def _in_batches(self, column: Any, strings: Any) -> tuple[int, dict[str, Column]]:
        """The features of batches of one size, as `rows` gives those of examples. `column` has the batches, and
        `strings` all that is in them.
        """
        count, size = len(column), (column.size or 1) if isinstance(column, Bytes) else column.shape[1]
        request = self._requests[True]
        if self._fixed is None or request is None:
            return self._one_after_another(rows_of(column))
        done, found = _read(strings, request, max(1, THREADS - 1))
        whole = done // size if size else count
        if whole < count:
            found = [(flat[: whole * size * int(n)], None) for (flat, _), n in zip(found, request[2], strict=True)]
        return whole, {key: found[i][0].reshape(whole, size, *shape) for key, i, shape in self._fixed}

    def _one_after_another(self, rows: list[Any]) -> tuple[int, dict[str, Column]]:
        done: list[dict[str, Any]] = []
        for strings in rows:
            try:
                done.append(self(strings))
            except InvalidArgumentError:
                break
        if len(done) == 1:
            return 1, {key: _alone(value) for key, value in done[0].items()}
        return len(done), {key: pack([one[key] for one in done]) for key in self.features} if done else {}

    def spec(self, batch: tuple[int | None, ...]) -> dict[str, Any]:
        """The specs of what is given for strings of the shape `batch`, which has one dimension or none."""
        return {key: self._feature_spec(key, feature, batch) for key, feature in self.features.items()}

    def _feature_spec(self, key: str, feature: Any, batch: tuple[int | None, ...]) -> Any:
        if isinstance(feature, RaggedFeature):
            return ragged_spec(feature, batch)
        if isinstance(feature, SparseFeature):
            return SparseTensorSpec([*batch, *np.atleast_1d(feature.size).tolist()], feature.dtype)
        if isinstance(feature, VarLenFeature):
            return SparseTensorSpec([*batch, None], feature.dtype)
        d = self.wanted.dense[key]
        return TensorSpec([*batch, *([None] if d.sequence else []), *d.shape], d.dtype)

    def columns(self, strings: list[bytes], batch: bool, names: Any = None, first: int = 0) -> dict[str, list[Any]]:
        """For each key the values of each example, None where it has none. The first has the number `first`."""
        out: dict[str, list[Any]] = {key.decode(): [] for key in self.kinds}
        for i, data in enumerate(strings, first):
            with numbered(i):
                one = self.one(data, batch, named(self.op, i, names))
            for key, found in one.items():
                out[key.decode()].append(found)
        return out

    def one(self, data: bytes, batch: bool, where: str) -> dict[bytes, Any]:
        """The values of each wanted key of one example."""
        found: dict[bytes, Any] = dict.fromkeys(self.kinds)
        try:
            spans = entries(data)
        except WireError as e:
            raise InvalidArgumentError(f"{where} is no serialized Example: {e}") from None
        seen = set()
        for key, span in reversed(spans):
            kind = self.kinds.get(key)
            if kind is None or key in seen:
                continue
            at = f"{where}, feature {key.decode(errors='replace')!r}"
            found[key] = read_feature(data, span, kind, at)
            # Of several entries with one key the last counts. One with no list does not count, except that TensorFlow
            # lets it when it reads a batch, for what does not become an array.
            if found[key] is not None or (batch and key.decode() not in self.wanted.dense):
                seen.add(key)
        return found


def request(want: Wanted, batch: bool) -> tuple[Any, ...] | None:
    """What the kernel is asked for; None where a shape holds no values, which it knows nothing about."""
    sizes, defaults = [], []
    kinds = want.kinds()
    for key in kinds:
        d = want.dense.get(key.decode())
        if d is not None and not 0 < math.prod(d.shape) < TOO_MANY:
            return None
        fixed = d if d is not None and not d.sequence else None
        # In a batch TensorFlow lets an entry with no list count, for what does not become an array.
        any_number = -2 if batch and d is None else -1
        sizes.append(any_number if fixed is None else math.prod(fixed.shape))
        default = None if fixed is None or fixed.default is None else fixed.default.ravel()
        defaults.append(default.tolist() if default is not None and default.dtype == object else default)
    return list(kinds), numbers_of(kinds), np.array(sizes, np.int64), defaults


def numbers_of(kinds: dict[bytes, DType]) -> Array:
    """The number of the list that holds the values of each key."""
    return np.array([KINDS.index(kind) + 1 for kind in kinds.values()], np.uint8)


def _read(strings: Any, request: tuple[Any, ...], threads: int | None = None) -> tuple[int, Found]:
    """What the kernel finds. In a pipeline other steps want a processor, too, and it gets one thread less."""
    return kernels.parse_examples(*(strings, *request, allowed(threads or THREADS)))


def _in_shape(fixed: list[tuple[str, int, tuple[int, ...]]], found: Found) -> dict[str, Any]:
    return {key: found[i][0].reshape(-1, *shape) if shape else found[i][0] for key, i, shape in fixed}


def _of_one(fixed: list[tuple[str, int, tuple[int, ...]]], found: Found) -> dict[str, Any]:
    return {key: found[i][0].reshape(shape) if shape else found[i][0][0] for key, i, shape in fixed}


def _one_by_one(found: Found, count: int) -> Iterator[Found]:
    """What the kernel, which has read `count` examples, would give for each of them alone."""
    ends = [None if n is None else np.concatenate([[0], np.cumsum(n)]).tolist() for _, n in found]
    for i in range(count):
        one: Found = []
        for (flat, lengths), end in zip(found, ends, strict=True):
            if lengths is None or end is None:
                size = len(flat) // count
                one.append((flat[i * size : (i + 1) * size], None))
            else:
                one.append((flat[end[i] : end[i + 1]], lengths[i : i + 1]))
        yield one


def _alone(value: Any) -> Column:
    """A column of one row, which belongs to it."""
    return value[None] if isinstance(value, np.ndarray) else pack([value])


def _parser(features: Any, op: str) -> ExampleParser:
    return prepared(ExampleParser, op, features)


def named(op: str, i: int, names: Any) -> str:
    """How messages speak of example i; `names` are those the user gave, if any."""
    given = [] if names is None else dense(names).ravel().tolist()
    return f"{op}: example {i}" + (f" ({given[i].decode(errors='replace')})" if i < len(given) else "")


def read_feature(data: bytes, span: tuple[int, int], kind: DType, where: str, strict: bool = False) -> Any:
    """The values of one Feature message, None where it holds no list; `strict` is that of `kernels.entries.values`."""
    try:
        number = kind_of(data, span)
        if number is None:
            return None
        got = KINDS[number - 1]
        if got == kind:
            return values(data, span, strict)
    except WireError as e:
        raise InvalidArgumentError(f"{where} cannot be read: {e}") from None
    raise InvalidArgumentError(f"{where} has values of type {got.name}, and {kind.name} is asked for")


def as_examples(serialized: Any, op: str) -> tuple[Any, bool]:
    """Serialized messages one after another, and whether they are a batch."""
    strings = as_strings(serialized, op)
    if strings.ndim > 1:
        raise InvalidArgumentError(f"{op}: takes a string or a list of them, got shape {list(strings.shape)}")
    return strings.ravel(), strings.ndim > 0


def as_strings(serialized: Any, op: str) -> Array:
    """Serialized messages as an array of bytes."""
    strings = dense(serialized)
    if not strings.size and strings.dtype.kind != "O":
        strings = strings.astype(object)
    if strings.dtype.kind != "O":
        raise InvalidArgumentError(f"{op}: takes serialized messages, which are strings, got {strings.dtype}")
    return strings
