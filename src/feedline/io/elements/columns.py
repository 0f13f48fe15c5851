"""Encodes rows to bytes, column by column, and decodes them.

    dense    the values, little-endian
    strings  the offsets of the strings, one more than there are strings; then their bytes
    none     nothing
    each     rows of differing shape: the rank of each, all their sizes, then all values as one dense or strings column
    ragged   the row splits of each level, as `each`; the flat values, as `each`
    sparse   the indices, values and shapes, as `each`
    mixed    rows of several of these kinds: the kind of each, then a column for each kind

A block is the length of its description, the description (JSON), and the buffers it refers to, in that order.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidTypeError
from feedline.io.elements.form import decode_spec, dtype_named, spec_described
from feedline.structure.block import Array, Block, Bytes, Column, Objects, object_array
from feedline.structure.nest import Tree
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor

MOST_ROWS = 1 << 16
"""The most rows of a block, so that a forged row count cannot allocate much memory."""

ALIGNMENT = 64
_LENGTH = struct.Struct("<I")


def encoded(block: Block) -> list[Any]:
    """The bytes of a block, in pieces."""
    buffers: list[Any] = []
    columns = [_column(c, buffers) for c in block.columns]
    sizes = [memoryview(b).nbytes for b in buffers]
    text = json.dumps({"rows": block.n, "columns": columns, "buffers": sizes}).encode()
    pieces: list[Any] = [_LENGTH.pack(len(text)), text, bytes(-(_LENGTH.size + len(text)) % ALIGNMENT)]
    for buffer, size in zip(buffers, sizes, strict=True):
        pieces += [buffer, bytes(-size % ALIGNMENT)]
    return pieces


def decoded(data: memoryview, tree: Tree) -> Block:
    """The rows given to `encoded`. Raises an exception of some kind for any other data."""
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    about = json.loads(bytes(data[_LENGTH.size : start]))
    rows = _count(about["rows"])
    if rows > MOST_ROWS:
        raise ValueError(f"its number of rows is {rows}")
    buffers = _Buffers(data, start + -start % ALIGNMENT, about["buffers"])
    columns = [_decode_column(coded, rows, buffers) for coded in about["columns"]]
    buffers.check_all_used()
    if len(columns) != tree.size:
        raise ValueError(f"{len(columns)} columns for {tree.size} components")
    return Block(columns, rows, tree)


def check(block: Block) -> None:
    """Raises for rows that cannot be written."""
    for column, path in zip(block.columns, block.tree.paths(), strict=True):
        if isinstance(column, Objects):
            for kind in {type(item) for item in column.items}:
                if not issubclass(kind, (type(None), np.ndarray, np.generic, bytes, RaggedTensor, SparseTensor)):
                    raise InvalidTypeError(
                        f"the component {path} is a {kind.__name__}, which cannot be written to a file; "
                        "map it to arrays, or flatten it with flat_map first"
                    )


# Encoding.


def _column(column: Column, buffers: list[Any]) -> Any:
    if isinstance(column, Bytes) and (column.gap or column.size):
        column = column.objects()
    if isinstance(column, Bytes):
        first, last = int(column.offsets[0]), int(column.offsets[-1])
        return _strings((), column.offsets - first, np.ascontiguousarray(column.data[first:last]), buffers)
    if not isinstance(column, np.ndarray):
        return _objects(column, buffers)
    if column.dtype.kind == "O":
        return _of_bytes(column.shape[1:], column.ravel().tolist(), buffers)
    buffers.append(_raw(column))
    return ["dense", dtype_named(column.dtype.name).name, list(column.shape[1:])]


def _of_bytes(shape: Sequence[int], items: list[bytes], buffers: list[Any]) -> Any:
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return _strings(shape, offsets, b"".join(items), buffers)


def _strings(shape: Sequence[int], offsets: Array, data: object, buffers: list[Any]) -> Any:
    buffers += [_raw(offsets.astype(np.int64, copy=False)), data]
    return ["strings", list(shape)]


def _raw(array: Array) -> memoryview:
    little = array if sys.byteorder == "little" else array.byteswap()
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


def _objects(column: Objects, buffers: list[Any]) -> Any:
    """Rows grouped by kind, in the order in which the kinds occur."""
    keys = [_kind(item) for item in column.items]
    kinds = list(dict.fromkeys(keys))
    spec = spec_described(column.spec)
    if len(kinds) == 1:
        return _KINDS[kinds[0][0]](column.items, spec, buffers)
    if not kinds:
        return ["none", spec]
    which = np.array([kinds.index(key) for key in keys], np.int64)
    buffers.append(_raw(which))
    parts = [[item for item, key in zip(column.items, keys, strict=True) if key == kind] for kind in kinds]
    return ["mixed", spec, [_objects(Objects(part), buffers) for part in parts]]


def _kind(item: Any) -> tuple[Any, ...]:
    if item is None:
        return ("none",)
    if isinstance(item, RaggedTensor):
        return "ragged", item.dtype, item.ragged_rank, item.row_splits.dtype
    if isinstance(item, SparseTensor):
        return "sparse", item.dtype
    return "each", np.dtype(object) if isinstance(item, bytes) else item.dtype


def _none(items: list[Any], spec: object, buffers: list[Any]) -> Any:
    return ["none", spec]


def _each(items: list[Any], spec: object, buffers: list[Any]) -> Any:
    arrays = [_as_array(item) for item in items]
    buffers.append(_raw(np.array([a.ndim for a in arrays], np.int64)))
    buffers.append(_raw(np.array([size for a in arrays for size in a.shape], np.int64)))
    return ["each", spec, _column(np.concatenate([a.reshape(-1) for a in arrays]), buffers)]


def _as_array(item: object) -> Array:
    return object_array([item]).reshape(()) if isinstance(item, bytes) else np.asarray(item)


def _ragged(items: list[RaggedTensor], spec: object, buffers: list[Any]) -> Any:
    levels = zip(*(item.nested_row_splits for item in items), strict=True)
    splits = [_each(list(level), None, buffers) for level in levels]
    return ["ragged", spec, splits, _each([item.flat_values for item in items], None, buffers)]


def _sparse(items: list[SparseTensor], spec: object, buffers: list[Any]) -> Any:
    parts: tuple[Callable[[SparseTensor], Array], ...] = (
        lambda item: item.indices,
        lambda item: item.values,
        lambda item: item.dense_shape,
    )
    return ["sparse", spec, [_each([part(item) for item in items], None, buffers) for part in parts]]


_KINDS: dict[str, Callable[[list[Any], Any, list[Any]], Any]] = {
    "none": _none,
    "each": _each,
    "ragged": _ragged,
    "sparse": _sparse,
}


# Decoding. The input may be malicious: every number is checked before it is used.


class _Buffers:
    """The buffers of a block, each of which is taken once."""

    def __init__(self, data: memoryview, start: int, sizes: list[int]) -> None:
        self._parts: list[memoryview] = []
        for size in map(_count, sizes):
            self._parts.append(data[start : start + size])
            start += size + -size % ALIGNMENT
        if start != len(data):
            raise ValueError("the sizes of its buffers do not match its size")
        self._next = iter(self._parts)

    def take(self) -> memoryview:
        """The next buffer."""
        found = next(self._next, None)
        if found is None:
            raise ValueError("a buffer is missing")
        return found

    def numbers(self) -> Array:
        """The next buffer, as int64."""
        return _array(self.take(), np.dtype(np.int64))

    def check_all_used(self) -> None:
        """Raises if a buffer is left over."""
        if next(self._next, None) is not None:
            raise ValueError("it has more buffers than columns need")


def _decode_column(coded: Any, rows: int, buffers: _Buffers) -> Column:
    kind, *about = coded
    if kind == "dense":
        return _dense(about, rows, buffers)
    if kind == "strings":
        shape = tuple(map(_count, about[0]))
        strings = _decode_strings(rows * math.prod(shape), buffers)
        return object_array(strings.rows()).reshape(rows, *shape) if shape else strings
    spec = decode_spec(about[0])
    if kind == "mixed":
        which = buffers.numbers()
        if which.shape != (rows,) or (rows and not 0 <= which.min() <= which.max() < len(about[1])):
            raise ValueError("a row of an unknown kind")
        parts = [
            iter(_items(part, int(np.count_nonzero(which == i)), buffers)) for i, part in enumerate(about[1])
        ]
        return Objects([next(parts[i]) for i in which.tolist()], spec)
    return Objects(_items(coded, rows, buffers), spec)


def _items(coded: Any, rows: int, buffers: _Buffers) -> list[Any]:
    """The rows of a column that is not an array."""
    kind, _, *about = coded
    if kind == "none":
        return [None] * rows
    if kind == "each":
        return _decode_each(about[0], rows, buffers)
    if kind == "ragged":
        levels = [_items(level, rows, buffers) for level in about[0]]
        values = _items(about[1], rows, buffers)
        splits = zip(*levels, strict=True)
        return [RaggedTensor.from_nested_row_splits(v, s) for v, s in zip(values, splits, strict=True)]
    if kind == "sparse":
        indices, values, shapes = (_items(part, rows, buffers) for part in about[0])
        return [SparseTensor(*parts) for parts in zip(indices, values, shapes, strict=True)]
    raise ValueError(f"a column of the unknown kind {kind!r}")


def _decode_each(coded: Any, rows: int, buffers: _Buffers) -> list[Any]:
    ranks, sizes = buffers.numbers(), buffers.numbers()
    if ranks.shape != (rows,) or (rows and not 0 <= ranks.min() <= ranks.max() <= 64) or ranks.sum() != len(sizes):
        raise ValueError("the shapes of its rows are inconsistent")
    left = iter(list(map(_count, sizes.tolist())))
    shapes = [tuple(next(left) for _ in range(rank)) for rank in ranks.tolist()]
    counts = [math.prod(shape) for shape in shapes]
    kind, *about = coded
    if kind == "strings":
        flat: Array = object_array(_decode_strings(sum(counts), buffers).rows())
    else:
        flat = _dense(about, sum(counts), buffers)
    if about[-1] != []:
        raise ValueError("values that are not scalars")
    items, at = [], 0
    for shape, count in zip(shapes, counts, strict=True):
        items.append(flat[at : at + count].reshape(shape) if shape else flat[at])
        at += count
    return items


def _dense(about: Any, rows: int, buffers: _Buffers) -> Array:
    name, sizes = about
    dtype = dtype_named(name).dtype
    if dtype.hasobject:
        raise ValueError(f"{name} is not a numeric type")
    shape = rows, *map(_count, sizes)
    data = buffers.take()
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes for an array of {name}{list(shape)}")
    if dtype.kind == "b" and len(data) and _array(data, np.dtype(np.uint8)).max() > 1:
        raise ValueError("a bool that is neither False nor True")
    return _array(data, dtype).reshape(shape)


def _decode_strings(count: int, buffers: _Buffers) -> Bytes:
    offsets, data = buffers.numbers(), _array(buffers.take(), np.dtype(np.uint8))
    fits = offsets.shape == (count + 1,) and offsets[0] == 0 and offsets[-1] == len(data)
    if not fits or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the offsets of its strings are inconsistent")
    return Bytes(data, offsets)


def _array(data: memoryview, dtype: np.dtype[Any]) -> Array:
    if not len(data):
        return np.empty(0, dtype)
    array = np.frombuffer(data, dtype)
    return array if sys.byteorder == "little" else array.byteswap()


def _count(value: object) -> int:
    """A count from JSON, validated."""
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a non-negative int, got {value!r}")
    return value
