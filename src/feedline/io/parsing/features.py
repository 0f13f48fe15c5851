"""The feature classes that describe what to read from an `Example`, and their validation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure import types
from feedline.structure.arguments import integer, truth
from feedline.structure.dense import dense
from feedline.structure.spec import TensorShape
from feedline.structure.types import DType, as_dtype

Array = np.ndarray[Any, Any]

KINDS = (types.string, types.float32, types.int64)
"""The types a Feature can hold, in the order of its field numbers."""

MOST_VALUES = (1 << 60) - 1
"""The most values of an array that can be addressed: each takes up to 8 bytes."""


class FixedLenFeature(NamedTuple):
    """A feature with a fixed number of values, given by `shape`; `default_value` replaces a missing one.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> numbers = Feature(int64_list=Int64List(value=[1, 2]))
    >>> data = Example(features=Features(feature={"a": numbers})).SerializeToString()
    >>> fl.io.parse_single_example(
    ...     data, {"a": fl.io.FixedLenFeature([2], fl.int64), "b": fl.io.FixedLenFeature([], fl.string, "none")}
    ... )
    {'a': array([1, 2]), 'b': b'none'}
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of steps of one `shape`. In a batch, shorter ones are padded with `default_value`.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> numbers = Feature(int64_list=Int64List(value=[1, 2]))
    >>> data = Example(features=Features(feature={"a": numbers})).SerializeToString()
    >>> fl.io.parse_example(
    ...     [data, b""], {"a": fl.io.FixedLenSequenceFeature([], fl.int64, allow_missing=True, default_value=-1)}
    ... )
    {'a': array([[ 1,  2],
           [-1, -1]])}
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, as a `SparseTensor`.

    >>> fl.io.parse_single_example(b"", {"a": fl.io.VarLenFeature(fl.int64)})
    {'a': SparseTensor(indices=[], values=[], dense_shape=[0])}
    """

    dtype: Any


class SparseFeature(NamedTuple):
    """A sparse tensor of `size`, whose indices and values are two features of the example.

    `index_key` names the feature with the indices, or is a list of names, one per dimension.

    >>> fl.io.SparseFeature(index_key="ix", value_key="v", dtype=fl.float32, size=100).size
    100
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class RowSplits(NamedTuple):
    """The feature `key` holds where each row begins, and where the last one ends."""

    key: str


class RowLengths(NamedTuple):
    """The feature `key` holds the length of each row."""

    key: str


class RowStarts(NamedTuple):
    """The feature `key` holds where each row begins."""

    key: str


class RowLimits(NamedTuple):
    """The feature `key` holds where each row ends."""

    key: str


class ValueRowIds(NamedTuple):
    """The feature `key` holds the row number of each value."""

    key: str


class UniformRowLength(NamedTuple):
    """All rows have this length."""

    length: int


