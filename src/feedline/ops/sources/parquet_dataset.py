"""`ParquetDataset`: the rows of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from feedline.io.arrow.parquet import ParquetReader
from feedline.ops.sources.tables import TableFiles, table
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer


@node
class ParquetRows(TableFiles):
    """Rows of Parquet files."""

    op: ClassVar[str] = "ParquetDataset"
    opener: ClassVar[Any] = ParquetReader


def parquet_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    columns: Sequence[str] | None = None,
    batch_size: Integer | None = None,
    drop_remainder: bool = False,
    fill_null: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> None:
    """The rows of one or more Parquet files, as dicts with an item per column.

    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.parquet"
    >>> pets = {"name": ["Ada", "Bob"], "age": [3, None], "toys": [["ball"], []]}
    >>> pyarrow.parquet.write_table(pyarrow.table(pets), path)
    >>> list(fl.ParquetDataset(path, columns=["name", "age"], fill_null={"age": -1}))
    [{'name': b'Ada', 'age': np.int64(3)}, {'name': b'Bob', 'age': np.int64(-1)}]

    `columns` are those to read, in that order; by default all. Strings become `bytes`, dates and times the stored
    integers, lists arrays, of varying length unless their size is fixed, and structs dicts. A null raises
    `InvalidArgumentError` with its file and row, and iteration can continue after it, unless `fill_null` has a value
    for the nulls of the column and those inside its lists; a list that is null then becomes empty.

    With a `batch_size` the elements are batches, in which lists of varying length are ragged tensors.

    >>> list(fl.ParquetDataset(path, columns=["name", "toys"], batch_size=2))
    [{'name': array([b'Ada', b'Bob'], dtype=object), 'toys': <fl.RaggedTensor [[b'ball'], []]>}]

    The first file is opened immediately; the others must have the same columns. The number of rows is known, and they
    can be read in any order, with `global_shuffle` and `experimental.at`, which read whole row groups. A restored
    iterator skips the row groups before its position. Requires pyarrow: `pip install 'feedline[parquet]'`.
    """
    self._plan = table(ParquetRows, filenames, columns, fill_null, batch_size, drop_remainder)
