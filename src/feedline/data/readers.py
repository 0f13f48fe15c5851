"""The datasets that read files, as classes. Each constructor is documented with its operator.

A dataset derived from one of them, for instance with `map`, is a plain `Dataset`. The names in `__all__` are public in
`fl`, `fl.data` and the reference; the others are in `fl.experimental`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from feedline.data.dataset import Dataset
from feedline.ops import at as _at
from feedline.ops.sources import array_record_dataset as _array_record_dataset
from feedline.ops.sources import arrow_dataset as _arrow_dataset
from feedline.ops.sources import csv_dataset as _csv_dataset
from feedline.ops.sources import fixed_length_record_dataset as _fixed_length_record_dataset
from feedline.ops.sources import parquet_dataset as _parquet_dataset
from feedline.ops.sources import sql_dataset as _sql_dataset
from feedline.ops.sources import tar_dataset as _tar_dataset
from feedline.ops.sources import text_line_dataset as _text_line_dataset
from feedline.ops.sources import tfrecord_dataset as _tfrecord_dataset
from feedline.plan.vectorize import register_source as _register_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from feedline.io.tfrecord.reader import Corruption
    from feedline.plan.annotations import Filenames, Integer

__all__ = [
    "ArrayRecordDataset",
    "ArrowDataset",
    "FixedLengthRecordDataset",
    "ParquetDataset",
    "TFRecordDataset",
    "TarDataset",
    "TextLineDataset",
]


class TFRecordDataset(Dataset[bytes]):
    __doc__ = _tfrecord_dataset.tfrecord_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        compression_type: str | None = None,
        buffer_size: Integer | None = None,
        num_parallel_reads: Integer | None = None,
        name: str | None = None,
        *,
        on_corrupt: Literal["raise", "skip"] | Callable[[Corruption], object] = "raise",
    ) -> None:
        _tfrecord_dataset.tfrecord_dataset(
            self, filenames, compression_type, buffer_size, num_parallel_reads, name, on_corrupt=on_corrupt
        )

    def __getitem__(self, index: Integer) -> bytes:
        return _at.item(self, index)


class TextLineDataset(Dataset[bytes]):
    __doc__ = _text_line_dataset.text_line_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        compression_type: str | None = None,
        buffer_size: Integer | None = None,
        num_parallel_reads: Integer | None = None,
        name: str | None = None,
    ) -> None:
        _text_line_dataset.text_line_dataset(self, filenames, compression_type, buffer_size, num_parallel_reads, name)


class SqlDataset(Dataset[Any]):
    __doc__ = _sql_dataset.sql_dataset.__doc__

    def __init__(self, driver_name: str, data_source_name: str, query: str, output_types: object) -> None:
        _sql_dataset.sql_dataset(self, driver_name, data_source_name, query, output_types)


class CsvDataset(Dataset[tuple[Any, ...]]):
    __doc__ = _csv_dataset.csv_dataset.__doc__

    def __init__(
        self,
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
        _csv_dataset.csv_dataset(
            self,
            filenames,
            record_defaults,
            compression_type,
            buffer_size,
            header,
            field_delim,
            use_quote_delim,
            na_value,
            select_cols,
            exclude_cols,
        )


class FixedLengthRecordDataset(Dataset[bytes]):
    __doc__ = _fixed_length_record_dataset.fixed_length_record_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        record_bytes: Integer,
        header_bytes: Integer | None = None,
        footer_bytes: Integer | None = None,
        buffer_size: Integer | None = None,
        compression_type: str | None = None,
        num_parallel_reads: Integer | None = None,
        name: str | None = None,
    ) -> None:
        _fixed_length_record_dataset.fixed_length_record_dataset(
            self,
            filenames,
            record_bytes,
            header_bytes,
            footer_bytes,
            buffer_size,
            compression_type,
            num_parallel_reads,
            name,
        )


class ParquetDataset(Dataset[dict[str, Any]]):
    __doc__ = _parquet_dataset.parquet_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        columns: Sequence[str] | None = None,
        batch_size: Integer | None = None,
        drop_remainder: bool = False,
        fill_null: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        _parquet_dataset.parquet_dataset(self, filenames, columns, batch_size, drop_remainder, fill_null, name)


class ArrowDataset(Dataset[dict[str, Any]]):
    __doc__ = _arrow_dataset.arrow_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        columns: Sequence[str] | None = None,
        batch_size: Integer | None = None,
        drop_remainder: bool = False,
        fill_null: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        _arrow_dataset.arrow_dataset(self, filenames, columns, batch_size, drop_remainder, fill_null, name)


class TarDataset(Dataset[dict[str, bytes]]):
    __doc__ = _tar_dataset.tar_dataset.__doc__

    def __init__(
        self,
        filenames: Filenames,
        extensions: Sequence[str] | None = None,
        missing: bytes | str | None = None,
        compression_type: str | None = None,
        buffer_size: Integer | None = None,
        num_parallel_reads: Integer | None = None,
        name: str | None = None,
    ) -> None:
        _tar_dataset.tar_dataset(
            self, filenames, extensions, missing, compression_type, buffer_size, num_parallel_reads, name
        )


class ArrayRecordDataset(Dataset[bytes]):
    __doc__ = _array_record_dataset.array_record_dataset.__doc__

    def __init__(self, filenames: Filenames, name: str | None = None) -> None:
        _array_record_dataset.array_record_dataset(self, filenames, name)

    def __getitem__(self, index: Integer) -> bytes:
        return _at.item(self, index)


for _kind in (CsvDataset, FixedLengthRecordDataset, TFRecordDataset, TextLineDataset):
    _register_source(_kind)
