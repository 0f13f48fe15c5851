"""Filters: conditions on features, as they are typed in the viewer.

    label = 3                     numbers and text; of several values, one is enough
    name ~ "cat"                  contains, in any case
    weight > 4.5 and age <= 7     and, or, not, ( )
    has caption, len(tokens) > 9  whether there is a value; how many, or the length of a string
    "image/label" = 3             names with other characters than letters, digits, _ . and / need quotes
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.block import Array
from feedline.tools.shared.features import BYTES, TEXT, FeatureRows, ValueColumn

LONGEST = 2000
DEEPEST = 50
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<mark><=|>=|!=|==|=|<|>|!~|~|\(|\))"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w./]))|(?P<word>[^\W\d][\w./\-:]*|[\w./\-:]+))"""
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORDS = ("and", "or", "not", "has", "len")


class FilterOperand(NamedTuple):
    """A feature, or its length."""

    feature: str
    length: bool = False

    def column(self, rows: FeatureRows) -> ValueColumn | None:
        """The values; None if no row has the feature."""
        held = rows.columns.get(self.feature)
        found = None if held is None else held.flat()
        if found is None or not self.length:
            return found
        if found.counts is not None or found.kind not in (TEXT, BYTES):
            return ValueColumn("int", found.sizes(), None, found.missing)
        return ValueColumn("int", np.fromiter(map(len, found.values.tolist()), np.int64, rows.n), None, found.missing)

    @property
    def text(self) -> str:
        """As it is typed."""
        plain = re.fullmatch(r"[^\W\d][\w./\-:]*", self.feature) and self.feature.lower() not in _WORDS
        name = self.feature if plain else '"' + self.feature.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return f"len({name})" if self.length else name


class Comparison(NamedTuple):
    """A feature compared with a value."""

    operand: FilterOperand
    mark: str
    value: float | int | str

    def matches(self, rows: FeatureRows) -> Array:
        """The rows with a value for which it holds; with != and !~, those without one for which it does not hold."""
        negated = self.mark in ("!=", "!~")
        positive = self._replace(mark={"!=": "=", "!~": "~"}.get(self.mark, self.mark))
        column = self.operand.column(rows)
        if column is None:
            return np.zeros(rows.n, bool)
        held = _any(column, positive._holds(column), rows.n)
        present = np.ones(rows.n, bool) if column.missing is None else ~column.missing
        return present & (~held if negated else held)

    def _holds(self, column: ValueColumn) -> Array:
        if self.mark == "~":
            wanted = str(self.value).casefold()
            return np.array([wanted in text.casefold() for text in _texts(column)], bool)
        compare = _COMPARE[self.mark]
        if column.kind in (TEXT, BYTES):
            if isinstance(self.value, str):
                data = self.value.encode()
                return np.array([compare(value, data) for value in column.values.tolist()], bool)
            value = float(self.value)
            return np.array([compare(number, value) for number in _numbers(column)], bool)
        if isinstance(self.value, str):
            return np.array([compare(text, self.value) for text in _texts(column)], bool)
        return np.asarray(compare(column.values, self.value), bool)

    @property
    def features(self) -> set[str]:
        """The features that it needs."""
        return {self.operand.feature}


class Presence(NamedTuple):
    """Whether there is a value."""

    operand: FilterOperand

    def matches(self, rows: FeatureRows) -> Array:
        """The rows with one."""
        column = self.operand.column(rows)
        return np.zeros(rows.n, bool) if column is None else column.sizes() > 0

    @property
    def features(self) -> set[str]:
        """The features that it needs."""
        return {self.operand.feature}


class Combination(NamedTuple):
    """Conditions joined by `and`, `or` or `not`."""

    word: str
    parts: tuple[Condition, ...]

    def matches(self, rows: FeatureRows) -> Array:
        """The rows for which it holds."""
        found = [part.matches(rows) for part in self.parts]
        if self.word == "not":
            return ~found[0]
        joined: Array = (np.logical_and if self.word == "and" else np.logical_or).reduce(found)
        return joined

    @property
    def features(self) -> set[str]:
        """The features that it needs."""
        return set().union(*(part.features for part in self.parts))


Condition = Comparison | Presence | Combination


def _any(column: ValueColumn, held: Array, n: int) -> Array:
    """For each row whether one of its values holds."""
    if column.counts is None:
        return held
    rows = np.repeat(np.arange(n), column.counts)
    return np.bincount(rows[held], minlength=n) > 0


def _texts(column: ValueColumn) -> list[str]:
    values = column.values.tolist()
    return [v.decode(errors="replace") if isinstance(v, bytes) else str(v) for v in values]


