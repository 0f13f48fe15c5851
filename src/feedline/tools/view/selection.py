"""Selections: the records that match a filter, in the order of a feature, found in the background."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure.block import Array
from feedline.tools.shared.features import BYTES, TEXT, FeatureRows, ValueColumn
from feedline.tools.shared.records import batches
from feedline.tools.view.files import ViewedFile, ViewedFiles
from feedline.tools.view.filters import Condition, FilterOperand, parsed_filter, parsed_operand
from feedline.tools.view.jobs import DONE, Job, JobCancelled, Jobs

MOST_BYTES = 1 << 28
"""The memory of one selection: further matches are left out, of a sorted one the last."""
PREFIX = 32
"""Strings are sorted by their first bytes."""
KEPT = 4
"""The number of selections that are kept; the least recently used one is dropped."""
WAIT_S = 0.05


class FoundNumbers:
    """Numbers of matching records, in the order of the files. Bounded: it says `full` when no more fit."""

    def __init__(self, most: int = MOST_BYTES // 8) -> None:
        self._parts: list[Array] = []
        self._ends: list[int] = [0]
        self._most = most
        self.full = False

    def add(self, numbers: Array, keys: Array | None = None) -> None:
        """Adds matches."""
        numbers = numbers[: self._most - self._ends[-1]]
        if len(numbers):
            self._parts.append(numbers)
            self._ends.append(self._ends[-1] + len(numbers))
        self.full = self._ends[-1] >= self._most

    @property
    def total(self) -> int:
        """How many have been found so far."""
        return self._ends[-1]

    def page(self, start: int, count: int) -> list[int]:
        """Some of them."""
        ends = self._ends
        found: list[int] = []
        i = int(np.searchsorted(ends, start, "right")) - 1
        while len(found) < count and i < len(self._parts):
            at = max(0, start - ends[i])
            found += self._parts[i][at : at + count - len(found)].tolist()
            i += 1
        return found

    def finish(self) -> None:
        """All have been found."""


class SortedNumbers:
    """Numbers of matching records in the order of their keys, as soon as all have been found. Bounded: the first ones
    are kept.

    >>> from feedline.tools.view.selection import SortedNumbers
    >>> found = SortedNumbers(descending=True, most=2)
    >>> found.add(np.array([0, 1, 2]), np.array([5, 9, 7]))
    >>> found.finish()
    >>> found.page(0, 10)
    [1, 2]
    """

    def __init__(self, descending: bool, most: int = 0) -> None:
        self._descending, self._most = descending, most
        self._numbers: list[Array] = []
        self._keys: list[Array] = []
        self._held = 0
        self._sorted: Array = np.empty(0, np.int64)
        self.full = False

    def add(self, numbers: Array, keys: Array | None = None) -> None:
        """Adds matches with their keys."""
        assert keys is not None
        self._numbers.append(numbers)
        self._keys.append(keys)
        self._held += len(numbers)
        self._most = self._most or MOST_BYTES // (numbers.itemsize + keys.itemsize)
        if self._held > 3 * self._most // 2:
            self._keep_first()

    def _keep_first(self) -> None:
        keys = _joined_keys(self._keys)
        order = _order(keys, self._descending)[: self._most]
        self.full = self.full or len(order) < len(keys)
        self._numbers, self._keys = [np.concatenate(self._numbers)[order]], [keys[order]]
        self._held = len(order)

    @property
    def total(self) -> int:
        """How many can be shown."""
        return len(self._sorted)

    def page(self, start: int, count: int) -> list[int]:
        """Some of them."""
        found: list[int] = self._sorted[start : start + count].tolist()
        return found

    def finish(self) -> None:
        """Sorts what has been found."""
        if self._held:
            self._keep_first()
            self._sorted = self._numbers[0]
        self._numbers, self._keys = [], []


def _order(keys: Array, descending: bool) -> Array:
    """The order of the keys; equal ones keep theirs, and NaN comes last."""
    if not descending:
        return np.argsort(keys, kind="stable")
    order = len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
    if keys.dtype.kind == "f":
        odd = np.isnan(keys[order])
        order = np.concatenate([order[~odd], order[odd]])
    return order


def _joined_keys(parts: list[Array]) -> Array:
    """Keys of all files in one type: numbers before strings if both occur."""
    kinds = {part.dtype.kind for part in parts}
    if "S" in kinds and kinds != {"S"}:
        parts = [part if part.dtype.kind == "S" else part.astype(f"S{PREFIX}") for part in parts]
    return np.concatenate(parts)


def sort_keys(column: ValueColumn | None, rows: FeatureRows) -> tuple[Array, Array]:
    """The rows that have a value, and the first value of each, as keys."""
    if column is None:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    sizes = column.sizes()
    present = np.flatnonzero(sizes > 0 if column.missing is None else (sizes > 0) & ~column.missing)
    firsts = present if column.counts is None else (np.cumsum(column.counts) - column.counts)[present]
    held = column.values[firsts]
    if column.kind in (TEXT, BYTES):
        return present, np.array([value[:PREFIX] for value in held.tolist()], f"S{PREFIX}")
    return present, held.astype(np.int64 if held.dtype.kind in "bi" else np.float64)


class Selection:
    """Records that match a condition, or all, and their order."""

    def __init__(self, number: int, condition: Condition | None, order: FilterOperand | None, descending: bool) -> None:
        self.id, self.condition, self.order = number, condition, order
        self.found: FoundNumbers | SortedNumbers
        self.found = FoundNumbers() if order is None else SortedNumbers(descending)
        self.unreadable = 0
        self.job: Job | None = None

    def search(self, files: ViewedFiles, job: Job) -> None:
        """Looks at all records."""
        features = set() if self.condition is None else self.condition.features
        features |= set() if self.order is None else {self.order.feature}
        before = 0
        for i, file in enumerate(files.files):
            while not file.counted.wait(WAIT_S):
                job.check()
            job.total = files.total
            first = int(files.firsts[i])
            for number, rows in self._batches(file, features, job):
                self._add(first + number, rows)
                job.done = max(job.done, before + number + rows.n)
                if self.found.full and self.order is None:
                    return
            before += file.count
            job.done = before
        job.total = files.total
        self.found.finish()

    def _batches(self, file: ViewedFile, features: set[str], job: Job) -> Iterator[tuple[int, FeatureRows]]:
        if file.source is None:
            return
        try:
            for batch in batches(file.source, only=features):
                job.check()
                if batch.rows is None:
                    self.unreadable += 1
                else:
                    yield batch.number, batch.rows
        except JobCancelled:
            raise
        except Exception:  # a file that cannot be read any further
            self.unreadable += 1

    def _add(self, first: int, rows: FeatureRows) -> None:
        numbers = np.arange(rows.n)
        if self.condition is not None:
            numbers = np.flatnonzero(self.condition.matches(rows))
            rows = rows.select(numbers) if self.order is not None else rows
        if self.order is None:
            self.found.add(first + numbers)
            return
        present, keys = sort_keys(self.order.column(rows), rows)
        self.found.add(first + numbers[present], keys)

    @property
    def ready(self) -> bool:
        """Whether there is something to show: matches appear as they are found, sorted ones when all have been."""
        return self.order is None or (self.job is not None and self.job.state == DONE)

    def as_json(self) -> dict[str, Any]:
        """The state for the page."""
        assert self.job is not None
        return {
            "view": self.id, "job": self.job.as_json(), "total": self.found.total, "ready": self.ready,
            "full": self.found.full, "unreadable": self.unreadable,
        }  # fmt: skip


class Selections:
    """The selections of a viewer; only the latest few are kept."""

    def __init__(self, files: ViewedFiles, jobs: Jobs) -> None:
        self._files, self._jobs = files, jobs
        self._numbers = itertools.count(1)
        self._held: OrderedDict[int, Selection] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, condition: str, order: str, descending: bool) -> Selection:
        """Begins to look for records; raises if the filter cannot be read."""
        what = parsed_filter(condition)
        by = parsed_operand(order) if order.strip() else None
        if what is None and by is None:
            raise InvalidArgumentError("there is neither a filter nor an order")
        with self._lock:
            made = Selection(next(self._numbers), what, by, descending)
            self._held[made.id] = made
            old = [self._held.popitem(last=False)[1] for _ in range(len(self._held) - KEPT)]
            made.job = self._jobs.start("sorting" if by else "filtering", _search(made, self._files))
        for one in old:
            if one.job is not None:
                one.job.cancel()
        return made

    def get(self, number: int) -> Selection:
        """A selection by its number."""
        with self._lock:
            found = self._held.get(number)
            if found is None:
                raise InvalidArgumentError(f"there is no selection {number}; it may have been replaced by later ones")
            self._held.move_to_end(number)
            return found


def _search(selection: Selection, files: ViewedFiles) -> Callable[[Job], None]:
    def work(job: Job) -> None:
        selection.search(files, job)

    return work
