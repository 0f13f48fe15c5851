"""Writes rows, or records, in any format."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError, UnimplementedError, UnknownError
from feedline.io.array_record import needed as array_record
from feedline.io.arrow import needed as arrow
from feedline.io.files import shown
from feedline.io.tar import KEY
from feedline.io.tfrecord.columns import Columns
from feedline.io.tfrecord.framing import AROUND, HEADER
from feedline.structure.block import Block, Bytes, rows_of
from feedline.structure.ragged import RaggedTensor
from feedline.tools.shared.features import BOOL, BYTES, FLOAT, INT, NESTED, TEXT, FeatureRows, ValueColumn, as_json
from feedline.tools.shared.formats import ARRAY_RECORD, ARROW, CSV, JSONL, PARQUET, TAR, TFRECORD
from feedline.tools.shared.inputs import check_features
from feedline.tools.shared.output import dumped
from feedline.tools.shared.summary import Summary

GROUP = 1 << 24
"""Bytes of rows that become one row group or record batch."""
_KEY = re.compile(r"(?:.*/)?[^./]+", re.DOTALL)
_IN_QUOTES = re.compile(r'[",\r\n]')


class Sink(Protocol):
    """Where the bytes of a file go."""

    def write(self, data: bytes | memoryview) -> int:
        """Writes data."""


class StoredAs(NamedTuple):
    """How a feature is stored: the type of its values, and whether a row has one value at most."""

    kind: str
    dtype: str
    single: bool


Layout = dict[str, StoredAs]


def layout_of(found: Summary, chosen: list[str] | None, format: str) -> Layout:
    """The features of files as they are stored in a format, all or the chosen ones."""
    check_features(chosen, found.features)
    layout: Layout = {}
    for name in found.features if chosen is None else chosen:
        one = found.features[name]
        if one.listed:
            raise UnimplementedError(
                f"{name!r} is a feature list, whose steps only TFRecord and ArrayRecord files hold; leave it out with "
                "--features"
            )
        if one.kind is None:
            raise InvalidArgumentError(
                f"{name!r} holds {' and '.join(sorted(one.held or one.kinds))} in different records; a column has one "
                "type: leave it out with --features"
            )
        if one.kind == NESTED and format not in (JSONL, CSV, TAR):
            limit = (
                "the columns of a table need a type, which is not inferred from them"
                if format in (PARQUET, ARROW)
                else "an Example has only lists of numbers or strings"
            )
            raise UnimplementedError(
                f"{name!r} holds nested values, and {limit}; leave it out with --features, or write JSON lines"
            )
        spelled = one.kind == FLOAT and np.dtype(one.dtype or "float64").kind != "f"
        dtype = "float64" if spelled else one.dtype
        layout[name] = StoredAs(one.kind, dtype, one.most <= 1 and (one.least or 0) == 1)
    return layout


class RowWriter:
    """Writes rows to a file. `layout` says how each feature is stored."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self.sink, self.layout = sink, layout
        self.number = 0

    def write(self, rows: FeatureRows) -> None:
        """Writes rows."""
        raise TypeError(f"{type(self).__name__} does not define write")

    def write_records(self, block: Block) -> None:
        """Writes strings as records, in formats that have them."""
        raise TypeError(f"{type(self).__name__} does not write records")

    def write_stored(self, batch: Any) -> None:
        """Writes a record batch of Arrow, in formats of tables."""
        raise TypeError(f"{type(self).__name__} does not write record batches")

    def finish(self) -> None:
        """Writes what is left."""

    def abandon(self) -> None:
        """Frees what an incomplete file holds."""


class RecordWriter(RowWriter):
    """TFRecord files: records as they are, or rows as Examples."""

    def write(self, rows: FeatureRows) -> None:
        """Writes rows as Examples."""
        self.sink.write(framed_rows(rows))

    def write_records(self, block: Block) -> None:
        """Writes records; those in one buffer still have their frames."""
        self.sink.write(framed_records(block))


