"""feedline functions that vectorized user functions may call: see plan/vectorize."""

from __future__ import annotations

from typing import Any

from feedline.io.csv.decode import decode_csv, decode_csv_column
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
from feedline.plan.vectorize.rows import Call, RowValues
from feedline.structure.strings import Bytes


def _of_strings(function: Call, of_column: Call) -> Call:
    """The version of a function of strings for rows: those that lie in one buffer are not made objects, if `of_column`
    can do without.
    """
    of_objects = row_by_row(function)

    def version(first: object, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, RowValues) and isinstance(first.column, Bytes) and first.column.size is None:
            made = of_column(first.column, *args, **kwargs)
            if made is not None:
                return [RowValues(a, True) for a in made] if type(made) is list else RowValues(made, True)
        return of_objects(first, *args, **kwargs)

    return version


register(decode_csv, _of_strings(decode_csv, decode_csv_column))
register(decode_raw, _of_strings(decode_raw, decode_raw_column))
register_form(parse_example, ExampleForm("parse_example"))
register_form(parse_single_example, ExampleForm("parse_single_example"))
register_form(parse_sequence_example, SequenceForm("parse_sequence_example"))
register_form(parse_single_sequence_example, SequenceForm("parse_single_sequence_example"))
register_values(FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature, VarLenFeature, *PARTITIONS)
