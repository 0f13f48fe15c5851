"""What functions of the user's may call when they are run for many rows, or make datasets of: see plan/columnar."""

from __future__ import annotations

from feedline.io.csv.decode import decode_csv
from feedline.io.fixed import decode_raw
from feedline.ops.sources.csv_dataset import csv_dataset
from feedline.ops.sources.fixed_length_record_dataset import fixed_length_record_dataset
from feedline.ops.sources.text_line_dataset import text_line_dataset
from feedline.ops.sources.tfrecord_dataset import tfrecord_dataset
from feedline.plan.columnar import register, register_source, row_by_row

register(decode_csv, row_by_row(decode_csv))
register(decode_raw, row_by_row(decode_raw))
for _source in (csv_dataset, fixed_length_record_dataset, text_line_dataset, tfrecord_dataset):
    register_source(_source)
