"""`feedline diff`: how two datasets differ."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import click
import numpy as np

from feedline.errors import OpError
from feedline.tools.head import shown_value
from feedline.tools.shared.command import command
from feedline.tools.shared.features import NESTED, SPELLED, FeatureRows, ValueColumn
from feedline.tools.shared.features import as_json as plain
from feedline.tools.shared.formats import CSV, TAR, DataFile, recognised
from feedline.tools.shared.inputs import (
    FileName,
    check_features,
    chosen_features,
    display_error,
    features_option,
    format_option,
    names_of,
)
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import complain, console, print_json, shown
from feedline.tools.shared.records import batches
from feedline.tools.shared.summary import total_size
from feedline.tools.shared.text import plural

SHOWN = 10
WIDTH = 60
SIDES = ("first", "second")
OF_TEXT = (CSV, TAR)
"""Formats in which every value is text: lists, and in tar files numbers too, are written as JSON."""


@command(
    "feedline diff train.tfrecord train.tfrecord",
    "feedline diff table.csv table.parquet || echo they differ",
    "feedline diff train.tfrecord table.parquet --features label --tolerance 1e-6 || true",
)
@click.argument("first", type=FileName())
@click.argument("second", type=FileName())
@format_option
@features_option
@click.option("--tolerance", type=click.FloatRange(0), default=0.0, help="Ignore differences of numbers up to this.")
@click.option("-n", "most", type=click.IntRange(0), default=SHOWN, metavar="N", help=f"Show N differences ({SHOWN}).")
def diff(
    first: str, second: str, given: str | None, chosen: str | None, tolerance: float, most: int, as_json: bool
) -> int:
    """Compare two files, patterns or folders, record by record.

    Records are compared in order, by their features; formats may differ. In CSV and tar files, which hold text, JSON
    stands for a number or a list. Exits with 1 if anything differs.
    """
    picked = chosen_features(chosen)
    known: set[str] = set()
    errors: list[OpError] = []
    files = [[recognised(name, given) for name in names_of([side])] for side in (first, second)]
    count = 0
    lengths = [0, 0]
    listed: list[dict[str, Any]] = []
    with Meter("comparing", total_size([file.name for side in files for file in side])) as meter:
        for one, other in _pairs(*(_parts(side, picked, known, errors, meter) for side in files)):
            if one is not None and other is not None and one.equals(other):
                lengths = [n + one.rows.n for n in lengths]
                continue
            text = tuple(part is not None and part.of_text for part in (one, other))
            for a, b in zip_longest(*(part.rows.dicts() if part is not None else () for part in (one, other))):
                number = max(lengths)
                lengths[0] += a is not None
                lengths[1] += b is not None
                for change in _changes(a, b, tolerance, text):
                    count += 1
                    if len(listed) < most:
                        listed.append({"record": number, **change})
    if all(lengths):
        check_features(picked, known)
    if as_json:
        texts = [display_error(e) for e in errors]
        print_json({"records": lengths, "differences": count, "listed": plain(listed), "errors": texts})
    else:
        _print(listed, count, lengths)
        complain("diff", errors)
    return 1 if count or errors else 0


class _Part(NamedTuple):
    """Consecutive records of one side, and whether the format of their file holds text only."""

    rows: FeatureRows
    of_text: bool

    def cut(self, n: int) -> tuple[_Part, _Part | None]:
        """The first `n` records, and the others, if there are more."""
        if n == self.rows.n:
            return self, None
        return self._replace(rows=self.rows.slice(0, n)), self._replace(rows=self.rows.slice(n, self.rows.n))

    def equals(self, other: _Part) -> bool:
        """Whether all values and their types are equal. Values that are written in another way may be the same even if
        this is False.
        """
        ours, theirs = self.rows.columns, other.rows.columns
        return ours.keys() == theirs.keys() and all(_equal(ours[name], theirs[name]) for name in ours)


def _equal(one: ValueColumn, other: ValueColumn) -> bool:
    if one.kind != other.kind or one.kind == NESTED or one.values.dtype != other.values.dtype:
        return False
    ours, theirs = (one.values, one.counts, one.missing), (other.values, other.counts, other.missing)
    floats = one.values.dtype.kind == "f"
    return all(
        a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=floats and a.dtype.kind == "f"))
        for a, b in zip(ours, theirs, strict=True)
    )


def _parts(
    files: list[DataFile], picked: list[str] | None, known: set[str], errors: list[OpError], meter: Meter
) -> Iterator[_Part]:
    for source in files:
        try:
            for batch in batches(source):
                meter.add(batch.taken)
                if batch.error is not None:
                    errors.append(batch.error)
                elif batch.rows is not None and batch.rows.n:
                    known.update(batch.rows.columns)
                    rows = batch.rows if picked is None else batch.rows.only(picked)
                    yield _Part(rows, source.format in OF_TEXT)
        except OpError as e:
            errors.append(e)


def _pairs(first: Iterator[_Part], second: Iterator[_Part]) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Parts of both sides with equally many records; None beside records that only one side has."""
    one, other = next(first, None), next(second, None)
    while one is not None and other is not None:
        n = min(one.rows.n, other.rows.n)
        (a, one), (b, other) = one.cut(n), other.cut(n)
        yield a, b
        one, other = one or next(first, None), other or next(second, None)
    while one is not None or other is not None:
        yield one, other
        one, other = one and next(first, None), other and next(second, None)


