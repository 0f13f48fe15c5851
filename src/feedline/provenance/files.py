"""File numbers: a record location is one integer, the number of a file and a byte in it (after decompression).

A number belongs to a file as long as something holds its `FileNumber`: an open reader, and everything that keeps
locations in the file. After that it is given to another file. Numbers are valid in this process only.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from feedline.sharing import Guard

Array = np.ndarray[Any, Any]

SHIFT = 42
"""Bits for the offset in a file: 4 TiB, which leaves room for a million files."""
MOST_FILES = 1 << (62 - SHIFT)


class File(Protocol):
    """A file in the version that was opened, and how to read it. Equal ones share a number."""

    @property
    def recipe(self) -> tuple[Any, ...]:
        """How to read it: the kind of its reader, and the reader's arguments."""

    @property
    def name(self) -> bytes:
        """Its name."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    def mark(self) -> list[Any]:
        """A mark by which a later check tells whether the file has changed."""

    def describe(self, offset: int) -> str:
        """The file and the record at `offset`, as error messages show them."""

    def __hash__(self) -> int: ...


class FileNumber:
    """The number that a file has while this object is referenced: `base` is the location of its first byte."""

    __slots__ = ("__weakref__", "base", "file")

    def __init__(self, file: File, base: int) -> None:
        self.file, self.base = file, base


class FileNumbers:
    """Holds the numbers of all files whose locations a row store has had."""

    __slots__ = ("_held",)

    def __init__(self, files: Iterable[FileNumber] = ()) -> None:
        self._held: set[FileNumber | FileNumbers] = set(files)

    def hold(self, files: Held) -> None:
        """Holds the numbers of these files, too."""
        self._held.update(files)


Held = tuple[FileNumber | FileNumbers, ...]
"""What locations hold, so that their files keep their numbers."""


class _Use(weakref.ref[FileNumber]):
    """A reference to a number in use that does not hold it."""

    __slots__ = ("file", "number")
    file: File
    number: int


class _Numbers:
    """The numbers in use. The lock is reentrant: a number may go out of use while the lock is held."""

    def __init__(self) -> None:
        self._by_file: dict[File, _Use] = {}
        self._by_number: dict[int, _Use] = {}
        self._free: list[int] = []
        self._next = 0
        self._lock = Guard()

    def of(self, file: File) -> FileNumber | None:
        if file.size >= 1 << SHIFT:
            return None
        with self._lock:
            use = self._by_file.get(file)
            known = None if use is None else use()
            if known is not None:
                return known
            if self._free:
                number = self._free.pop()
            elif self._next < MOST_FILES:
                number, self._next = self._next, self._next + 1
            else:
                return None
            made = FileNumber(file, number << SHIFT)
            use = _Use(made, self._release)
            use.file, use.number = file, number
            self._by_file[file] = self._by_number[number] = use
            return made

    def _release(self, use: _Use) -> None:
        with self._lock:
            if self._by_file.get(use.file) is use:
                del self._by_file[use.file]
            if self._by_number.get(use.number) is use:
                del self._by_number[use.number]
                self._free.append(use.number)

    def at(self, location: int) -> FileNumber:
        number = self._by_number[location >> SHIFT]()
        assert number is not None, "nothing holds the number of the file"
        return number

    def __len__(self) -> int:
        return len(self._by_number)


_numbers = _Numbers()


def number_of(file: File) -> FileNumber | None:
    """The number of a file; None if the file is too large, or too many have one."""
    return _numbers.of(file)


def file_at(location: int) -> tuple[File, int]:
    """The file that a location is in, and the offset there. The file's number must be held."""
    number = _numbers.at(location)
    return number.file, location - number.base


def numbers_in_use() -> int:
    """How many files have a number."""
    return len(_numbers)


def by_file(ordered: Array) -> Iterator[tuple[FileNumber, int, int]]:
    """For ascending locations: each file with the range of its locations among them."""
    which = ordered >> SHIFT
    starts = np.flatnonzero(np.diff(which, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(ordered)]):
        yield _numbers.at(int(ordered[start])), start, stop
