"""Fields of CSV files as numbers, where that loses nothing: `007`, `+49` and `1_000` stay text, and so do whole numbers
that no dtype holds exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from feedline.structure.block import Array

_DIGITS = rb"-?(?:0|[1-9][0-9]{0,19})"
_DECIMAL = rb"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:nan|inf(?:inity)?)"
EXACT, MOST_DIGITS = 15, 309
"""Whole numbers of at most 15 digits are exact as floats; those of 309 and more are larger than any."""


def _all(one: bytes) -> re.Pattern[bytes]:
    """Matches fields, joined by line ends, that are all numbers of this form; blanks around them do not matter."""
    field = rb"[ \t]*(?:" + one + rb")[ \t]*"
    return re.compile(field + rb"(?:\n" + field + rb")*", re.IGNORECASE)


_WHOLE, _NUMBERS = _all(_DIGITS), _all(_DECIMAL)


def numbers_of(fields: Sequence[bytes]) -> Array | None:
    """The fields as int64, uint64 or float64; None if one of them is text, or would not be the same as a number.

    >>> from feedline.tools.shared.csv_fields import numbers_of
    >>> numbers_of([b"1", b"2"]), numbers_of([b"1", b"2.5"]), numbers_of([b"1", b"007"])
    (array([1, 2]), array([1. , 2.5]), None)
    """
    joined = b"\n".join(fields)
    if fields and joined.count(b"\n") != len(fields) - 1:  # quoted fields of several lines
        return None
    if not fields or _WHOLE.fullmatch(joined):
        values = [int(field) for field in fields]
        for dtype in (np.int64, np.uint64):
            try:
                return np.array(values, dtype)
            except OverflowError:
                continue
        return None
    if not _NUMBERS.fullmatch(joined) or not all(map(_is_exact, fields)):
        return None
    return np.array([float(field) for field in fields])


def _is_exact(field: bytes) -> bool:
    """Whether a float holds a whole number; fields with a fraction or an exponent are rounded as usual."""
    digits = field.strip().lstrip(b"-")
    if len(digits) <= EXACT or not digits.isdigit():
        return True
    return len(digits) < MOST_DIGITS and int(float(digits)) == int(digits)