def _changes(
    a: dict[str, Any] | None, b: dict[str, Any] | None, tolerance: float, text: tuple[bool, ...]
) -> Iterator[dict[str, Any]]:
    if a is None or b is None:
        yield {"feature": None, "first": a is not None, "second": b is not None}
        return
    if a == b:
        return
    for name in dict.fromkeys([*a, *b]):
        one, other = a.get(name), b.get(name)
        if _same(one, other, tolerance):
            continue
        if text[0] != text[1]:
            read, written = (_written(one, other), other) if text[0] else (one, _written(other, one))
            if _same(plain(read), plain(written), tolerance):
                continue
        yield {"feature": name, "first": one, "second": other}


def _written(value: Any, other: Any) -> Any:
    """The value of a text that is JSON, to compare it with a value that is not a text."""
    if not isinstance(value, bytes) or other is None or isinstance(other, bytes):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _same(one: Any, other: Any, tolerance: float, inside: bool = False) -> bool:
    """Whether values are equal. A list of one value equals that value, since some formats store both alike."""
    if isinstance(one, list) or isinstance(other, list):
        if inside and type(one) is not type(other):
            return False
        ones, others = (v if isinstance(v, list) else [v] for v in (one, other))
        return len(ones) == len(others) and all(_same(a, b, tolerance, True) for a, b in zip(ones, others, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k], tolerance, True) for k in one)
    one, other = _spelled(one, other), _spelled(other, one)
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return bool(one == other or (one != one and other != other) or abs(one - other) <= tolerance)
    return bool(one == other)


def _spelled(value: Any, other: Any) -> Any:
    """The number for a string of JSON, to compare it with a number."""
    if isinstance(value, bytes) and isinstance(other, float):
        return SPELLED.get(value.decode(errors="replace"), value)
    return value


def _type(value: Any) -> str:
    if isinstance(value, list) and value:
        return f"list of {_type(value[0])}"
    return {type(None): "missing", bytes: "string"}.get(type(value), type(value).__name__)


def _texts(one: Any, other: Any) -> list[str]:
    """Two different values as texts that differ, too: where they begin alike, from the place where they do not."""
    texts = ["missing" if value is None else shown_value(value, WIDTH) for value in (one, other)]
    if texts[0] != texts[1] or type(one) is not type(other):
        return texts
    if isinstance(one, dict):
        key = next(key for key in {**one, **other} if not _same(one.get(key), other.get(key), 0.0, True))
        return [f"{key}: {text}" for text in _texts(one.get(key), other.get(key))]
    if isinstance(one, list):
        at = next((i for i, pair in enumerate(zip(one, other, strict=False)) if not _same(*pair, 0.0, True)), None)
        if at is None:
            return [plural(len(value), "value") for value in (one, other)]
        return [f"value {at}: {text}" for text in _texts(one[at], other[at])]
    if not isinstance(one, (bytes, str)):
        return [repr(one), repr(other)]
    alike = range(min(len(one), len(other)))
    at = bisect_left(alike, True, key=lambda i: one[: i + 1] != other[: i + 1])
    while isinstance(one, bytes) and at and any(b"\x80" <= value[at : at + 1] < b"\xc0" for value in (one, other)):
        at -= 1  # to the beginning of a character of UTF-8
    unit = "byte" if isinstance(one, bytes) else "character"
    return [f"from {unit} {at:,}: {shown_value(value[at:], WIDTH)}" for value in (one, other)]


def _print(listed: list[dict[str, Any]], count: int, lengths: list[int]) -> None:
    out = console()
    for change in listed:
        out.print(shown(f"record {change['record']}", "bold cyan"), end="")
        if change["feature"] is None:
            side = "first" if change["first"] else "second"
            out.print(shown(f"  only in the {side}"))
            continue
        out.print(shown(f"  {change['feature']}", "bold"))
        texts = _texts(change["first"], change["second"])
        kinds = [_type(change[side]) for side in SIDES]
        if "missing" not in kinds and kinds[0] != kinds[1]:  # such as 0 and "0"
            texts = [f"{text} ({kind})" for text, kind in zip(texts, kinds, strict=True)]
        for sign, text, style in zip("-+", texts, ("red", "green"), strict=True):
            out.print(shown(f"  {sign} {text}", style))
    if count > len(listed):
        out.print(shown(f"and {count - len(listed):,} more"))
    numbers = f"{lengths[0]:,} and {plural(lengths[1], 'record')}"
    verdict = f"{plural(count, 'difference')} in {numbers}" if count else f"no differences in {numbers}"
    out.print(shown(verdict, "bold red" if count else "bold green"))
