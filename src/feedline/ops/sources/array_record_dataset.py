"""`ArrayRecordDataset`: the records of ArrayRecord files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.errors import InvalidTypeError
from feedline.io.array_record import ArrayRecordReader, needed
from feedline.io.reader import RecordReader
from feedline.ops.sources.counted_files import CountedFiles
from feedline.ops.sources.files import names_plan
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames


@node
class ArrayRecords(CountedFiles):
    """Records of ArrayRecord files, as strings."""

    op: ClassVar[str] = "ArrayRecordDataset"

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one file."""
        return ArrayRecordReader(name)


def array_record_dataset(self: Dataset[Any], filenames: Filenames, name: str | None = None) -> None:
    """The records of one or more ArrayRecord files, as `bytes`.

    >>> import tempfile
    >>> from array_record.python.array_record_module import ArrayRecordWriter
    >>> path = f"{tempfile.mkdtemp()}/words.array_record"
    >>> writer = ArrayRecordWriter(path, "group_size:1")
    >>> for word in (b"one", b"two", b"three"):
    ...     _ = writer.write(word)
    >>> writer.close()
    >>> ds = fl.ArrayRecordDataset(path)
    >>> list(ds), int(ds.cardinality()), fl.experimental.at(ds, 2)
    ([b'one', b'two', b'three'], 3, b'three')

    `filenames` is a name or a list of names. The number of records is known, and they can be read in any order, with
    `global_shuffle` and `experimental.at`; that is fast if the files were written with a small `group_size`. A corrupt
    record raises `DataLossError` with its file and number, and iteration can continue after it. Requires the package
    array_record, which reads only local files.
    """
    needed()
    if isinstance(filenames, DatasetBase):
        raise InvalidTypeError(
            "ArrayRecordDataset: filenames must be names, got a dataset; use interleave to read from one"
        )
    self._plan = ArrayRecords(names_plan(filenames, "ArrayRecordDataset"), 1)
