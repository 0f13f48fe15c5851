"""`feedline verify`: reads every record of files, and lists the bad ones."""

from __future__ import annotations

import time

import click

from feedline.tools.shared.command import command
from feedline.tools.shared.inputs import display_error, files_argument, format_option, names_of
from feedline.tools.shared.output import console, joined, print_json, shown
from feedline.tools.shared.summary import Summary, summarise
from feedline.tools.shared.text import plural, size_of


@command(
    "feedline verify train.tfrecord",
    "feedline verify 'train-*.tfrecord' --json",
    "feedline verify data/ && echo sound",
)
@files_argument
@format_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status is the answer.")
def verify(files: tuple[str, ...], given: str | None, quiet: bool, as_json: bool) -> int:
    """Check every checksum and every record of files.

    Lists each bad record with its place, continues after it, and exits with 1 if there is one. In a file of Examples, a
    record that is not an Example is bad, too. TFRecord, ArrayRecord and compressed files have checksums, and Parquet
    files may have some; other files are only parsed. All processors are used.
    """
    names = names_of(files)
    began = time.perf_counter()
    sources, found = summarise(names, given, what="verifying")
    took = time.perf_counter() - began
    if as_json:
        print_json(
            {
                "files": len(names),
                "records": found.records,
                "bytes": found.size,
                "bad_records": found.bad_records,
                "bad": [bad.as_json() for bad in found.bad],
            }
        )
    elif not quiet:
        _print(found, len(names), sum(source.size or 0 for source in sources), took)
    return 1 if found.bad_records else 0


def _print(found: Summary, files: int, size: int, took: float) -> None:
    out = console()
    for bad in found.bad:
        lost = f" ({size_of(bad.lost)} lost)" if bad.lost else ""
        out.print(joined(shown("bad  ", "bold red"), shown(f"{display_error(bad.error)}{lost}")))
    if found.bad_records > len(found.bad):
        out.print(shown(f"     and {found.bad_records - len(found.bad):,} more", "red"))
    kind = "Example" if found.examples else "record"
    good = f"{plural(found.records, f'good {kind}')} in {plural(files, 'file')}"
    rate = f"{size_of(size)} in {took:.1f} s, {size_of(size / max(took, 1e-9))}/s"
    if found.bad_records:
        in_files = len({bad.file for bad in found.bad})
        what = f"{plural(found.bad_records, 'bad place')} in {plural(in_files, 'file')}"
        out.print(shown(f"{what}, {good} ({rate})", "bold red"))
        if any(bad.record is not None for bad in found.bad):
            out.print(shown("feedline repair writes what is sound in a file to a new one", "dim"))
    else:
        out.print(joined(shown("sound  ", "bold green"), shown(f"{good} ({rate})")))
