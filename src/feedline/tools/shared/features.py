"""Rows of any format as columns of values: numbers or strings of one type, any number in each row, or nested values."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.block import Array, Bytes, Objects, object_array
from feedline.structure.ragged import RaggedTensor

BOOL, INT, FLOAT, TEXT, BYTES, NESTED = KINDS = ("bool", "int", "float", "text", "bytes", "nested")
"""The types of values. Text is bytes that are known to be UTF-8. Nested values are Python values, one per row: lists of
lists, objects in lists, and values that have no dtype, such as decimals.
"""
_NUMBERS = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}
SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON lacks, and the strings that are written for them."""
_SPELLED = "spelled"
"""The type of such a string, until the types of the other values in its column are known."""


class ValueColumn(NamedTuple):
    """The values of all rows in one array, how many each row has (None: one each), and which rows have none at all
    (None: no row). Strings are `bytes` in an object array.
    """

    kind: str
    values: Array
    counts: Array | None = None
    missing: Array | None = None

    def rows(self) -> Iterator[Any]:
        """The value of each row: None, a scalar, or a list."""
        listed = _short(self.values) if self.values.dtype == np.float32 else self.values.tolist()
        absent = None if self.missing is None else self.missing.tolist()
        if self.counts is None:
            yield from listed if absent is None else (None if a else v for v, a in zip(listed, absent, strict=True))
            return
        at = 0
        for i, count in enumerate(self.counts.tolist()):
            yield None if absent is not None and absent[i] else listed[at : at + count]
            at += count

    def select(self, rows: Array) -> ValueColumn:
        """The rows with these numbers."""
        missing = None if self.missing is None else self.missing[rows]
        if self.counts is None:
            return ValueColumn(self.kind, self.values[rows], None, missing)
        ends = np.cumsum(self.counts)
        counts = self.counts[rows]
        starts = (ends - self.counts)[rows]
        index = np.arange(int(counts.sum())) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return ValueColumn(self.kind, self.values[index], counts, missing)

    def sizes(self) -> Array:
        """The number of values of each row."""
        if self.counts is not None:
            return self.counts
        counts = np.ones(len(self.values), np.int64)
        return counts if self.missing is None else np.where(self.missing, 0, counts)

    def present(self) -> Array:
        """The values without those that stand for missing ones."""
        if self.missing is None or self.counts is not None:
            return self.values
        return self.values[~self.missing]

    def of_kind(self, kind: str) -> ValueColumn:
        """The same values as another type that holds them."""
        if kind == self.kind or {kind, self.kind} == {TEXT, BYTES}:
            return self._replace(kind=kind)
        if kind == NESTED:
            return ValueColumn(NESTED, _nested(self.rows(), len(self.sizes())), None, self.missing)
        if self.kind in (TEXT, BYTES):
            numbers = [SPELLED[v.decode()] if v else math.nan for v in self.values.tolist()]
            return self._replace(kind=kind, values=np.array(numbers, np.float64))
        if kind in (TEXT, BYTES):  # the values of no row, or those that stand for missing ones
            return self._replace(kind=kind, values=object_array([b""] * len(self.values)))
        if kind == FLOAT and self.values.dtype.kind == "f":
            return self._replace(kind=kind)
        return self._replace(kind=kind, values=self.values.astype({BOOL: bool, INT: np.int64, FLOAT: np.float64}[kind]))

    def flat(self) -> ValueColumn:
        """Nested values without their structure: the numbers or strings in each row, or the row as JSON if they have no
        common type. Other columns as they are.
        """
        if self.kind != NESTED:
            return self
        rows = [None if row is None else [*_scalars(row)] for row in self.rows()]
        with suppress(InvalidArgumentError):
            found = column_of_values(rows, "", "")
            if found.kind != NESTED:
                return found
        plain = map(as_json, self.rows())
        texts = [(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)).encode() for row in plain]
        return ValueColumn(TEXT, object_array(texts), None, self.missing)


