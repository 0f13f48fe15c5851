"""`parse_example`: serialized `Example` messages to arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.parsing.assemble import Found, assembled, composed, in_tensors
from feedline.io.parsing.culprit import Parse, located, numbered
from feedline.io.parsing.features import (
    KINDS,
    Dense,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    Wanted,
    named,
    wanted,
)
from feedline.io.parsing.partitions import ragged_spec
from feedline.io.parsing.prepared import prepared
from feedline.kernels.entries import entries, kind_of, values
from feedline.kernels.threads import team
from feedline.structure import types
from feedline.structure.arguments import truth
from feedline.structure.block import Bytes, Column, pack, rows_of
from feedline.structure.dense import strings_of
from feedline.structure.spec import SparseTensorSpec, TensorSpec
from feedline.structure.types import DType
from feedline.wire import WireError

Array = np.ndarray[Any, Any]

TOO_MANY = 1 << 62
"""More values than an example can have of one feature, or a kernel can count."""

Dims = Sequence[int | None]
Fixed = list[tuple[str, int, tuple[int, ...]]]
ALLOWED = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)


def parse_example(
    serialized: object, features: object, example_names: object = None, name: str | None = None
) -> dict[str, Any]:
    """Parses a batch of serialized `Example` messages into arrays, sparse and ragged tensors.

    `features` describes each key: a `FixedLenFeature` becomes an array [batch, ...], a `VarLenFeature` or
    `SparseFeature` a `SparseTensor`, a `RaggedFeature` a `RaggedTensor`, a `FixedLenSequenceFeature` an array padded to
    the longest example. For a single string the results have no batch dimension.

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
    serialized: object, features: object, example_names: object = None, name: str | None = None
) -> dict[str, Any]:
    """Parses one serialized `Example`: `parse_example` without the batch dimension.

    >>> from feedline.train import Example, Feature, Features, FloatList
    >>> data = Example(features=Features(feature={"x": Feature(float_list=FloatList(value=[0.5]))})).SerializeToString()
    >>> fl.io.parse_single_example(data, {"x": fl.io.FixedLenFeature([], fl.float32)})
    {'x': np.float32(0.5)}
    """
    parser = _parser(features, "parse_single_example")
    if type(serialized) is not bytes and as_strings(serialized, parser.op).ndim:
        shape = list(as_strings(serialized, parser.op).shape)
        raise InvalidArgumentError(f"parse_single_example takes one string, got shape {shape}")
    return parser(serialized, example_names)


class ExampleForm:
    """The column form of `parse_example` or `parse_single_example`: see plan/vectorize/registry.py."""

    def __init__(self, op: str) -> None:
        self.op = op

    def columns(
        self, column: Column, features: object, example_names: object = None, name: object = None
    ) -> tuple[int, dict[str, Column]] | None:
        """A row that is a string is one example; a row that is an array of strings is a batch."""
        if example_names is not None or for_kernel(column) is None:
            return None
        if self.op == "parse_single_example" and not is_strings(column):
            return None
        return _parser(features, self.op).column(column)

    def spec(
        self, spec: object, features: object, example_names: object = None, name: object = None
    ) -> dict[str, Any] | None:
        """The specs of the features; a batch of strings adds its dimension in front."""
        parser = _parser(features, self.op)
        if spec is None:
            return parser.spec(())
        if example_names is not None or not isinstance(spec, TensorSpec) or spec.dtype != types.string:
            return None
        if spec.shape.rank == 0 or (spec.shape.rank == 1 and self.op == "parse_example"):
            return parser.spec(tuple(spec.shape), in_function=True)
        return None


