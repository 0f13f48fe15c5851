"""What the readers of tables share: rows from batches, nulls and errors in order, random access."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from feedline.errors import DataLossError, InvalidArgumentError, OpError, UnimplementedError
from feedline.io.arrow import needed
from feedline.io.arrow.columns import ArrowRowBatch, Problem, TableSchema, form_of, leaf_types, rows_of, without_dtype
from feedline.io.files import as_op_error, shown, system_path
from feedline.io.reader import END, CountedReader, FilePosition, Read
from feedline.io.record_file import RecordFile
from feedline.io.remote import RemoteFile
from feedline.io.stream import LocalFile
from feedline.structure.block import Array, Block, concat

KEEP = 1 << 26
"""Bytes of a table's parts that are cached for random access."""
LARGEST_PART = 1 << 28
"""Larger parts are not kept whole when single rows of them are read."""
MOST_ROWS = 1 << 62
"""An upper bound of the rows of a file: row numbers are int64."""


class TableReader(CountedReader):
    """An open file of rows in parts. A position is the number of a row. Subclasses define the parts."""

    kind = "table"

    def __init__(
        self,
        name: bytes,
        columns: Sequence[str] | None = None,
        fill: Mapping[str, Any] | None = None,
        form: TableSchema | None = None,
        whole: bool = False,
    ) -> None:
        """With `whole`, columns without a dtype are allowed: they are not in rows, only in the batches of `stored`."""
        self.name = name
        self._raw: LocalFile | RemoteFile | None = None
        self._fill = fill or {}
        self._file: Any = None
        self._rows: ArrowRowBatch | None = None
        self._first = 0
        self._next: Iterator[tuple[int, ArrowRowBatch]] | None = None
        self._failure: OpError | None = None
        self._kept: OrderedDict[int, ArrowRowBatch] = OrderedDict()
        self._parts_held: OrderedDict[int, tuple[int, Any]] = OrderedDict()
        with self._errors_converted():
            self._raw = LocalFile(here) if (here := system_path(name)) is not None else RemoteFile(name)
            self.file = RecordFile.of((), name, self._raw.identity)
            try:
                self._raw.read(0)  # reports errors more precisely than Arrow
                schema = self.open()
            except BaseException:
                self.close()
                raise
            try:
                self._types = leaf_types(schema)
                wanted = list(schema.names if columns is None else columns)
                left_out = without_dtype(schema, wanted) if whole else ()
                names = [name for name in wanted if name not in left_out]
                self.form = form_of(schema, names if form is None else form.tree.keys)
                self.schema, self.names = schema, wanted if form is None else list(form.tree.keys)
            except BaseException as e:
                self.close()
                if isinstance(e, Problem):
                    raise InvalidArgumentError(f"{shown(name)}: {e}") from None
                raise
        if form is not None:
            self._check_schema(form)

    # Defined by subclasses.

    def open(self) -> Any:
        """Opens the file as `_file`; returns its schema."""
        raise TypeError(f"{type(self).__name__} does not define open")

    def parts_from(self, row: int) -> Iterator[tuple[int, Any]]:
        """Record batches, beginning at or before the one with this row, and the number of the first row of each."""
        raise TypeError(f"{type(self).__name__} does not define parts_from")

    @property
    def starts(self) -> Array | None:
        """The numbers of the first rows of the parts that can be read separately, followed by the number of all rows;
        None if there are no such parts.
        """
        return None

    def part(self, i: int) -> Any:
        """Part i, as a record batch."""
        raise TypeError(f"{type(self).__name__} does not define part")

    # Shared by all.

    @property
    def count(self) -> int | None:
        """The number of rows; None if the parts are unknown."""
        with self._errors_converted():
            return None if self.starts is None else int(self.starts[-1])

    def counted(self, counts: Iterable[int]) -> Array:
        """`starts` for parts with these numbers of rows."""
        ends = list(accumulate(counts, initial=0))
        if ends[-1] > MOST_ROWS or any(a > b for a, b in pairwise(ends)):
            raise DataLossError(f"{shown(self.name)} is corrupt: its parts add up to {max(ends)} rows")
        return np.array(ends, np.int64)

    def read(self, place: FilePosition, want: int) -> Read:
        """The next rows, as far as they are decoded, up to one with a null."""
        row = place.number
        try:
            if not self._at(row):
                return END if self._failure is None else Read(None, None, self._failure)
        except OpError as e:
            return Read(None, None, e)
        assert self._rows is not None
        at = row - self._first
        stop = min(at + want, self._rows.block.n)
        bad = self._rows.first_bad(at)
        if bad is not None and bad[0] == at:
            return Read(None, FilePosition(row + 1, row + 1), self._null(row, bad[1]))
        if bad is not None:
            stop = min(stop, bad[0])
        return Read(self._rows.block.slice(at, stop), FilePosition(self._first + stop, self._first + stop))

    def read_with_nulls(self, place: FilePosition, want: int) -> tuple[Read, dict[str, Array]]:
        """The next rows, those with nulls included, and the numbers of these within the rows, by column."""
        row = place.number
        try:
            with self._errors_converted():
                found = self._part_with(row)
                if found is None:
                    return END, {}
                first, batch = found
                block, nulls = self._rows_of(batch.slice(row - first, want), row)
        except OpError as e:
            return Read(None, None, e), {}
        return Read(block, FilePosition(row + block.n, row + block.n)), nulls

    def stored_rows(self, row: int, want: int) -> Any:
        """Rows from a number on as they are in the file, as far as its part goes; None past the end."""
        with self._errors_converted():
            found = self._part_with(row)
            return None if found is None else found[1].slice(row - found[0], want)

    def _part_with(self, row: int) -> tuple[int, Any] | None:
        """The part with a row, which is kept, and the number of its first row; None past the end. Large parts are read
        up to the row, in pieces.
        """
        for first, batch in self._parts_held.values():
            if first <= row < first + batch.num_rows:
                return first, batch
        starts, found = self.starts, None
        i = -1 if starts is None or row >= starts[-1] else int(np.searchsorted(starts, row, "right")) - 1
        if starts is not None and i >= 0 and self.part_bytes(i) <= LARGEST_PART:
            found = int(starts[i]), self.part(i)
        elif i >= 0 or starts is None:
            found = next(((first, b) for first, b in self.parts_from(row) if row < first + b.num_rows), None)
        if found is not None:
            self._parts_held[found[0]] = found
            while len(self._parts_held) > 1 and sum(b.nbytes for _, b in self._parts_held.values()) > LARGEST_PART:
                self._parts_held.popitem(last=False)
        return found

    def part_bytes(self, i: int) -> int:
        """About the memory that part i takes."""
        return 0

    def arrow_types(self) -> dict[str, str]:
        """Arrow's name for the type of each column's values, by the column's path."""
        return dict(self._types)

    def batches(self) -> Iterator[ArrowRowBatch]:
        """All rows, those with nulls included, piece by piece."""
        for _, rows in self._parts(0):
            yield rows
        if self._failure is not None:
            raise self._failure

    def stored(self) -> Iterator[Any]:
        """All record batches as they are in the file."""
        with self._errors_converted():
            for first, batch in self.parts_from(0):
                if batch.num_rows:
                    self._validate(batch, first)
                    yield batch

    def take(self, index: Array) -> Block:
        """The rows with these numbers, in fresh memory."""
        starts = self.starts
        assert starts is not None
        which = np.searchsorted(starts, index, "right") - 1
        blocks = []
        for i in np.unique(which).tolist():
            rows, wanted = self._whole(i), index[which == i] - starts[i]
            for path, bad in rows.bad.items():
                nulls = wanted[np.isin(wanted, bad)]
                if len(nulls):
                    raise self._null(int(starts[i] + nulls[0]), path)
            blocks.append(rows.block.take(wanted))
        back = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        return blocks[0] if len(blocks) == 1 else concat(blocks).take(back)

    def close(self) -> None:
        """Closes the file."""
        self._next = None
        self._parts_held.clear()
        file, self._file = self._file, None
        if file is not None:
            file.close()
        if self._raw is not None:
            self._raw.close()

    def check_unchanged(self) -> None:
        """Raises if the file has changed since it was opened."""
        if self._raw is not None:
            self._raw.check_unchanged()

    def source(self) -> Any:
        """A file for Arrow to read from: a local one, or a remote one with read-ahead."""
        pa = needed("Arrow")
        if isinstance(self._raw, RemoteFile):
            if not self._raw.seekable:
                raise UnimplementedError(
                    f"{shown(self.name)}: its server does not support range requests, with which tables are read; "
                    "copy it to a local file first, with fl.io.gfile.copy"
                )
            return pa.PythonFile(self._raw.as_io(), mode="r")
        return pa.OSFile(shown(system_path(self.name) or b""))

    def _at(self, row: int) -> bool:
        """Moves to the part with this row; False past the end."""
        held = self._first <= row < self._first + (self._rows.block.n if self._rows is not None else 0)
        if held:
            return True
        if self._next is None or self._rows is None or row != self._first + self._rows.block.n:
            self._rows, self._failure = None, None
            self._next = self._parts(row)
        for first, rows in self._next:
            self._first, self._rows = first, rows
            if row < first + rows.block.n:
                return True
        self._rows, self._next = None, None
        return False

    def _parts(self, row: int) -> Iterator[tuple[int, ArrowRowBatch]]:
        """The parts from a row on, as rows. An error ends them, and is raised after the rows before it."""
        try:
            with self._errors_converted():
                for first, batch in self.parts_from(row):
                    if first + batch.num_rows > row and batch.num_rows:
                        yield first, self._rows_of(batch, first)
        except OpError as e:
            self._failure = e

    def _rows_of(self, batch: Any, first: int) -> ArrowRowBatch:
        """A record batch as rows."""
        self._validate(batch, first)
        return rows_of(batch, self.form, self._fill)

    def _validate(self, batch: Any, first: int) -> None:
        """Raises if a batch is damaged: Arrow does not check the bounds of offsets, indices and lengths."""
        try:
            batch.validate(full=True)
        except needed("Arrow").ArrowInvalid as e:
            raise self._damaged(e, f", rows {first} to {first + batch.num_rows - 1}") from None

    def _whole(self, i: int) -> ArrowRowBatch:
        found = self._kept.get(i)
        if found is None:
            with self._errors_converted():
                assert self.starts is not None
                found = self._kept[i] = self._rows_of(self.part(i), int(self.starts[i]))
            while len(self._kept) > 1 and sum(r.block.nbytes for r in self._kept.values()) > KEEP:
                self._kept.popitem(last=False)
        self._kept.move_to_end(i)
        return found

    def _check_schema(self, form: TableSchema) -> None:
        """Raises unless the columns are those of the first file."""
        if self.form == form:
            return
        self.close()
        ours, theirs = ({leaf.path: leaf for leaf in f.leaves} for f in (self.form, form))
        path = next(p for p in {**theirs, **ours} if ours.get(p) != theirs.get(p))
        got, want = (f[path].spec if path in f else "missing" for f in (ours, theirs))
        raise InvalidArgumentError(
            f"{shown(self.name)}: the column {path!r} is {got}, and in the first file {want}; omit it, or "
            "read the files separately"
        )

    def _null(self, row: int, path: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{shown(self.name)}, row {row}: the column {path!r} is null, which an array cannot hold; give a "
            f"value for it, fill_null={{{path!r}: ...}}"
        )

    @contextlib.contextmanager
    def _errors_converted(self) -> Iterator[None]:
        """Turns errors of Arrow or the system into TensorFlow's classes."""
        pa = needed(type(self).__name__)
        try:
            yield
        except OpError:
            raise
        except OSError as e:
            if e.errno:
                raise as_op_error(e, self.name) from None
            raise self._damaged(e) from None
        except (pa.ArrowException, EOFError, UnicodeDecodeError) as e:
            raise self._damaged(e) from None

    def _damaged(self, e: BaseException, where: str = "") -> DataLossError:
        reason = str(e).partition("\n")[0].rstrip(".")
        return DataLossError(f"{shown(self.name)}{where}: not a valid {self.kind}, or truncated or corrupt: {reason}")
