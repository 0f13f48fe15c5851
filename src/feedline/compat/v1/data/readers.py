"""Datasets that read files, in a graph: file names and all other arguments may be symbolic."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from feedline.compat.v1.data.dataset import Dataset, in_graph
from feedline.data import readers

if TYPE_CHECKING:
    from feedline.compat.v1.data.methods import FixedLengthRecordDatasetInit, TextLineDatasetInit, TFRecordDatasetInit
else:
    FixedLengthRecordDatasetInit = TextLineDatasetInit = TFRecordDatasetInit = Dataset


def _constructor(reader: type[Any]) -> Any:
    """The `__init__` of a v1 dataset class with the arguments of `reader`."""
    make = in_graph(reader)

    @functools.wraps(reader.__init__)
    def init(self: Dataset[Any], *args: Any, **kwargs: Any) -> None:
        self._plan = make(*args, **kwargs)._plan

    return init


def in_graph_class(reader: type[Any]) -> type[Dataset[Any]]:
    """A subclass of `v1.data.Dataset` that corresponds to `reader`, a subclass of `fl.Dataset`."""
    body = {"__init__": _constructor(reader), "__doc__": reader.__doc__, "__module__": __name__}
    return type(reader.__name__, (Dataset,), body)


class TFRecordDataset(TFRecordDatasetInit):
    """The records of TFRecord files, like `fl.TFRecordDataset`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     files = v1.placeholder(fl.string, shape=[None])
    ...     v1.data.TFRecordDataset(files).output_types
    fl.string
    """

    if not TYPE_CHECKING:
        __init__ = _constructor(readers.TFRecordDataset)


class TextLineDataset(TextLineDatasetInit):
    """The lines of text files, like `fl.TextLineDataset`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     files = v1.placeholder(fl.string, shape=[None])
    ...     v1.data.TextLineDataset(files).output_shapes
    fl.TensorShape([])
    """

    if not TYPE_CHECKING:
        __init__ = _constructor(readers.TextLineDataset)


class FixedLengthRecordDataset(FixedLengthRecordDatasetInit):
    """Records of a fixed number of bytes, like `fl.FixedLengthRecordDataset`.

    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default():
    ...     files = v1.placeholder(fl.string, shape=[None])
    ...     v1.data.FixedLengthRecordDataset(files, record_bytes=4).output_types
    fl.string
    """

    if not TYPE_CHECKING:
        __init__ = _constructor(readers.FixedLengthRecordDataset)
