"""`tf.data.experimental` on tensors."""

from __future__ import annotations

import functools
from typing import Any

from feedline.data import experimental as _experimental
from feedline.ops.table_from_dataset import index_table_from_dataset as _index_table_from_dataset
from feedline.ops.table_from_dataset import table_from_dataset as _table_from_dataset
from feedline.tf.data.dataset import with_tensors
from feedline.tf.data.readers import CsvDataset, SqlDataset
from feedline.tf.lookup_ops import TensorTable, on_tensors
from feedline.tf.notes import explained

__all__ = ["CsvDataset", "SqlDataset", "index_table_from_dataset", "table_from_dataset"]
__all__ += [name for name in _experimental.__all__ if name not in __all__]


@functools.wraps(_table_from_dataset)
def table_from_dataset(*args: Any, **kwargs: Any) -> TensorTable:
    return on_tensors(_table_from_dataset(*args, **kwargs))


@functools.wraps(_index_table_from_dataset)
def index_table_from_dataset(*args: Any, **kwargs: Any) -> TensorTable:
    return on_tensors(_index_table_from_dataset(*args, **kwargs))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(explained(f"data.experimental.{name}"))
    found = vars(_experimental)[name]
    if callable(found) and not isinstance(found, type):
        found = with_tensors(found)
    globals()[name] = found
    return found
