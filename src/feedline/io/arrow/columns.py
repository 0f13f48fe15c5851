"""Converts Arrow's columns to feedline's: the mapping of types, and the conversion of values by column.

    numbers, bool                       the same
    strings, binary                     bytes
    dates, times, durations             the integer that Arrow stores: days, or the unit of the type
    dictionaries                        the decoded values
    fixed-size lists                    arrays of one shape
    lists                               arrays of any length; lists of lists are ragged tensors
    structs                             dicts

Arrays have no missing values. A null is replaced by the value given for its column, or else its row is bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.io.arrow import needed
from feedline.structure import types
from feedline.structure.block import Array, Block, Bytes, Column, Objects, object_array
from feedline.structure.nest import LEAF, Tree
from feedline.structure.ragged import RaggedTensor
from feedline.structure.spec import RaggedTensorSpec, TensorSpec
from feedline.structure.types import DType, as_dtype

STORED = {"date32": "int32", "date64": "int64", "time32": "int32", "time64": "int64", "timestamp": "int64",
    "duration": "int64"}  # fmt: skip


class Leaf(NamedTuple):
    """A column: its name (with dots inside structs), the dtype of its values, and the shape of a row."""

    path: str
    dtype: str
    shape: tuple[int | None, ...] = ()

    @property
    def spec(self) -> Any:
        """The spec of its rows."""
        if self.shape[:2] == (None, None):
            return RaggedTensorSpec(self.shape, self.dtype, 1)
        return TensorSpec(self.shape, self.dtype)


class TableSchema(NamedTuple):
    """The selected columns of a table, in their structure."""

    tree: Tree = Tree(dict)
    leaves: tuple[Leaf, ...] = ()

    def spec(self) -> Any:
        """The spec of a row."""
        return self.tree.unflatten([leaf.spec for leaf in self.leaves])


class Problem(ValueError):
    """The error in a table, to be reported with its file."""


def form_of(schema: Any, columns: Sequence[str] | None) -> TableSchema:
    """The schema of a table: of all its columns, or of the named ones, in that order."""
    names = list(schema.names) if columns is None else list(columns)
    for name in names:
        count = schema.names.count(name)
        if count != 1:
            which = "no" if not count else f"{count}"
            raise Problem(f"it has {which} column{'s' * (count > 1)} named {name!r}; its columns are {schema.names}")
    return _form(names, [schema.field(name).type for name in names], "")


def without_dtype(schema: Any, names: Sequence[str]) -> set[str]:
    """Those of the named columns whose type has no dtype."""
    found = set()
    for name in names:
        try:
            _form([name], [schema.field(i).type for i in schema.get_all_field_indices(name)[:1]], "")
        except Problem:
            found.add(name)
    return found


def leaf_types(fields: Any, above: str = "") -> dict[str, str]:
    """The name of the type of each column, by its path: that of the values for lists and dictionaries."""
    pa = needed("Arrow")
    found: dict[str, str] = {}
    for field in fields:
        kind = field.type
        while not pa.types.is_struct(kind) and hasattr(kind, "value_type"):
            kind = kind.value_type
        path = above + field.name
        found |= leaf_types(kind, f"{path}.") if pa.types.is_struct(kind) else {path: str(kind)}
    return found


def _form(names: Sequence[str], kinds: Sequence[Any], above: str) -> TableSchema:
    pa = needed("Arrow")
    if len(set(names)) != len(names):
        what = f"field of the struct {above[:-1]!r}" if above else "column"
        raise Problem(f"a {what} is named twice: {list(names)}")
    children: list[Tree] = []
    leaves: list[Leaf] = []
    for name, kind in zip(names, kinds, strict=True):
        path = above + name
        if pa.types.is_struct(kind):
            below = _form([f.name for f in kind], [f.type for f in kind], f"{path}.")
            children.append(below.tree)
            leaves += below.leaves
        else:
            children.append(LEAF)
            dtype, shape = _kind(kind, path)
            leaves.append(Leaf(path, dtype.name, shape))
    return TableSchema(Tree(dict, tuple(names), tuple(children)), tuple(leaves))


def _kind(kind: Any, path: str) -> tuple[DType, tuple[int | None, ...]]:
    """The dtype and row shape for an Arrow type."""
    is_ = needed("Arrow").types
    if is_.is_dictionary(kind):
        return _kind(kind.value_type, path)
    if isinstance(kind, needed("Arrow").BaseExtensionType):
        return _kind(kind.storage_type, path)
    if _is_list(kind) or is_.is_fixed_size_list(kind):
        dtype, shape = _kind(kind.value_type, path)
        size = kind.list_size if is_.is_fixed_size_list(kind) else None
        if size is not None and size < 0:
            raise needed("Arrow").ArrowInvalid(f"the column {path!r} has lists of {size} values")
        if (size is not None and None in shape) or shape.count(None) > 1:
            raise Problem(f"the column {path!r} has type {kind}: lists can be nested two deep at most; {_REMEDY}")
        return dtype, (size, *shape)
    if _is_string(kind):
        return types.string, ()
    stored = STORED.get(str(kind).partition("[")[0])
    if stored is not None:
        return as_dtype(stored), ()
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_boolean(kind):
        return as_dtype(kind.to_pandas_dtype()), ()
    raise Problem(f"the column {path!r} has type {kind}, for which there is no dtype; {_REMEDY}")


_REMEDY = "list the columns to read, without it"


def _is_list(kind: Any) -> bool:
    is_ = needed("Arrow").types
    return bool(is_.is_list(kind) or is_.is_large_list(kind))


def _is_string(kind: Any) -> bool:
    is_ = needed("Arrow").types
    tests = ("is_string", "is_large_string", "is_binary", "is_large_binary", "is_string_view", "is_binary_view")
    return any(getattr(is_, t)(kind) for t in tests if hasattr(is_, t)) or bool(is_.is_fixed_size_binary(kind))


def checked_fill(fill: Any, form: TableSchema, op: str) -> dict[str, Any]:
    """The replacements for nulls, by column, validated against its type."""
    if fill is None:
        return {}
    if not isinstance(fill, Mapping):
        raise InvalidArgumentError(f"{op}: fill_null must be a dict of values by column, got {fill!r}")
    dtypes = {leaf.path: as_dtype(leaf.dtype) for leaf in form.leaves}
    return {str(path): _fill(path, value, dtypes, op) for path, value in fill.items()}


def _fill(path: Any, value: Any, dtypes: dict[str, DType], op: str) -> Any:
    dtype = dtypes.get(path)
    if dtype is None:
        raise InvalidArgumentError(f"{op}: fill_null names {path!r}, which is not among the columns {list(dtypes)}")
    if dtype == types.string:
        if isinstance(value, (str, bytes)):
            return value.encode() if isinstance(value, str) else value
    elif np.ndim(value) == 0 and not isinstance(value, (str, bytes)):
        try:
            with np.errstate(all="raise"):
                made = np.asarray(value).astype(dtype.dtype)[()]
            if made == value or dtype.is_floating:
                return made.item()
        except (TypeError, ValueError, FloatingPointError, OverflowError):
            pass
    raise InvalidArgumentError(f"{op}: fill_null has {value!r} for {path!r}, which is not a valid {dtype.name}")


class ArrowRowBatch(NamedTuple):
    """Rows, and for each column the numbers of those with a null that has no replacement."""

    block: Block
    bad: dict[str, Array]

    def first_bad(self, start: int) -> tuple[int, str] | None:
        """The first row from `start` on with such a null, and its column."""
        found = []
        for path, rows in self.bad.items():
            i = int(np.searchsorted(rows, start))
            if i < len(rows):
                found.append((int(rows[i]), path))
        return min(found, default=None)


def rows_of(batch: Any, form: TableSchema, fill: Mapping[str, Any]) -> ArrowRowBatch:
    """A record batch as rows. Values stay in Arrow's memory, read-only, if their layout is the same."""
    arrays: list[Any] = []
    for name, child in zip(form.tree.keys, form.tree.children, strict=True):
        _flatten(batch.column(batch.schema.get_field_index(name)), child, arrays)
    columns, bad = [], {}
    for leaf, array in zip(form.leaves, arrays, strict=True):
        column, missing = _column(array, fill.get(leaf.path), len(leaf.shape))
        columns.append(column)
        if missing is not None:
            bad[leaf.path] = np.flatnonzero(missing)
    return ArrowRowBatch(Block(columns, batch.num_rows, form.tree).frozen(), bad)


