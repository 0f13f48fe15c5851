"""What files hold: the number of records, and each feature's types, presence and numbers of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from feedline import kernels
from feedline.errors import InvalidArgumentError, OpError
from feedline.io.files import shown, system_path
from feedline.io.parsing.features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature
from feedline.io.parsing.infer import InferredFeatures
from feedline.io.tfrecord.framing import AROUND
from feedline.kernels.threads import team
from feedline.provenance.files import file_at
from feedline.structure import types
from feedline.structure.block import Bytes
from feedline.tools.shared.features import BOOL, BYTES, FLOAT, INT, SPELLED, TEXT, ValueColumn, widest
from feedline.tools.shared.formats import (
    CSV,
    JSONL,
    OF_RECORDS,
    DataFile,
    compression_by_name,
    recognised,
    size_of_file,
)
from feedline.tools.shared.inputs import display_error
from feedline.tools.shared.many import ahead, each
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.records import (
    RECORD,
    Piece,
    batches,
    column,
    holds_examples,
    not_an_example,
    pieces,
    sizes_of,
)

MOST_LISTED = 1000
"""The most bad records that are listed; more are counted."""
MOST_NAMES = 100_000
"""The most features of files that are summarised: if there are more, their names are data."""
_KINDS = {1: BYTES, 2: FLOAT, 3: INT}
_EXAMPLE_DTYPES = {2: "float32", 3: "int64"}


class BadRecord(NamedTuple):
    """A record, or a file, that cannot be read: the error, the file, the number of the record and its byte (after
    decompression), and the bytes that are passed over, where they are known.
    """

    error: OpError
    file: str
    record: int | None = None
    offset: int | None = None
    lost: int | None = None

    def as_json(self) -> dict[str, object]:
        """The same for JSON."""
        return {**self._asdict(), "error": display_error(self.error)}


@dataclass
class FeatureSummary:
    """What is known of one feature: in how many records it is, and its values, by their type."""

    records: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    """The number of records with values of each type, or with a list of the type without values."""
    held: set[str] = field(default_factory=set)
    """The types of which there are values."""
    least: int | None = None
    most: int = 0
    values: int = 0
    size: int = 0
    """The bytes of all strings."""
    steps: int = 0
    listed: bool = False
    textual: bool = True
    """Whether all its numbers are written as text, as in CSV files, so that all values may be text."""
    spelled: bool = True
    """Whether all its text spells numbers that JSON lacks, such as "NaN"."""
    dtype: str = ""
    """NumPy's name of a type that holds all its numbers; empty if there are none."""

    def add(
        self, kind: str, records: int, least: int, most: int, values: int, size: int, steps: int, dtype: str
    ) -> None:
        """Adds records that have this feature."""
        self.dtype = _joint(self.dtype, dtype)
        self.records += records
        if kind:
            self.kinds[kind] = self.kinds.get(kind, 0) + records
            self.held |= {kind} if values else set()
        self.least = least if self.least is None else min(self.least, least)
        self.most, self.values = max(self.most, most), self.values + values
        self.size, self.steps = self.size + size, self.steps + (steps or records)

    def join(self, other: FeatureSummary) -> None:
        """Adds what is known from other records."""
        self.dtype = _joint(self.dtype, other.dtype)
        self.records += other.records
        for kind, n in other.kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + n
        self.held |= other.held
        if other.least is not None:
            self.least = other.least if self.least is None else min(self.least, other.least)
        self.most, self.values = max(self.most, other.most), self.values + other.values
        self.size, self.steps = self.size + other.size, self.steps + other.steps
        self.listed, self.textual = self.listed or other.listed, self.textual and other.textual
        self.spelled = self.spelled and other.spelled

    @property
    def kind(self) -> str | None:
        """The type of its values; None if they have several that do not go together."""
        kinds = self.held or set(self.kinds)
        too_wide = kinds == {INT} and np.dtype(self.dtype or "int64").kind == "f"  # int64 and uint64
        if self.textual and (TEXT in kinds or too_wide) and BYTES not in kinds:
            return TEXT
        if self.spelled and TEXT in kinds and kinds <= {TEXT, BOOL, INT, FLOAT}:
            return FLOAT
        return widest(kinds) if kinds else FLOAT

    def shape(self) -> str:
        """The shape of its values in a record that has it."""
        if self.listed:
            return "[steps]" if self.least == self.most == 1 else "[steps, …]"
        if self.least == self.most:
            return "[]" if self.most == 1 else f"[{self.most}]"
        return f"[{self.least or 0}…{self.most}]"


