"""feedline functions that vectorized user functions may call, or use to make datasets: see plan/vectorize."""

from __future__ import annotations

from typing import Any

from feedline.io.csv.decode import decode_csv
from feedline.io.fixed import decode_raw
from feedline.io.parsing.example import parse_rows, parse_single_example
from feedline.io.parsing.features import FixedLenFeature
from feedline.plan.vectorize import RowValues, register, register_values, row_by_row


def _parsed(first: Any, features: Any, example_names: Any = None, name: Any = None) -> Any:
    """The features of one example per row; all rows have the same sizes."""
    if not isinstance(first, RowValues):
        return parse_single_example(first, features, example_names, name)
    return {key: RowValues(column) for key, column in parse_rows(first.data, features, example_names).items()}


register(decode_csv, row_by_row(decode_csv))
register(decode_raw, row_by_row(decode_raw))
register(parse_single_example, _parsed)
register(FixedLenFeature, FixedLenFeature)
register_values(FixedLenFeature)