def _flatten(array: Any, tree: Tree, out: list[Any]) -> None:
    if tree.is_leaf:
        out.append(array)
        return
    for part, child in zip(array.flatten(), tree.children, strict=True):  # a null struct has null fields
        _flatten(part, child, out)


def _column(array: Any, fill: Any, rank: int) -> tuple[Column, Array | None]:
    """The values of an array, and which of them are missing."""
    pa = needed("Arrow")
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_fixed_size_list(array.type):
        return _fixed(array, fill, rank)
    if _is_list(array.type):
        return _lists(array, fill, rank)
    missing = _nulls(array) if fill is None else None
    return _values(array, fill), missing


def _nulls(array: Any) -> Array | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _values(array: Any, fill: Any) -> Column:
    """Values without their enclosing lists; missing ones are `fill`, or undefined."""
    pa = needed("Arrow")
    if _is_string(array.type):
        return _strings(array, fill)
    stored = STORED.get(str(array.type).partition("[")[0])
    if stored is not None:
        array = array.view(stored)
    if array.null_count:
        array = array.fill_null(pa.scalar(0 if fill is None else fill).cast(array.type))
    return np.asarray(array.to_numpy(zero_copy_only=array.type != pa.bool_()))  # Arrow packs bools into bits


def _strings(array: Any, fill: Any) -> Bytes:
    pa = needed("Arrow")
    if array.null_count:
        array = array.cast(pa.large_binary()).fill_null(fill or b"")
    if array.type not in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        array = array.cast(pa.large_binary())
    n, start = len(array), array.offset
    _, offsets, data = array.buffers()
    kind = np.dtype(np.int64 if array.type in (pa.large_string(), pa.large_binary()) else np.int32)
    if not n:
        return Bytes(np.empty(0, np.uint8), np.zeros(1, np.int64))
    places = np.frombuffer(offsets, kind, n + 1, start * kind.itemsize).astype(np.int64)  # a buffer may be longer
    return Bytes(np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), places)