def _joint(one: str, other: str) -> str:
    return str(np.promote_types(one, other)) if one and other else one or other


@dataclass
class Summary:
    """What files hold."""

    records: int = 0
    features: dict[str, FeatureSummary] = field(default_factory=dict)
    bad: list[BadRecord] = field(default_factory=list)
    bad_records: int = 0
    examples: bool = False
    """Whether the records are serialized Examples."""
    size: int = 0
    """The bytes of all records, where records are strings."""
    sizes: tuple[int, int] | None = None
    """The bytes of the smallest and of the largest record."""

    def feature(self, name: str) -> FeatureSummary:
        """The summary of a feature, new if there is none."""
        if name not in self.features and len(self.features) >= MOST_NAMES:
            raise InvalidArgumentError(f"there are more than {MOST_NAMES:,} feature names; are they data?")
        return self.features.setdefault(name, FeatureSummary())

    def add_bad(self, bad: BadRecord) -> None:
        """Adds a record that cannot be read."""
        self.bad_records += 1
        if len(self.bad) < MOST_LISTED:
            self.bad.append(bad)

    @property
    def errors(self) -> list[OpError]:
        """The errors of the bad records that are listed."""
        return [bad.error for bad in self.bad]

    def join(self, other: Summary) -> None:
        """Adds another file."""
        self.records += other.records
        for name, one in other.features.items():
            self.feature(name).join(one)
        self.bad += other.bad[: MOST_LISTED - len(self.bad)]
        self.bad_records += other.bad_records
        self.examples = self.examples or other.examples
        self.add_sizes(other.size, other.sizes)

    def add_sizes(self, size: int, sizes: tuple[int, int] | None) -> None:
        """Adds records of these sizes."""
        self.size += size
        if sizes is not None:
            least, most = self.sizes or sizes
            self.sizes = min(least, sizes[0]), max(most, sizes[1])

    @property
    def sequences(self) -> bool:
        """Whether there are feature lists, as in SequenceExamples."""
        return any(f.listed for f in self.features.values())


def summarise(
    names: Sequence[bytes], given: str | None, most: int | None = None, what: str = "reading"
) -> tuple[list[DataFile], Summary]:
    """The files that can be read, and the summary of all; a file that cannot be opened is a bad one."""
    sources: list[DataFile] = []
    found = Summary()

    def one(name: bytes) -> tuple[DataFile | None, Summary]:
        try:
            source = recognised(name, given)
            return source, summarised(source, meter, most)
        except OpError as e:
            missing = Summary()
            missing.add_bad(BadRecord(e, shown(name)))
            return None, missing

    with Meter(what, total_size(names)) as meter:
        for source, summary in each(names, one, meter.stop):
            found.join(summary)
            sources += [source] if source is not None else []
    return sources, found


def total_size(names: Sequence[bytes]) -> int | None:
    """The bytes of files that are not compressed; None if one is, or has no size."""
    if any(map(compression_by_name, names)):
        return None
    sizes = [*each(names, size_of_file)] if any(system_path(n) is None for n in names) else map(size_of_file, names)
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def summarised(source: DataFile, meter: Meter, most: int | None = None) -> Summary:
    """The summary of a file, or of its first `most` records. Bad records are listed, and the others counted."""
    found = Summary()
    if source.format in OF_RECORDS:
        _add_records(source, found, meter, most)
        return found
    for batch in batches(source):
        meter.add(batch.taken)
        if batch.error is not None:
            found.add_bad(BadRecord(batch.error, source.shown, batch.number))
        elif batch.rows is not None:
            rows = batch.rows if most is None else batch.rows.slice(0, most - found.records)
            found.records += rows.n
            found.size += batch.taken * rows.n // max(1, batch.rows.n)
            for name, one in rows.columns.items():
                sizes = one.sizes()
                held = rows.n if one.missing is None else int((~one.missing).sum())
                if held:
                    least = int(sizes.min() if one.missing is None else sizes[~one.missing].min())
                    size = sum(map(len, one.values.tolist())) if one.kind in (TEXT, BYTES) else 0
                    found.feature(name).textual &= source.format == CSV or one.kind in (TEXT, BYTES)
                    found.feature(name).spelled &= one.kind != TEXT or _spells_numbers(source, one)
                    found.feature(name).add(
                        one.kind, held, least, int(sizes.max()), int(sizes.sum()), size, 0, _dtype(one)
                    )
        if most is not None and found.records >= most:
            break
    return found


