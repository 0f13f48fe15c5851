"""Output of the sub-commands: tables for people, JSON for programs; colours in terminals only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from feedline.tools.shared.inputs import display_error
from feedline.tools.shared.text import printable, standard_output

MOST_ERRORS = 10
WIDTH = 1000
"""The width of lines without a terminal: rows of tables stay on one line, for other programs."""


class PipeConsole(Console):
    """A console that raises if the reader of its output has closed it; rich would end the program with status 1."""

    def on_broken_pipe(self) -> None:
        """Raises, as other writes to a closed pipe do."""
        raise BrokenPipeError


def console(stream: TextIO | None = None) -> Console:
    """Where a command prints: colours and the width of the window in a terminal, plain lines elsewhere. NO_COLOR and
    TERM=dumb are honoured.

    >>> from feedline.tools.shared.output import console
    >>> console().print("read")
    read
    """
    stream = standard_output() if stream is None else stream
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    width = None if terminal else WIDTH
    return PipeConsole(
        file=stream, force_terminal=terminal, width=width, no_color=not terminal or bool(os.environ.get("NO_COLOR")),
        color_system="auto" if terminal else None, highlight=False, markup=False, emoji=False, legacy_windows=False,
        soft_wrap=not terminal,
    )  # fmt: skip


def shown(value: object, style: str = "") -> Text:
    """Text as it is: neither markup nor control sequences in it have an effect."""
    return Text(printable(str(value)), style)


def joined(*parts: Text) -> Text:
    """Texts one after another, each in its own style."""
    return Text.assemble(*parts)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = (), whole: Iterable[int] = ()
) -> Table:
    """A table; the columns with the numbers `right` hold numbers, aligned to the right, and those of `whole` are not
    broken into lines.
    """
    made = Table(
        box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, show_edge=False
    )
    numbers, lines = set(right), set(whole)
    for i, name in enumerate(columns):
        side: JustifyMethod = "right" if i in numbers else "left"
        made.add_column(shown(name), justify=side, overflow="fold", no_wrap=i in lines or i in numbers)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else shown(cell) for cell in row))
    return made


def print_json(value: Any) -> None:
    """Prints one JSON value on one line. NaN and infinities, which JSON lacks, become strings.

    >>> from feedline.tools.shared.output import print_json
    >>> print_json({"a": [1, float("nan")]})
    {"a": [1, "NaN"]}
    """
    stream = standard_output()
    print(dumped(value, ascii=not writes_unicode(stream)), file=stream, flush=True)


def writes_unicode(stream: TextIO) -> bool:
    """Whether a stream can take any character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def dumped(value: Any, ascii: bool = False) -> str:
    """A value as JSON, with or without escapes for characters that are not ASCII."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=ascii)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=ascii)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, float) and abs(value) == float("inf"):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def complain(command: str, errors: Sequence[Exception], total: int | None = None) -> None:
    """Prints errors on stderr, each on one line; of many only the first. `total` counts those that are not listed too.
    """
    if sys.stderr is None:  # the caller has closed it; `print` would write to standard output
        return
    for error in errors[:MOST_ERRORS]:
        print(printable(f"feedline {command}: {display_error(error)}"), file=sys.stderr)
    more = (len(errors) if total is None else total) - MOST_ERRORS
    if more > 0:
        print(f"feedline {command}: and {more:,} more errors", file=sys.stderr)
