"""`feedline stats`: counts, sizes and distributions of the values in files."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np
from rich.cells import cell_len
from rich.text import Text

from feedline.errors import OpError
from feedline.tools.shared.command import command
from feedline.tools.shared.features import BYTES, FLOAT, TEXT, FeatureRows, ValueColumn
from feedline.tools.shared.features import as_json as plain
from feedline.tools.shared.formats import recognised
from feedline.tools.shared.inputs import (
    check_features,
    chosen_features,
    display_error,
    features_option,
    files_argument,
    format_option,
    names_of,
)
from feedline.tools.shared.many import ahead
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import complain, console, print_json, shown, table, writes_unicode
from feedline.tools.shared.records import batches
from feedline.tools.shared.sketches import FrequentValues, GrowingHistogram, Moments
from feedline.tools.shared.summary import total_size
from feedline.tools.shared.text import number, plural, printable, share, shortened, size_of

COLUMNS = 24
"""The characters of a histogram."""
LONGEST = 64
"""Longer strings are not counted by value."""
SHOWN = 3
HEADS = ("feature", "type", "in", "min", "mean", "max", "distribution", "frequent")
NUMBERS = ("in", "min", "mean", "max")
LEFT_OUT = ("frequent", "type", "distribution", "in")
"""The columns that a narrow window lacks, in this order."""
GAP = 3
"""The characters between two columns."""
PLAIN_BARS = str.maketrans("▁▂▃▄▅▆▇█", "_.:-=+*#")
"""The same heights in ASCII."""


class FeatureStatistics:
    """The statistics of one feature: of its numbers, or of the lengths of its strings."""

    def __init__(self) -> None:
        self.records = self.values = 0
        self.kinds: set[str] = set()
        self.numbers, self.histogram, self.frequent = Moments(), GrowingHistogram(), FrequentValues()
        self.sizes = Moments()
        self.of_lengths = False
        """Whether the numbers are lengths of strings."""

    def add(self, column: ValueColumn) -> None:
        """Adds the rows of a column. Nested values are looked at one by one."""
        self.kinds.add(column.kind)
        column = column.flat()
        sizes = column.sizes()
        if column.missing is not None:
            sizes = sizes[~column.missing]
        values = column.present()
        self.records += len(sizes)
        self.values += len(values)
        self.sizes.add(sizes)
        if column.kind in (TEXT, BYTES):
            strings = values.tolist()
            lengths = np.fromiter(map(len, strings), np.int64, len(strings))
            self.of_lengths = True
            self.numbers.add(lengths)
            self.histogram.add(lengths)
            self.frequent.add(s for s in strings if len(s) <= LONGEST)
        else:
            self.numbers.add(values)
            self.histogram.add(values)
            if column.kind != FLOAT:
                self.frequent.add(values.tolist())

    def as_json(self) -> dict[str, Any]:
        """The same for JSON."""
        numbers = self.numbers
        return {
            "types": sorted(self.kinds),
            "records": self.records,
            "values": self.values,
            "values_per_record": _range(self.sizes),
            ("length" if self.of_lengths else "value"): {
                "min": numbers.least if numbers.count else None,
                "mean": numbers.mean if numbers.count else None,
                "max": numbers.greatest if numbers.count else None,
                "std": numbers.deviation if numbers.count else None,
                "not_finite": numbers.odd,
            },
            "histogram": {
                "start": self.histogram.start,
                "width": self.histogram.width,
                "counts": self.histogram.counts.tolist(),
            },
            "frequent": [{"value": plain(value), "count": n} for value, n in self.frequent.most_common(20)],
            "frequent_error": self.frequent.error,
        }


@command(
    "feedline stats train.tfrecord",
    "feedline stats table.parquet --features label",
    "feedline stats 'train-*.tfrecord' --json",
)
@files_argument
@format_option
@features_option
@click.option("--records", type=click.IntRange(1), help="Read only the first N records.", metavar="N")
def stats(files: tuple[str, ...], given: str | None, chosen: str | None, records: int | None, as_json: bool) -> int:
    """Show counts, sizes and distributions of the values in files.

    Shows the minimum, mean, maximum and a histogram of numbers, the same of the lengths of strings, the most frequent
    values, and the share of the records that have a value. Files are read once, in memory that does not grow with
    them; counts of frequent values that are marked with ~ may be a little too low.
    """
    names = names_of(files)
    picked = chosen_features(chosen)
    found: dict[str, FeatureStatistics] = {}
    sizes = Moments()
    errors: list[OpError] = []
    known: dict[str, None] = {}
    total = _collected(names, given, picked, records, found, known, sizes, errors)
    if total:
        check_features(picked, known)
    if as_json:
        print_json(
            {
                "files": len(names),
                "records": total,
                "record_bytes": _range(sizes),
                "features": {name: one.as_json() for name, one in sorted(found.items())},
                "errors": [display_error(e) for e in errors],
            }
        )
    else:
        _print(total, len(names), found, sizes)
        complain("stats", errors)
    return 1 if errors else 0


def _range(numbers: Moments) -> dict[str, float] | None:
    if not numbers.count:
        return None
    return {"min": numbers.least, "mean": numbers.mean, "max": numbers.greatest}


def _collected(
    names: list[bytes],
    given: str | None,
    picked: list[str] | None,
    most: int | None,
    found: dict[str, FeatureStatistics],
    known: dict[str, None],
    sizes: Moments,
    errors: list[OpError],
) -> int:
    total = 0
    with Meter("reading", total_size(names)) as meter:
        for name in names:
            try:
                source = recognised(name, given)
            except OpError as e:
                errors.append(e)
                continue
            for batch in ahead(batches(source)):
                meter.add(batch.taken)
                if batch.error is not None or batch.rows is None:
                    errors += [batch.error] if batch.error is not None else []
                    continue
                rows: FeatureRows = batch.rows if most is None else batch.rows.slice(0, most - total)
                known.update(dict.fromkeys(rows.columns))
                rows = rows if picked is None else rows.only(picked)
                total += rows.n
                for feature, column in rows.columns.items():
                    found.setdefault(feature, FeatureStatistics()).add(column)
                if batch.sizes is not None:
                    sizes.add(batch.sizes[: rows.n])
                if most is not None and total >= most:
                    return total
    return total


def _print(total: int, files: int, found: dict[str, FeatureStatistics], sizes: Moments) -> None:
    out = console()
    about = f", {size_of(sizes.least)} to {size_of(sizes.greatest)} each" if sizes.count else ""
    out.print(shown(f"{plural(total, 'record')} in {plural(files, 'file')}{about}", "bold"))
    rows = []
    for name, one in sorted(found.items()):
        numbers = one.numbers
        kind = " or ".join(sorted(one.kinds))
        kind += " length" if one.of_lengths else ""
        bars = one.histogram.bars(numbers.least, numbers.greatest, COLUMNS) if numbers.count else ""
        bars = bars if writes_unicode(sys.stdout) else bars.translate(PLAIN_BARS)
        measures = [_measure(v) for v in (numbers.least, numbers.mean, numbers.greatest)] if numbers.count else [""] * 3
        common = [shown(value) for value in _frequent(one)]
        rows.append([shown(name), kind, share(one.records, total), *measures, shown(bars, "cyan"), common])
    if rows:
        columns = _fitting(rows, out.width)
        kept = [[row[i] for i in columns] for row in rows]
        numbers_at = [k for k, i in enumerate(columns) if HEADS[i] in NUMBERS]
        out.print(table([HEADS[i] for i in columns], kept, right=numbers_at, whole=range(1, len(columns))))
        hidden = [head for i, head in enumerate(HEADS) if i not in columns]
        if hidden:
            out.print(shown(f"a wider window shows more: {', '.join(hidden)}", "dim"))


def _fitting(rows: list[list[Any]], width: int) -> list[int]:
    """The numbers of the columns that a window has room for. Frequent values stand side by side, or in lines."""
    columns = list(range(len(HEADS)))

    def too_wide() -> bool:
        wide = [max(cell_len(line) for row in [HEADS, *rows] for line in str(row[i]).split("\n")) for i in columns]
        return sum(wide) + GAP * (len(wide) - 1) > width

    common = [row[-1] for row in rows]
    for mark in (", ", "\n"):
        for row, values in zip(rows, common, strict=True):
            row[-1] = Text(mark).join(values)
        if not too_wide():
            return columns
    for head in LEFT_OUT:
        if too_wide():
            columns.remove(HEADS.index(head))
    return columns


def _measure(value: float) -> str:
    if value == int(value):
        return number(value)
    return f"{value:,.1f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def _frequent(one: FeatureStatistics) -> list[str]:
    common = [(value, n) for value, n in one.frequent.most_common(SHOWN) if n > 1]
    sign = "" if one.frequent.exact else "~"
    return [f"{_shown(value)} {sign}{n:,}" for value, n in common]


def _shown(value: object) -> str:
    text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    return shortened(printable(text), 16) or "''"