PARTITIONS = (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: Any
    validate: bool


class RaggedFeature(_RaggedFeature):
    """A feature with any number of values, as a `RaggedTensor`, or for a single example as an array.

    `partitions` split the values into rows, outermost first: `RaggedFeature.RowLengths("key")` and the like.

    >>> from feedline.train import Example, Feature, Features, Int64List
    >>> numbers = Feature(int64_list=Int64List(value=[1, 2]))
    >>> data = Example(features=Features(feature={"a": numbers})).SerializeToString()
    >>> fl.io.parse_example([data, b""], {"a": fl.io.RaggedFeature(fl.int64)})
    {'a': <fl.RaggedTensor [[1, 2], []]>}
    """

    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    def __new__(
        cls,
        dtype: object,
        value_key: str | None = None,
        partitions: object = (),
        row_splits_dtype: object = types.int32,
        validate: bool = False,
    ) -> RaggedFeature:
        if value_key is not None and (not isinstance(value_key, str) or not value_key):
            raise InvalidArgumentError(f"RaggedFeature: value_key must be the name of a feature, got {value_key!r}")
        if as_dtype(dtype) not in KINDS:
            raise InvalidArgumentError(f"RaggedFeature: dtype must be int64, float32 or string, got {dtype!r}")
        if as_dtype(row_splits_dtype) not in (types.int32, types.int64):
            raise InvalidArgumentError(
                f"RaggedFeature: row_splits_dtype must be int32 or int64, got {row_splits_dtype!r}"
            )
        if not isinstance(partitions, (list, tuple)) or isinstance(partitions, PARTITIONS):
            raise InvalidTypeError(f"RaggedFeature: partitions must be a list, got {partitions!r}")
        for partition in partitions:
            if not isinstance(partition, PARTITIONS):
                names = ", ".join(p.__name__ for p in PARTITIONS)
                raise InvalidTypeError(f"RaggedFeature: a partition must be one of {names}, got {partition!r}")
        if not isinstance(validate, bool):
            raise InvalidTypeError(f"RaggedFeature: validate must be a bool, got {validate!r}")
        return super().__new__(
            cls, as_dtype(dtype), value_key, tuple(partitions), as_dtype(row_splits_dtype), validate
        )


class Dense(NamedTuple):
    """A key that becomes an array. `default` replaces a missing feature, or pads a short sequence."""

    dtype: DType
    shape: tuple[int, ...]
    default: Array | None
    sequence: bool
    """Whether there is any number of steps of that shape."""


class Wanted(NamedTuple):
    """The keys to read from the wire to build the requested features."""

    dense: dict[str, Dense]
    sparse: dict[str, DType]
    ragged: dict[str, tuple[DType, DType]]

    def kinds(self) -> dict[bytes, DType]:
        """The type of each key."""
        return {
            **{key.encode(): d.dtype for key, d in self.dense.items()},
            **{key.encode(): dtype for key, dtype in self.sparse.items()},
            **{key.encode(): pair[0] for key, pair in self.ragged.items()},
        }


def wanted(features: Mapping[str, Any], allowed: tuple[type, ...], op: str) -> Wanted:
    """Validates a dict of features and returns what to read for it. The exception classes are TensorFlow's."""
    out = Wanted({}, {}, {})
    for key in sorted(named(features, op)):
        feature = features[key]
        if not isinstance(feature, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            raise InvalidArgumentError(f"{op}: the feature {key!r} must be one of {names}, got {feature!r}")
        if isinstance(feature, VarLenFeature):
            _add(out.sparse, key, _kind(feature.dtype, key, op), op)
        elif isinstance(feature, SparseFeature):
            _add_sparse(out, key, feature, op)
        elif isinstance(feature, RaggedFeature):
            split = feature.row_splits_dtype
            _add(out.ragged, feature.value_key or key, (feature.dtype, split), op)
            for partition in feature.partitions:
                if not isinstance(partition, UniformRowLength):
                    _add(out.ragged, partition.key, (types.int64, split), op)
        else:
            out.dense[key] = _dense(key, feature, op)
    for a, b in ((out.dense, out.sparse), (out.dense, out.ragged), (out.sparse, out.ragged)):
        both = sorted(set(a) & set(b))
        if both:
            raise InvalidArgumentError(f"{op}: the key {both[0]!r} cannot be read as two kinds of feature")
    return out


def named(features: Any, op: str) -> Mapping[str, Any]:
    """The dict of features; raises for anything else."""
    if not isinstance(features, Mapping):
        raise InvalidTypeError(
            f"{op}: features must be a dict of names and features, got {features!r} of type {type(features).__name__}"
        )
    for key in features:
        if not isinstance(key, str):
            raise InvalidTypeError(
                f"{op}: the name of a feature must be a str, got {key!r} of type {type(key).__name__}"
            )
    return features


def _kind(dtype: object, key: str, op: str) -> DType:
    if dtype is None:
        raise InvalidArgumentError(f"{op}: the feature {key!r} has no dtype")
    found = as_dtype(dtype)
    if found not in KINDS:
        raise InvalidTypeError(f"{op}: the dtype of {key!r} must be int64, float32 or string, got {found.name}")
    return found


def _add(into: dict[str, Any], key: str, kind: object, op: str) -> None:
    if into.setdefault(key, kind) != kind:
        raise InvalidArgumentError(f"{op}: the key {key!r} is requested with two types, {into[key]!r} and {kind!r}")


def _add_sparse(out: Wanted, key: str, feature: SparseFeature, op: str) -> None:
    if not feature.index_key or not feature.value_key:
        raise InvalidArgumentError(f"{op}: the SparseFeature {key!r} needs an index_key and a value_key")
    for size in feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]:
        integer(size, f"the size of the SparseFeature {key!r}", op)
    truth(feature.already_sorted, f"already_sorted of the SparseFeature {key!r}", op)
    for index in sorted(index_keys(feature)):
        _add(out.sparse, index, types.int64, op)
    _add(out.sparse, feature.value_key, _kind(feature.dtype, key, op), op)


def index_keys(feature: SparseFeature) -> list[str]:
    """The keys of the indices, one per dimension."""
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _dense(key: str, feature: Any, op: str) -> Dense:
    kind = _kind(feature.dtype, key, op)
    if feature.shape is None:
        raise InvalidArgumentError(f"{op}: the feature {key!r} has no shape")
    try:
        shape = TensorShape(feature.shape)
    except (TypeError, ValueError) as e:
        raise type(e)(f"{op}: the shape of {key!r}: {e}") from None
    if not shape.is_fully_defined():
        raise InvalidArgumentError(
            f"{op}: all dimensions of {key!r} must be known, got {list(shape)}; FixedLenSequenceFeature, VarLenFeature "
            "and RaggedFeature take any number of values"
        )
    sizes = tuple(int(d) for d in shape if d is not None)
    if math.prod(max(d, 1) for d in sizes) > MOST_VALUES:
        raise InvalidArgumentError(f"{op}: the shape of {key!r} has more values than memory can hold, {list(sizes)}")
    sequence = isinstance(feature, FixedLenSequenceFeature)
    given = feature.default_value
    if given is None:
        filler = b"" if kind == types.string else 0
        return Dense(kind, sizes, dense(filler, kind) if sequence else None, sequence)
    default = dense(given, kind)
    try:
        return Dense(kind, sizes, default.reshape(() if sequence else sizes), sequence)
    except ValueError:
        want = "one value" if sequence else f"the shape {list(sizes)}"
        raise InvalidArgumentError(
            f"{op}: the default_value of {key!r} must have {want}, got the shape {list(default.shape)}"
        ) from None
