"""`tf.data.experimental` on tensors."""

from __future__ import annotations

from typing import Any

from feedline.data import experimental as _experimental
from feedline.tf.data.dataset import with_tensors
from feedline.tf.data.readers import CsvDataset, SqlDataset

__all__ = ["CsvDataset", "SqlDataset"]
__all__ += [name for name in _experimental.__all__ if name not in ("CsvDataset", "SqlDataset")]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"feedline.tf has no tf.data.experimental.{name}")
    found = vars(_experimental)[name]
    if callable(found) and not isinstance(found, type):
        found = with_tensors(found)
    globals()[name] = found
    return found
