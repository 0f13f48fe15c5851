"""`FixedLengthRecordDataset`: the records of binary files with records of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.io.fixed import FixedLengthReader
from feedline.io.reader import RecordReader
from feedline.ops.sources.files import Files, compression, names_plan, optional_integer, parallel_reads
from feedline.plan.arguments import integer
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer


@node
class FixedLengthRecords(Files):
    """Records of one length, as strings."""

    op: ClassVar[str] = "FixedLengthRecordDataset"
    reader: ClassVar[type[RecordReader]] = FixedLengthReader
    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    buffer_size: int | None = None
    compression_type: str | None = None

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one binary file."""
        compression = self.compression_type or ""
        return FixedLengthReader(
            name, self.record_bytes, self.header_bytes, self.footer_bytes, compression, self.buffer_size
        )


def fixed_length_record_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    record_bytes: Integer,
    header_bytes: Integer | None = None,
    footer_bytes: Integer | None = None,
    buffer_size: Integer | None = None,
    compression_type: str | None = None,
    num_parallel_reads: Integer | None = None,
    name: str | None = None,
) -> None:
    """The records of one or more binary files, `record_bytes` long each, as `bytes`.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/records.bin"
    >>> fl.io.write_file(path, b"head" + b"AABBCC")
    >>> list(fl.FixedLengthRecordDataset(path, record_bytes=2, header_bytes=4))
    [b'AA', b'BB', b'CC']

    `filenames` is a name, a list of names, or a dataset of names. Each file has a header and a footer of the given
    sizes, which are skipped; the bytes between must be a whole number of records. `compression_type` is "GZIP", "ZLIB",
    "ZSTD" or ""; "AUTO" detects it from each file's first bytes. `fl.io.decode_raw` converts records to numbers. Files
    are read one after another, or `num_parallel_reads` of them round robin, all by one thread.
    """
    op = "FixedLengthRecordDataset"
    names = names_plan(filenames, op)
    self._plan = FixedLengthRecords(
        names,
        parallel_reads(num_parallel_reads, op),
        integer(record_bytes, "record_bytes", op),
        optional_integer(header_bytes, "header_bytes", op) or 0,
        optional_integer(footer_bytes, "footer_bytes", op) or 0,
        optional_integer(buffer_size, "buffer_size", op),
        compression(compression_type, "FixedLengthRecordDataset"),
    )
