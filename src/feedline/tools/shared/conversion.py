"""Copies records from files to files of another format, order or number."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from feedline.errors import InvalidArgumentError, OpError
from feedline.io.files import shown
from feedline.io.output_file import OutputFile
from feedline.io.tfrecord.records import RecordFiles
from feedline.io.tfrecord.writer import TFRecordOptions, TFRecordWriter
from feedline.random.index_shuffle import index_shuffle
from feedline.structure.block import Array, Block, rows_of
from feedline.tools.shared import tables
from feedline.tools.shared.features import FeatureRows, column_of_values
from feedline.tools.shared.formats import ARRAY_RECORD, ARROW, CSV, OF_RECORDS, PARQUET, TFRECORD, DataFile
from feedline.tools.shared.many import ahead, each
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.records import batches, holds_examples, pieces
from feedline.tools.shared.summary import BadRecord, Summary, scan, summarised
from feedline.tools.shared.writers import Layout, RowWriter, Sink, layout_of, writer_of

AT_ONCE, BYTES_AT_ONCE = 4096, 1 << 26
"""The most records, and about the most bytes of them, that are read by number at once."""
TABLES = (PARQUET, ARROW)
Skipped = Callable[[BadRecord], None]


class Conversion(NamedTuple):
    """What to do: the files to read, the format to write, the features to keep (None: all), and whether and with which
    seed to shuffle. `skip` is called with what cannot be read; without it, that is an error.
    """

    sources: Sequence[DataFile]
    format: str
    features: list[str] | None = None
    seed: int | None = None
    skip: Skipped | None = None

    @property
    def raw(self) -> bool:
        """Whether records are copied as they are, without parsing."""
        of_records = all(source.format in OF_RECORDS for source in self.sources)
        return of_records and self.format in OF_RECORDS and self.features is None

    @property
    def indexed(self) -> bool:
        """Whether records can be read by number."""
        return self.raw and all(
            file.format == TFRECORD and not file.compression and b"://" not in file.name for file in self.sources
        )

    @property
    def of_tables(self) -> bool:
        """Whether rows are copied from tables to tables as they are, with their types."""
        if self.format not in TABLES or any(source.format not in TABLES for source in self.sources):
            return False
        return self.features is None or all(tables.has_columns(source, self.features) for source in self.sources)

    @property
    def passes(self) -> int:
        """How often the data are read: twice if the features must be found first, or if records are shuffled by way of
        a copy.
        """
        copied = self.raw or self.of_tables
        return 1 if copied and (self.seed is None or self.indexed) else 2


class Written(NamedTuple):
    """How many records have been written, and how many bytes were read."""

    records: int
    size: int


def converted(job: Conversion, paths: Sequence[bytes], compression: str, meter: Meter) -> Written:
    """Writes files; they appear together, when all are complete."""
    if job.raw and job.seed is not None and not job.indexed:
        return _copied_first(job, paths, compression, meter)
    if job.of_tables:
        return _tables_copied(job, paths, compression, meter)
    layout, kinds, count = _prepared(job, meter)
    if len(paths) > 1 and count is None and not job.indexed:
        count = sum(piece.n for source in job.sources for piece in pieces(source, reuse=True))
    with output_files(paths, job.format, compression) as files:
        makers = [writer_of(job.format, file, layout, file.draft) for file in files]
        with _finished(makers):
            if job.indexed and (len(paths) > 1 or job.seed is not None) and job.skip is None:
                total = _by_number(job, makers, meter)
            elif job.seed is not None:
                total = _shuffled_rows(job, makers, layout, kinds, meter)
            else:
                total = _in_order(job, makers, _parts(job, kinds, meter), count or 0)
    return Written(total, meter.done)


@contextmanager
def _finished(makers: Sequence[RowWriter]) -> Iterator[None]:
    """Finishes files at the end of a `with` block, or abandons them if it raises."""
    try:
        yield
        for maker in makers:
            maker.finish()
    except BaseException:
        for maker in makers:
            maker.abandon()
        raise


def to_sink(job: Conversion, sink: Sink, meter: Meter) -> int:
    """Writes one file to a sink, which may be standard output."""
    if job.of_tables:
        schema = tables.schema_of(job.sources, job.features, job.format)
        maker = writer_of(job.format, sink, {}, None, stream=True, schema=schema)
        with _finished([maker]):
            return _in_order(job, [maker], _stored(job, schema, meter), 0)
    layout, kinds, _ = _prepared(job, meter)
    maker = writer_of(job.format, sink, layout, None, stream=True)
    with _finished([maker]):
        return _in_order(job, [maker], _parts(job, kinds, meter), 0)


def _prepared(job: Conversion, meter: Meter) -> tuple[Layout, dict[str, str] | None, int | None]:
    """The features of all files and the number of their rows, for which they are read once; nothing where records are
    copied as they are.
    """
    if job.raw:
        return {}, None, None
    found = Summary()
    for one in each(job.sources, lambda source: summarised(source, meter), meter.stop):
        found.join(one)
    if found.bad and job.skip is None:
        _bad(job, found.bad[0])
    layout = layout_of(found, job.features, job.format)
    return layout, {name: one.kind for name, one in layout.items()}, found.records


Part = Block | FeatureRows | tables.TableRows
"""Consecutive rows, in one of the forms in which they are copied."""


def _in_order(job: Conversion, makers: list[RowWriter], parts: Iterator[Part], count: int) -> int:
    """Writes rows in order, an equal part of them to each file; `count` is their number, if there are several files."""
    total = 0
    ends = [count * (k + 1) // len(makers) for k in range(len(makers) - 1)]
    for part in ahead(parts):
        cuts = [0, *(min(max(end - total, 0), part.n) for end in ends), part.n]
        for maker, start, stop in zip(makers, cuts, cuts[1:], strict=False):
            if start == stop:
                continue
            piece = part.slice(start, stop)
            if isinstance(piece, FeatureRows):
                maker.write(piece)
            elif isinstance(piece, Block):
                maker.write_records(piece)
            else:
                maker.write_stored(piece.batch)
        total += part.n
    return total


def _parts(job: Conversion, kinds: dict[str, str] | None, meter: Meter) -> Iterator[Part]:
    for source in job.sources:
        yield from _records(job, source, meter) if job.raw else _rows(job, source, kinds, meter)


def _stored(job: Conversion, schema: Any, meter: Meter) -> Iterator[tables.TableRows]:
    for source in job.sources:
        number = 0
        try:
            for part, taken in tables.stored(source, schema):
                meter.add(taken)
                number += part.n
                yield part
        except OpError as e:
            _bad(job, BadRecord(e, source.shown, number))


def _tables_copied(job: Conversion, paths: Sequence[bytes], compression: str, meter: Meter) -> Written:
    """Copies the record batches of tables, so that all types stay as they are."""
    schema = tables.schema_of(job.sources, job.features, job.format)
    count = sum(map(tables.count_of, job.sources)) if len(paths) > 1 else 0
    with output_files(paths, job.format, compression) as files:
        makers = [writer_of(job.format, file, {}, file.draft, schema=schema) for file in files]
        with _finished(makers):
            parts = _stored(job, schema, meter)
            if job.seed is None:
                total = _in_order(job, makers, parts, count)
            else:
                with tables.SpilledTable(parts, schema) as spilled:
                    for k, maker in enumerate(makers):
                        for index in _share(spilled, job.seed, k, len(makers)):
                            batch = spilled.take(index)
                            maker.write_stored(batch)
                            meter.add(batch.nbytes)
                    total = spilled.count
    return Written(total, meter.done)


def _records(job: Conversion, source: DataFile, meter: Meter) -> Iterator[Block]:
    of_examples: bool | None = None
    for piece in pieces(source, reuse=True):
        meter.add(piece.taken)
        if piece.error is not None:
            _bad(job, BadRecord(piece.error, source.shown, piece.number, piece.offset, piece.lost))
            continue
        assert piece.block is not None
        if job.skip is None:
            yield piece.block
            continue
        if of_examples is None:
            of_examples = holds_examples(piece)
        if not of_examples:
            yield piece.block
            continue
        found = Summary()
        scan(source, piece, found)
        for bad in found.bad:
            job.skip(bad)
        gone = {bad.record for bad in found.bad}
        keep = np.array([i for i in range(piece.n) if piece.number + i not in gone], np.int64)
        yield piece.block if not gone else piece.block.take(keep)


def _rows(job: Conversion, source: DataFile, kinds: dict[str, str] | None, meter: Meter) -> Iterator[FeatureRows]:
    for batch in batches(source, kinds=kinds if source.format == CSV else None):
        meter.add(batch.taken)
        if batch.error is not None:
            _bad(job, BadRecord(batch.error, source.shown, batch.number))
        elif batch.rows is not None:
            rows = batch.rows if job.features is None else batch.rows.only(job.features)
            yield rows.of_kinds(kinds or {})


def _bad(job: Conversion, bad: BadRecord) -> None:
    if job.skip is None:
        raise type(bad.error)(f"{bad.error}; feedline repair writes what is sound to a new file")
    job.skip(bad)


def _by_number(job: Conversion, makers: list[RowWriter], meter: Meter) -> int:
    """Each file takes its share of the records, in order or shuffled; several files are written at the same time."""
    records = RecordFiles([source.name for source in job.sources]).whole()

    def write(k: int) -> None:
        for index in _share(records, job.seed, k, len(makers)):
            block = records.rows(index)
            makers[k].write_records(block)
            meter.add(block.nbytes)

    for _ in each(range(len(makers)), write, meter.stop):
        pass
    records.close()
    return records.count


def _share(records: RecordFiles | tables.SpilledTable, seed: int | None, k: int, parts: int) -> Iterator[Array]:
    """The numbers of the k-th of equal parts of all records, in order or in that of a shuffle of all."""
    count = records.count
    start, stop = count * k // parts, count * (k + 1) // parts
    at_once = min(AT_ONCE, max(1, BYTES_AT_ONCE * count // max(1, records.size)))
    for at in range(start, stop, at_once):
        index = np.arange(at, min(at + at_once, stop))
        yield index if seed is None else np.asarray(index_shuffle(index, [seed, 0], count - 1), np.int64)


def _copied_first(job: Conversion, paths: Sequence[bytes], compression: str, meter: Meter) -> Written:
    """Shuffles records that cannot be read by number, by way of a file in which they can."""
    with tempfile.TemporaryDirectory(prefix="feedline-shuffle-") as folder:
        copy = str(Path(folder) / "records.tfrecord").encode()
        converted(job._replace(format=TFRECORD, seed=None), [copy], "", meter)
        return converted(job._replace(sources=[DataFile(copy, TFRECORD)]), paths, compression, meter)


def _shuffled_rows(
    job: Conversion, makers: list[RowWriter], layout: Layout, kinds: dict[str, str] | None, meter: Meter
) -> int:
    """Shuffles rows, by way of a file from which each can be read by number."""
    with tempfile.TemporaryDirectory(prefix="feedline-shuffle-") as folder:
        copy = str(Path(folder) / "rows.tfrecord")
        with TFRecordWriter(copy) as writer:
            for source in job.sources:
                for rows in _rows(job, source, kinds, meter):
                    writer.write_many(pickle.dumps(row, pickle.HIGHEST_PROTOCOL) for row in rows.dicts())
        records = RecordFiles([copy.encode()]).whole()
        for k, maker in enumerate(makers):
            for index in _share(records, job.seed, k, len(makers)):
                read = [pickle.loads(record) for record in rows_of(records.rows(index).columns[0])]
                columns = {name: column_of_values([row.get(name) for row in read], name, copy) for name in layout}
                maker.write(FeatureRows(len(read), columns).of_kinds(kinds or {}))
        records.close()
        return records.count


@contextmanager
def output_files(paths: Sequence[bytes], format: str, compression: str) -> Iterator[list[OutputFile]]:
    """Files that appear together at the end of a `with` block, or not at all."""
    if compression and format in (PARQUET, ARRAY_RECORD):
        raise InvalidArgumentError(f"{format} files compress their data themselves; leave --compression out")
    with ExitStack() as stack:
        files = []
        for path in paths:
            compressor = TFRecordOptions(compression)._compressor() if compression else None
            files.append(OutputFile(path, compressor))
            stack.callback(files[-1].discard)
        yield files
        for file in files:
            file.finish()
        try:
            for file in files:
                file.place()
        except OSError as e:
            for file in files:
                file.remove_upload()
            if isinstance(e, OpError):
                raise
            raise OSError(e.errno, e.strerror, shown(file.path)) from None