class ExampleParser:
    """`parse_example` with features that are validated once."""

    def __init__(self, features: Any, op: str) -> None:
        if features is None or not named(features, op):
            raise InvalidArgumentError(f"{op}: features must name at least one feature, got {features!r}")
        self.op = op
        self.features: Mapping[str, Any] = features
        for key, feature in features.items():
            if isinstance(feature, FixedLenSequenceFeature) and not truth(feature.allow_missing, "allow_missing", op):
                raise InvalidArgumentError(
                    f"{op}: the FixedLenSequenceFeature {key!r} must have allow_missing=True here; only "
                    "parse_sequence_example supports False"
                )
        self.wanted = wanted(features, ALLOWED, op)
        self.kinds = self.wanted.kinds()
        self._requests = request(self.wanted, False), request(self.wanted, True)
        self._fixed = fixed_places(features, self.wanted)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExampleParser) and dict(self.features) == dict(other.features)

    def __hash__(self) -> int:
        return hash(tuple(self.features))

    def __repr__(self) -> str:
        return repr(dict(self.features))

    def __call__(self, serialized: object, names: object = None) -> dict[str, Any]:
        """The features of one string, or of a batch of them."""
        parsed: dict[str, Any] = read_with(self._parsed, serialized, self.op, names)
        return parsed

    def _parsed(self, examples: Any, batch: bool) -> dict[str, Any]:
        request = self._requests[batch]
        if request is not None:
            done, found = _read(examples, request)
            if self._fixed is None:
                done = min(done, self._whole_steps(found))
            if done == len(examples):
                if self._fixed is None:
                    return composed(self.features, in_tensors(self.wanted, found, batch))
                return in_shape(self._fixed, found) if batch else _of_one(self._fixed, found)
            self._slow([examples[done]], batch, done)  # raises the error of the first bad example
        return self._slow(list(examples), batch)

    def _slow(self, examples: list[bytes], batch: bool, first: int = 0) -> dict[str, Any]:
        rows = self.columns(examples, batch, first)
        return composed(self.features, assembled(self.wanted, rows, batch, first))

    def _whole_steps(self, found: Found) -> int:
        """The number of examples before the first one with an incomplete step in a sequence."""
        least = min((len(n) for _, n in found if n is not None), default=0)
        for (_, lengths), key in zip(found, self.kinds, strict=True):
            d = self.wanted.dense.get(key.decode())
            if d is not None and lengths is not None:
                cut = np.flatnonzero(lengths % math.prod(d.shape))
                least = min(least, int(cut[0])) if len(cut) else least
        return least

    # Many elements at once, if the parser is the function of a map.

    def column(self, column: Column) -> tuple[int, dict[str, Column]]:
        """The features of a column of examples, or of batches of them: the number of rows before the first bad one, and
        the columns of those rows.
        """
        strings = for_kernel(column)
        if strings is None:
            return self._parse_separately(rows_of(column))
        if is_strings(column):
            return self.rows(strings)
        return self._in_batches(column, strings) if getattr(column, "ndim", 2) == 2 else (0, {})

    def element(self, serialized: object) -> dict[str, Any]:
        """The same for one element."""
        return self(serialized)

    def element_spec(self, batch: Dims) -> dict[str, Any]:
        """The specs of that, for elements of the shape `batch`."""
        return self.spec(batch)

    def rows(self, strings: object) -> tuple[int, dict[str, Column]]:
        """The features of many examples, each parsed by itself: the number of examples before the first bad one, and a
        column per feature of those. `strings` is in the form that `kernels.parse_examples` takes.
        """
        request = self._requests[False]
        if request is None:
            return 0, {}
        read, found = _read(strings, request)
        if self._fixed is not None:
            return read, in_shape(self._fixed, found)
        done = min(read, self._whole_steps(found))
        singles = (in_tensors(self.wanted, one, False) for one in islice(one_by_one(found, read), done))
        return in_columns(self.features, singles)

    def _in_batches(self, column: Any, strings: Any) -> tuple[int, dict[str, Column]]:
        """The features of batches of equal size, in the form `rows` returns. `column` holds the batches, `strings` all
        strings in them.
        """
        count, size = len(column), (column.size or 1) if isinstance(column, Bytes) else column.shape[1]
        request = self._requests[True]
        if self._fixed is None or request is None:
            return self._parse_separately(rows_of(column))
        done, found = _read(strings, request)
        whole = done // size if size else count
        if whole < count:
            found = [(flat[: whole * size * int(n)], None) for (flat, _), n in zip(found, request[2], strict=True)]
        return whole, {key: found[i][0].reshape(whole, size, *shape) for key, i, shape in self._fixed}

    def _parse_separately(self, rows: list[Any]) -> tuple[int, dict[str, Column]]:
        done: list[dict[str, Any]] = []
        for strings in rows:
            try:
                done.append(self(strings))
            except InvalidArgumentError:
                break
        return len(done), {key: column_of([one[key] for one in done]) for key in self.features} if done else {}

    def spec(self, batch: Dims, in_function: bool = False) -> dict[str, Any]:
        """The specs of the results for strings of the shape `batch`, which has at most one dimension."""
        return feature_specs(self.features, self.wanted, batch, in_function)

    def columns(self, strings: list[bytes], batch: bool, first: int = 0) -> dict[str, list[Any]]:
        """For each key the values of each example, None if it has none. The first example has the number `first`."""
        out: dict[str, list[Any]] = {key.decode(): [] for key in self.kinds}
        for i, data in enumerate(strings, first):
            with numbered(i):
                one = self.one(data, batch)
            for key, found in one.items():
                out[key.decode()].append(found)
        return out

    def one(self, data: bytes, batch: bool) -> dict[bytes, Any]:
        """The values of each requested key of one example."""
        found: dict[bytes, Any] = dict.fromkeys(self.kinds)
        try:
            spans = entries(data)
        except WireError as e:
            raise InvalidArgumentError(f" is not a serialized Example: {e}") from None
        seen = set()
        for key, span in reversed(spans):
            kind = self.kinds.get(key)
            if kind is None or key in seen:
                continue
            at = f", feature {key.decode(errors='replace')!r}"
            found[key] = read_feature(data, span, kind, at)
            # Of several entries with one key the last counts. An entry without a list does not count, except that
            # TensorFlow counts it in a batch for features that do not become an array.
            if found[key] is not None or (batch and key.decode() not in self.wanted.dense):
                seen.add(key)
        return found


