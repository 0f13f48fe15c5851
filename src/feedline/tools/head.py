"""`feedline head`: the first records of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click
from rich.console import Console

from feedline.errors import OpError
from feedline.tools.shared.command import command
from feedline.tools.shared.features import as_json as plain
from feedline.tools.shared.formats import DataFile, recognised
from feedline.tools.shared.images import image_of
from feedline.tools.shared.inputs import (
    check_features,
    chosen_features,
    display_name,
    features_option,
    files_argument,
    format_option,
    names_of,
)
from feedline.tools.shared.output import complain, console, joined, print_json, shown
from feedline.tools.shared.records import batches
from feedline.tools.shared.sounds import stored_sound
from feedline.tools.shared.text import printable, shortened, size_of

ROWS = 5
MOST_SHOWN = 120
"""The most characters of a line."""
LISTED = 8
"""The most values of a list that are shown."""


@command(
    "feedline head train.tfrecord",
    "feedline head -n 2 --features label,name train.tfrecord",
    "feedline head --json table.parquet",
    "cat table.csv | feedline head -",
)
@files_argument
@format_option
@click.option("-n", "rows", type=click.IntRange(0), default=ROWS, metavar="N", help=f"Show N records ({ROWS}).")
@click.option("--skip", type=click.IntRange(0), default=0, help="Skip the first N records.", metavar="N")
@features_option
@click.option("--images/--no-images", default=True, help="Show thumbnails of images, in terminals with colours.")
def head(
    files: tuple[str, ...], given: str | None, rows: int, skip: int, chosen: str | None, images: bool, as_json: bool
) -> int:
    """Show the first records of files.

    A record is shown by its features: those of Examples, the columns of tables, the files of tar samples. With --json,
    each record is one object on a line.
    """
    names = chosen_features(chosen)
    known: dict[str, None] = {}
    errors: list[OpError] = []
    out = console()
    number = 0
    found: Iterable[tuple[DataFile, int, dict[str, Any]]]
    found = islice(records(names_of(files), given, errors), skip, skip + rows)
    if names is not None:  # records that have none of the features are not shown before the error that says so
        found = list(found)
        known.update(dict.fromkeys(name for _, _, row in found for name in row))
        found = found if not known.keys().isdisjoint(names) else []
    for source, at, row in found:
        kept = row if names is None else {name: row[name] for name in names if name in row}
        if as_json:
            print_json(plain(kept))
            continue
        if number:
            out.print()
        out.print(shown(f"{display_name(source.name)}, record {at}", "bold cyan"))
        _print(out, kept, images)
        number += 1
    complain("head", errors)
    if known:
        check_features(names, known)
    return 1 if errors else 0


def records(
    names: list[bytes], given: str | None, errors: list[OpError], want: int = 8
) -> Iterator[tuple[DataFile, int, dict[str, Any]]]:
    """The records of files one by one, with their file and number there; what cannot be read is added to `errors`."""
    for name in names:
        try:
            source = recognised(name, given)
        except OpError as e:
            errors.append(e)
            continue
        try:
            for batch in batches(source, want):
                if batch.error is not None:
                    errors.append(batch.error)
                    continue
                assert batch.rows is not None
                for i, row in enumerate(batch.rows.dicts()):
                    yield source, batch.number + i, row
        except OpError as e:
            errors.append(e)


def _print(out: Console, row: dict[str, Any], images: bool) -> None:
    wide = min(24, max((len(printable(name)) for name in row), default=0))
    room = max(20, min(out.width, MOST_SHOWN) - wide - 4)
    for name, value in row.items():
        picture = image_of(value)
        text = picture.text if picture is not None else shown_value(value, room)
        label = shown(f"  {shortened(printable(name), 24):<{wide}}  ", "green")
        out.print(joined(label, shown(text)), soft_wrap=True)
        if picture is not None and images and out.color_system is not None and not out.no_color:
            drawn = picture.thumbnail(min(40, room), f"  {'':<{wide}}  ")
            if drawn is not None:
                out.print(drawn)


def shown_value(value: Any, most: int) -> str:
    """A value on one line of at most `most` characters.

    >>> from feedline.tools.head import shown_value
    >>> shown_value([1, 2, 3], 60), shown_value(b"caf\\xc3\\xa9", 60), shown_value(b"\\x00\\xff", 60)
    ('[1, 2, 3]', 'café', '2 B: 00 ff')
    """
    if isinstance(value, list):
        some = ", ".join(shown_value(v, most) for v in value[:LISTED])
        more = f", … {len(value):,} values" if len(value) > LISTED else ""
        return shortened(f"[{some}", most - len(more) - 1) + f"{more}]"
    if isinstance(value, bytes):
        text = text_of(value)
        sound = stored_sound(value) if text is None else None
        if sound is not None:
            return shortened(f"{sound.text}, {size_of(len(value))}", most)
        if text is None:
            return shortened(f"{size_of(len(value))}: {value[: most // 3].hex(' ')}", most)
        return shortened(printable(text), most)
    if isinstance(value, float):
        return f"{value:.6g}"
    return shortened(printable(str(value)), most)


def text_of(value: bytes) -> str | None:
    """The beginning of a string as text; None if it is not text."""
    try:
        text = value[:4096].decode()
    except UnicodeDecodeError as e:
        if len(value) <= 4096 or e.start < 4090:
            return None
        text = value[: e.start].decode()
    odd = sum(not c.isprintable() and c not in "\n\r\t" for c in text)
    return text if odd * 4 <= len(text) else None
