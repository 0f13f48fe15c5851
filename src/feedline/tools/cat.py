"""`feedline cat`: the records of files on standard output."""

from __future__ import annotations

import sys

import click

from feedline.errors import FailedPreconditionError
from feedline.tools.shared.command import command
from feedline.tools.shared.conversion import Conversion, to_sink
from feedline.tools.shared.formats import ARRAY_RECORD, CSV, FORMATS, JSONL, recognised
from feedline.tools.shared.inputs import chosen_features, features_option, files_argument, format_option, names_of
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.summary import total_size

OF_LINES = (CSV, JSONL)
"""Formats that people can read."""


class StandardOutput:
    """Standard output as a sink."""

    def write(self, data: bytes | memoryview) -> int:
        """Writes data."""
        return sys.stdout.buffer.write(data)


@command(
    "feedline cat train.tfrecord",
    "feedline cat 'train-*.tfrecord' --to csv --features label,name > train.csv",
    "feedline cat table.parquet --to tfrecord | feedline count -",
    json=False,
)
@files_argument
@format_option
@click.option(
    "--to", "target", type=click.Choice([f for f in FORMATS if f not in (ARRAY_RECORD,)]), default="jsonl",
    show_default=True, help="The format to write.",
)  # fmt: skip
@click.option("--json", "target", flag_value="jsonl", help="JSON lines, as by default.")
@features_option
def cat(files: tuple[str, ...], given: str | None, target: str, chosen: str | None) -> int:
    """Write the records of files to standard output, one file after another.

    JSON lines unless --to says otherwise: one object per record. Files are read twice, since the first pass finds the
    features and their types; feedline head --json shows the first records at once.
    """
    if sys.stdout is None:
        raise FailedPreconditionError("standard output is closed; send it to a file with >, or to a program with |")
    if target not in OF_LINES and sys.stdout.isatty():
        raise click.UsageError(f"{target} is not for a terminal: send it to a file with >, or to a program with |")
    names = names_of(files)
    sources = [recognised(name, given) for name in names]
    size = total_size(names)
    with Meter("reading", None if size is None else 2 * size) as meter:
        to_sink(Conversion(sources, target, chosen_features(chosen)), StandardOutput(), meter)
        sys.stdout.buffer.flush()
    return 0
