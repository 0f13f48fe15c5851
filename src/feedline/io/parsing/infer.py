"""`infer_features`: the features of files of `Example` messages, inferred from a sample of records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from feedline import kernels
from feedline.errors import InvalidArgumentError
from feedline.io.files import as_paths, matching_files, shown
from feedline.io.parsing.features import (
    KINDS,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
)
from feedline.io.parsing.sequence import parts
from feedline.io.reader import FilePosition
from feedline.io.tfrecord.framing import AROUND, HEADER
from feedline.io.tfrecord.reader import TFRecordReader
from feedline.kernels.entries import LISTS, Span, entries, kind_of, skip, spans, values
from feedline.structure.types import DType
from feedline.wire import WireError

MOST_BYTES = 1 << 25
"""The most bytes of records to examine."""
FAR = 1 << 20
"""The most bytes to search for a record that begins after the middle of a file."""


class InferredFeatures(dict[str, Any]):
    """A dict of inferred features. Its repr is Python code to copy into a program."""

    def __init__(self, features: Any = (), notes: tuple[str, ...] = ()) -> None:
        super().__init__(features)
        self.notes = notes

    def __repr__(self) -> str:
        lines = [f"    {key!r}: {_as_code(feature)}," for key, feature in self.items()]
        lines += [f"    # {note}" for note in self.notes]
        return "\n".join(["{", *lines, "}"])

    def __reduce__(self) -> Any:
        return InferredFeatures, (dict(self), self.notes)


class SequenceFeatures(NamedTuple):
    """What to read from `SequenceExample` messages: the arguments of `fl.io.parse_sequence_example`."""

    context_features: dict[str, Any]
    sequence_features: dict[str, Any]


def infer_features(
    filenames: object,
    compression_type: str | None = None,
    *,
    max_records: int = 1024,
    max_files: int = 16,
    ragged: bool = False,
) -> InferredFeatures | SequenceFeatures:
    """Infers the features of the `Example` messages in TFRecord files, for `fl.io.parse_example` and the like.

    >>> import tempfile
    >>> from feedline.train import Example, Feature, Features, FloatList, Int64List
    >>> path = f"{tempfile.mkdtemp()}/data.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for words in ([3], [4, 5]):
    ...         x, ids = Feature(float_list=FloatList(value=[0.5])), Feature(int64_list=Int64List(value=words))
    ...         writer.write(Example(features=Features(feature={"x": x, "ids": ids})).SerializeToString())
    >>> fl.io.infer_features(path)
    {
        'ids': fl.io.VarLenFeature(fl.int64),
        'x': fl.io.FixedLenFeature([], fl.float32),
    }

    `filenames` is a name, a pattern, or a list of them. At most `max_records` records are examined, from the beginning
    and, if files are not compressed, the middle of up to `max_files` files spread over all of them.

    A feature that all of these records have, with the same number of values, is a `FixedLenFeature`. Any other, also
    one that is missing in some records, is a `VarLenFeature`, or with `ragged` a `RaggedFeature`: no value is made up.
    To use a default instead, replace it: `{**features, "x": fl.io.FixedLenFeature([], fl.float32, default_value=0.0)}`.
    A feature with values of two types is an error. For files of `SequenceExample` messages the result is a pair,
    `context_features` and `sequence_features`.

    The sample need not cover all records: one that differs raises an error that names it when it is parsed.
    """
    for name, value in (("max_records", max_records), ("max_files", max_files)):
        if value < 1:
            raise InvalidArgumentError(f"infer_features: {name} must be greater than zero, got {value}")
    names = _names(filenames)
    chosen = [names[i * len(names) // min(len(names), max_files)] for i in range(min(len(names), max_files))]
    records = list(_records(chosen, compression_type or "", max_records))
    if not records:
        raise InvalidArgumentError(f"infer_features: no records in {_listed(names)}")
    return features_of(records, ragged)


class Record(NamedTuple):
    """A serialized message, and its name in error messages."""

    where: str
    data: bytes


def features_of(records: list[Record], ragged: bool = False) -> InferredFeatures | SequenceFeatures:
    """The features that fit all of these records."""
    context, lists = _Seen(len(records)), _Seen(len(records))
    for where, data in records:
        try:
            if not _has_lists(data):
                context.add(_counting(entries(data)), data, where)
                continue
        except WireError as e:
            raise InvalidArgumentError(
                f"infer_features: {where} is not a serialized Example or SequenceExample: {e}"
            ) from None
        whole, steps = parts(data, f"infer_features: {where}")
        context.add(whole, data, where)
        lists.add_lists(steps, data, where)
    if not context.keys and not lists.keys:
        raise InvalidArgumentError(f"infer_features: the {len(records)} records read have no features")
    if not lists.keys:
        return context.features(ragged)
    return SequenceFeatures(context.features(ragged), lists.sequences(ragged))


class _Key:
    """Statistics of one key: the type of its values, their numbers, and the number of records that have it."""

    __slots__ = ("counts", "kind", "kind_where", "records")

    def __init__(self) -> None:
        self.kind: DType | None = None
        self.kind_where = ""
        self.counts: set[int] = set()
        self.records = 0


class _Seen:
    """Statistics of all keys."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.keys: dict[bytes, _Key] = {}

    def add(self, found: dict[bytes, Span], data: bytes, where: str) -> None:
        """Adds the features of one record."""
        for key, span in found.items():
            seen = self.keys.setdefault(key, _Key())
            count = self._count_values(seen, data, span, f"the feature {_text(key)!r}", where)
            if count is not None:
                seen.records += 1
                seen.counts.add(count)

    def add_lists(self, found: dict[bytes, Span], data: bytes, where: str) -> None:
        """Adds the feature lists of one record."""
        for key, span in found.items():
            seen = self.keys.setdefault(key, _Key())
            what = f"the feature list {_text(key)!r}"
            seen.records += 1
            for step in _read(spans, data, span, what, where):
                seen.counts.add(self._count_values(seen, data, step, what, where) or 0)

    def _count_values(self, seen: _Key, data: bytes, span: Span, what: str, where: str) -> int | None:
        """The number of values of a Feature; None if it holds no list."""
        number = _read(kind_of, data, span, what, where)
        if number is None:
            return None
        kind = KINDS[number - 1]
        if seen.kind is None:
            seen.kind, seen.kind_where = kind, where
        elif seen.kind != kind:
            raise InvalidArgumentError(
                f"infer_features: {what} holds {seen.kind.name} in {seen.kind_where} and {kind.name} in {where}; "
                "a feature must have one type"
            )
        return len(_read(values, data, span, what, where))

    def features(self, ragged: bool) -> InferredFeatures:
        """The features of Examples."""
        made = {}
        for key, seen in self._named():
            if len(seen.counts) == 1 and seen.records == self.records and 0 not in seen.counts:
                made[key] = FixedLenFeature(_shape(seen), seen.kind)
            else:
                made[key] = _any_number(seen.kind, ragged)
        return InferredFeatures(made, self._notes(made))

    def sequences(self, ragged: bool) -> InferredFeatures:
        """The features of feature lists: the same, per step."""
        made = {}
        for key, seen in self._named():
            if len(seen.counts) == 1 and 0 not in seen.counts:
                made[key] = FixedLenSequenceFeature(_shape(seen), seen.kind, seen.records < self.records)
            else:
                made[key] = _any_number(seen.kind, ragged)
        return InferredFeatures(made, self._notes(made))

    def _named(self) -> list[tuple[str, _Key]]:
        return [(_text(key), seen) for key, seen in sorted(self.keys.items()) if seen.kind and _is_text(key)]

    def _notes(self, made: dict[str, Any]) -> tuple[str, ...]:
        left_out = sorted({_text(key) for key in self.keys} - set(made))
        return tuple(f"omitted: {key!r}, {self._why(key)}" for key in left_out)

    def _why(self, key: str) -> str:
        if key.encode() in self.keys:
            return f"which has no values in the {self.records} records read"
        return "whose name is not valid UTF-8"