def _fixed(array: Any, fill: Any, rank: int) -> tuple[Column, Array | None]:
    n, size = len(array), array.type.list_size
    missing = _nulls(array) if fill is None else None
    inside = array.values.slice(array.offset * size, n * size)
    values, lacking = _column(inside, fill, rank - 1)
    dense = _dense(values).reshape(n, size, *_dense(values).shape[1:])
    if lacking is not None:
        within = np.asarray(lacking.reshape(n, -1).any(axis=1))
        missing = within if missing is None else missing | within
    return dense, missing


def _lists(array: Any, fill: Any, rank: int) -> tuple[Column, Array | None]:
    n = len(array)
    missing = _nulls(array) if fill is None else None
    splits = np.zeros(n + 1, np.int64)
    np.cumsum(array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=splits[1:])
    values, lacking = _column(array.flatten(), fill, rank - 1)
    if lacking is not None:
        total = np.concatenate([[0], np.cumsum(lacking)])
        within = total[splits[1:]] > total[splits[:-1]]
        missing = within if missing is None else missing | within
    if isinstance(values, Objects):
        return _nested(values, splits), missing
    flat = _dense(values)
    bounds = splits.tolist()
    rows = [flat[a:b] for a, b in pairwise(bounds)]
    return Objects(rows, TensorSpec((None, *flat.shape[1:]), flat.dtype)), missing


def _nested(inner: Objects, splits: Array) -> Objects:
    """Lists of lists: each row a ragged tensor of the rows inside it."""
    shape, dtype = inner.spec.shape, inner.spec.dtype.dtype
    empty = np.empty((0, *shape[1:]), dtype)
    rows = []
    for a, b in pairwise(splits.tolist()):
        parts = inner.items[a:b]
        lengths = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(p) for p in parts], out=lengths[1:])
        rows.append(RaggedTensor.from_row_splits(np.concatenate([empty, *parts]), lengths))
    return Objects(rows, RaggedTensorSpec((None, *shape), dtype, 1))


def _dense(column: Column) -> Array:
    if isinstance(column, Bytes):
        return object_array(column.rows())
    return np.asarray(column)
