"""A dataset as a framework iterates it: this reader's shard, and the position of the last iterator."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from feedline.engine.checkpoint import counters
from feedline.errors import FailedPreconditionError
from feedline.integrations.shards import ReaderIndex, part_of, shard_for
from feedline.integrations.uneven_shards import (
    OnUneven,
    distribute,
    even_length,
    known_length,
    on_uneven_argument,
    with_length,
)
from feedline.ops.batch import Batch
from feedline.ops.prefetch import Prefetch
from feedline.ops.repeat import Repeat
from feedline.ops.with_options import WithOptions
from feedline.plan.dataset_base import dataset
from feedline.plan.node import Node
from feedline.random.seeds import SeedGenerator

VERSION = 1

_parent_iterators: list[Any] = []
"""Iterators inherited by a fork. Their threads do not exist here; they are neither used nor closed."""


def _of_values(given: Any) -> Any:
    """The dataset, whose elements are NumPy values also if it is one of `feedline.tf`."""
    return dataset(given._plan)


class Batches:
    """What the frameworks' iterables share. Subclasses define the reader's index and how to make an iterator."""

    op: ClassVar[str] = ""

    def __init__(self, dataset: Any, on_uneven: OnUneven | None = None) -> None:
        self.dataset = _of_values(dataset)
        self.on_uneven = on_uneven_argument(on_uneven, self.op)
        self._pid = os.getpid()
        self._parts: dict[ReaderIndex, tuple[Any, list[int]]] = {}
        self._iterator: Any = None
        self._begun: tuple[ReaderIndex, int] = (ReaderIndex(), 0)
        self._resume: dict[str, Any] | None = None

    def reader(self) -> ReaderIndex:
        """The index of the current reader, and the number of readers."""
        return ReaderIndex()

    def alone(self) -> bool:
        """Whether other readers build the dataset independently, in their own processes."""
        return False

    def epoch(self) -> int:
        """The number of iterations begun before this one, if no iterator of this process counts them."""
        return 0

    def iterator(self, part: object) -> Any:
        """An iterator over a shard of the dataset, with the framework's elements."""
        raise TypeError(f"{type(self).__name__} does not define iterator")

    def process(self) -> ReaderIndex:
        """The index of this process, and the number of processes; a process may have several readers."""
        return ReaderIndex()

    def part(self, reader: ReaderIndex) -> Any:
        """The dataset that a reader iterates: its shard, with the number of elements adjusted by `on_uneven`."""
        process, alone = self.process(), self.alone()
        readers = reader.readers // process.readers

        def lengths(number: int) -> list[int | None]:
            within = [ReaderIndex(readers, i).within(ReaderIndex(process.readers, number)) for i in range(readers)]
            parts = [shard_for(self.dataset, each, alone, process, number, self.op) for each in within]
            return [known_length(part._plan, self.on_uneven is not None) for part in parts]

        total = even_length(self.op, self.on_uneven, process.readers, process.number, lengths)
        part = part_of(self.dataset, reader, alone, process, self.op)
        if total is None:
            return part
        have, mine = [n or 0 for n in lengths(process.number)], reader.number // process.readers
        return with_length(part, have[mine], distribute(have, total)[mine])

    def _part(self, reader: ReaderIndex) -> tuple[Any, list[int]]:
        if reader not in self._parts:  # kept, so that its caches are found again
            made = self.part(reader)
            made = dataset(without_batch_copy(made._plan)) if self.copies() else made
            self._parts[reader] = made, [c.count for c in counters(made._plan)]
        return self._parts[reader]

    def copies(self) -> bool:
        """Whether elements are copied elsewhere, so that their own memory may be shared."""
        return False

    def __iter__(self) -> Any:
        if self._pid != os.getpid():
            _parent_iterators.append(self._iterator)
            self._pid, self._iterator = os.getpid(), None
        reader, epoch = self.reader(), self.epoch()
        state, self._resume = self._resume, None
        if state is not None:
            epoch = state["epoch"]
        part, counts = self._part(reader)
        if epoch:  # a process started for this epoch has not counted the ones before
            for counter, first in zip(counters(part._plan), counts, strict=True):
                reshuffled = isinstance(counter, SeedGenerator) and counter.reshuffle
                counter.count = first + epoch * (2 if reshuffled else 1)
        made = self.iterator(part)
        if state is not None and state["state"] is not None:
            self._check(state, reader)
            made.restore(state["state"])
        self._iterator, self._begun = made, (reader, epoch)
        return made

    def __len__(self) -> int:
        return len(self._part(self.reader())[0])

    def state_dict(self) -> dict[str, Any]:
        """The position of the last iterator as plain values, for checkpoints of a training run."""
        if self._resume is not None:
            return self._resume
        reader, epoch = self._begun
        own = self._iterator is not None and self._pid == os.getpid()
        state = self._iterator.save() if own else None
        return {"version": VERSION, "epoch": epoch, "reader": list(reader), "state": state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iterator continues where `state_dict` was called."""
        if state.get("version") != VERSION:
            got = state.get("version")
            raise FailedPreconditionError(f"{self.op}: the state has version {got}, this feedline reads {VERSION}")
        self._resume = state

    def _check(self, state: dict[str, Any], reader: ReaderIndex) -> None:
        saved = ReaderIndex(*state["reader"])
        if saved != reader:
            raise FailedPreconditionError(
                f"{self.op}: the state is that of reader {saved.number} of {saved.readers}, and this is reader "
                f"{reader.number} of {reader.readers}; use as many workers and processes as when it was saved"
            )

    def __repr__(self) -> str:
        return f"<{self.op} of {self.dataset!r}>"


def without_batch_copy(plan: Node) -> Node:
    """The plan with a final batch that does not copy rows already in memory."""
    if isinstance(plan, Batch):
        return plan.replace(lends=True)
    if isinstance(plan, (Prefetch, Repeat, WithOptions)):
        below = without_batch_copy(plan.input)
        return plan if below is plan.input else plan.replace(input=below)
    return plan
