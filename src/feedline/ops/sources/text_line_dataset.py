"""`TextLineDataset`: the lines of text files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from feedline.io.reader import RecordReader
from feedline.io.text import TextLineReader
from feedline.ops.sources.files import Files, compression, names_plan, optional_integer, parallel_reads
from feedline.plan.node import node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer


@node
class TextLines(Files):
    """Lines of text files, as strings."""

    op: ClassVar[str] = "TextLineDataset"
    reader: ClassVar[type[RecordReader]] = TextLineReader
    compression_type: str | None = None
    buffer_size: int | None = None

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one text file."""
        return TextLineReader(name, self.compression_type or "", self.buffer_size)


def text_line_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    compression_type: str | None = None,
    buffer_size: Integer | None = None,
    num_parallel_reads: Integer | None = None,
    name: str | None = None,
) -> None:
    """The lines of one or more text files, as `bytes` without line ends.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/poem.txt"
    >>> fl.io.write_file(path, "first line\\nsecond line\\n")
    >>> list(fl.TextLineDataset(path))
    [b'first line', b'second line']

    `filenames` is a name, a list of names, or a dataset of names. `compression_type` is "GZIP", "ZLIB", "ZSTD" or "";
    "AUTO" detects it from each file's first bytes. Files are read one after another, or `num_parallel_reads` of them
    round robin, one line each. The last line needs no line end.

    All files are read by a single thread even with `num_parallel_reads`: that of the consumer, or of a `prefetch`.
    Files are read in large pieces, and passing lines between threads would take longer than reading them.
    """
    names = names_plan(filenames, "TextLineDataset")
    size = optional_integer(buffer_size, "buffer_size", "TextLineDataset")
    cycle = parallel_reads(num_parallel_reads, "TextLineDataset")
    self._plan = TextLines(names, cycle, compression(compression_type, "TextLineDataset"), size)