def framed_rows(rows: FeatureRows) -> bytes:
    """Rows as framed Examples, without the features that a row lacks."""
    absent = [one.missing for one in rows.columns.values() if one.missing is not None]
    if not absent:
        given = {name: _example_values(column) for name, column in rows.columns.items()}
        return Columns(given).framed(0, rows.n) if given else kernels.tfrecord_framed([b""] * rows.n)
    _, groups = np.unique(np.stack(absent, axis=1), axis=0, return_inverse=True)
    groups = groups.reshape(rows.n)
    framed: list[bytes] = [b""] * rows.n
    for group in range(int(groups.max(initial=-1)) + 1):  # the rows of a group lack the same features
        numbers = np.flatnonzero(groups == group)
        data = framed_rows(rows.select(numbers).present())
        offsets, _, _ = kernels.tfrecord_frames(np.frombuffer(data, np.uint8), 0, len(numbers))
        cuts = (offsets - HEADER.size).tolist()
        for i, start, stop in zip(numbers.tolist(), cuts, cuts[1:], strict=False):
            framed[i] = data[start:stop]
    return b"".join(framed)


def _example_values(column: ValueColumn) -> Any:
    sizes = column.sizes()
    values = column.present()
    if bool((sizes == 1).all()):
        return values
    splits = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=splits[1:])
    return RaggedTensor.from_row_splits(values, splits)


def framed_records(block: Block) -> bytes | memoryview:
    """Records in TFRecord frames."""
    held = block.columns[0]
    if isinstance(held, Bytes) and held.gap == AROUND and held.size is None:
        start, stop = int(held.offsets[0]) - HEADER.size, int(held.offsets[-1]) - HEADER.size
        return np.ascontiguousarray(held.data[start:stop]).data
    return kernels.tfrecord_framed(rows_of(held))


class ArrayRecordOutput(RowWriter):
    """ArrayRecord files, which their library writes by path."""

    def __init__(self, path: bytes, layout: Layout) -> None:
        super().__init__(io.BytesIO(), layout)
        self._name = shown(path.rsplit(b".", 2)[0])  # without the endings of a draft's name
        self._file = array_record().ArrayRecordWriter(path.decode(errors="surrogateescape"), "group_size:1")

    def write(self, rows: FeatureRows) -> None:
        """Writes rows as Examples."""
        data = np.frombuffer(framed_rows(rows), np.uint8)
        offsets, _, _ = kernels.tfrecord_frames(data, 0, rows.n)
        self._put(kernels.bytes_rows(data, offsets, AROUND).tolist())

    def write_records(self, block: Block) -> None:
        """Writes records."""
        self._put(rows_of(block.columns[0]))

    def _put(self, records: list[bytes]) -> None:
        with self._errors_converted():
            for record in records:
                self._file.write(record)

    def finish(self) -> None:
        """Writes the index at the end of the file."""
        with self._errors_converted():
            self._file.close()

    @contextmanager
    def _errors_converted(self) -> Iterator[None]:
        """Turns the library's errors, such as that of a full disk, into ours."""
        try:
            yield
        except RuntimeError as e:
            raise UnknownError(f"{self._name}: {str(e).partition(';')[0]}") from None


class CsvOutput(RowWriter):
    """CSV files with a header. A list is written as JSON."""

    def write(self, rows: FeatureRows) -> None:
        """Writes rows."""
        lines = [] if self.number else [_csv_line(list(self.layout))]
        for i, row in enumerate(rows.dicts()):
            lines.append(_csv_line([self._field(name, row.get(name), self.number + i) for name in self.layout]))
        self.number += rows.n
        self.sink.write("".join(lines).encode("utf-8", "surrogateescape"))

    def finish(self) -> None:
        """A file without rows has its header all the same."""
        if not self.number and self.layout:
            self.write(FeatureRows(0, {}))

    def _field(self, name: str, value: Any, number: int) -> str:
        if value is None:
            return ""
        if self.layout[name].kind == NESTED:
            return dumped(as_json(value))
        if isinstance(value, list) and self.layout[name].single:
            value = value[0] if value else ""
        if isinstance(value, list):
            return dumped(as_json(value))
        if isinstance(value, bytes):
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise InvalidArgumentError(
                    f"record {number}: {name!r} is not text, and a CSV file holds nothing else; leave it out with "
                    "--features, or write JSON lines or Parquet"
                ) from None
        return str(value)


