"""Sources that read tables: rows of files that say how many there are, and where."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError, OpError
from feedline.io.arrow.columns import Form, checked_fill
from feedline.io.arrow.table import TableReader
from feedline.io.files import as_paths, system_path
from feedline.ops.ragged_batch import ragged_batch
from feedline.ops.sources.files import Files, names_plan
from feedline.plan import arguments
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.face import Face, dataset
from feedline.plan.node import Node, node
from feedline.structure.block import Array, Block, Objects, concat

OPENED_AT_ONCE = 16
"""Files elsewhere whose footers are asked for at a time."""


class Shelf:
    """What is known of the files: how many rows each has, and readers for random access. A copy starts empty."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: list[int] | None = None
        self.counted = False
        self.readers: dict[int, TableReader] = {}

    def __reduce__(self) -> Any:
        return Shelf, ()


@node
class Table(Files):
    """Rows of tables, as dicts. Subclasses say which reader reads them."""

    opener: ClassVar[Any] = TableReader
    form: Form = dataclasses.field(repr=False)
    columns: tuple[str, ...] | None = None
    fill_null: tuple[tuple[str, Any], ...] = ()
    shelf: Shelf = dataclasses.field(default_factory=Shelf, compare=False, repr=False)

    def open_file(self, name: bytes) -> TableReader:
        """A reader of one file."""
        reader: TableReader = self.opener(name, fill=dict(self.fill_null), form=self.form)
        return reader

    def spec(self) -> Any:
        """That of the first file's columns."""
        return self.form.spec()

    @cached_property
    def names(self) -> list[bytes]:
        """The names of the files."""
        return self.input.rows(np.arange(self.input.cardinality())).rows()

    def cardinality(self) -> int:
        """As the files say, which are looked at once; unknown where one does not say it, or cannot be read."""
        with self.shelf.lock:
            if not self.shelf.counted:
                self.shelf.counts = self._counted()
                self.shelf.counted = True
            return UNKNOWN if self.shelf.counts is None else sum(self.shelf.counts)

    def _counted(self) -> list[int] | None:
        def count(name: bytes) -> int | None:
            try:
                reader = self.open_file(name)
            except (OpError, OSError):
                return None
            starts = reader.starts
            reader.close()
            return None if starts is None else int(starts[-1])

        if all(system_path(name) is not None for name in self.names):
            found = []
            for name in self.names:
                found.append(count(name))
                if found[-1] is None:
                    return None
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(OPENED_AT_ONCE) as several:
                found = list(several.map(count, self.names))
        return None if None in found else [n for n in found if n is not None]

    @property
    def indexable(self) -> bool:
        """Where the number of rows is known."""
        return self.cardinality() >= 0

    def rows(self, index: Array) -> Block:
        """The rows with these numbers. Whole parts are read, row groups for instance; the last ones stay in memory."""
        if not self.indexable or not len(index):
            return Block([Objects([], leaf.spec) for leaf in self.form.leaves], 0, self.form.tree)
        with self.shelf.lock:
            firsts = np.concatenate([[0], np.cumsum(self.shelf.counts or [])]).astype(np.int64)
            which = np.searchsorted(firsts, index, "right") - 1
            parts = [self._reader(f).take(index[which == f] - firsts[f]) for f in np.unique(which).tolist()]
        return parts[0] if len(parts) == 1 else concat(parts).take(np.argsort(np.argsort(which, kind="stable")))

    def _reader(self, i: int) -> TableReader:
        readers = self.shelf.readers
        if i not in readers:
            if len(readers) >= OPENED_AT_ONCE:
                readers.pop(next(iter(readers))).close()
            readers[i] = self.open_file(self.names[i])
        return readers[i]


def table(
    kind: type[Table],
    filenames: Any,
    columns: Sequence[str] | None,
    fill_null: Mapping[str, Any] | None,
    batch_size: int | None,
    drop_remainder: bool,
) -> Node:
    """The plan for files of tables, the first of which says what the columns are."""
    op = kind.op
    if isinstance(filenames, Face):
        raise InvalidTypeError(
            f"{op}: filenames must be names, got a dataset; use interleave to read from one: "
            f"names.interleave(fl.{op})"
        )
    names = as_paths(filenames)
    if not names:
        raise InvalidArgumentError(f"{op}: filenames is empty; the first file says what the columns are")
    chosen = None if columns is None else _columns(columns, op)
    first = kind.opener(names[0], chosen)
    first.close()
    fill = tuple(checked_fill(fill_null, first.form, op).items())
    plan: Node = kind(names_plan(filenames, op), 1, first.form, chosen, fill)
    drop = arguments.boolean(drop_remainder, "drop_remainder", op)
    if batch_size is None:
        if drop:
            raise InvalidArgumentError(f"{op}: drop_remainder needs a batch_size")
        return plan
    size = arguments.positive(batch_size, "batch_size", op)
    batches: Face[Any] = ragged_batch(dataset(plan), size, drop)
    return batches._plan


def _columns(columns: Any, op: str) -> tuple[str, ...]:
    names = tuple(columns) if isinstance(columns, (list, tuple)) else None
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"{op}: columns must be a list of names, at least one, got {columns!r}")
    return names
