"""Records of any format as blocks of rows, through the readers of the library."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import DataLossError, InvalidArgumentError, OpError
from feedline.io.array_record import ArrayRecordReader
from feedline.io.arrow.columns import rows_of as arrow_rows
from feedline.io.arrow.ipc import ArrowReader
from feedline.io.arrow.parquet import ParquetReader, VerifiedParquetReader
from feedline.io.csv.columns import Column
from feedline.io.csv.inference import Dialect, column_names
from feedline.io.csv.records import CsvReader, Format
from feedline.io.files import system_path
from feedline.io.reader import FilePosition, Read, RecordReader
from feedline.io.stream import Stream
from feedline.io.tar import KEY, SampleSchema, TarReader, extensions_of
from feedline.io.text import TextLineReader
from feedline.io.tfrecord.framing import AROUND
from feedline.io.tfrecord.index import OpenFile
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.kernels.entries import entries, kind_of, values
from feedline.kernels.threads import team
from feedline.structure import types
from feedline.structure.block import Array, Block, Bytes, object_array, rows_of
from feedline.structure.nest import LEAF
from feedline.tools.shared.csv_fields import numbers_of
from feedline.tools.shared.features import (
    BYTES,
    FLOAT,
    INT,
    TEXT,
    FeatureRows,
    ValueColumn,
    column_of,
    column_of_values,
    nested_column,
)
from feedline.tools.shared.formats import (
    ARRAY_RECORD,
    ARROW,
    CSV,
    JSONL,
    PARQUET,
    TAR,
    TFRECORD,
    DataFile,
    delimiter_of,
)
from feedline.wire import WireError

AT_ONCE = 1 << 14
"""The most rows of a block."""
MOST_BYTES = 1 << 22
"""The size of a buffer that is filled again and again; it fits the caches of a processor."""
FEW = 64
DEEPEST = 100
"""The most levels of a JSON object: values are converted, compared and shown by recursive functions."""
_TOO_DEEP = f"it has more than {DEEPEST} levels"
RECORD = "record"
"""The name of the only column of records that are not Examples."""
_EXAMPLE_KINDS = {1: BYTES, 2: FLOAT, 3: INT}
_NUMERIC = (INT, FLOAT)


class Piece(NamedTuple):
    """Consecutive records of a file, or one that cannot be read: their column (of strings, or None with an error), the
    number and byte of the first, the bytes of the file that they take, and whether the file goes on after an error.
    """

    block: Block | None
    number: int
    offset: int
    taken: int
    error: OpError | None = None
    lost: int | None = None
    goes_on: bool = True

    @property
    def n(self) -> int:
        """The number of records."""
        return 0 if self.block is None else self.block.n


def pieces(source: DataFile, want: int = AT_ONCE, reuse: bool = False) -> Iterator[Piece]:
    """The records of a file, piece by piece; damaged ones as errors, after which reading goes on where that is
    possible. With `reuse` the memory of a piece may be used again for the one after the next.
    """
    try:
        reader = reader_of(source)
    except OpError as e:
        yield Piece(None, 0, 0, 0, e, None, False)
        return
    place = FilePosition()
    with closing(reader), _ReusedBuffers(source, reuse) as buffers:
        while True:
            got = buffers.read(place) or reader.read(place, want)
            after = got.place or place
            if got.rows is not None:
                yield Piece(got.rows, place.number, place.offset, after.offset - place.offset)
            elif got.error is not None:
                error = got.error if isinstance(got.error, OpError) else DataLossError(str(got.error))
                taken = after.offset - place.offset
                yield Piece(None, place.number, place.offset, taken, error, got.lost, got.place is not None)
            if got.place is None:
                if got.rows is None and got.error is None:
                    reader.check_unchanged()
                return
            place = got.place


class _ReusedBuffers:
    """Reads the records of a plain local TFRecord file into two buffers in turn, which the thread team fills."""

    def __init__(self, source: DataFile, reuse: bool) -> None:
        here = system_path(source.name)
        plain = reuse and source.format == TFRECORD and not source.compression and here is not None
        self._file = OpenFile(here) if plain and here is not None and os.path.isfile(here) else None
        self._held = [np.empty(MOST_BYTES if self._file is not None else 0, np.uint8) for _ in range(2)]

    def read(self, place: FilePosition) -> Read | None:
        """The next records; None at the end, before damage and before a record that is larger than a buffer."""
        if self._file is None:
            return None
        data = self._held[0]
        offsets, _, _ = kernels.tfrecord_read(self._file.fd, place.offset, MOST_BYTES, data, team())
        n = len(offsets) - 1
        if not n:
            return None
        self._held.reverse()
        after = FilePosition(place.offset + int(offsets[-1] - offsets[0]), place.number + n)
        return Read(Block([Bytes(data, offsets, AROUND)], n, LEAF), after)

    def __enter__(self) -> _ReusedBuffers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def reader_of(source: DataFile) -> RecordReader:
    """An open file, whose rows can be read from any place on."""
    if source.format in (PARQUET, ARROW):
        return table_reader(source)
    if source.format == TFRECORD:
        return TFRecordReader(source.name, source.compression, resync=True)
    if source.format == ARRAY_RECORD:
        return ArrayRecordReader(source.name)
    if source.format == JSONL:
        return TextLineReader(source.name, source.compression)
    if source.format == CSV:
        return csv_reader(source)[0]
    assert source.format == TAR
    extensions = extensions_of(source.name, source.compression)
    return TarReader(source.name, SampleSchema(extensions, True, b""), source.compression)


def column(piece: Piece) -> Any:
    """The strings of a piece, as kernels take them."""
    assert piece.block is not None
    held = piece.block.columns[0]
    if isinstance(held, Bytes):
        return held.data, np.ascontiguousarray(held.offsets), held.gap
    return held


def holds_examples(piece: Piece) -> bool:
    """Whether most of the first records of a piece are Examples, or SequenceExamples, with features."""
    assert piece.block is not None
    first = rows_of(piece.block.slice(0, FEW).columns[0])
    good = sum(done == 1 and not bare for done, bare, _ in (kernels.scan_examples([r]) for r in first))
    return bool(first) and 2 * good > len(first)


# Rows with features.


class RowBatch(NamedTuple):
    """Rows of a file, or an error: the number of the first, and the bytes of the file they take."""

    rows: FeatureRows | None
    number: int
    taken: int
    error: OpError | None = None
    sizes: Array | None = None
    """The size of each record in bytes, where records are strings."""


def batches(
    source: DataFile, want: int = AT_ONCE, kinds: dict[str, str] | None = None, only: Collection[str] | None = None
) -> Iterator[RowBatch]:
    """The rows of a file with their features. `kinds` are the types of the columns of a CSV file, where they are known.
    With `only`, other features are left out, and not parsed where that saves time.
    """
    if source.format in (PARQUET, ARROW):
        yield from _table_batches(source, want, only)
        return
    if source.format == CSV:
        yield from _csv_batches(source, want, kinds, only)
        return
    if source.format == TAR:
        yield from _tar_batches(source, want, only)
        return
    of_examples: bool | None = None
    for piece in pieces(source, want):
        if piece.error is not None:
            yield RowBatch(None, piece.number, piece.taken, piece.error)
            continue
        assert piece.block is not None
        if source.format == JSONL:
            yield from _json_batches(source, piece, only)
        else:
            if of_examples is None:
                of_examples = holds_examples(piece)
            yield from _example_batches(source, piece, only) if of_examples else _raw_batches(piece)


def _raw_batches(piece: Piece) -> Iterator[RowBatch]:
    assert piece.block is not None
    made = column_of(piece.block.columns[0])
    yield RowBatch(FeatureRows(piece.n, {RECORD: made}), piece.number, piece.taken, None, sizes_of(piece))


def sizes_of(piece: Piece) -> Array:
    """The size of each record in bytes."""
    assert piece.block is not None
    held = piece.block.columns[0]
    if isinstance(held, Bytes):
        return np.diff(held.offsets) - held.gap
    return np.fromiter(map(len, held), np.int64, len(held))


def _example_batches(source: DataFile, piece: Piece, only: Collection[str] | None) -> Iterator[RowBatch]:
    """Rows of Examples. A bad one, or one whose feature has another type, is an error of its own."""
    assert piece.block is not None
    block, number, sizes = piece.block, piece.number, sizes_of(piece)
    left = piece.taken
    while block.n:
        at = piece._replace(block=block)
        done, _, found = kernels.scan_examples(column(at), team())
        listed = {key: kind for key, in_list, kind, *_ in found if kind and in_list}
        if listed:
            done = min(done, _sequences(column(at), listed)[0])
        stop = min([done, *_changes(found)])
        if stop:
            part = block.slice(0, stop)
            taken = int(sizes[:stop].sum()) if stop < block.n else left
            asked = [f for f in found if f[4] < stop and (only is None or feature_name(f[0]) in only)]
            rows = FeatureRows(stop, _parsed(piece._replace(block=part), asked, stop == done))
            yield RowBatch(rows, number, taken, None, sizes[:stop])
            left -= taken
        elif done == 0:
            yield RowBatch(None, number, 0, not_an_example(source, number, bytes(block.element(0))))
            stop = 1
        block, number, sizes = block.slice(stop, block.n), number + stop, sizes[stop:]


def not_an_example(source: DataFile, number: int, data: bytes) -> DataLossError:
    """The error for a record that is not an Example, among others that are."""
    try:
        for _, span in entries(data):
            if kind_of(data, span) is not None:
                values(data, span)
        reason = "its feature lists are damaged"
    except WireError as e:
        reason = str(e)
    return DataLossError(f"{source.shown}, record {number} is not a valid Example: {reason}")


def _changes(found: list[Any]) -> list[int]:
    """The first rows in which a feature has another type than before."""
    first: dict[tuple[bytes, bool], list[int]] = {}
    for key, listed, kind, _, row, *_ in found:
        if kind:
            first.setdefault((key, listed), []).append(row)
    return [sorted(rows)[1] for rows in first.values() if len(rows) > 1]


def _parsed(piece: Piece, found: list[Any], all_of_them: bool) -> dict[str, ValueColumn]:
    """The columns of Examples. `found` describes the features of these rows, and of others too unless it is of
    `all_of_them`.
    """
    asked = {key: kind for key, listed, kind, *_ in found if kind and not listed}
    kinds = np.array(list(asked.values()), np.uint8)
    done, columns = kernels.parse_examples(
        column(piece), list(asked), kinds, np.full(len(asked), -1), [None] * len(asked), team()
    )
    assert done == piece.n
    least = {f[0]: (f[5], all_of_them and f[3] == piece.n) for f in found if f[2] and not f[1]}
    made = {}
    for (key, kind), (flat, counts) in zip(asked.items(), columns, strict=True):
        assert counts is not None
        absent = counts == 0
        if absent.any() and least[key][0] == 0:  # some, or all of these rows have the feature, with no values
            absent = _lacking(piece, key, absent) if not least[key][1] else np.zeros(len(counts), bool)
        made[feature_name(key)] = _values(_EXAMPLE_KINDS[kind], flat, counts, absent)
    listed = {key: kind for key, in_list, kind, *_ in found if kind and in_list}
    made.update(_listed(piece, listed) if listed else {})
    return made


def _lacking(piece: Piece, key: bytes, without_values: Array) -> Array:
    """Of the rows without values for a feature, those that do not have the feature at all."""
    assert piece.block is not None
    held = rows_of(piece.block.columns[0])
    lacking = without_values.copy()
    for i in np.flatnonzero(without_values).tolist():
        data = bytes(held[i])
        span = dict(entries(data)).get(key)
        lacking[i] = span is None or kind_of(data, span) is None
    return lacking


def _values(kind: str, flat: Array, counts: Array, absent: Array) -> ValueColumn:
    """A column of Examples; `absent` are the rows that lack the feature."""
    missing = absent if absent.any() else None
    if len(counts) and (counts.max() > 1 or bool((counts[~absent] == 0).any())):
        return ValueColumn(kind, flat, counts, missing)
    if missing is None:
        return ValueColumn(kind, flat)
    full = np.full(len(counts), b"", object) if flat.dtype == object else np.zeros(len(counts), flat.dtype)
    full[~absent] = flat
    return ValueColumn(kind, full, None, missing)


def _listed(piece: Piece, listed: dict[bytes, int]) -> dict[str, ValueColumn]:
    """The values of feature lists: of each step a list, unless each has one value."""
    _, _, columns = _sequences(column(piece), listed)
    made = {}
    for (key, kind), (flat, steps, lengths) in zip(listed.items(), columns, strict=True):
        ends = np.concatenate([[0], np.cumsum(lengths)])
        bounds = np.concatenate([[0], np.cumsum(steps)])
        absent = steps == 0
        found = ValueColumn(_EXAMPLE_KINDS[kind], flat, np.diff(ends[bounds]), absent if absent.any() else None)
        if lengths is not None and bool((np.asarray(lengths) != 1).any()):
            found = nested_column(_steps(found, ends.tolist(), bounds.tolist()))
        made[feature_name(key)] = found
    return made


def _steps(found: ValueColumn, ends: list[int], bounds: list[int]) -> list[Any]:
    """The steps of each row as lists; of a row whose steps all have one value, the values."""
    values = list(ValueColumn(found.kind, found.values).rows())
    rows: list[Any] = []
    for a, b in pairwise(bounds):
        if a == b:
            rows.append(None)
        elif all(ends[i + 1] - ends[i] == 1 for i in range(a, b)):
            rows.append(values[ends[a] : ends[b]])
        else:
            rows.append([values[ends[i] : ends[i + 1]] for i in range(a, b)])
    return rows


def _sequences(strings: Any, listed: dict[bytes, int]) -> Any:
    none, k = np.empty(0, np.uint8), len(listed)
    kinds, sizes, needed = np.array(list(listed.values()), np.uint8), np.full(k, -1), np.zeros(k, np.uint8)
    return kernels.parse_sequences(
        strings, [], none, np.empty(0, np.int64), [], list(listed), kinds, sizes, needed, team()
    )


def feature_name(key: bytes) -> str:
    """The name of a feature as text."""
    return key.decode(errors="backslashreplace")


def _tar_batches(source: DataFile, want: int, only: Collection[str] | None) -> Iterator[RowBatch]:
    """Samples of tar files, which need not have the same files."""
    place = FilePosition()
    with closing(TarReader(source.name, None, source.compression)) as reader:
        while True:
            rows, got = reader.read_files(place, want)
            taken = 0 if got.place is None else got.place.offset - place.offset
            if rows:
                names = dict.fromkeys(name for row in rows for name in row if only is None or name in only)
                made = {name: column_of_values([row.get(name) for row in rows], name, source.shown) for name in names}
                if KEY in made:
                    made[KEY] = made[KEY]._replace(kind=TEXT)
                yield RowBatch(FeatureRows(len(rows), made), place.number, taken)
            elif got.error is not None:
                error = got.error if isinstance(got.error, OpError) else DataLossError(str(got.error))
                yield RowBatch(None, place.number, taken, error)
            if got.place is None:
                return
            place = got.place


# Tables


def table_reader(source: DataFile, columns: Sequence[str] | None = None) -> ParquetReader | ArrowReader:
    """An open Parquet or Arrow file. Columns without a dtype are read only as they are stored."""
    return (VerifiedParquetReader if source.format == PARQUET else ArrowReader)(source.name, columns, whole=True)


def _table_batches(source: DataFile, want: int, only: Collection[str] | None) -> Iterator[RowBatch]:
    number = 0
    try:
        reader = table_reader(source)
        if only is not None:
            tops = {path: name for name, paths in _paths(reader).items() for path in paths}
            reader.close()
            columns = list(dict.fromkeys(name for path, name in tops.items() if path in only))
            reader = table_reader(source, columns or [*tops.values()][:1])
    except OpError as e:
        yield RowBatch(None, 0, 0, e)
        return
    with closing(reader):
        try:
            total = reader.count
            for stored in reader.stored():
                made = _stored_rows(reader, stored)
                for start in range(0, made.n, want):
                    part = made.slice(start, start + want)
                    taken = (source.size or 0) * part.n // max(1, total or 1) if total else 0
                    yield RowBatch(part, number + start, taken)
                number += made.n
        except OpError as e:
            yield RowBatch(None, number, 0, e)


def _paths(reader: ParquetReader | ArrowReader) -> dict[str, list[str]]:
    """The features that the columns of a table become, by column: those in a struct have its name before theirs."""
    found: dict[str, list[str]] = {name: [name] for name in reader.names}
    leaves = iter(reader.form.leaves)
    for name, child in zip(reader.form.tree.keys, reader.form.tree.children, strict=True):
        found[name] = [next(leaves).path for _ in child.paths()]
    return found


def _stored_rows(reader: ParquetReader | ArrowReader, stored: Any) -> FeatureRows:
    """A record batch as features."""
    rows, bad = arrow_rows(stored, reader.form, {})
    texts = _texts(reader)
    absent = {path: np.isin(np.arange(rows.n), where) for path, where in bad.items()}
    columns = {leaf.path: c for leaf, c in zip(reader.form.leaves, rows.columns, strict=True)}
    made: dict[str, ValueColumn] = {}
    for name, paths in _paths(reader).items():
        if name not in reader.form.tree.keys or (paths == [name] and _nulls_inside(stored.column(name))):
            values = stored.column(name).to_pylist()
            made[name] = nested_column(values)
        else:
            made.update({p: column_of(columns[p], p in texts, absent.get(p)) for p in paths})
    return FeatureRows(rows.n, made)


def _nulls_inside(array: Any) -> bool:
    """Whether lists hold nulls, for which arrays have no value."""
    if not hasattr(array.type, "value_type") or not hasattr(array, "flatten"):
        return False
    inside = array.flatten()
    return bool(inside.null_count) or _nulls_inside(inside)


def _texts(reader: ParquetReader | ArrowReader) -> set[str]:
    """The columns of text, as opposed to binary."""
    return {path for path, kind in reader.arrow_types().items() if "string" in kind}


# CSV and JSON lines


def csv_reader(source: DataFile) -> tuple[RecordReader, list[str]]:
    """An open CSV file, whose fields are strings, and the names of its columns."""
    form, names = csv_form(source)
    return CsvReader(source.name, form, source.compression), names


def csv_form(source: DataFile) -> tuple[Format, list[str]]:
    """How a CSV file is written, with fields as strings, and the names of its columns."""
    stream = Stream(source.name, source.compression)
    try:
        head = stream.peek(0, 1 << 16)
    finally:
        stream.close()
    line = head.partition(b"\n")[0]
    mark = delimiter_of(source.name, line)
    first = column_names([source.name], Dialect(mark.decode(), True, source.compression, "latin-1"), "csv")
    header = _is_header(first)
    names = [n.encode("latin-1").decode(errors="replace") for n in first]
    names = _distinct(names) if header else [f"column_{i}" for i in range(len(first))]
    fields = tuple(Column(types.string, b"") for _ in names)
    return Format(fields, header, mark), names


def _is_header(fields: list[str]) -> bool:
    """Whether these are names of columns rather than values: no number, none empty, none twice."""
    return all(f.strip() and not _is_number(f) for f in fields) and len(set(fields)) == len(fields)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _distinct(names: list[str]) -> list[str]:
    return [n if names.index(n) == i else f"{n}_{i}" for i, n in enumerate(names)]


def _csv_batches(
    source: DataFile, want: int, kinds: dict[str, str] | None, only: Collection[str] | None
) -> Iterator[RowBatch]:
    if source.size == 0:
        return
    try:
        reader, names = csv_reader(source)
    except (OpError, InvalidArgumentError) as e:
        yield RowBatch(None, 0, 0, e if isinstance(e, OpError) else InvalidArgumentError(str(e)))
        return
    place = FilePosition()
    with closing(reader):
        while True:
            got = reader.read(place, want)
            taken = 0 if got.place is None else got.place.offset - place.offset
            if got.rows is not None:
                pairs = [(n, c) for n, c in zip(names, got.rows.columns, strict=True) if only is None or n in only]
                made = {n: _typed(rows_of(c), (kinds or {}).get(n), n, source, place) for n, c in pairs}
                yield RowBatch(FeatureRows(got.rows.n, made), place.number, taken)
            elif got.error is not None:
                yield RowBatch(None, place.number, taken, InvalidArgumentError(str(got.error)))
            if got.place is None:
                return
            place = got.place


def _typed(fields: list[bytes], kind: str | None, name: str, source: DataFile, place: FilePosition) -> ValueColumn:
    """The fields of a column as values: of a given type, or as numbers if all of them are."""
    missing = np.array([not f for f in fields], bool)
    absent = missing if missing.any() else None
    if kind is None or kind in _NUMERIC:
        found = numbers_of([f for f in fields if f])
        if found is not None and (kind != INT or found.dtype.kind != "f"):
            dtype = np.dtype(np.float64) if kind == FLOAT else found.dtype
            full = np.zeros(len(fields), dtype)
            full[~missing] = found
            return ValueColumn(FLOAT if dtype.kind == "f" else INT, full, None, absent)
        if kind is not None:
            raise InvalidArgumentError(
                f"{source.shown}, a record after number {place.number}: {name!r} is not {kind} everywhere"
            )
    return ValueColumn(TEXT, object_array(fields), None, absent)


def _json_batches(source: DataFile, piece: Piece, only: Collection[str] | None) -> Iterator[RowBatch]:
    assert piece.block is not None
    lines = rows_of(piece.block.columns[0])
    good: list[dict[str, Any]] = []
    first = piece.number
    share = piece.taken // max(1, len(lines))
    for i, line in enumerate(lines):
        if not line.strip():  # the lines after it keep their numbers
            if good:
                yield from _objects(source, good, first, share, only)
            good, first = [], piece.number + i + 1
            continue
        try:
            good.append(json_object(line))
        except ValueError as e:
            if good:
                yield from _objects(source, good, first, share, only)
            where = f"{source.shown}, line {piece.number + i + 1}"
            why = f"{e.msg} at column {e.colno}" if isinstance(e, json.JSONDecodeError) else e
            yield RowBatch(None, piece.number + i, share, InvalidArgumentError(f"{where} is not a JSON object: {why}"))
            good, first = [], piece.number + i + 1
    if good:
        yield from _objects(source, good, first, share, only)


def _objects(
    source: DataFile, rows: list[dict[str, Any]], first: int, share: int, only: Collection[str] | None
) -> Iterator[RowBatch]:
    names = {name: None for row in rows for name in row if only is None or name in only}
    where = f"{source.shown}, lines {first + 1} to {first + len(rows)}"
    try:
        made = {name: column_of_values([row.get(name) for row in rows], name, where) for name in names}
    except InvalidArgumentError as e:
        yield RowBatch(None, first, share * len(rows), e)
        return
    yield RowBatch(FeatureRows(len(rows), made), first, share * len(rows))


def json_object(line: bytes) -> dict[str, Any]:
    """The features in a line of JSON; raises `ValueError` if it is not an object, or nested too deeply."""
    try:
        value = json.loads(line)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}")
    if line.count(b"[") + line.count(b"{") > DEEPEST and _is_deeper(value, DEEPEST):
        raise ValueError(_TOO_DEEP)
    flat: dict[str, Any] = {}
    _flatten(value, "", flat)
    return flat


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested in more levels than this."""
    if not isinstance(value, (list, dict)):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return not levels or any(_is_deeper(item, levels - 1) for item in inside)


def _flatten(value: dict[str, Any], above: str, out: dict[str, Any]) -> None:
    """Objects inside an object become features with dots in their names; base64 becomes bytes."""
    for key, item in value.items():
        made = _decoded(item)
        if isinstance(made, dict):
            _flatten(made, f"{above}{key}.", out)
        elif above + key in out:
            raise ValueError(f"it has two values for {above + key!r}")
        else:
            out[above + key] = made


def _decoded(item: Any) -> Any:
    if isinstance(item, list):
        return [_decoded(i) for i in item]
    if isinstance(item, dict) and item.keys() == {"base64"} and isinstance(item["base64"], str):
        with suppress(ValueError):  # an object of the user's that has this key
            return b64decode(item["base64"], validate=True)
    return item