def _numbers(column: ValueColumn) -> list[float]:
    found = []
    for value in column.values.tolist():
        try:
            found.append(float(value))
        except ValueError:
            found.append(float("nan"))
    return found


def parsed_filter(text: str) -> Condition | None:
    """The condition in a typed filter; None if it is empty.

    >>> from feedline.tools.view.filters import parsed_filter
    >>> parsed_filter("label = 3 and name ~ cat").features == {"label", "name"}
    True
    >>> parsed_filter("label =")
    Traceback (most recent call last):
    feedline.errors.InvalidArgumentError: a value is missing after 'label ='
    """
    if not text.strip():
        return None
    if len(text) > LONGEST:
        raise InvalidArgumentError(f"the filter has {len(text):,} characters; at most {LONGEST:,} are possible")
    parser = _FilterParser(text)
    found = parser.either()
    parser.ended()
    return found


def parsed_operand(text: str) -> FilterOperand:
    """What to sort by: a feature, or `len(feature)`."""
    parser = _FilterParser(text)
    found = parser.operand()
    parser.ended()
    return found


class _FilterParser:
    """Reads a filter from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._token: tuple[str, str] = ("", "")
        self._begin = 0
        self._next()

    def _next(self) -> tuple[str, str]:
        before = self._token
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        self._begin = self._at
        if self._at == len(self._text):
            self._token = ("end", "")
            return before
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise InvalidArgumentError(f"the filter cannot be read from {self._text[self._at :][:20]!r} on")
        self._at = found.end()
        assert found.lastgroup is not None
        self._token = (found.lastgroup, found[found.lastgroup])
        return before

    def _is(self, *words: str) -> bool:
        kind, text = self._token
        return (kind == "word" and text.lower() in words) or (kind == "mark" and text in words)

    def _missing(self, what: str) -> InvalidArgumentError:
        before = self._text[: self._begin].strip()
        got = f", not {self._token[1]!r}" if self._token[0] != "end" else ""
        after = f"after {before[-30:]!r}" if before else "at the beginning"
        return InvalidArgumentError(f"{what} is missing {after}{got}")

    def either(self) -> Condition:
        """Conditions with `or` between them."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise InvalidArgumentError(f"the filter has more than {DEEPEST} levels of brackets")
        parts = [self.both()]
        while self._is("or"):
            self._next()
            parts.append(self.both())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Combination("or", tuple(parts))

    def both(self) -> Condition:
        """Conditions with `and` between them."""
        parts = [self.one()]
        while self._is("and"):
            self._next()
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Combination("and", tuple(parts))

    def one(self) -> Condition:
        """A single condition, or one in brackets."""
        if self._is("not"):
            self._next()
            return Combination("not", (self.nested(self.one),))
        if self._is("("):
            self._next()
            inner = self.nested(self.either)
            self._expect(")")
            return inner
        if self._is("has"):
            self._next()
            return Presence(self.operand())
        operand = self.operand()
        if self._token[0] != "mark" or self._is("(", ")"):
            raise self._missing("a comparison, such as = < > or ~,")
        mark = self._next()[1]
        if self._token[0] in ("end", "mark"):
            raise self._missing("a value")
        kind, text = self._next()
        value: float | int | str = _unquoted(text)
        if kind == "number" and mark not in ("~", "!~"):
            value = float(text)
            if not re.search(r"[.eE]", text) and abs(value) < 1e19 and -(1 << 63) <= int(text) < 1 << 63:
                value = int(text)
        return Comparison(operand, mark, value)

    def nested(self, part: Callable[[], Condition]) -> Condition:
        """A part one level further down."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise InvalidArgumentError(f"the filter has more than {DEEPEST} levels of brackets")
        found = part()
        self._depth -= 1
        return found

    def operand(self) -> FilterOperand:
        """A feature, or its length."""
        if self._is("len"):
            before = self._at, self._token, self._begin
            self._next()
            if self._is("("):
                self._next()
                inner = self.operand()
                self._expect(")")
                return FilterOperand(inner.feature, True)
            self._at, self._token, self._begin = before
        kind, text = self._token
        if kind not in ("word", "string", "number") or self._is("and", "or", "not"):
            raise self._missing("the name of a feature")
        self._next()
        return FilterOperand(_unquoted(text))

    def _expect(self, mark: str) -> None:
        if not self._is(mark):
            raise self._missing(f"{mark!r}")
        self._next()

    def ended(self) -> None:
        """Raises if something is left."""
        if self._token[0] != "end":
            raise self._missing("'and' or 'or'")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL) if text[:1] in ("'", '"') else text
