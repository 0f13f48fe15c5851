"""`experimental.CsvDataset`: the records of CSV files, field by field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.csv.columns import columns_of
from feedline.io.csv.decode import one_byte
from feedline.io.csv.records import CsvReader, Format
from feedline.io.reader import RecordReader
from feedline.io.stream import checked_compression
from feedline.ops.sources.files import Files, names_plan, optional_integer
from feedline.plan.arguments import boolean, integer, text
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.node import node
from feedline.structure.spec import TensorSpec

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer

OP = "CsvDataset"


@node
class CsvRecords(Files):
    """Records of CSV files, as tuples."""

    op: ClassVar[str] = OP
    reader: ClassVar[type[RecordReader]] = CsvReader
    form: Format
    compression_type: str = ""
    buffer_size: int | None = None
    ignore_errors: bool = False

    @property
    def skips_errors(self) -> bool:
        """Whether errors are ignored."""
        return self.ignore_errors

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one CSV file."""
        return CsvReader(name, self.form, self.compression_type, self.buffer_size)

    def spec(self) -> Any:
        """A scalar per column."""
        return tuple(TensorSpec((), column.dtype) for column in self.form.columns)


def csv_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    record_defaults: object,
    compression_type: str | None = None,
    buffer_size: Integer | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    exclude_cols: Sequence[int] | None = None,
) -> None:
    """The records of one or more CSV files, as tuples with an item per column.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.csv"
    >>> fl.io.write_file(path, "name,age\\nAda,3\\nBob,\\n")
    >>> list(fl.experimental.CsvDataset(path, [fl.string, [0]], header=True))
    [(b'Ada', np.int32(3)), (b'Bob', np.int32(0))]

    `record_defaults` has an item per column: a dtype (float32, float64, int32, int64 or string) if a value is required,
    or a default for missing values. Write a default as `[1]`: the plain numbers 1, 2, 3, 7 and 9 are TensorFlow's
    numbers of float32, float64, int32, string and int64. A field is missing if it is empty or equals `na_value`. With
    `header` the first record of each file is skipped. Quoted fields may contain delimiters, line ends and doubled
    quotes. `select_cols` are the numbers of the columns to read, `exclude_cols` those to leave out. A record that
    cannot be read raises `InvalidArgumentError` with its file and number, and iteration can continue after it.
    `compression_type` is "GZIP", "ZLIB", "ZSTD" or ""; "AUTO" detects it from each file's first bytes.
    """
    form = Format(
        columns_of(record_defaults, OP, dtypes_allowed=True),
        boolean(header, "header", OP),
        one_byte(field_delim, OP),
        boolean(use_quote_delim, "use_quote_delim", OP),
        os.fsencode(text(na_value, "na_value", OP)),
        _numbers(select_cols, "select_cols"),
        _numbers(exclude_cols, "exclude_cols"),
    )
    if form.select and form.exclude:
        raise InvalidArgumentError(f"{OP}: pass either select_cols or exclude_cols, not both")
    if form.select and len(form.select) != len(form.columns):
        raise InvalidArgumentError(
            f"{OP}: select_cols and record_defaults must have the same length, got {len(form.select)} and "
            f"{len(form.columns)}"
        )
    size = optional_integer(buffer_size, "buffer_size", OP)
    if size is not None and size <= 0:
        raise InvalidArgumentError(f"{OP}: buffer_size must be greater than zero, got {size}")
    if isinstance(filenames, DatasetBase):
        raise InvalidTypeError(f"{OP}: filenames must be names, got a dataset; use interleave to read from one")
    self._plan = CsvRecords(names_plan(filenames, OP), 1, form, checked_compression(compression_type), size)


def _numbers(columns: Sequence[int] | None, name: str) -> tuple[int, ...]:
    if columns is not None and not isinstance(columns, (list, tuple, range, np.ndarray)):
        raise InvalidTypeError(f"{OP}: {name} must be a list of integers, got {columns!r}")
    numbers = tuple(integer(c, name, OP) for c in (() if columns is None else np.atleast_1d(columns).tolist()))
    if list(numbers) != sorted(set(numbers)) or (numbers and numbers[0] < 0):
        raise InvalidArgumentError(f"{OP}: {name} must be increasing and not negative, got {list(numbers)}")
    return numbers
