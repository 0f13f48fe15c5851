"""feedline functions that vectorized user functions may call: see plan/vectorize."""

from __future__ import annotations

from feedline.io.csv.decode import decode_csv
from feedline.io.fixed import decode_raw
from feedline.io.parsing.example import ExampleForm, parse_example, parse_single_example
from feedline.io.parsing.features import (
    PARTITIONS,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from feedline.io.parsing.sequence import SequenceForm, parse_sequence_example, parse_single_sequence_example
from feedline.plan.vectorize import register, register_form, register_values, row_by_row

register(decode_csv, row_by_row(decode_csv))
register(decode_raw, row_by_row(decode_raw))
register_form(parse_example, ExampleForm("parse_example"))
register_form(parse_single_example, ExampleForm("parse_single_example"))
register_form(parse_sequence_example, SequenceForm("parse_sequence_example"))
register_form(parse_single_sequence_example, SequenceForm("parse_single_sequence_example"))
register_values(FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature, *PARTITIONS)
