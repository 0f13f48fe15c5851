"""`TFRecordDataset`: the records of TFRecord files."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.io.reader import Reader
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.ops.sources.files import Files, names_plan, optional_integer, parallel_reads
from feedline.plan.face import Face
from feedline.plan.node import node


@node
class TFRecords(Files):
    """Records of TFRecord files, as strings."""

    op: ClassVar[str] = "TFRecordDataset"
    compression_type: str | None = None
    buffer_size: int | None = None

    def open_file(self, name: bytes) -> Reader:
        """A reader of one TFRecord file."""
        return TFRecordReader(name, self.compression_type or "", self.buffer_size)


def tfrecord_dataset(
    self: Face[Any],
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> None:
    """The records of one or more TFRecord files, as `bytes`.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/words.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for word in ("one", "two"):
    ...         writer.write(word)
    >>> list(fl.TFRecordDataset(path))
    [b'one', b'two']

    `filenames` is a name, a list of names, or a dataset of names. `compression_type` is "GZIP", "ZLIB" or "". Files are
    read one after another, or `num_parallel_reads` of them in turn, a record each. Checksums are always compared; a
    damaged or cut file raises `DataLossError`, with the file and the number of the record, and iteration can go on with
    the next file. Files are read anew in every iteration, and no more of them than is asked for.
    """
    names = names_plan(filenames, "TFRecordDataset")
    size = optional_integer(buffer_size, "buffer_size", "TFRecordDataset")
    cycle = parallel_reads(num_parallel_reads, "TFRecordDataset")
    self._plan = TFRecords(names, cycle, compression_type, size)
