"""`feedline index`: stores where each record of TFRecord files begins."""

from __future__ import annotations

import os

import click

from feedline.errors import FailedPreconditionError, OpError
from feedline.io.files import shown
from feedline.io.tfrecord import index as indexing
from feedline.io.tfrecord import sidecar
from feedline.tools.shared.command import command
from feedline.tools.shared.formats import TFRECORD, recognised
from feedline.tools.shared.inputs import display_error, files_argument, is_stream, names_of
from feedline.tools.shared.many import each
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import complain, console, print_json, table
from feedline.tools.shared.text import plural, size_of


@command(
    "feedline index train.tfrecord",
    "feedline index 'train-*.tfrecord' --anew",
    "feedline index 'train-*.tfrecord' --remove",
)
@files_argument
@click.option("--anew", is_flag=True, help="Replace indexes that exist.")
@click.option("--remove", is_flag=True, help="Remove the indexes.")
def index(files: tuple[str, ...], anew: bool, remove: bool, as_json: bool) -> int:
    """Store where each record of TFRecord files begins.

    With an index, records are read by number, so that len, at and global_shuffle do not have to read the files first.
    It is a small file beside the data, and can be removed at any time.
    """
    names = names_of(files)

    def one(name: bytes) -> tuple[bytes, int, int, OpError | None]:
        try:
            return name, *_indexed(name, anew, remove), None
        except OpError as e:
            return name, 0, 0, e
        finally:
            meter.add(1)

    with Meter("indexing", len(names), "files") as meter:
        found = list(each(names, one, meter.stop))
    errors = [e for *_, e in found if e is not None]
    if as_json:
        listed = [
            {"file": shown(n), "records": c, "index_bytes": s, "error": e and display_error(e)} for n, c, s, e in found
        ]
        print_json({"files": listed, "records": sum(c for _, c, _, _ in found)})
    elif remove:
        print(f"removed the indexes of {plural(len(found) - len(errors), 'file')}")
        complain("index", errors)
    else:
        rows = [(shown(n), f"{c:,}", size_of(s)) for n, c, s, e in found if e is None]
        if rows:
            console().print(table(("file", "records", "index"), rows, right=[1, 2]))
        complain("index", errors)
    return 1 if errors else 0


def _indexed(name: bytes, anew: bool, remove: bool) -> tuple[int, int]:
    """The number of records of a file, and the bytes of its index."""
    if is_stream(name):
        raise FailedPreconditionError(f"{shown(name)} has no index, which is stored beside a file; give its name")
    source = recognised(name)
    if source.format != TFRECORD:
        raise FailedPreconditionError(
            f"{source.shown} is a {source.format} file; only TFRecord files have an index (feedline convert makes one)"
        )
    if remove:
        indexing.forget(name)
        return 0, 0
    (made,) = indexing.indexes([name], True, False, anew)
    places = sidecar.places(os.path.abspath(name))
    return len(made), sum(os.path.getsize(place) for place in places if os.path.exists(place))
