"""Random access to the records of ArrayRecord files."""

from __future__ import annotations

import contextlib
from typing import Any

from feedline.errors import DataLossError, UnimplementedError
from feedline.io.files import op_errors, shown, system_path
from feedline.io.reader import END, CountedReader, FilePosition, Read, strings
from feedline.io.record_file import RecordFile
from feedline.io.stream import LocalFile
from feedline.structure.block import Array, Block

# Reading ahead helps sequential reads only; here every call names the records it needs.
OPTIONS = "readahead_buffer_size:0"
READ_BYTES = 1 << 24
"""About the most bytes of a file that are read at once."""


class ArrayRecordReader(CountedReader):
    """An open ArrayRecord file. A position is the number of a record."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        library = needed()
        here = system_path(name)
        if here is None:
            raise UnimplementedError(
                f"{shown(name)} is a remote file, and ArrayRecord files are read by record number; copy it to "
                "this machine first, with fl.io.gfile.copy"
            )
        with op_errors(name):
            self._raw = LocalFile(here)  # reports errors more precisely than the library
        self.file = RecordFile.of((), name, self._raw.identity)
        self._file = library.ArrayRecordReader(shown(here), OPTIONS)
        if not self._file.ok():
            try:
                self._file.read([0])
                reason = "it cannot be opened"
            except RuntimeError as e:
                reason = str(e)
            self.close()
            raise DataLossError(f"{shown(name)}: not an ArrayRecord file, or truncated or corrupt: {reason}")
        self._count = int(self._file.num_records())
        self._at_once = max(1, READ_BYTES * self._count // max(1, self._raw.identity.size))

    @property
    def count(self) -> int:
        """The number of records, from the footer."""
        return self._count

    def read(self, place: FilePosition, want: int) -> Read:
        """The next records, not all that are wanted if they are large."""
        start = place.number
        stop = min(start + min(want, self._at_once), self._count)
        if start >= stop:
            return END
        for end in (stop, start + 1):
            try:
                found = self._file.read(start, end)
            except RuntimeError as e:  # one of them is damaged: those before it are returned first, one by one
                error = self._damaged(start, e)
            else:
                return Read(strings(found), FilePosition(end, end))
        return Read(None, FilePosition(start + 1, start + 1), error)

    def take(self, index: Array) -> Block:
        """The records with these numbers."""
        try:
            return strings(self._file.read(index.tolist()))
        except RuntimeError as e:
            raise self._damaged(int(index[0]), e) from None

    def check_unchanged(self) -> None:
        """Raises if the file has changed since it was opened."""
        self._raw.check_unchanged()

    def close(self) -> None:
        """Closes the file."""
        with contextlib.suppress(RuntimeError):  # repeats an error already raised by a read
            self._file.close()
        self._raw.close()

    def _damaged(self, number: int, e: Exception) -> DataLossError:
        reason = str(e).partition("\n")[0]
        return DataLossError(f"{shown(self.name)}, record {number} cannot be read, the file is corrupt: {reason}")


def needed() -> Any:
    """The package array_record; raises an ImportError that says how to install it."""
    try:
        from array_record.python import array_record_module
    except ImportError as e:
        raise ImportError("ArrayRecordDataset needs the package array_record: pip install array_record") from e
    return array_record_module
