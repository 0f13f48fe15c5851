"""Columns of many examples, in the form the kernel that writes them takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.structure.block import Bytes, Objects
from feedline.structure.dense import dense
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor

Array = np.ndarray[Any, Any]

_STRINGS, _FLOATS, _INTS = 1, 2, 3


class ExampleColumn(NamedTuple):
    """The values of all rows in one array, and how many each row has: `size`, or the distance between its `splits`."""

    kind: int
    values: Any
    size: int
    splits: Array | None
    rows: int

    def part(self, start: int, stop: int) -> tuple[Any, Array | None]:
        """Values and splits of some rows."""
        if self.splits is None:
            return self.values[start * self.size : stop * self.size], None
        splits = self.splits[start : stop + 1]
        return self.values[splits[0] : splits[-1]], splits - splits[0]

    def every(self, start: int, step: int) -> ExampleColumn:
        """Every `step`-th row, beginning with `start`."""
        rows = range(start, self.rows, step)
        ends = np.arange(self.rows + 1) * self.size if self.splits is None else self.splits
        parts = [self.values[ends[i] : ends[i + 1]] for i in rows]
        joined: Any = [s for part in parts for s in part] if self.kind == _STRINGS else _joined(parts, self.kind)
        splits = None if self.splits is None else np.concatenate([[0], np.cumsum(np.diff(ends)[start::step])])
        return ExampleColumn(self.kind, joined, self.size, splits, len(rows))


class Columns:
    """Named columns of equal length."""

    def __init__(self, data: Mapping[Any, Any]) -> None:
        named = {_key(name): _column(name, value) for name, value in data.items()}
        self._set(sorted(named), [named[key] for key in sorted(named)])

    def _set(self, keys: list[bytes], columns: list[ExampleColumn]) -> None:
        self._keys, self._columns = keys, columns
        lengths = {column.rows for column in self._columns}
        if len(lengths) > 1:
            counts = ", ".join(f"{_shown(k)} {c.rows}" for k, c in zip(self._keys, self._columns, strict=True))
            raise InvalidArgumentError(f"write_examples: all features must have the same number of rows: {counts}")
        self.rows = lengths.pop() if lengths else 0
        self._kinds = np.array([c.kind for c in self._columns], np.uint8)
        self._sizes = np.array([c.size for c in self._columns], np.int64)

    def every(self, start: int, step: int) -> Columns:
        """Every `step`-th row, beginning with `start`."""
        taken = Columns.__new__(Columns)
        taken._set(self._keys, [column.every(start, step) for column in self._columns])
        return taken

    def framed(self, start: int, stop: int) -> bytes:
        """Rows `start` to `stop` as examples in TFRecord frames."""
        parts = [column.part(start, stop) for column in self._columns]
        values, splits = [p[0] for p in parts], [p[1] for p in parts]
        return kernels.framed_examples(self._keys, self._kinds, values, self._sizes, splits, stop - start)


def _key(name: object) -> bytes:
    if not isinstance(name, (str, bytes)):
        raise InvalidTypeError(f"write_examples: the name of a feature must be a str, got {name!r}")
    try:
        return name.encode() if isinstance(name, str) else name.decode().encode()
    except UnicodeError:
        raise InvalidArgumentError(f"write_examples: the name {name!r} is not valid UTF-8") from None


def _shown(key: bytes) -> str:
    return repr(key.decode())


def _column(name: object, value: object) -> ExampleColumn:
    if isinstance(value, RaggedTensor):
        return _ragged(name, value)
    if isinstance(value, SparseTensor):
        return _sparse(name, value)
    if isinstance(value, Bytes):
        return ExampleColumn(_STRINGS, value.objects().ravel().tolist(), value.size or 1, None, len(value))
    if isinstance(value, Objects):
        return _objects(name, value)
    try:
        array = dense(value)
    except (TypeError, ValueError) as e:
        raise type(e)(f"write_examples: the feature {name!r} cannot be written: {e}") from None
    if not array.ndim:
        raise InvalidArgumentError(
            f"write_examples: the feature {name!r} is a single {array.dtype}; give an array with one value per example"
        )
    kind, flat = _values(name, array)
    return ExampleColumn(kind, flat, int(np.prod(array.shape[1:])), None, len(array))


def _values(name: object, array: Array) -> tuple[int, Any]:
    """The kind of list an array is stored in, and the values to store."""
    if array.dtype.kind == "O":
        return _STRINGS, array.ravel().tolist()
    if array.dtype.kind in "fV" and array.dtype.fields is None:
        with np.errstate(over="ignore"):
            return _FLOATS, np.ascontiguousarray(array, np.float32).ravel()
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
        raise InvalidArgumentError(
            f"write_examples: the feature {name!r} has the value {array.max()}, too large for int64"
        )
    if array.dtype.kind in "biu":
        return _INTS, np.ascontiguousarray(array, np.int64).ravel()
    raise InvalidTypeError(
        f"write_examples: the feature {name!r} is {array.dtype}; an Example holds integers, float32 and strings"
    )


def _ragged(name: object, value: RaggedTensor) -> ExampleColumn:
    first, *inner = value.nested_row_splits
    splits = first.astype(np.int64)
    for deeper in inner:
        splits = deeper.astype(np.int64)[splits]
    flat = value.flat_values
    kind, values = _values(name, flat)
    return ExampleColumn(kind, values, 0, splits * int(np.prod(flat.shape[1:])), len(splits) - 1)


def _sparse(name: object, value: SparseTensor) -> ExampleColumn:
    """Rows of a sparse matrix without gaps, as `VarLenFeature` reads them: an Example does not store positions."""
    shape = value.dense_shape.tolist()
    rows = value.indices[:, 0]
    counts = np.bincount(rows, minlength=shape[0]) if not len(rows) or rows.min() >= 0 else np.zeros(0, np.int64)
    splits = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    good = len(shape) in (1, 2) and len(counts) == shape[0] and bool((np.diff(rows) >= 0).all())
    if good and len(shape) == 2:
        good = np.array_equal(value.indices[:, 1], np.arange(len(rows)) - splits[rows])
    if not good:
        raise InvalidArgumentError(
            f"write_examples: the feature {name!r} is a SparseTensor of shape {shape} whose rows do not all "
            "start at index 0 without gaps; an Example has no indices: write indices and values as two "
            "features"
        )
    kind, values = _values(name, value.values)
    return ExampleColumn(kind, values, 0, splits, shape[0])


def _objects(name: object, column: Objects) -> ExampleColumn:
    """Rows of differing shape."""
    parts, kinds = [], set()
    for item in column.items:
        try:
            array = _row(name, item)
        except (TypeError, ValueError) as e:
            raise type(e)(f"write_examples: the feature {name!r} cannot be written: {e}") from None
        kind, values = _values(name, array)
        parts.append(values)
        kinds.add(kind)
    if len(kinds) > 1:
        raise InvalidTypeError(f"write_examples: the feature {name!r} does not have the same type in all rows")
    splits = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
    kind = kinds.pop() if kinds else _FLOATS
    if kind == _STRINGS:
        return ExampleColumn(kind, [s for part in parts for s in part], 0, splits, len(parts))
    return ExampleColumn(kind, _joined(parts, kind), 0, splits, len(parts))


def _joined(parts: list[Any], kind: int) -> Array:
    none = np.zeros(0, np.float32 if kind == _FLOATS else np.int64)
    return np.concatenate([none, *parts])


def _row(name: object, item: object) -> Array:
    """The values of one row."""
    if isinstance(item, RaggedTensor):
        return item.flat_values
    if isinstance(item, SparseTensor):
        single = SparseTensor(np.insert(item.indices, 0, 0, axis=1), item.values, [1, *item.dense_shape.tolist()])
        _sparse(name, single)
        return item.values
    return dense(item)
