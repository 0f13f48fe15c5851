"""The datasets that read files, as classes. What each constructor takes and does is written where its operator is.

A dataset made from one of them, for instance with `map`, is a plain `Dataset`.
"""

from __future__ import annotations

from typing import Any

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


class TFRecordDataset(Dataset[bytes]):
    __doc__ = _tfrecord_dataset.tfrecord_dataset.__doc__
    __init__ = _tfrecord_dataset.tfrecord_dataset
    __getitem__ = _at.item


class TextLineDataset(Dataset[bytes]):
    __doc__ = _text_line_dataset.text_line_dataset.__doc__
    __init__ = _text_line_dataset.text_line_dataset


class SqlDataset(Dataset[Any]):
    __doc__ = _sql_dataset.sql_dataset.__doc__
    __init__ = _sql_dataset.sql_dataset


class CsvDataset(Dataset[Any]):
    __doc__ = _csv_dataset.csv_dataset.__doc__
    __init__ = _csv_dataset.csv_dataset


class FixedLengthRecordDataset(Dataset[bytes]):
    __doc__ = _fixed_length_record_dataset.fixed_length_record_dataset.__doc__
    __init__ = _fixed_length_record_dataset.fixed_length_record_dataset


class ParquetDataset(Dataset[Any]):
    __doc__ = _parquet_dataset.parquet_dataset.__doc__
    __init__ = _parquet_dataset.parquet_dataset


class ArrowDataset(Dataset[Any]):
    __doc__ = _arrow_dataset.arrow_dataset.__doc__
    __init__ = _arrow_dataset.arrow_dataset


class TarDataset(Dataset[dict[str, bytes]]):
    __doc__ = _tar_dataset.tar_dataset.__doc__
    __init__ = _tar_dataset.tar_dataset


class ArrayRecordDataset(Dataset[bytes]):
    __doc__ = _array_record_dataset.array_record_dataset.__doc__
    __init__ = _array_record_dataset.array_record_dataset
    __getitem__ = _at.item
