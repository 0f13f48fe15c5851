"""`ArrowDataset`: the rows of Arrow files and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.io.arrow.ipc import ArrowReader
from feedline.ops.sources.tables import TableFiles, table
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer


@node
class ArrowRows(TableFiles):
    """Rows of Arrow files and streams."""

    op: ClassVar[str] = "ArrowDataset"
    opener: ClassVar[Any] = ArrowReader


def arrow_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    columns: Sequence[str] | None = None,
    batch_size: Integer | None = None,
    drop_remainder: bool = False,
    fill_null: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> None:
    """The rows of one or more files in Arrow's IPC format, which includes Feather files, as dicts.

    >>> import pyarrow.feather, tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.arrow"
    >>> pyarrow.feather.write_feather(pyarrow.table({"name": ["Ada", "Bob"], "age": [3, 5]}), path)
    >>> list(fl.ArrowDataset(path))
    [{'name': b'Ada', 'age': np.int64(3)}, {'name': b'Bob', 'age': np.int64(5)}]

    Arguments, types and nulls are those of `fl.ParquetDataset`. Files and streams are distinguished by their first
    bytes.

    Each record batch is read whole and fully validated before use, which costs up to 0.02 ms per MB for numbers and
    lists and about 0.1 ms per MB for text, whose UTF-8 is checked. A corrupt batch raises `DataLossError` with the rows
    it contains. Rows of a local file can be read in any order; the file is memory-mapped for that. A stream or a remote
    file has no known length and is read from the beginning, also by a restored iterator.
    """
    self._plan = table(ArrowRows, filenames, columns, fill_null, batch_size, drop_remainder)
