"""The format of a file: from its first bytes or, if they do not decide, from its name."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from feedline.errors import InvalidArgumentError
from feedline.io.compressed import PROBE_BYTES, detect_compression
from feedline.io.files import shown, system_path
from feedline.io.stream import Stream
from feedline.io.tfrecord.framing import length_of

TFRECORD, ARRAY_RECORD, TAR, PARQUET, ARROW, CSV, JSONL = FORMATS = (
    "tfrecord", "arrayrecord", "tar", "parquet", "arrow", "csv", "jsonl",
)  # fmt: skip
OF_RECORDS = (TFRECORD, ARRAY_RECORD)
"""Formats whose records are strings, most often Examples."""

_NAMES = (
    (TFRECORD, r"\.tfrecords?|\.tfrec"),
    (ARRAY_RECORD, r"\.array_?record"),
    (TAR, r"\.tar|\.tgz"),
    (PARQUET, r"\.parquet|\.pq"),
    (ARROW, r"\.arrows?|\.feather|\.ipc"),
    (CSV, r"\.csv|\.tsv"),
    (JSONL, r"\.jsonl|\.ndjson|\.json"),
)
_BY_NAME = [(kind, re.compile(rf"(?:{ending})(?=[-.@]|$)", re.IGNORECASE)) for kind, ending in _NAMES]
_COMPRESSED = ((re.compile(r"\.t?gz$"), "GZIP"), (re.compile(r"\.zst$"), "ZSTD"), (re.compile(r"\.zlib$"), "ZLIB"))
LOOKED_AT = 10
"""The lines of text that show whether a file is CSV."""
_RIEGELI = bytes.fromhex("83af70d10d884a3f")
_ARROW_STREAM = b"\xff\xff\xff\xff"
_TAR_AT, _TAR = 257, b"ustar"
_TEXT = re.compile(rb"[\x09\x0a\x0d\x20-\x7e\x80-\xff]*\Z")


class DataFile(NamedTuple):
    """A file, its format and compression, and its size in bytes if it is known."""

    name: bytes
    format: str
    compression: str = ""
    size: int | None = None

    @property
    def shown(self) -> str:
        """The name for messages."""
        return shown(self.name)


def recognised(name: bytes, given: str | None = None) -> DataFile:
    """A file with its format, which may be given.

    >>> import tempfile
    >>> from feedline.tools.shared.formats import recognised
    >>> path = f"{tempfile.mkdtemp()}/pets"
    >>> fl.io.write_file(path, '{"name": "Ada"}\\n')
    >>> recognised(path.encode()).format
    'jsonl'
    """
    stream = Stream(name)
    try:
        head = stream.peek(0, PROBE_BYTES)
        if stream.failure is not None:
            raise stream.failure
    finally:
        stream.close()
    size = size_of_file(name)
    whole = len(head) < PROBE_BYTES
    format_ = given or _by_content(head, name)
    compression = ""
    if format_ is None or (format_ not in (PARQUET, ARROW, ARRAY_RECORD) and length_of(head) is None):
        compression = detect_compression(head, whole)
        if compression and format_ is None:
            format_ = _by_content(_decompressed(name, compression), name)
    format_ = format_ or by_name(name) or (TFRECORD if not head else None)
    if format_ is None:
        begin = head[:8].hex(" ") or "nothing"
        raise InvalidArgumentError(
            f"{shown(name)}: neither its content, which begins with {begin}, nor its name shows the format; "
            f"if it is one of {', '.join(FORMATS)}, give it with --format"
        )
    return DataFile(name, format_, compression, size)


def by_name(name: bytes | str) -> str | None:
    """The format that a file's name stands for.

    >>> from feedline.tools.shared.formats import by_name
    >>> by_name("train-00001-of-00004.tfrecord.gz"), by_name("notes.txt")
    ('tfrecord', None)
    """
    base = os.fsdecode(name).rpartition("/")[2]
    found = [(at.start(), kind) for kind, ending in _BY_NAME for at in ending.finditer(base)]
    return max(found)[1] if found else None


def ending_of(name: str) -> int:
    """Where the ending of a file's name begins.

    >>> from feedline.tools.shared.formats import ending_of
    >>> [name[ending_of(name) :] for name in ("a.csv.gz", "v1.5.tfrecord", "data.txt", "data")]
    ['.csv.gz', '.tfrecord', '.txt', '']
    """
    found = [at.start() for _, ending in _BY_NAME for at in ending.finditer(name)]
    return max(found) if found else len(os.path.splitext(name)[0])


def compression_by_name(name: bytes | str) -> str:
    """The compression that a file's name stands for.

    >>> from feedline.tools.shared.formats import compression_by_name
    >>> compression_by_name("a.csv.gz"), compression_by_name("a.csv")
    ('GZIP', '')
    """
    text = os.fsdecode(name)
    return next((kind for ending, kind in _COMPRESSED if ending.search(text)), "")


def delimiter_of(name: bytes, line: bytes) -> bytes:
    """The character between the fields of a CSV file that begins with this line."""
    if b".tsv" in name:
        return b"\t"
    counts = {mark: line.count(mark) for mark in (b",", b"\t", b";", b"|")}
    return max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else b","


def _by_content(head: bytes, name: bytes) -> str | None:
    if length_of(head) is not None:
        return TFRECORD
    if head.startswith(b"PAR1"):
        return PARQUET
    if head.startswith(_RIEGELI):
        return ARRAY_RECORD
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return TAR
    if head.startswith((b"ARROW1", _ARROW_STREAM)):
        return ARROW
    named = by_name(name)
    if named is not None or not head or not _TEXT.match(head):
        return named
    line, ended, _ = head.lstrip().partition(b"\n")
    if line.startswith(b"{"):
        with suppress(ValueError, RecursionError):
            return JSONL if isinstance(json.loads(line), dict) else None
    return CSV if ended and _looks_like_csv(head, delimiter_of(name, line)) else None


def _looks_like_csv(head: bytes, delimiter: bytes) -> bool:
    """Whether the first complete lines have the same number of fields, more than one."""
    text = head[: head.rfind(b"\n") + 1].decode("latin-1")
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter.decode(), strict=True)
        sizes = {len(row) for row in islice(rows, LOOKED_AT) if row}
    except csv.Error:
        return False
    return len(sizes) == 1 and max(sizes) > 1


def _decompressed(name: bytes, compression: str) -> bytes:
    stream = Stream(name, compression)
    try:
        return stream.peek(0, 1 << 12)
    finally:
        stream.close()


def size_of_file(name: bytes) -> int | None:
    """The bytes of a file, here or elsewhere; None if it has none, as a pipe."""
    here = system_path(name)
    with suppress(OSError):
        if here is None:
            from feedline.io import gfile

            return int(gfile.stat(name).length)
        return os.path.getsize(here) if os.path.isfile(here) else None
    return None