def request(want: Wanted, batch: bool) -> tuple[Any, ...] | None:
    """The request to the kernel; None if a shape holds no values, which the kernel does not support."""
    sizes, defaults = [], []
    kinds = want.kinds()
    for key in kinds:
        d = want.dense.get(key.decode())
        if d is not None and not 0 < math.prod(d.shape) < TOO_MANY:
            return None
        fixed = d if d is not None and not d.sequence else None
        # In a batch TensorFlow counts an entry without a list, for features that do not become an array.
        any_number = -2 if batch and d is None else -1
        sizes.append(any_number if fixed is None else math.prod(fixed.shape))
        default = None if fixed is None or fixed.default is None else fixed.default.ravel()
        defaults.append(default.tolist() if default is not None and default.dtype == object else default)
    return list(kinds), numbers_of(kinds), np.array(sizes, np.int64), defaults


def numbers_of(kinds: dict[bytes, DType]) -> Array:
    """The field number of the list that holds the values of each key."""
    return np.array([KINDS.index(kind) + 1 for kind in kinds.values()], np.uint8)


def _read(strings: object, request: tuple[Any, ...]) -> tuple[int, Found]:
    """The kernel's output."""
    return kernels.parse_examples(*(strings, *request, team()))


def feature_specs(
    features: Mapping[str, Any], want: Wanted, batch: Dims, in_function: bool = False
) -> dict[str, Any]:
    """The spec of each feature, with the dimensions of `batch` in front. In a function, TensorFlow knows no dimension
    of a sparse tensor.
    """
    of_sparse = [None] * len(batch) if in_function else batch
    return {key: _feature_spec(feature, want.dense.get(key), batch, of_sparse) for key, feature in features.items()}


def _feature_spec(feature: Any, d: Dense | None, batch: Dims, of_sparse: Dims) -> Any:
    if d is not None:
        return TensorSpec([*batch, *([None] if d.sequence else []), *d.shape], d.dtype)
    if isinstance(feature, RaggedFeature):
        return ragged_spec(feature, tuple(batch))
    if isinstance(feature, SparseFeature):
        return SparseTensorSpec([*of_sparse, *np.atleast_1d(feature.size).tolist()], feature.dtype)
    return SparseTensorSpec([*of_sparse, None], feature.dtype)


