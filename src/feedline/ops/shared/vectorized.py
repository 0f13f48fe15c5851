"""feedline functions that vectorized user functions may call: see plan/vectorize."""

from __future__ import annotations

from typing import Any

from feedline.io.csv.decode import decode_csv
from feedline.io.fixed import decode_raw, decode_raw_column
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
from feedline.plan.vectorize.rows import RowValues
from feedline.structure.strings import Bytes

_decode_raw_objects = row_by_row(decode_raw)


def _decode_raw(first: object, *args: Any, **kwargs: Any) -> Any:
    """The version of `decode_raw` for rows: strings that lie in one buffer are not made objects."""
    if isinstance(first, RowValues) and isinstance(first.column, Bytes) and first.column.size is None:
        numbers = decode_raw_column(first.column, *args, **kwargs)
        if numbers is not None:
            return RowValues(numbers, True)
    return _decode_raw_objects(first, *args, **kwargs)


register(decode_csv, row_by_row(decode_csv))
register(decode_raw, _decode_raw)
register_form(parse_example, ExampleForm("parse_example"))
register_form(parse_single_example, ExampleForm("parse_single_example"))
register_form(parse_sequence_example, SequenceForm("parse_sequence_example"))
register_form(parse_single_sequence_example, SequenceForm("parse_single_sequence_example"))
register_values(FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature, *PARTITIONS)
