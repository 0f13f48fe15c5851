"""`feedline schema`: the features of files, and the Python code that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import click
import numpy as np
from rich.text import Text

from feedline.errors import InvalidArgumentError
from feedline.io import gfile
from feedline.io.tar import KEY
from feedline.tools.shared.command import command
from feedline.tools.shared.features import FLOAT, INT
from feedline.tools.shared.formats import ARRAY_RECORD, ARROW, CSV, JSONL, PARQUET, TAR, DataFile
from feedline.tools.shared.inputs import display_error, display_name, files_argument, format_option, names_of
from feedline.tools.shared.output import complain, console, print_json, shown, table
from feedline.tools.shared.records import csv_form, table_reader
from feedline.tools.shared.summary import FeatureSummary, Summary, parsing_features, summarise
from feedline.tools.shared.text import plural, share, size_of


@command(
    "feedline schema train.tfrecord",
    "feedline schema 'train-*.tfrecord' --records 1000",
    "feedline schema table.parquet --json",
    "feedline schema train.tfrecord --python > read.py",
)
@files_argument
@format_option
@click.option("--records", type=click.IntRange(1), help="Read only the first N records of each file.", metavar="N")
@click.option("--ragged", is_flag=True, help="Use RaggedFeature instead of VarLenFeature in the code.")
@click.option("--python", is_flag=True, help="Print the Python code only.")
def schema(
    files: tuple[str, ...], given: str | None, records: int | None, ragged: bool, python: bool, as_json: bool
) -> int:
    """Show the features of files, and the code that reads them.

    Shows the type of each feature, its shape, and the share of the records that have it, even if without values. Every
    record is read, unless --records limits them.
    """
    names = names_of(files)
    sources, found = summarise(names, given, records)
    if not sources:
        raise found.errors[0] if found.bad else InvalidArgumentError("there are no files")
    code = python_code(sources, found, ragged, files)
    if as_json:
        print_json(
            {
                "records": found.records,
                "files": [display_name(source.name) for source in sources],
                "format": sources[0].format,
                "examples": found.examples,
                "features": {name: _as_json(found, name) for name in sorted(found.features)},
                "python": code,
                "errors": [display_error(e) for e in found.errors],
            }
        )
    elif python:
        print(code, end="")
        complain("schema", found.errors, found.bad_records)
    else:
        _print(sources, found, code)
        complain("schema", found.errors, found.bad_records)
    return 1 if found.bad else 0


def _as_json(found: Summary, name: str) -> dict[str, object]:
    one = found.features[name]
    return {
        "types": sorted(one.kinds),
        "records": one.records,
        "least_values": one.least or 0,
        "most_values": one.most,
        "list": one.listed,
    }


def _print(sources: list[DataFile], found: Summary, code: str) -> None:
    out = console()
    kind = "SequenceExample" if found.sequences else "Example" if found.examples else "record"
    size = f", {size_of(found.size)}" if found.size else ""
    files = plural(len(sources), f"{sources[0].format} file")
    out.print(shown(f"{files}, {plural(found.records, kind)}{size}", "bold"))
    rows = []
    for name, one in sorted(found.features.items()):
        mean = f"{size_of(one.size / one.values)} each" if one.size and one.values else ""
        kinds = " or ".join(sorted(one.kinds)) or "empty"
        rows.append((name, kinds, one.shape(), share(one.records, found.records), mean))
    if rows:
        out.print(table(("feature", "type", "shape", "in", "size"), rows, right=[3]))
    out.print()
    out.print(shown_code(code), soft_wrap=True)


def shown_code(code: str) -> Text:
    """Python code in colours."""
    from rich.syntax import Syntax

    return Syntax("", "python", theme="ansi_dark", background_color="default").highlight(code.rstrip())


def python_code(sources: list[DataFile], found: Summary, ragged: bool = False, patterns: Sequence[str] = ()) -> str:
    """The program that reads the files. It has `patterns` instead of their names, if these find the same files."""
    names = [display_name(source.name) for source in sources]
    files = repr(names[0]) if len(names) == 1 else "files"
    lines = ["import feedline as fl", ""]
    if len(names) > max(1, len(patterns)) and gfile.glob(patterns) == names:
        lines.append(f"files = fl.io.gfile.glob({(patterns[0] if len(patterns) == 1 else list(patterns))!r})")
    elif len(names) > 1:
        lines += ["files = [", *(f"    {name!r}," for name in names), "]"]
    compression = {source.compression for source in sources} - {""}
    packed = f", compression_type={'AUTO' if len(compression) > 1 else compression.pop()!r}" if compression else ""
    format_ = sources[0].format
    if format_ == PARQUET:
        lines.append(f"ds = fl.ParquetDataset({files}{_columns(sources[0])})")
    elif format_ == ARROW:
        lines.append(f"ds = fl.ArrowDataset({files}{_columns(sources[0])})")
    elif format_ == TAR:
        extensions = [name for name in found.features if name != KEY]
        empty = b""
        varying = any(found.features[name].records < found.records for name in extensions)
        lines.append(f"ds = fl.TarDataset({files}{f', {extensions}, missing={empty!r}' if varying else ''}{packed})")
    elif format_ == CSV:
        how = next(filter(None, (_csv_arguments(source, found) for source in sources)), "")
        lines = ["import numpy as np", *lines] if "np." in how else lines
        call = f"make_csv_dataset({files}, batch_size=32{how}, num_epochs=1, shuffle=False{packed})"
        lines.append(f"ds = fl.experimental.{call}")
    elif format_ == JSONL:
        lines = ["import json", "", *lines, f"ds = fl.TextLineDataset({files}{packed}).map(json.loads)"]
    else:
        kind = "ArrayRecordDataset" if format_ == ARRAY_RECORD else "TFRecordDataset"
        made = f"fl.{kind}({files}{packed})"
        lines += _parsing(found, made, ragged) if found.examples else [f"ds = {made}"]
    return "\n".join([*lines, ""])


def _columns(source: DataFile) -> str:
    """The argument that selects columns, if there are some that datasets cannot hold."""
    with closing(table_reader(source)) as reader:
        held = list(reader.form.tree.keys)
        return "" if held == reader.names else f", columns={held}"


def _csv_arguments(source: DataFile, found: Summary) -> str:
    """The arguments that say what the columns of a CSV file hold, and how it is written; none if it is empty."""
    try:
        form, names = csv_form(source)
    except InvalidArgumentError:
        return ""
    defaults = ", ".join(_csv_default(found.features.get(name), found.records) for name in names)
    how = "" if form.header else f", header=False, column_names={names}"
    how += f", field_delim={form.delimiter.decode()!r}" if form.delimiter != b"," else ""
    return f", column_defaults=[{defaults}]{how}"


def _csv_default(one: FeatureSummary | None, records: int) -> str:
    """The type of a column, or the value of missing fields."""
    dtype = None if one is None or one.kind not in (INT, FLOAT) else np.dtype(one.dtype).name
    if one is None or dtype not in ("int64", "float64"):
        return "''"
    return f"fl.{dtype}" if one.records == records else f"np.{dtype}(0)"


def _parsing(found: Summary, made: str, ragged: bool) -> list[str]:
    context, lists = parsing_features(found, ragged)
    if not lists:
        given, call = [f"features = {context!r}"], "parse_single_example(record, features)"
    else:
        given = [f"context_features = {context!r}", f"sequence_features = {lists!r}"]
        call = "parse_single_sequence_example(record, context_features, sequence_features)"
    return [*given, "", "", "def parse(record):", f"    return fl.io.{call}", "", "", f"ds = {made}.map(parse)"]