def _any_number(kind: DType | None, ragged: bool) -> Any:
    return RaggedFeature(kind) if ragged else VarLenFeature(kind)


def _shape(seen: _Key) -> list[int]:
    (count,) = seen.counts
    return [] if count == 1 else [count]


def _text(key: bytes) -> str:
    return key.decode(errors="backslashreplace")


def _is_text(key: bytes) -> bool:
    return _text(key).encode() == key


def _read(read: Any, data: bytes, span: Span, what: str, where: str) -> Any:
    try:
        return read(data, *span) if read is spans else read(data, span)
    except WireError as e:
        raise InvalidArgumentError(f"infer_features: {what} of {where} cannot be read: {e}") from None


def _counting(found: list[tuple[bytes, Span]]) -> dict[bytes, Span]:
    """For each key the entry that counts: the last one that is not empty."""
    out: dict[bytes, Span] = {}
    for key, span in found:
        if span[0] < span[1] or key not in out:
            out[key] = span
    return out


def _has_lists(data: bytes) -> bool:
    """Whether a message has feature lists, which only a SequenceExample has."""
    at = 0
    while at < len(data):
        if data[at] == LISTS:
            return True
        at = skip(data, at, len(data))
    return False


# The sample of records.


def _names(filenames: object) -> list[bytes]:
    names: list[bytes] = []
    for path in as_paths(filenames):
        exists = os.path.exists(path) or not any(c in shown(path) for c in "*?[")
        names += [path] if exists else matching_files(path).tolist()
    if not names:
        raise InvalidArgumentError(f"infer_features: no files match {filenames!r}")
    return names


