"""`feedline repair`: what is sound in a damaged file, in a new file."""

from __future__ import annotations

import click

from feedline.errors import InvalidArgumentError
from feedline.io.files import as_path
from feedline.tools.shared.command import command
from feedline.tools.shared.conversion import Conversion, converted
from feedline.tools.shared.formats import compression_by_name, recognised
from feedline.tools.shared.inputs import FileName, check_target, format_option, names_of
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import complain, print_json
from feedline.tools.shared.summary import MOST_LISTED, BadRecord, total_size
from feedline.tools.shared.text import plural, size_of


@command(
    "feedline repair damaged.tfrecord sound.tfrecord",
    "feedline repair damaged.tfrecord sound.tfrecord --force --json",
)
@click.argument("file", type=FileName())
@click.argument("output", type=FileName())
@format_option
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def repair(file: str, output: str, given: str | None, force: bool, as_json: bool) -> int:
    """Write what is sound in a damaged file to a new file of the same format.

    Records with wrong checksums, and in a file of Examples those that are not Examples, are left out and listed;
    reading continues at the next sound record. The damaged file is not changed.
    """
    names = names_of([file])
    if len(names) > 1:
        raise InvalidArgumentError(f"{file} stands for {plural(len(names), 'file')}; repair takes one at a time")
    name = names[0]
    path = as_path(output)
    check_target(path, [name], force)
    source = recognised(name, given)
    lost: list[BadRecord] = []
    count = 0

    def skip(bad: BadRecord) -> None:
        nonlocal count
        count += 1
        if len(lost) < MOST_LISTED:
            lost.append(bad)

    with Meter("repairing", total_size([name])) as meter:
        done = converted(Conversion([source], source.format, skip=skip), [path], compression_by_name(path), meter)
    if as_json:
        left_out = [bad.as_json() for bad in lost]
        print_json({"records": done.records, "file": output, "left_out": count, "bad": left_out})
    else:
        complain("repair", [bad.error for bad in lost], count)
        gone = sum(bad.lost or 0 for bad in lost)
        size = f", {size_of(gone)}" if gone else ""
        print(f"{plural(done.records, 'record')} in {output}; left out: {plural(count, 'place')}{size}")
    return 0
