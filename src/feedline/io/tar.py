"""Samples in tar files, in WebDataset's layout: consecutive files whose names are equal up to the first dot.

    dog.jpg  dog.cls  cat.jpg  cat.cls     two samples, `dog` and `cat`, of a `jpg` and a `cls` each

Members that are not files, and names without a dot or with a leading one, belong to no sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from feedline.errors import DataLossError, InvalidArgumentError, OpError
from feedline.io.files import shown
from feedline.io.reader import END, FilePosition, Read, RecordReader, strings
from feedline.structure.block import Block
from feedline.structure.nest import LEAF, Tree

T = TypeVar("T")

KEY = "__key__"
BLOCK = 512
MOST_NAME = 1 << 20
"""The most bytes of a name, or of other metadata of a member: larger lengths are taken for damage."""

_PARTS = re.compile(rb"((?:.*/)?[^./]+)\.([^/]+)", re.DOTALL)
_FILES = (b"0", b"\0", b"7")
_LONG_NAME, _LONG_LINK, _SPARSE = b"L", b"K", b"S"  # GNU's
_EXTENDED, _EXTENDED_FOR_ALL = (b"x", b"X"), b"g"
_ABOUT_NEXT = (_LONG_NAME, *_EXTENDED)


class SampleSchema(NamedTuple):
    """The files of a sample: their extensions, whether others may be present, and the default for a missing one."""

    extensions: tuple[str, ...]
    others: bool = True
    missing: bytes | None = None

    @property
    def tree(self) -> Tree:
        """The structure of a sample."""
        return Tree(dict, (KEY, *self.extensions), (LEAF,) * (1 + len(self.extensions)))


class Member(NamedTuple):
    """A file: its name, and the range of its data in the buffer."""

    name: bytes
    start: int
    stop: int


class TarSample(NamedTuple):
    """A key, its files by extension, the position after it, and its error, if any."""

    key: bytes
    files: dict[str, Member]
    after: int
    problem: str = ""


class More(Exception):
    """`need` bytes are needed to continue."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


class Damage(ValueError):
    """The error in a tar file."""


class TarReader(RecordReader):
    """An open tar file. A position is the offset of a sample's first file."""

    def __init__(
        self, name: bytes, form: SampleSchema | None = None, compression: str = "", buffer_size: int | None = None
    ) -> None:
        super().__init__(name, compression, buffer_size)
        self._form = form

    def read(self, place: FilePosition, want: int) -> Read:
        """The next samples, as far as they have been read ahead, up to a bad one."""
        assert self._form is not None
        rows, got = self._rows(place, want, self._row)
        if not rows:
            return got
        columns = [strings(column).columns[0] for column in zip(*rows, strict=True)]
        return got._replace(rows=Block(columns, len(rows), self._form.tree))

    def read_files(self, place: FilePosition, want: int) -> tuple[list[dict[str, bytes]], Read]:
        """The next samples with all files that they have, by extension, and with their key; the second value has the
        position after them, or the error.
        """
        return self._rows(place, want, _files)

    def _rows(
        self, place: FilePosition, want: int, row_of: Callable[[TarSample, bytes], T | str]
    ) -> tuple[list[T], Read]:
        """Samples as `row_of` returns them, which may also be the error in one."""
        rows: list[T] = []
        at = place.offset
        while len(rows) < want:
            found, data = self._sample(at, more=not rows)
            if isinstance(found, OpError):
                if rows:
                    break
                return rows, Read(None, None, found)
            if found is None:
                break
            row = row_of(found, data)
            if isinstance(row, str):
                if rows:
                    break
                where = f"{shown(self._stream.name)}, sample {shown(found.key)!r} (byte {at})"
                error = InvalidArgumentError(f"{where}: {row}")
                return rows, Read(None, FilePosition(found.after, place.number + 1), error)
            rows.append(row)
            at = found.after
        return rows, Read(None, FilePosition(at, place.number + len(rows))) if rows else END

    def first(self) -> tuple[str, ...]:
        """The extensions of the first sample; empty if there is none."""
        found, _ = self._sample(0, more=True)
        if isinstance(found, OpError):
            raise found
        return () if found is None else tuple(found.files)

    def _row(self, sample: TarSample, data: bytes) -> list[bytes | memoryview] | str:
        """The files of a sample, or the error in it."""
        assert self._form is not None
        if sample.problem:
            return sample.problem
        extensions, others, missing = self._form
        unexpected = [] if others else [e for e in sample.files if e not in extensions]
        if unexpected:
            return f"it has a file {unexpected[0]!r}, which the first sample does not have; list the extensions to read"
        lacking = [e for e in extensions if e not in sample.files]
        if lacking and missing is None:
            return f"it has no file {lacking[0]!r}, only {list(sample.files)}; missing=b'' fills in for it"
        view = memoryview(data)
        files = (sample.files.get(e) for e in extensions)
        return [sample.key, *(missing or b"" if f is None else view[f.start : f.stop] for f in files)]

    def _sample(self, at: int, more: bool) -> tuple[TarSample | OpError | None, bytes]:
        """The sample at a position, None at the end of the file, or an error; and the buffer that holds it. Without
        `more`, also None if the sample has not been read ahead.
        """
        need = BLOCK
        while True:
            data, start = self._stream.window(at, need)
            try:
                found = _scan(data, min(start, len(data)))
                return found and found._replace(after=found.after - start + at), data
            except More as e:
                if self._stream.ended:
                    return self._stream.failure or self._damaged(at, "the file is truncated"), data
                if not more:
                    return None, data
                need = max(e.need - start, 2 * need)
                if e.need - start > self._stream.at_most(at):
                    return self._damaged(at, "its size exceeds the file"), data
            except Damage as e:
                return self._damaged(at, str(e)), data

    def _damaged(self, at: int, why: str) -> DataLossError:
        where = f"{shown(self._stream.name)}, byte {at}"
        return DataLossError(f"{where}: not a tar member, or truncated or corrupt: {why}")