def fixed_places(features: Mapping[str, Any], want: Wanted) -> Fixed | None:
    """For features that are all of a fixed size: key, index in the kernel's output, and shape."""
    if not all(isinstance(feature, FixedLenFeature) for feature in features.values()):
        return None
    place = {key.decode(): i for i, key in enumerate(want.kinds())}
    return [(key, place[key], want.dense[key].shape) for key in features]


def in_shape(fixed: Fixed, found: Found) -> dict[str, Any]:
    """Features of a fixed size, for all examples."""
    return {key: found[i][0].reshape(-1, *shape) if shape else found[i][0] for key, i, shape in fixed}


def _of_one(fixed: Fixed, found: Found) -> dict[str, Any]:
    return {key: found[i][0].reshape(shape) if shape else found[i][0][0] for key, i, shape in fixed}


def in_columns(features: Mapping[str, Any], singles: Iterable[dict[str, Any]]) -> tuple[int, dict[str, Column]]:
    """A column per feature, assembled from the values of each example, up to the first example that fails; with the
    number of examples done.
    """
    rows: list[dict[str, Any]] = []
    for raw in singles:
        try:
            rows.append(composed(features, raw))
        except InvalidArgumentError:
            break
    return len(rows), {key: pack([row[key] for row in rows]) for key in features} if rows else {}


def one_by_one(found: Found, count: int) -> Iterator[Found]:
    """Splits the kernel's output for `count` examples into the output for each of them."""
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


def column_of(values: list[Any]) -> Column:
    """A column of values that are not shared."""
    return values[0][None] if len(values) == 1 and isinstance(values[0], np.ndarray) else pack(values)


def _parser(features: object, op: str) -> ExampleParser:
    return prepared(ExampleParser, op, features)


def read_feature(data: bytes, span: tuple[int, int], kind: DType, where: str, strict: bool = False) -> Any:
    """The values of one Feature message, None if it holds no list; `strict` is that of `kernels.entries.values`."""
    try:
        number = kind_of(data, span)
        if number is None:
            return None
        got = KINDS[number - 1]
        if got == kind:
            return values(data, span, strict)
    except WireError as e:
        raise InvalidArgumentError(f"{where} cannot be read: {e}") from None
    raise InvalidArgumentError(f"{where} has values of type {got.name}, expected {kind.name}")


def for_kernel(column: Column) -> Any:
    """A column of strings, or of batches of them, in the form kernels take; None for any other."""
    if isinstance(column, Bytes):
        return column.data, np.ascontiguousarray(column.offsets), column.gap
    return np.ascontiguousarray(column) if isinstance(column, np.ndarray) and column.dtype.kind == "O" else None


def is_strings(column: Column) -> bool:
    """Whether the rows of a column are strings."""
    if isinstance(column, Bytes):
        return column.size is None
    return isinstance(column, np.ndarray) and column.dtype.kind == "O" and column.ndim == 1


def read_with(parse: Parse, serialized: object, op: str, names: object) -> Any:
    """The result of `parse` for one serialized message or a batch. Its errors name one message."""
    examples: Any = [serialized]
    batch = False
    if type(serialized) is not bytes:
        strings = as_strings(serialized, op)
        if strings.ndim > 1:
            raise InvalidArgumentError(f"{op} takes a string or a list of strings, got shape {list(strings.shape)}")
        examples, batch = strings.ravel(), strings.ndim > 0
    given = [] if names is None else strings_of(names, f"{op}: example_names must be strings").ravel().tolist()
    if given and len(given) != len(examples):
        raise InvalidArgumentError(
            f"{op}: example_names must have a name for each example, or none; got {len(given)} for {len(examples)}"
        )
    try:
        return parse(examples, batch)
    except InvalidArgumentError as e:
        raise located(e, parse, examples, op, given) from None


def as_strings(serialized: object, op: str) -> Array:
    """Serialized messages as an array of bytes."""
    return strings_of(serialized, f"{op} takes serialized messages, which are strings")
