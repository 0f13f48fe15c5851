"""The datasets of tensors that read files. Each constructor is documented with its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedline.data import readers as _readers
from feedline.data.dataset import Dataset as _Dataset
from feedline.tf.border import to_values
from feedline.tf.data.dataset import Dataset, _make

__all__ = ["CsvDataset", "FixedLengthRecordDataset", "SqlDataset", "TFRecordDataset", "TextLineDataset"]


def _on_tensors(kind: type[_Dataset[Any]]) -> type[Dataset[Any]]:
    """The class of the same name whose elements are tensors."""

    def __init__(self: Dataset[Any], *args: Any, **kwargs: Any) -> None:
        self._plan = kind(*to_values(args), **to_values(kwargs))._plan

    members = {"__init__": __init__, "__doc__": kind.__doc__, "__module__": __name__, "_made": staticmethod(_make)}
    return type(kind.__name__, (Dataset,), members)


if TYPE_CHECKING:
    from feedline.tf.data.methods import (
        CsvDataset,
        FixedLengthRecordDataset,
        SqlDataset,
        TextLineDataset,
        TFRecordDataset,
    )
else:
    TFRecordDataset = _on_tensors(_readers.TFRecordDataset)
    TextLineDataset = _on_tensors(_readers.TextLineDataset)
    FixedLengthRecordDataset = _on_tensors(_readers.FixedLengthRecordDataset)
    CsvDataset = _on_tensors(_readers.CsvDataset)
    SqlDataset = _on_tensors(_readers.SqlDataset)
