"""Sources that read files with a known number of rows and random access."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from feedline.errors import OpError
from feedline.io.files import system_path
from feedline.io.record_file import RecordFile
from feedline.io.unchanged import identity_of, sameness
from feedline.kernels import crc32c
from feedline.ops.sources.files import Files
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.node import node
from feedline.plan.traits.random_access import RandomAccess, read_rows
from feedline.sharing import Guard, cached_property
from feedline.structure.block import Array, Block, Objects, concat
from feedline.structure.nest import flatten

OPEN = 16
"""How many files stay open for random access, and how many remote files are asked for their row count at a time."""


class FileCatalog:
    """What is known of the files: the number of rows in each, and readers for random access. A copy starts empty."""

    def __init__(self) -> None:
        self.lock = Guard()
        self.counts: list[int] | None = None
        self.files: dict[bytes, RecordFile | None] = {}
        self.counted = False
        self.readers: dict[int, Any] = {}

    def __reduce__(self) -> Any:
        return FileCatalog, ()


@node
class CountedFiles(RandomAccess, Files):
    """Rows of files that know their row count. The readers that `open_file` returns have `count` and `take`."""

    catalog: FileCatalog = dataclasses.field(default_factory=FileCatalog, compare=False, repr=False)

    @cached_property
    def names(self) -> list[bytes]:
        """The names of the files."""
        return read_rows(self.input, np.arange(self.input.cardinality())).rows()

    def cardinality(self) -> int:
        """The row count of all files, which are opened once for it; unknown if one cannot be read or does not say."""
        with self.catalog.lock:
            if not self.catalog.counted:
                self.catalog.counts = self._counted()
                self.catalog.counted = True
            return UNKNOWN if self.catalog.counts is None else sum(self.catalog.counts)

    def _counted(self) -> list[int] | None:
        found: list[int] = []
        if all(system_path(name) is not None for name in self.names):
            for name in self.names:
                count = self._count(name)
                if count is None:
                    return None
                found.append(count)
            return found
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(OPEN) as several:
            counts = list(several.map(self._count, self.names))
        return None if None in counts else [n for n in counts if n is not None]

    def _count(self, name: bytes) -> int | None:
        try:
            reader: Any = self.open_file(name)
        except (OpError, OSError):
            return None
        try:
            self.catalog.files[name] = reader.file
            count: int | None = reader.count
        except OpError:
            return None
        finally:
            reader.close()
        return count

    @property
    def indexable(self) -> bool:
        """Whether the number of rows is known."""
        return self.cardinality() >= 0

    def look_again(self) -> None:
        """Forgets what is known of the files if one has changed."""
        with self.catalog.lock:
            if all(file is None or identity_of(name) == file.identity for name, file in self.catalog.files.items()):
                return
            for reader in self.catalog.readers.values():
                reader.close()
            self.catalog.counts, self.catalog.counted = None, False
            self.catalog.readers, self.catalog.files = {}, {}

    @property
    def mark(self) -> int:
        """A number that identifies the files as they were when they were counted."""
        known = [file and sameness(name, file.identity) for name, file in sorted(self.catalog.files.items())]
        return crc32c(repr(known).encode())

    @property
    def why_not_indexable(self) -> str:
        """Why rows cannot be read by number."""
        return "" if self.indexable else "one of its files cannot be read, or does not state its number of rows"

    def rows(self, index: Array) -> Block:
        """The rows with these numbers. Readers may read more, such as whole row groups, and cache the last ones."""
        if not self.indexable or not len(index):
            leaves, tree = flatten(self.element_spec)
            return Block([Objects([], leaf) for leaf in leaves], 0, tree)
        with self.catalog.lock:
            firsts = np.concatenate([[0], np.cumsum(self.catalog.counts or [])]).astype(np.int64)
            which = np.searchsorted(firsts, index, "right") - 1
            parts = [self._reader(f).take(index[which == f] - firsts[f]) for f in np.unique(which).tolist()]
        return parts[0] if len(parts) == 1 else concat(parts).take(np.argsort(np.argsort(which, kind="stable")))

    def _reader(self, i: int) -> Any:
        readers = self.catalog.readers
        if i not in readers:
            if len(readers) >= OPEN:
                readers.pop(next(iter(readers))).close()
            readers[i] = self.open_file(self.names[i])
        return readers[i]
