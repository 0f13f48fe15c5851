"""The files that a command is given: names, patterns, folders, URLs, and standard input."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import click
from click.shell_completion import CompletionItem

from feedline.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from feedline.io import gfile
from feedline.io.files import as_path, exists, matching_files, shown, system_path
from feedline.tools.shared.formats import FORMATS

STANDARD_INPUT = "-"
_MAGIC = "*?["
_WEB = (b"http://", b"https://")
_copies: dict[bytes, str] = {}
"""What copies of streams are called in tables."""


if TYPE_CHECKING:
    Parameter = click.ParamType[str]
else:  # generic in new versions of click only
    Parameter = click.ParamType


class FileName(Parameter):
    """A file name, pattern or URL; shells complete names."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Has the shell complete file names."""
        return [CompletionItem(incomplete, type="file")]


files_argument = click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILES...")
format_option = click.option(
    "--format", "given", type=click.Choice(FORMATS), help="The format, if neither content nor name shows it."
)


features_option = click.option("--features", "chosen", help="Only these features, with commas between them.")


def chosen_features(text: str | None) -> list[str] | None:
    """The names in a list with commas; None if there is no list."""
    return None if text is None else [name.strip() for name in text.split(",")]


def check_features(chosen: Iterable[str] | None, found: Collection[str]) -> None:
    """Raises if a chosen feature is not among those that were found."""
    for name in chosen or ():
        if name not in found:
            raise InvalidArgumentError(f"there is no feature {name!r}; there are: {', '.join(sorted(found)) or 'none'}")


def check_target(path: bytes, sources: Iterable[bytes], force: bool) -> None:
    """Raises if a file to write is one of those to be read, even by another name, or exists and is not to be replaced.
    """
    if path == os.fsencode(STANDARD_INPUT):
        raise click.UsageError("- is not a file to write; feedline cat writes to standard output")
    here = system_path(path)
    there = here is not None and os.path.exists(here)
    for name in sources:
        other = system_path(name)
        same = there and other is not None and os.path.exists(other) and os.path.samefile(here or b"", other)
        if same or path == name:
            raise InvalidArgumentError(f"{shown(path)} is to be read and written; give another name")
    if here is not None and os.path.isdir(here):
        raise InvalidArgumentError(f"{shown(path)} is a folder; give the name of a file to write")
    if not force and exists(path):
        raise AlreadyExistsError(f"{shown(path)} exists already; --force replaces it")


def names_of(files: Sequence[str]) -> list[bytes]:
    """The names that file arguments stand for: `-` is standard input, a folder stands for the files in it.

    >>> import os, tempfile
    >>> from feedline.tools.shared.inputs import names_of
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("a.csv", "b.csv"):
    ...     fl.io.write_file(f"{folder}/{name}", "x\\n1\\n")
    >>> [os.path.basename(name) for name in names_of([f"{folder}/*.csv"])]
    [b'a.csv', b'b.csv']
    """
    names: list[bytes] = []
    for file in files:
        names += [_standard_input()] if file == STANDARD_INPUT else _matched(file)
    return [_copy_of_pipe(name) if _is_pipe(name) else name for name in names]


def _matched(file: str) -> list[bytes]:
    path = as_path(file)
    if not path:
        raise click.UsageError("a file name is empty")
    if _is_folder(path):
        found = [path.rstrip(b"/") + b"/" + name for name in _files_in(path) if not name.startswith(b".")]
        if not found:
            raise InvalidArgumentError(f"{file}: the folder has no files in it")
        return found
    if not any(mark in file for mark in _MAGIC) or exists(path):
        return [path]
    names: list[bytes] = [name for name in matching_files(file).tolist() if not os.path.isdir(name)]
    if not names:
        raise NotFoundError(f"{file}: no file matches this pattern")
    return names


def _is_folder(path: bytes) -> bool:
    """Whether a path is a folder. Web servers have none, so they are not asked."""
    here = system_path(path)
    if here is not None:
        return os.path.isdir(here)
    return not path.startswith(_WEB) and gfile.isdir(path)


def _files_in(folder: bytes) -> list[bytes]:
    here = system_path(folder)
    if here is not None:
        return sorted(entry.name for entry in os.scandir(here) if entry.is_file())
    return sorted(os.fsencode(name) for _, _, files in islice(gfile.walk(folder), 1) for name in files)


def _standard_input() -> bytes:
    """A copy of standard input, since most formats are not read from beginning to end; removed at exit."""
    if sys.stdin is None or sys.stdin.isatty():
        raise FailedPreconditionError("standard input is a terminal; give a file, or send data with | or <")
    return _copy(sys.stdin.buffer, STANDARD_INPUT)


def _is_pipe(name: bytes) -> bool:
    """Whether a name is a pipe, which can be read only once, such as that of `<(command)` in a shell."""
    here = system_path(name)
    try:
        return here is not None and stat.S_ISFIFO(os.stat(here).st_mode)
    except OSError:
        return False


def _copy_of_pipe(name: bytes) -> bytes:
    with open(name, "rb") as pipe:
        return _copy(pipe, shown(name))


def _copy(stream: BinaryIO, shown_as: str) -> bytes:
    """A copy of a stream in a file, which is removed at exit."""
    number, name = tempfile.mkstemp(prefix="feedline-stdin-")

    def remove() -> None:
        with suppress(OSError):
            os.unlink(name)

    atexit.register(remove)
    with os.fdopen(number, "wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    _copies[os.fsencode(name)] = shown_as
    return os.fsencode(name)


def is_stream(name: bytes) -> bool:
    """Whether a name is that of a copy of standard input or of a pipe."""
    return name in _copies


def display_name(name: bytes) -> str:
    """A name for tables: a copy of standard input is `-`, that of a pipe has the name of the pipe."""
    return _copies.get(name) or shown(name)


def display_error(error: BaseException) -> str:
    """The text of an error on one line, in which a copy of standard input has that name."""
    text = " ".join(str(error).split())
    for name, shown_as in _copies.items():
        text = text.replace(shown(name), "standard input" if shown_as == STANDARD_INPUT else shown_as)
    return text
