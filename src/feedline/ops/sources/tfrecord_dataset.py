"""`TFRecordDataset`: the records of TFRecord files."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from feedline.errors import DataLossError, InvalidArgumentError, in_function
from feedline.io.files import shown
from feedline.io.reader import Read, RecordReader
from feedline.io.stream import AUTO
from feedline.io.tfrecord.reader import Corruption, TFRecordReader
from feedline.io.tfrecord.records import RecordFiles
from feedline.ops.shared.round_robin_order import RoundRobin
from feedline.ops.sources.files import (
    Files,
    FilesState,
    Slot,
    compression,
    in_order,
    names_plan,
    optional_integer,
    parallel_reads,
)
from feedline.ops.sources.from_tensor_slices import Slices
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import Node, Pull, node
from feedline.plan.pull import RecordBuffer
from feedline.plan.traits.random_access import CountsRows
from feedline.plan.traits.record_source import RecordSource
from feedline.plan.traits.specs import Sampled, sampled
from feedline.provenance.rows import Provenance, held
from feedline.sharing import cached_property
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from collections.abc import Callable

    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Filenames, Integer

_log = logging.getLogger("feedline")


def _log_corruption(lost: Corruption) -> None:
    """Logs lost bytes: what `on_corrupt="skip"` does."""
    size = "the rest of the file" if lost.bytes_lost is None else f"{lost.bytes_lost} bytes"
    _log.warning("TFRecordDataset skipped %s: %s", size, lost.error)


def _ignore_corruption(lost: Corruption) -> None:
    """Ignores damage while a few elements are sampled for the spec."""


@node
class TFRecords(CountsRows, RecordSource, Sampled, Files):
    """Records of TFRecord files, as strings. With `files`, they are counted and can be read by number."""

    op: ClassVar[str] = "TFRecordDataset"
    reader: ClassVar[type[RecordReader]] = TFRecordReader
    compression_type: str | None = None
    buffer_size: int | None = None
    on_corrupt: Any = "raise"
    files: Any = dataclasses.field(default=None, compare=False, repr=False)

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one TFRecord file."""
        return TFRecordReader(name, self.compression_type or "", self.buffer_size, self.on_corrupt != "raise")

    @property
    def early(self) -> bool:
        """Whether the next file is opened early: for compressed files whose names are in memory."""
        return bool(self.compression_type) and self.cycle == 1 and self.names is not None

    def read_into(
        self, state: FilesState, pull: Pull, want: int, buffer: RecordBuffer
    ) -> tuple[Array, FilesState] | None:
        """Reads whole rounds of records of the open files, as long as no file ends or has an error."""
        slots, order = list(state.slots), in_order(state.slots, state.turn)
        files = [file for i in order if (file := slots[i]) is not None]
        k = len(files)
        if state.error is not None or state.begun or not 0 < k <= want or (k < self.cycle and not state.named_all):
            return None
        if not all(isinstance(reader, TFRecordReader) for *_, reader in files):
            return None
        space = buffer.reserve(want - want % k)
        if space is None:
            return None
        rows, lengths, numbers = space
        begins: list[Array] = []
        rounds = len(numbers) // k
        for j, (_, offset, _, reader) in enumerate(files):
            begins.append(reader.read_into(offset, rows, lengths, np.ascontiguousarray(numbers[j : rounds * k : k])))
            rounds = min(rounds, len(begins[-1]) - 1)
            if not rounds:
                return None
        for i, (name, _, number, reader), found in zip(order, files, begins, strict=True):
            slots[i] = name, int(found[rounds]), number + rounds, reader
        parts = [reader.provenance(0, found[:rounds]) for (*_, reader), found in zip(files, begins, strict=True)]
        provenance = None
        if None not in parts:
            provenance = Provenance(0, np.stack([p.numbers() for p in parts], 1).ravel(), held(parts))
        numbers = numbers[: rounds * k]
        buffer.commit(numbers, provenance, sum(int(found[rounds] - found[0]) for found in begins))
        return numbers, state._replace(slots=tuple(slots))

    def error_of(self, file: Slot, got: Read) -> Exception | None:
        """The error to raise, or None if damage is to be skipped; a missing file does not count as damage."""
        if self.on_corrupt == "raise" or not isinstance(got.error, DataLossError):
            return got.error
        name, offset, number, _ = file
        report = _log_corruption if self.on_corrupt == "skip" else self.on_corrupt
        try:
            report(Corruption(shown(name), offset, number, got.lost, got.error))
        except Exception as e:
            return in_function(e, f"TFRecordDataset: on_corrupt failed: {e}")
        return None

    def sampled(self) -> Node:
        """A copy that reports no damage, so that nothing is reported twice."""
        quiet = self.on_corrupt if self.on_corrupt == "raise" else _ignore_corruption
        return self.replace(input=sampled(self.input), on_corrupt=quiet)

    def cardinality(self) -> int:
        """Unknown, as in TensorFlow, unless the records have been counted."""
        return UNKNOWN if self.files is None else int(self.files.count)

    @property
    def mark(self) -> int:
        """A number that identifies the counted files; 0 if they are not counted."""
        return 0 if self.files is None else int(self.files.mark)

    @cached_property
    def names(self) -> tuple[bytes, ...] | None:
        """The names of the files, if they are in memory."""
        return tuple(self.input.block.rows()) if isinstance(self.input, Slices) else None

    @property
    def numbered(self) -> bool:
        """Whether records can be read by number, given an index of the files."""
        if self.names is None or self.compression_type or self.on_corrupt != "raise":
            return False
        return not any(b"://" in n for n in self.names)

    @property
    def why_not_indexable(self) -> str:
        """Why records cannot be read by number, and what to do about it."""
        if self.names is None:
            return "its file names come from a dataset; pass them as a list"
        if self.on_corrupt != "raise":
            return "with on_corrupt it is not known which records will be skipped; count them without it"
        if self.compression_type == AUTO:
            return 'with compression_type="AUTO" a file may be compressed; omit it if none is'
        if self.compression_type and self.names:
            return (
                f"{shown(self.names[0])} is {self.compression_type}-compressed, and compressed files can only be read "
                "from the beginning; write the records to files without compression, or use save and Dataset.load"
            )
        return "" if self.numbered else "some files are not local; copy them first"

    def row_counter(self) -> RecordFiles | None:
        """The files, which stay counted between calls unless they change."""
        if not self.numbered or self.files is not None:
            return None
        kept: RecordFiles | None = self.__dict__.get("_tally")
        if kept is None or kept.changed():
            assert self.names is not None
            kept = self.__dict__["_tally"] = RecordFiles(self.names)
        return kept

    def counted(self, rows: object) -> Node:
        """The same records, counted."""
        made: Node = self.replace(files=rows)
        return made

    @property
    def indexable(self) -> bool:
        """Whether the records have been counted."""
        return self.files is not None

    def rows(self, index: Array) -> Block:
        """The records with these numbers."""
        block: Block = self.files.rows(index if self.cycle == 1 else self.in_turn(self.files, index))
        return block

    def in_turn(self, files: RecordFiles, index: Array) -> Array:
        """Row numbers in round-robin order as numbers counted through one file after another."""
        turns = self.__dict__.get("_turns")
        if turns is None:
            turns = self.__dict__["_turns"] = RoundRobin(files.counts, self.cycle)
        which, places = turns.places(index)
        return files.firsts[which] + places