def _spells_numbers(source: DataFile, column: ValueColumn) -> bool:
    texts = {value.decode(errors="replace") for value in column.present().tolist()}
    return source.format == JSONL and texts <= SPELLED.keys()


def _dtype(column: ValueColumn) -> str:
    return str(column.values.dtype) if column.kind in (BOOL, INT, FLOAT) else ""


def _add_records(source: DataFile, found: Summary, meter: Meter, most: int | None) -> None:
    known = False
    for piece in ahead(pieces(source, reuse=True)):
        meter.add(piece.taken)
        if piece.error is not None:
            found.add_bad(BadRecord(piece.error, source.shown, piece.number, piece.offset, piece.lost))
            continue
        assert piece.block is not None
        if most is not None:
            piece = piece._replace(block=piece.block.slice(0, most - found.records))
        if not known:
            known, found.examples = True, holds_examples(piece)
        sizes = sizes_of(piece)
        if len(sizes):
            found.add_sizes(int(sizes.sum()), (int(sizes.min()), int(sizes.max())))
        if found.examples:
            scan(source, piece, found)
        else:
            found.records += piece.n
            held = found.feature(RECORD)
            held.add(BYTES, piece.n, 1, 1, piece.n, int(sizes.sum()), 0, "")
        if most is not None and found.records >= most:
            break


def scan(source: DataFile, piece: Piece, found: Summary) -> None:
    """Adds the Examples of a piece. Bad ones are listed."""
    block, number = piece.block, piece.number
    assert block is not None
    while block.n:
        done, _, rows = kernels.scan_examples(column(piece._replace(block=block)), team())
        for key, listed, kind, records, _, least, most, values, size, steps in rows:
            one = found.feature(key.decode(errors="backslashreplace"))
            one.add(_KINDS.get(kind, ""), records, least, most, values, size, steps, _EXAMPLE_DTYPES.get(kind, ""))
            one.listed = one.listed or listed
            one.textual = one.textual and kind == 1
        found.records += done
        if done == block.n:
            return
        error = not_an_example(source, number + done, bytes(block.element(done)))
        found.add_bad(BadRecord(error, source.shown, number + done, _offset(piece, number + done - piece.number)))
        block, number = block.slice(done + 1, block.n), number + done + 1


def _offset(piece: Piece, row: int) -> int | None:
    """The byte of the file at which a record begins; None where records have no bytes of their own."""
    assert piece.block is not None
    held = piece.block.columns[0]
    if isinstance(held, Bytes) and held.gap == AROUND:
        return piece.offset + int(held.offsets[row] - held.offsets[0])
    return None if piece.block.provenance is None else file_at(int(piece.block.provenance.numbers()[row]))[1]


_DTYPES = {BOOL: types.int64, INT: types.int64, FLOAT: types.float32, TEXT: types.string, BYTES: types.string}


def parsing_features(found: Summary, ragged: bool = False) -> tuple[InferredFeatures, InferredFeatures]:
    """The features to parse the Examples with, and those of feature lists."""
    context: dict[str, Any] = {}
    lists: dict[str, Any] = {}
    notes: list[str] = []
    for name, one in sorted(found.features.items()):
        kind = one.kind
        if not one.kinds or kind is None:
            why = "which has no values" if not one.kinds else f"which holds {' and '.join(sorted(one.kinds))}"
            notes.append(f"omitted: {name!r}, {why}")
            continue
        varying = RaggedFeature(_DTYPES[kind]) if ragged else VarLenFeature(_DTYPES[kind])
        shape = [] if one.most == 1 else [one.most]
        if one.listed:
            fixed = FixedLenSequenceFeature(shape, _DTYPES[kind], one.records < found.records)
            lists[name] = fixed if one.least == one.most and one.most else varying
        else:
            same = one.least == one.most and one.records == found.records and one.most
            context[name] = FixedLenFeature(shape, _DTYPES[kind]) if same else varying
    return InferredFeatures(context, tuple(notes)), InferredFeatures(lists)
