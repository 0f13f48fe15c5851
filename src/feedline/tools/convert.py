"""`feedline convert`: records in another format, order, selection, or number of files."""

from __future__ import annotations

import os
import re
import time

import click

from feedline.io.files import as_path, shown
from feedline.io.tfrecord.examples import shard_paths
from feedline.tools.shared.command import command
from feedline.tools.shared.conversion import Conversion, converted
from feedline.tools.shared.formats import FORMATS, by_name, compression_by_name, ending_of, recognised
from feedline.tools.shared.inputs import (
    FileName,
    check_target,
    chosen_features,
    features_option,
    format_option,
    names_of,
)
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import print_json
from feedline.tools.shared.summary import total_size
from feedline.tools.shared.text import plural, size_of

_COUNT = re.compile(r"@\d+(?=[.@]|$)")
COMPRESSIONS = ("none", "gzip", "zlib", "zstd")


@command(
    "feedline convert train.tfrecord train.parquet",
    "feedline convert table.csv table.tfrecord --features label,name",
    "feedline convert 'train-*.tfrecord' shuffled.tfrecord --shuffle --seed 7 --shards 4",
    "feedline convert table.parquet table.jsonl.gz",
)
@click.argument("files", nargs=-1, required=True, type=FileName(), metavar="FILES... OUTPUT")
@format_option
@click.option("--to", "target", type=click.Choice(FORMATS), help="The format to write, if the name does not show it.")
@click.option("--shards", type=click.IntRange(1, 99_999), metavar="N", help="Write N files, OUTPUT-00000-of-0000N.")
@click.option("--compression", type=click.Choice(COMPRESSIONS), help="By default, what the name shows: .gz or .zst.")
@features_option
@click.option("--shuffle", is_flag=True, help="Shuffle all records of all files.")
@click.option("--seed", type=int, help="The seed of the shuffle; implies --shuffle.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def convert(
    files: tuple[str, ...],
    given: str | None,
    target: str | None,
    shards: int | None,
    compression: str | None,
    chosen: str | None,
    shuffle: bool,
    seed: int | None,
    force: bool,
    as_json: bool,
) -> int:
    """Write records in another format, order, selection, or number of files.

    The last argument is the file to write; its name shows its format and compression. Features of Examples become
    columns; from TFRecord to TFRecord, records are copied unchanged. --shards writes consecutive records to each file.
    --shuffle draws from all records of all files, which need not fit in memory. Files appear once they are complete.
    """
    if len(files) < 2:
        raise click.UsageError("the file to write is missing: give FILES... OUTPUT")
    *inputs, output = files
    format_ = target or by_name(output)
    if format_ is None:
        raise click.UsageError(f"the name {output!r} shows no format: give it with --to")
    names = names_of(inputs)
    paths = _shards(output, shards)
    packed = compression_by_name(output) if compression is None else compression.upper().replace("NONE", "")
    for path in paths:
        check_target(path, names, force)
    drawn = int.from_bytes(os.urandom(4), "little") if shuffle and seed is None else seed
    began = time.perf_counter()
    sources = [recognised(name, given) for name in names]
    job = Conversion(sources, format_, chosen_features(chosen), drawn)
    size = total_size(names)
    with Meter("converting", None if size is None else size * job.passes) as meter:
        done = converted(job, paths, packed, meter)
    took = time.perf_counter() - began
    if as_json:
        print_json({"records": done.records, "files": [shown(path) for path in paths], "seed": drawn})
    else:
        rate = f"{size_of((size or done.size) / max(took, 1e-9))}/s"
        where = shown(paths[0]) if len(paths) == 1 else f"{plural(len(paths), 'file')}, {shown(paths[0])} and so on"
        print(f"{plural(done.records, 'record')} in {where} ({took:.1f} s, {rate})")
    return 0


def _shards(output: str, shards: int | None) -> list[bytes]:
    """The files to write: numbers stand before the ending that shows the format, as in data-00000-of-00004.csv."""
    folder, slash, name = output.rpartition("/")
    counts = _COUNT.findall(name)
    if shards is None and not counts and "{shard}" not in name:
        return [as_path(output)]
    if "{shard}" not in name:
        plain = _COUNT.sub("", name)
        at = ending_of(plain)
        name = f"{plain[:at]}-{{shard}}{''.join(counts)}{plain[at:]}"
    return shard_paths(folder + slash + name, shards)