def tfrecord_dataset(
    self: Dataset[Any],
    filenames: Filenames,
    compression_type: str | None = None,
    buffer_size: Integer | None = None,
    num_parallel_reads: Integer | None = None,
    name: str | None = None,
    *,
    on_corrupt: Literal["raise", "skip"] | Callable[[Corruption], object] = "raise",
) -> None:
    """The records of one or more TFRecord files, as `bytes`.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/words.tfrecord"
    >>> with fl.io.TFRecordWriter(path) as writer:
    ...     for word in ("one", "two"):
    ...         writer.write(word)
    >>> list(fl.TFRecordDataset(path))
    [b'one', b'two']

    `filenames` is a name, a list of names, or a dataset of names. `compression_type` is "GZIP", "ZLIB", "ZSTD" or "";
    "AUTO" detects it from each file's first bytes. Files are read one after another, or `num_parallel_reads` of them
    round robin, one record each. Checksums are always verified; a corrupt or truncated file raises `DataLossError`,
    which names the file, the byte and the record number, and iteration can continue with the next file. Files are read
    again in every iteration, and only as far as needed.

    All files are read by a single thread even with `num_parallel_reads`: that of the consumer, or of a `prefetch`.
    Files are read in large pieces, and passing records between threads would take longer than reading them.

    Records of uncompressed files can be read by number.

    >>> ds = fl.TFRecordDataset(path)
    >>> len(ds), ds.at(1), ds[-1], list(ds.global_shuffle(seed=3))
    (2, b'two', b'two', [b'two', b'one'])

    The records are counted on first use, which reads every record header; `cardinality` stays unknown. See
    `fl.io.tfrecord_index` for what is stored. A file that changes during an iteration by number raises
    `FailedPreconditionError`.

    With `on_corrupt="skip"`, iteration continues with the next intact record of the same file, and the logger
    "feedline" warns of what was lost. A function given as `on_corrupt` is called instead, with an object that has
    `file`, `offset`, `record`, `bytes_lost` and `error`; exceptions it raises are passed on.

    >>> with open(path, "r+b") as file:
    ...     position = file.seek(12)
    ...     done = file.write(b"X")
    >>> list(fl.TFRecordDataset(path, on_corrupt=lambda lost: print(lost.bytes_lost, "bytes lost")))
    19 bytes lost
    [b'two']
    """
    names = names_plan(filenames, "TFRecordDataset")
    size = optional_integer(buffer_size, "buffer_size", "TFRecordDataset")
    cycle = parallel_reads(num_parallel_reads, "TFRecordDataset")
    if on_corrupt not in ("raise", "skip") and not callable(on_corrupt):
        raise InvalidArgumentError(
            f'TFRecordDataset: on_corrupt must be "raise", "skip" or a function, got {on_corrupt!r}'
        )
    kind = compression(compression_type, "TFRecordDataset")
    self._plan = TFRecords(names, cycle, kind, size, on_corrupt)