class FeatureRows(NamedTuple):
    """`n` rows: a column for each feature."""

    n: int
    columns: dict[str, ValueColumn]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The rows one by one, without the features that they lack."""
        names = list(self.columns)
        if not names:
            yield from ({} for _ in range(self.n))
            return
        for values in zip(*(column.rows() for column in self.columns.values()), strict=True):
            yield {name: value for name, value in zip(names, values, strict=True) if value is not None}

    def select(self, rows: Array) -> FeatureRows:
        """The rows with these numbers."""
        return FeatureRows(len(rows), {name: column.select(rows) for name, column in self.columns.items()})

    def slice(self, start: int, stop: int) -> FeatureRows:
        """Rows start to stop."""
        if start == 0 and stop >= self.n:
            return self
        return self.select(np.arange(start, min(stop, self.n)))

    def only(self, names: Sequence[str]) -> FeatureRows:
        """Some of the features, as far as they are there."""
        return FeatureRows(self.n, {name: self.columns[name] for name in names if name in self.columns})

    def present(self) -> FeatureRows:
        """Rows that lack the same features, without these."""
        kept = {n: c for n, c in self.columns.items() if c.missing is None or not c.missing.any()}
        return FeatureRows(self.n, {n: c._replace(missing=None) for n, c in kept.items()})

    def of_kinds(self, kinds: Mapping[str, str]) -> FeatureRows:
        """The same rows with columns of these types, where they are given."""
        made = {name: one.of_kind(kinds.get(name, one.kind)) for name, one in self.columns.items()}
        return FeatureRows(self.n, made)


def nested_column(values: Sequence[Any]) -> ValueColumn:
    """A column of any Python values, one per row, of which None is missing."""
    missing = np.array([v is None for v in values], bool)
    return ValueColumn(NESTED, _nested(values, len(values)), None, missing if missing.any() else None)


def _nested(rows: Iterable[Any], n: int) -> Array:
    """Python values, which may be lists of equal length, as an array of them."""
    held = np.empty(n, object)
    for i, row in enumerate(rows):
        held[i] = row
    return held


def _scalars(value: Any) -> Iterator[Any]:
    """The numbers and strings in a nested value."""
    if isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _scalars(item)
    elif value is not None:
        yield value if isinstance(value, (bool, int, float, str, bytes)) else str(value)


def _short(values: Array) -> list[float]:
    """Numbers of float32 with the fewest digits that tell them apart."""
    return [float(text) for text in values.astype("U").tolist()]


def column_of(column: Any, text: bool = False, missing: Array | None = None) -> ValueColumn:
    """A column of a block as values."""
    absent = missing if missing is not None and missing.any() else None
    if isinstance(column, Bytes):
        return ValueColumn(TEXT if text else BYTES, column.objects().ravel(), None, absent)
    if isinstance(column, Objects):
        return _of_objects(column, text, absent)
    array = np.asarray(column)
    kind = _kind(array, text)
    counts = None if array.ndim == 1 else np.full(len(array), int(np.prod(array.shape[1:])), np.int64)
    if counts is not None and absent is not None:
        return ValueColumn(kind, array[~absent].ravel(), np.where(absent, 0, counts), absent)
    return ValueColumn(kind, array.ravel(), counts, absent)


def _of_objects(column: Objects, text: bool, absent: Array | None) -> ValueColumn:
    gone = set() if absent is None else set(np.flatnonzero(absent).tolist())
    if any(isinstance(item, RaggedTensor) or np.ndim(item) > 1 for item in column.items):
        rows = [None if i in gone else _listed(item) for i, item in enumerate(column.items)]
        return ValueColumn(NESTED, _nested(rows, len(rows)), None, absent)
    parts = [_flat(item) for i, item in enumerate(column.items) if i not in gone]
    counts = np.zeros(len(column), np.int64)
    counts[[i for i in range(len(column)) if i not in gone]] = [len(p) for p in parts]
    dtype = column.spec.dtype.dtype if column.spec is not None else np.dtype(object)
    flat = np.concatenate([np.empty(0, dtype), *parts]) if parts else np.empty(0, dtype)
    return ValueColumn(_kind(flat, text), flat, counts, absent)


def _flat(item: Any) -> Array:
    return np.asarray(item).ravel()


def _listed(item: Any) -> Any:
    return item.to_list() if isinstance(item, RaggedTensor) else np.asarray(item).tolist()


def _kind(array: Array, text: bool) -> str:
    kind = _NUMBERS.get(array.dtype.kind)
    return kind or (TEXT if text else BYTES)


def column_of_values(values: Sequence[Any], name: str, where: str) -> ValueColumn:
    """A column of Python values, one per row: None, a scalar, or a list. Other values make it nested."""
    missing = np.array([v is None for v in values], bool)
    absent = missing if missing.any() else None
    lists = [v if isinstance(v, list) else [v] for v in values if v is not None]
    flat = [item for one in lists for item in one]
    listed = any(isinstance(v, list) for v in values)
    kinds = set(map(_kind_of, flat))
    kind = widest(kinds) if kinds else FLOAT
    if kind is None:
        found = " and ".join(sorted(k for k in kinds if k != _SPELLED))
        raise InvalidArgumentError(f"{where}: {name!r} holds {found}; it must have one type")
    if kind == NESTED:
        return nested_column(values)
    if _SPELLED in kinds and kind == FLOAT:
        flat = [SPELLED[item] if isinstance(item, str) else item for item in flat]
    array = _array(kind, flat, name, where)
    if listed:
        counts = np.zeros(len(values), np.int64)
        counts[~missing] = [len(one) for one in lists]
        return ValueColumn(kind, array, counts, absent)
    if absent is not None:
        full = np.zeros(len(values), array.dtype) if array.dtype.kind != "O" else object_array([b""] * len(values))
        full[~missing] = array
        array = full
    return ValueColumn(kind, array, None, absent)


def _kind_of(item: Any) -> str:
    if isinstance(item, str) and item in SPELLED:
        return _SPELLED
    return {bool: BOOL, int: INT, float: FLOAT, str: TEXT, bytes: BYTES}.get(type(item), NESTED)


def _array(kind: str, flat: list[Any], name: str, where: str) -> Array:
    if kind in (TEXT, BYTES):
        return object_array([v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in flat])
    for dtype in (np.int64, np.uint64) if kind == INT else ({BOOL: np.bool_, FLOAT: np.float64}[kind],):
        with suppress(OverflowError):
            return np.array(flat, dtype)
    raise InvalidArgumentError(f"{where}: {name!r} has numbers that fit neither int64 nor uint64") from None


def widest(kinds: set[str]) -> str | None:
    """The type that holds values of all of these types; None if there is none.

    >>> from feedline.tools.shared.features import widest
    >>> widest({"int", "float"}), widest({"int", "text"})
    ('float', None)
    """
    if NESTED in kinds:
        return NESTED
    if _SPELLED in kinds:
        others = kinds - {_SPELLED}
        return FLOAT if others and others <= {BOOL, INT, FLOAT} else widest({TEXT, *others})
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds <= {BOOL, INT, FLOAT}:
        return FLOAT if FLOAT in kinds else INT
    return BYTES if kinds == {TEXT, BYTES} else None


def as_json(value: Any) -> Any:
    """A value for JSON: bytes that are UTF-8 become text, others an object with their base64.

    >>> from feedline.tools.shared.features import as_json
    >>> as_json([b"abc", b"\\xff", 1])
    ['abc', {'base64': '/w=='}, 1]
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [as_json(v) for v in value]
    if isinstance(value, dict):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [as_json(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
