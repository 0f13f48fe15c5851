"""`feedline count`: the number of records in files."""

from __future__ import annotations

from contextlib import closing

from feedline.errors import OpError
from feedline.io.array_record import ArrayRecordReader
from feedline.io.tfrecord import index
from feedline.tools.shared.command import command
from feedline.tools.shared.formats import ARRAY_RECORD, ARROW, PARQUET, TFRECORD, DataFile, recognised
from feedline.tools.shared.inputs import display_error, display_name, files_argument, format_option, names_of
from feedline.tools.shared.many import each
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.output import complain, console, print_json, table
from feedline.tools.shared.records import Piece, batches, pieces, table_reader


@command(
    "feedline count train.tfrecord",
    "feedline count 'train-*.tfrecord' --json",
    "feedline count data/ table.parquet",
)
@files_argument
@format_option
def count(files: tuple[str, ...], given: str | None, as_json: bool) -> int:
    """Count the records in files.

    The data are not read if the file stores the number or has an index; of other TFRecord files only headers are read.
    Checksums of data are not verified: that is what feedline verify is for.
    """
    names = names_of(files)

    def one(name: bytes) -> tuple[bytes, int | None, OpError | None]:
        try:
            return name, _counted(recognised(name, given), meter), None
        except OpError as e:
            return name, None, e
        finally:
            meter.add(1)

    with Meter("counting", len(names), "files") as meter:
        found = list(each(names, one, meter.stop))
    total = sum(n or 0 for _, n, _ in found)
    errors = [e for _, _, e in found if e is not None]
    if as_json:
        listed = [{"file": display_name(name), "records": n, "error": e and display_error(e)} for name, n, e in found]
        print_json({"records": total, "files": listed})
    else:
        rows = [(display_name(name), f"{n:,}") for name, n, _ in found if n is not None]
        if len(rows) > 1:
            console().print(table(("file", "records"), [*rows, ("total", f"{total:,}")], right=[1]))
        elif rows:
            print(total)
        complain("count", errors)
    return 1 if errors else 0


def _counted(source: DataFile, meter: Meter) -> int:
    """The number of records in a file."""
    if source.format == TFRECORD and not source.compression and b"://" not in source.name:
        return len(index.indexes([source.name], None, False)[0])
    if source.format == ARRAY_RECORD:
        with closing(ArrayRecordReader(source.name)) as file:
            return file.count
    if source.format in (PARQUET, ARROW):
        with closing(table_reader(source)) as rows:
            known = rows.count
            return sum(batch.block.n for batch in rows.batches()) if known is None else known
    total = 0
    for piece in pieces(source) if source.format == TFRECORD else batches(source):
        meter.add(0)
        if piece.error is not None:
            raise piece.error
        total += piece.n if isinstance(piece, Piece) else 0 if piece.rows is None else piece.rows.n
    return total