def _csv_line(fields: list[str]) -> str:
    """A line of CSV. Python's own writer leaves a carriage return without quotes, which readers take for a line end."""
    if fields == [""]:
        return '""\n'  # an empty line is not a record
    return ",".join('"' + f.replace('"', '""') + '"' if _IN_QUOTES.search(f) else f for f in fields) + "\n"


class JsonOutput(RowWriter):
    """JSON lines. Bytes that are not UTF-8 become an object with their base64."""

    def write(self, rows: FeatureRows) -> None:
        """Writes rows."""
        lines = (dumped({name: self._value(name, value) for name, value in row.items()}) for row in rows.dicts())
        self.sink.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))

    def _value(self, name: str, value: Any) -> Any:
        known = self.layout.get(name)
        if known is not None and known.kind == NESTED:
            return as_json(value)
        if isinstance(value, list) and known is not None and known.single and len(value) == 1:
            value = value[0]
        elif not isinstance(value, list) and known is not None and not known.single:
            value = [value]
        return as_json(value)


class TarOutput(RowWriter):
    """WebDataset's samples: a file for each feature, named by the sample's key, which is its number unless there is a
    feature `__key__`.
    """

    def __init__(self, sink: Sink, layout: Layout) -> None:
        super().__init__(sink, layout)
        self._before: str | None = None  # the key of the last sample

    def write(self, rows: FeatureRows) -> None:
        """Writes samples; raises for names that readers would take for those of other samples."""
        for row in rows.dicts():
            key = self._key(row.pop(KEY, None))
            files = {feature.replace("/", "_"): (feature, value) for feature, value in row.items()}
            if not row or len(files) < len(row) or "" in files:
                held = f"the features {', '.join(map(repr, row))}" if row else "no values"
                raise self._refused(f"it has {held}, and each sample needs files, of different names")
            for name, (feature, value) in files.items():
                self._file(f"{key}.{name}", value, feature)
            self.number += 1

    def _key(self, given: Any) -> str:
        if given is None:
            key = f"{self.number:08}"
        else:
            key = given.decode("utf-8", "surrogateescape") if isinstance(given, bytes) else str(given)
        if not _KEY.fullmatch(key) or key == self._before:
            raise self._refused(f"its key is {key!r}; a key has no dot in its last part, and differs from the last one")
        self._before = key
        return key

    def _refused(self, why: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"record {self.number} cannot be a sample of a tar file: {why}")

    def _file(self, name: str, value: Any, feature: str) -> None:
        known = self.layout.get(feature)
        if known is not None and known.kind == NESTED:
            value = dumped(as_json(value)).encode()
        elif isinstance(value, list) and known is not None and known.single and value:
            value = value[0]
        data = value if isinstance(value, bytes) else dumped(as_json(value)).encode()
        member = tarfile.TarInfo(name)
        member.size = len(data)
        self.sink.write(member.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE))

    def finish(self) -> None:
        """Writes the end of the archive."""
        self.sink.write(bytes(2 * tarfile.BLOCKSIZE))


