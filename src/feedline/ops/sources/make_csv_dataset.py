"""`experimental.make_csv_dataset`: CSV files as batches of named columns."""

from __future__ import annotations

import math
import os
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io.csv.columns import Column, columns_of
from feedline.io.csv.decode import one_byte
from feedline.io.csv.inference import Dialect, column_types
from feedline.io.csv.inference import column_names as names_in
from feedline.io.csv.records import Format
from feedline.io.files import as_paths, matching_files, shown
from feedline.io.stream import checked_compression
from feedline.ops.batch import batch
from feedline.ops.prefetch import prefetch
from feedline.ops.repeat import repeat
from feedline.ops.shared.arrange import arranged
from feedline.ops.shuffle import shuffle as shuffle_
from feedline.ops.sources.csv_dataset import CsvRecords
from feedline.ops.sources.files import parallel_reads
from feedline.plan.arguments import AUTOTUNE, boolean, text
from feedline.plan.dataset_base import DatasetBase, dataset, in_memory
from feedline.structure.block import Block
from feedline.structure.nest import LEAF

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer

OP = "make_csv_dataset"


def make_csv_dataset(
    file_pattern: Filenames,
    batch_size: Integer,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: Integer | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: Integer = 10000,
    shuffle_seed: SupportsIndex | None = None,
    prefetch_buffer_size: Integer | None = None,
    num_parallel_reads: Integer | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset[Any]:
    """Batches of the columns of CSV files: each a dict of arrays by column name, or a dict and a label.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/pets.csv"
    >>> fl.io.write_file(path, "name,age,kind\\nAda,3,cat\\nBob,,dog\\n")
    >>> ds = fl.experimental.make_csv_dataset(path, 2, label_name="kind", num_epochs=1, shuffle=False)
    >>> for features, label in ds:
    ...     print(features["name"], features["age"], label)
    [b'Ada' b'Bob'] [3 0] [b'cat' b'dog']

    Names come from the first line, unless `column_names` gives them; types from the first `num_rows_for_inference`
    records, unless `column_defaults` gives a type or a default for each column, as in `CsvDataset`. `select_columns`
    are names or numbers; `label_name` is removed from the dict and becomes the label. `num_parallel_reads` of the files
    that match `file_pattern` are read round robin. Files and records are shuffled unless `shuffle` is False, and
    repeated `num_epochs` times, by default endlessly; batches may span epochs. With `ignore_errors`, unreadable records
    are skipped. The order never depends on `sloppy`.
    """
    files = _files(file_pattern)
    compression = checked_compression(compression_type)
    delimiter, na, code = one_byte(field_delim, OP), text(na_value, "na_value", OP), text(encoding, "encoding", OP)
    head, quotes = boolean(header, "header", OP), boolean(use_quote_delim, "use_quote_delim", OP)
    sample_rows = _rows(num_rows_for_inference)
    names = dataset(in_memory(Block([files], len(files), LEAF)))
    if shuffle:
        names = shuffle_(names, len(files), shuffle_seed)

    dialect = Dialect(delimiter.decode("latin-1"), quotes, compression, code)
    columns = list(column_names) if column_names is not None else _header_names(files.tolist(), head, dialect)
    odd = next((c for c in columns if isinstance(c, DatasetBase)), None)
    if odd is not None or isinstance(column_names, DatasetBase):
        raise InvalidTypeError(f"{OP}: column_names must be a list of strings, got {column_names!r}")
    if len(set(columns)) != len(columns):
        twice = sorted({c for c in columns if columns.count(c) > 1})
        raise InvalidArgumentError(f"{OP}: duplicate column names {twice}; pass column_names")
    selected = range(len(columns)) if select_columns is None else _selected(select_columns, columns)
    defaults: Sequence[Column]
    if column_defaults is not None:
        defaults = columns_of(column_defaults, OP, dtypes_allowed=True)
    else:
        defaults = column_types(files.tolist(), dialect, len(columns), head, na, sample_rows, selected, OP)
    if select_columns is not None and len(defaults) != len(selected):
        raise InvalidArgumentError(
            f"{OP}: column_defaults and select_columns must have the same length, got {len(defaults)} and "
            f"{len(selected)}"
        )
    if len(defaults) < len(selected):
        raise InvalidArgumentError(
            f"{OP}: column_defaults must have a type or a default for each of the {len(selected)} columns {columns}, "
            f"got {len(defaults)}; select_columns reads only some columns"
        )
    kept = [columns[i] for i in selected]
    if label_name is not None and label_name not in kept:
        raise InvalidArgumentError(f"{OP}: label_name must be one of the columns {kept}, got {label_name!r}")

    select = () if select_columns is None else tuple(selected)
    form = Format(tuple(defaults), head, delimiter, quotes, os.fsencode(na), select)
    cycle = parallel_reads(num_parallel_reads, OP)
    rows = dataset(CsvRecords(names._plan, cycle, form, compression, None, ignore_errors))
    if shuffle:
        rows = shuffle_(rows, shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        rows = repeat(rows, num_epochs)
    batches = batch(rows, batch_size, drop_remainder=num_epochs is None)
    named = batches._derive(arranged(batches._plan, _pattern(kept, label_name)))
    return prefetch(named, AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _files(pattern: object) -> Any:
    if isinstance(pattern, list) and not pattern:
        raise InvalidArgumentError(f"{OP}: file_pattern must not be empty")
    found = matching_files(pattern)
    if not len(found):
        raise InvalidArgumentError(f"{OP}: no files match {', '.join(map(shown, as_paths(pattern)))}")
    return found


def _header_names(files: list[bytes], header: bool, dialect: Dialect) -> list[str]:
    if not header:
        raise InvalidArgumentError(f"{OP}: column_names is required for files without a header")
    return names_in(files, dialect, OP)


def _selected(select: Sequence[Any], columns: list[str]) -> list[int]:
    """Column names and numbers as numbers, in the order of the file."""
    numbers = []
    if isinstance(select, DatasetBase):
        raise InvalidTypeError(f"{OP}: select_columns must be a list of names or numbers, got {select!r}")
    for which in select:
        if isinstance(which, str):
            if which not in columns:
                raise InvalidArgumentError(f"{OP}: select_columns must be among the columns {columns}, got {which!r}")
            numbers.append(columns.index(which))
        elif not isinstance(which, (int, np.integer)):
            raise InvalidTypeError(f"{OP}: select_columns must be names or numbers of columns, got {which!r}")
        elif 0 <= which < len(columns):
            numbers.append(int(which))
        else:
            raise InvalidArgumentError(f"{OP}: select_columns must be from 0 to {len(columns) - 1}, got {which!r}")
    if len(set(numbers)) != len(numbers):
        raise InvalidArgumentError(f"{OP}: select_columns names a column twice: {list(select)}")
    return sorted(numbers)


def _rows(value: object) -> int | None:
    """`num_rows_for_inference` as an int; None for all records."""
    if value is None:
        return None
    if not isinstance(value, (int, float, np.number)):
        raise InvalidTypeError(f"{OP}: num_rows_for_inference must be an integer or None, got {value!r}")
    return min(max(0, math.ceil(value)), sys.maxsize)


def _pattern(names: list[str], label: str | None) -> Any:
    features = OrderedDict((name, i) for i, name in enumerate(names))
    return features if label is None else (features, features.pop(label))