def _files(sample: TarSample, data: bytes) -> dict[str, bytes] | str:
    if sample.problem:
        return sample.problem
    return {KEY: sample.key, **{e: data[f.start : f.stop] for e, f in sample.files.items()}}


def _scan(data: bytes, at: int) -> TarSample | None:
    """The sample at `at`, None at the end; raises `More` if the buffer ends too early."""
    key: bytes | None = None
    files: dict[str, Member] = {}
    problem = ""
    while True:
        here = at
        member, at = _member(data, at)
        if member is None:
            return None if key is None else TarSample(key, files, here, problem)
        parts = _PARTS.fullmatch(member.name)
        if parts is None:
            continue
        if key is not None and parts[1] != key:
            return TarSample(key, files, here, problem)
        key = parts[1]
        extension = parts[2].decode(errors="replace").lower()
        if extension in files:
            problem = f"the file {extension!r} is repeated"
        files[extension] = member


def _member(data: bytes, at: int) -> tuple[Member | None, int]:
    """The next file, and the position after it; None, and the position of the end, if there is none."""
    import tarfile  # slower to import than the rest of this module

    ended: type[Exception] = vars(tarfile)["EOFHeaderError"]
    name: bytes | None = None
    size: int | None = None
    while True:
        here = at
        if len(data) < at + BLOCK:
            raise More(at + BLOCK)
        try:
            header = tarfile.TarInfo.frombuf(data[at : at + BLOCK], "utf-8", "surrogateescape")
        except ended:
            return None, here
        except tarfile.HeaderError as e:
            raise Damage(str(e)) from None
        at += BLOCK
        length = header.size if size is None or header.type in _ABOUT_NEXT else size
        if length < 0:
            raise Damage("a negative file size")
        after = at + -(-length // BLOCK) * BLOCK
        if header.type == _SPARSE:
            raise Damage("sparse files are not supported; write it with another tar")
        if header.type not in _FILES:
            if header.type in _ABOUT_NEXT:
                if length > MOST_NAME:
                    raise Damage(f"a name of {length} bytes")
                if len(data) < after:
                    raise More(after)
                if header.type == _LONG_NAME:
                    name = data[at : at + length].rstrip(b"\0")
                else:
                    records = _extended(data[at : at + length])
                    name = records.get(b"path", name)
                    size = int(records.get(b"size", b"-1")) if b"size" in records else size
            elif header.type not in (_LONG_LINK, _EXTENDED_FOR_ALL):
                name = size = None  # a folder or link: its extended metadata do not apply to the next file
            at = after
            continue
        if len(data) < after:
            raise More(after)
        own = header.name.encode("utf-8", "surrogateescape")
        return Member(own if name is None else name, at, at + length), after


def _extended(text: bytes) -> dict[bytes, bytes]:
    """The records of an extended header: each its own length, a space, a name, `=`, a value, a line end."""
    records = {}
    at = 0
    while at < len(text) and text[at : at + 1] != b"\0":
        digits, _, _ = text[at : at + 20].partition(b" ")
        if not digits.isdigit() or int(digits) <= len(digits) + 1 or at + int(digits) > len(text):
            raise Damage("an invalid extended header")
        name, found, value = text[at + len(digits) + 1 : at + int(digits) - 1].partition(b"=")
        if not found or (name == b"size" and not value.isdigit()):
            raise Damage("an invalid extended header")
        records[name] = value
        at += int(digits)
    return records


def compression_of(name: bytes, compression: str | None) -> str:
    """The given compression, or the one that the name implies."""
    if compression is not None:
        return compression
    return "GZIP" if name.endswith((b".gz", b".tgz")) else ""


def extensions_of(name: bytes, compression: str | None) -> tuple[str, ...]:
    """The extensions of the first sample in a file."""
    reader = TarReader(name, None, compression_of(name, compression))
    try:
        return reader.first()
    finally:
        reader.close()


def checked_extensions(extensions: Sequence[str], op: str) -> tuple[str, ...]:
    """Extensions in lower case without the leading dot."""
    if isinstance(extensions, str) or not all(isinstance(e, str) for e in extensions) or not len(extensions):
        raise InvalidArgumentError(f"{op}: extensions must be a non-empty list of str, got {extensions!r}")
    names = tuple(e.removeprefix(".").lower() for e in extensions)
    if len(set(names)) != len(names) or not all(names):
        raise InvalidArgumentError(f"{op}: extensions must be distinct and non-empty, got {list(extensions)}")
    return names