def _records(names: list[bytes], compression: str, most: int) -> Iterator[Record]:
    """Records of each file, half of them from its middle on if a record can be found there; none twice."""
    left = MOST_BYTES
    for i, name in enumerate(names):
        share = max(1, (most * (i + 1)) // len(names) - (most * i) // len(names))
        reader = TFRecordReader(name, compression)
        try:
            size = None if compression else reader._stream.size()
            middle = None if size is None or share < 2 else size // 2
            first, after = _read_records(reader, FilePosition(), share if middle is None else share - share // 2)
            if middle is not None and len(first):
                found = _record_after(reader, max(middle, after))
                rest = share - len(first)
                more = [] if found is None else _read_records(reader, FilePosition(found, -1), rest)[0]
                first += more
        finally:
            reader.close()
        for record in first:
            left -= len(record.data)
            yield record
            if left < 0:
                return


def _read_records(reader: TFRecordReader, place: FilePosition, most: int) -> tuple[list[Record], int]:
    """Up to `most` records from a position on, as far as they can be read, and the byte after them."""
    found: list[Record] = []
    size = 0
    name = shown(reader._stream.name)
    numbered = place.number >= 0
    while len(found) < most and size < MOST_BYTES:
        got = reader.read(place, most - len(found))
        if got.error is not None and not found:
            raise got.error
        if got.rows is None or got.place is None:
            break
        at = place.offset
        for k, data in enumerate(got.rows.rows()):
            where = f"record {place.number + k}" if numbered else f"the record at byte {at}"
            found.append(Record(f"{where} of {name}", data))
            at += len(data) + AROUND
            size += len(data)
        place = got.place if numbered else FilePosition(got.place.offset, -1)
    return found, place.offset


def _record_after(reader: TFRecordReader, at: int) -> int | None:
    """The offset of the first record after a byte, found by its checksums; None if none is near."""
    data, start = reader._stream.window(at, FAR)
    for place in range(start, min(len(data) - HEADER.size, start + FAR)):
        offsets, _, _ = kernels.tfrecord_frames(data, place, 1)
        if len(offsets) > 1:
            return at + place - start
    return None


def _listed(names: list[bytes]) -> str:
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return ", ".join(map(shown, names[:3])) + more


def _as_code(feature: Any) -> str:
    """A feature as Python code."""
    if isinstance(feature, RaggedFeature):
        return f"fl.io.RaggedFeature({feature.dtype!r})"
    given = feature._asdict()
    for name, default in feature._field_defaults.items():
        if given[name] == default:
            del given[name]
    text = [f"{name}={value!r}" if name in feature._field_defaults else repr(value) for name, value in given.items()]
    return f"fl.io.{type(feature).__name__}({', '.join(text)})"
