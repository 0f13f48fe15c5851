"""`to_pandas` and `to_arrow`: elements as the rows of a table, one column per leaf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from feedline.engine.run import Cursor
from feedline.errors import InvalidArgumentError
from feedline.integrations.dtypes import needed, refused
from feedline.plan.arguments import integer
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import DatasetBase
from feedline.structure.block import Array, Block, Bytes, Objects, concat, object_array
from feedline.structure.nest import Tree, flatten
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

ROWS = 8192
"""Rows requested at a time."""


def to_pandas(self: DatasetBase[Any], limit: int | None = None) -> Any:
    """Converts the elements, at most `limit` of them, to a pandas `DataFrame` with a column per leaf.

    >>> fl.Dataset.from_tensor_slices({"x": [1, 2, 3], "name": ["a", "b", "c"]}).to_pandas(limit=2)
       x  name
    0  1  b'a'
    1  2  b'b'

    Columns are named by the path of their leaf: `x`, `image.height`, `0` for the first of a tuple, `value` for a
    dataset whose elements are not structures. Arrays, ragged and sparse values are stored as objects, one per row.
    """
    pandas = needed("pandas", "pandas", "to_pandas")
    names, columns, n = _columns(self, limit, "to_pandas")
    made = {name: pandas.Series(_for_pandas(column)) for name, column in zip(names, columns, strict=True)}
    return pandas.DataFrame(made, index=range(n))


def to_arrow(self: DatasetBase[Any], limit: int | None = None) -> Any:
    """Converts the elements, at most `limit` of them, to a pyarrow `Table` with a column per leaf.

    >>> table = fl.Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "name": ["a", "b"]}).to_arrow()
    >>> table.schema.names, table["x"].to_pylist(), table["name"].to_pylist()
    (['x', 'name'], [[1, 2], [3, 4]], [b'a', b'b'])

    Columns are named as in `to_pandas`. Arrays of one shape become fixed-size lists, ragged ones and those of differing
    shape lists of variable size, strings binary, and sparse values lists of their dense form.
    """
    arrow = needed("pyarrow", "parquet", "to_arrow")
    names, columns, _ = _columns(self, limit, "to_arrow")
    made = [_for_arrow(arrow, name, column) for name, column in zip(names, columns, strict=True)]
    return arrow.table(made, names=names)


def table_of_blocks(ds: Any) -> Iterator[Any]:
    """The elements of a dataset as pyarrow tables, one for each block."""
    arrow = needed("pyarrow", "parquet", "to_ray_dataset")
    for block in _blocks(ds, None):
        names = _names(block.tree)
        made = [_for_arrow(arrow, name, column) for name, column in zip(names, block.columns, strict=True)]
        yield arrow.table(made, names=names)


def _columns(ds: Any, limit: int | None, op: str) -> tuple[list[str], list[Any], int]:
    """The names of the columns, the columns, and the number of rows."""
    most = None if limit is None else integer(limit, "limit", op)
    if most is not None and most < 0:
        raise InvalidArgumentError(f"{op}: limit must be zero or more, got {most}")
    if most is None and ds.cardinality() == INFINITE:
        raise InvalidArgumentError(f"{op}: the dataset is infinite; give a limit, or end it with take(n)")
    blocks = list(_blocks(ds, most))
    if blocks:
        whole = concat(blocks)
        return _names(whole.tree), whole.columns, whole.n
    specs, tree = flatten(ds.element_spec)
    return _names(tree), [_no_rows(spec) for spec in specs], 0


def _blocks(ds: Any, limit: int | None) -> Iterator[Block]:
    left = ROWS if limit is None else limit
    with iter(ds) as it:
        cursor: Cursor = it._cursor
        while left > 0 and (block := cursor.next_block(min(left, ROWS))) is not None:
            if block.n:
                yield block
                left -= 0 if limit is None else block.n


def _no_rows(spec: object) -> Any:
    if not isinstance(spec, TensorSpec) or spec.shape.dims is None or None in spec.shape.dims:
        return Objects([], spec)
    return np.empty((0, *spec.shape.dims), object if spec.dtype == string else spec.dtype.dtype)


def _names(tree: Tree) -> list[str]:
    if tree.is_leaf:
        return ["value"]
    paths = tree.paths()
    names = [re.sub(r"\[('?)(.*?)\1\]", r".\2", path[1:]).lstrip(".") for path in paths]
    return [path if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def _for_pandas(column: Any) -> Array:
    if isinstance(column, Bytes):
        column = column.objects()
    if isinstance(column, np.ndarray):
        return column if column.ndim == 1 else object_array(list(column))
    return object_array([_dense(item) for item in column.items])


def _dense(item: object) -> Any:
    if isinstance(item, SparseTensor):
        return item.to_dense(validate_indices=False)
    return item.numpy() if isinstance(item, RaggedTensor) else item


def _for_arrow(arrow: Any, name: str, column: Any) -> Any:
    if isinstance(column, Bytes):
        column = column.objects()
    if isinstance(column, np.ndarray):
        return _nested(arrow, name, column)
    for item in column.items:
        if isinstance(item, (DatasetBase, Optional)):
            raise refused("to_arrow", name, item)
    if not column.items:
        return arrow.array([], _lists(arrow, name, column.spec) or arrow.null())
    if all(isinstance(item, np.ndarray) and item.ndim == 1 for item in column.items):
        ends = np.cumsum([0, *(len(item) for item in column.items)])
        return arrow.LargeListArray.from_arrays(ends, _nested(arrow, name, np.concatenate(column.items)))
    return arrow.array([_plain(item) for item in column.items], _lists(arrow, name, column.spec))


def _nested(arrow: Any, name: str, array: Array) -> Any:
    if array.ndim > 1:
        rows, size, *shape = array.shape
        inner = _nested(arrow, name, array.reshape(rows * size, *shape))
        # Not with from_arrays, which divides by the list size to find the number of rows.
        return arrow.Array.from_buffers(arrow.list_(inner.type, size), rows, [None], children=[inner])
    if array.dtype.kind == "O":
        return arrow.array(array, arrow.binary())
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"to_arrow: the column {name} is {array.dtype}, for which Arrow has no type; cast it in a map"
        )
    return arrow.array(array)


def _lists(arrow: Any, name: str, spec: Any) -> Any:
    """The type of rows of this spec: lists of variable size; None if the spec does not determine it."""
    dtype, rank = getattr(spec, "dtype", None), getattr(getattr(spec, "shape", None), "rank", None)
    if dtype is None:
        return None
    kind = _nested(arrow, name, np.empty(0, object if dtype == string else dtype.dtype)).type
    for _ in range(rank or 0):
        kind = arrow.large_list(kind)
    return kind


def _plain(item: object) -> Any:
    if isinstance(item, RaggedTensor):
        return item.to_list()
    dense = _dense(item)
    return dense.tolist() if isinstance(dense, (np.ndarray, np.generic)) else dense