class TableOutput(RowWriter):
    """Parquet files and Arrow files: rows are gathered until they make a row group."""

    def __init__(self, sink: Sink, layout: Layout, format: str, stream: bool = False, schema: Any = None) -> None:
        super().__init__(sink, layout)
        pa = arrow("convert")
        self._rows: list[Any] = []
        self._bytes = 0
        fields = [(name, _arrow_type(one)) for name, one in layout.items()]
        self._schema = pa.schema(fields) if schema is None else schema
        file = self._bytes_to = _ArrowSink(sink)
        if format == PARQUET:
            from pyarrow import parquet

            self._file: Any = parquet.ParquetWriter(file, self._schema, write_page_checksum=True)
        else:
            self._file = (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, self._schema)

    def write(self, rows: FeatureRows) -> None:
        """Writes rows."""
        pa = arrow("convert")
        arrays = [_arrow_array(rows, name, one, self._schema.field(name).type) for name, one in self.layout.items()]
        if not arrays:
            raise InvalidArgumentError("the records have no features, and a table needs a column")
        self.write_stored(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def write_stored(self, batch: Any) -> None:
        """Writes a record batch of the file's schema."""
        self._rows.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= GROUP:
            self._flush()

    def _flush(self) -> None:
        pa = arrow("convert")
        if self._rows:
            table = pa.Table.from_batches(self._rows, self._schema).combine_chunks()
            self._file.write_table(table)
        self._rows, self._bytes = [], 0

    def finish(self) -> None:
        """Writes the last rows and the footer."""
        self._flush()
        self._file.close()

    def abandon(self) -> None:
        """Closes pyarrow's writer, which would write its footer later otherwise."""
        self._bytes_to.open = False
        with suppress(Exception):
            self._file.close()


class _ArrowSink(io.RawIOBase):
    """A sink as a file object."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink, self._at = sink, 0
        self.open = True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if self.open:
            self._sink.write(view)
        self._at += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._at


def _arrow_type(one: StoredAs) -> Any:
    pa = arrow("convert")
    kinds = {BOOL: pa.bool_(), TEXT: pa.large_string(), BYTES: pa.large_binary()}
    inner = kinds.get(one.kind)
    if inner is None:
        inner = pa.from_numpy_dtype(np.dtype(one.dtype))
    return inner if one.single else pa.large_list(inner)


def _arrow_array(rows: FeatureRows, name: str, one: StoredAs, kind: Any) -> Any:
    pa = arrow("convert")
    column = rows.columns.get(name)
    if column is None:
        return pa.nulls(rows.n, kind)
    sizes, values = column.sizes(), column.present()
    inner = kind if one.single else kind.value_type
    if one.kind in (BOOL, INT, FLOAT):
        flat = pa.array(np.ascontiguousarray(values).astype(bool if one.kind == BOOL else one.dtype, copy=False))
    else:
        flat = pa.array(values.tolist(), pa.large_binary())
        flat = flat.cast(inner) if one.kind == TEXT else flat
    absent = column.missing
    if one.single:
        if absent is None and bool((sizes == 1).all()):
            return flat
        at = np.cumsum(sizes) - sizes
        return flat.take(pa.array(np.where(sizes == 0, 0, at), mask=sizes == 0))
    splits = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=splits[1:])
    mask = None if absent is None else pa.array(absent)
    return pa.LargeListArray.from_arrays(pa.array(splits), flat, mask=mask)


def writer_of(
    format: str, sink: Sink, layout: Layout, draft: bytes | None, stream: bool = False, schema: Any = None
) -> RowWriter:
    """A writer of this format to a sink; `draft` is the path of the file that the sink writes, if it is one.
    `schema` is that of a table that is copied from tables.
    """
    if format == ARRAY_RECORD:
        if draft is None:
            raise InvalidArgumentError("an ArrayRecord file cannot be written to standard output; convert writes files")
        return ArrayRecordOutput(draft, layout)
    if format in (PARQUET, ARROW):
        return TableOutput(sink, layout, format, stream, schema)
    kinds: dict[str, Callable[[Sink, Layout], RowWriter]] = {
        TFRECORD: RecordWriter, CSV: CsvOutput, JSONL: JsonOutput, TAR: TarOutput,
    }  # fmt: skip
    return kinds[format](sink, layout)
