"""Record numbers in place of the records of TFRecord files, and the records for these numbers.

    fetch_records(shuffle(record_numbers(TFRecordDataset)))

is what the optimizer makes of a shuffle over records if, when an iterator is made, all files have an index and it pays.
A checkpoint with numbers in the shuffle is loaded into a plan with these two steps, whether there is an index or not,
and one with records into a plan without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feedline.errors import FailedPreconditionError, OpError
from feedline.io.tfrecord.records import RecordFiles, changed_since, indexed_size
from feedline.ops.shared.parts import Left, redistribute
from feedline.ops.sources.tfrecord_dataset import TFRecords
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.checkpoint import CheckpointTransparent, Reloads
from feedline.plan.traits.provenance import Recomputable, recomputable
from feedline.plan.traits.record_source import GivesAddresses
from feedline.plan.traits.reshard import AdaptsToShard, Reshards, begun_of, error_waits, is_shard, round_robin_share
from feedline.plan.traits.specs import Sampled
from feedline.structure.block import Array, Block, concat
from feedline.structure.nest import LEAF

HOLD_BYTES = 1 << 24
"""A shuffle of up to this many bytes holds the records themselves. Measured with files in memory and 10,000 records
held: fetching a record by number takes 2.8 times as long as holding it for records of 100 bytes, 1.5 times at 1 kB, and
the same at 100 kB, where the memory saved matters.
"""

AHEAD_BYTES = 1 << 28
"""Records within a window of this size are read ahead, in order, when their numbers enter a shuffle."""

RECORDS = -1


class Numbering(NamedTuple):
    """How many numbers have been given, or RECORDS if `input` gives the records; whether the numbers become records
    here; the mark of the files; an error to raise next; and the files, None until they are needed. After resharding,
    `picks` are single numbers to give first, followed by those from `resume` on.
    """

    at: int = RECORDS
    early: bool = False
    mark: int = 0
    error: Exception | None = None
    files: Any = None
    picks: Array | None = None
    resume: int = 0

    @property
    def numbers(self) -> bool:
        """Whether it gives numbers, not records."""
        return self.at != RECORDS and not self.early


@node
class RecordNumbers(AdaptsToShard, CheckpointTransparent, Recomputable, Reloads, Reshards, Sampled):
    """The number of each record of `input`; the records themselves if the index is gone when it starts.

    `input` is the plan as written, and `start`, `by` and `most` describe which records it gives: numbers start, start +
    by and so on, at most `most` of them. `held` is how many a shuffle after it holds. If those take little memory,
    records go into the shuffle, and numbers are used only to skip records.
    """

    State: ClassVar[Any] = Numbering
    op: ClassVar[str] = "record_numbers"
    input: Node
    start: int = 0
    by: int = 1
    most: int | None = None
    held: int | None = None

    @property
    def recomputable(self) -> bool:
        """Whether the records are: numbers take no room in a checkpoint, and stand for records."""
        return recomputable(self.input)

    def pays(self) -> bool:
        """Whether all files have an index, and numbers save memory or reading."""
        try:
            found = indexed_size(_source(self).names or ())
        except OpError:  # reported when the turn of the file comes
            return False
        return found is not None and not (self._holds_records(*found) and self.start == 0 and self.by == 1)

    def begin(self, pull: Pull) -> Numbering:
        """Chooses between numbers and records. A damaged file is reported when its turn comes, as without an index."""
        pull.start()
        try:
            files = RecordFiles.found(_source(self).names or ())
        except OpError:
            files = None
        if files is None:
            return Numbering()
        early = self._holds_records(files.count, files.size)
        if early and self.start == 0 and self.by == 1:
            return Numbering()
        return Numbering(0, early, files.mark, None, files)

    def _holds_records(self, count: int, size: int) -> bool:
        """Whether a shuffle holds the records: those of `count`, of `size` bytes in all, that it has at a time."""
        return self.held is not None and self._held_bytes(count, size) <= HOLD_BYTES

    def _held_bytes(self, count: int, size: int) -> float:
        held = self.held or 0
        return (count if held < 0 else min(held, count)) * size / max(1, count)

    def again(self, before: Numbering, state: Numbering) -> Numbering:
        """Keeps the choice of the previous epoch: numbers and records do not mix in one buffer."""
        if before.numbers == state.numbers:
            return state
        return Numbering(0) if before.numbers else Numbering()

    def loaded(self, state: Numbering) -> Numbering:
        """Opens the files and checks that they are unchanged: numbers are valid only for those."""
        return state._replace(files=_opened(self, state.mark)) if state.at != RECORDS and state.mark else state

    def step(self, state: Numbering, pull: Pull, want: int) -> tuple[Block | None, Numbering]:
        """The next numbers."""
        at, early, mark, error, files, *_ = state
        if error is not None:
            raise error
        if at == RECORDS:
            return pull(want), state
        if files is None:
            files = _opened(self, mark)
        state = state._replace(mark=files.mark, files=files)
        numbers = self._next(state, files.count, want)
        if not len(numbers):
            return None, state
        if early:
            rows, error = _fetched(self, files, numbers)
            return rows, state._replace(at=at + rows.n, error=error)
        ahead = self.held and self.by == _source(self).cycle == 1
        if ahead and self._held_bytes(files.count, files.size) <= AHEAD_BYTES:
            files.expect(int(numbers[0]), int(numbers[-1]) + 1)
        return Block([numbers], len(numbers), LEAF), state._replace(at=at + len(numbers))

    def _next(self, state: Numbering, count: int, want: int) -> Array:
        """The next numbers, at most `want`, of `count` records."""
        at, first, most = state.at, self.start, self.most
        if state.picks is not None:
            if at < len(state.picks):
                picks: Array = state.picks[at : at + want]
                return picks[picks < count]
            at, first = at - len(state.picks), state.resume
        total = max(0, -(-(count - first) // self.by))
        stop = min(at + want, total if most is None else min(total, most))
        return np.arange(first + at * self.by, first + stop * self.by, self.by, dtype=np.int64)

    def for_shard(self, part: int, parts: int) -> Node:
        """The numbers of another shard, if there is a shard step in the input."""
        if not any(is_shard(n) for n in self.input.walk()):
            return self
        made: Node = self.replace(start=part, by=parts)
        return made

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the remaining numbers."""
        begun = [s for s in states if s is not None]
        if all(s.at == RECORDS for s in begun):
            return Numbering() if begun else None
        if any(s.at == RECORDS for s in begun) or len({s.mark for s in begun}) > 1:
            raise FailedPreconditionError(
                "some of the states use the index of the files and others do not, or the files differed; index the "
                "files for all iterators (fl.io.tfrecord_index), or for none"
            )
        if any(s.error is not None for s in states):
            raise error_waits(self)
        if self.most is not None or self.start >= self.by:
            raise FailedPreconditionError(
                f"a shard of indexed TFRecord files (step {self.position}) next to a take or skip cannot be resharded; "
                "put another step between them"
            )
        lefts = []
        for other, s in zip(others, states, strict=True):
            assert isinstance(other, RecordNumbers)
            picks = np.empty(0, np.int64) if s.picks is None else s.picks
            first = other.start if s.picks is None else s.resume
            lefts.append(Left(picks[s.at :], first + other.by * max(0, s.at - len(picks))))
        left = redistribute(lefts, part, parts)
        return Numbering(0, states[0].early, states[0].mark, None, None, *left)

    def after_error(self, state: Numbering) -> Numbering:
        """Skips the record that could not be read."""
        return state if state.error is None else state._replace(at=state.at + 1, error=None)


class Fetching(NamedTuple):
    """The mark of the files, numbers still to be fetched, an error to raise next, and the files, None until needed."""

    mark: int = 0
    rest: Block | None = None
    error: Exception | None = None
    files: Any = None


@node
class FetchRecords(CheckpointTransparent, GivesAddresses, Recomputable, Reloads, Reshards, Sampled):
    """The records for the numbers that come in. Records are passed on unchanged."""

    State: ClassVar[Any] = Fetching
    op: ClassVar[str] = "fetch_records"
    note: ClassVar[str] = "reads records by number instead of buffering them: the files have an index"
    input: Node

    @property
    def recomputable(self) -> bool:
        """Whether the input's records are."""
        return recomputable(self.input)

    def loaded(self, state: Fetching) -> Fetching:
        """Opens the files and checks that they are unchanged: numbers are valid only for those."""
        return state._replace(files=_opened(self, state.mark)) if state.mark else state

    def step(self, state: Fetching, pull: Pull, want: int) -> tuple[Block | None, Fetching]:
        """The records for the next numbers; those before an unreadable one are returned first."""
        return self._step(state, pull, want, False)

    def step_addresses(self, state: Fetching, pull: Pull, want: int) -> tuple[Block | None, Fetching]:
        """As `step`, but gives the addresses of the records."""
        return self._step(state, pull, want, True)

    def _step(self, state: Fetching, pull: Pull, want: int, addresses: bool) -> tuple[Block | None, Fetching]:
        mark, rest, error, files = state
        if error is not None:
            raise error
        numbers = pull(want) if rest is None else rest.slice(0, want)
        if rest is not None:
            rest = rest.slice(want, rest.n) if rest.n > want else None
        if numbers is None or not numbers.n or not _are_numbers(numbers):
            return numbers, state
        if files is None:
            files = _opened(self, mark)
        rows, error = _fetched(self, files, numbers.columns[0], addresses)
        if error is not None:
            left = [b for b in (numbers.slice(rows.n + 1, numbers.n), rest) if b is not None and b.n]
            rest = concat(left) if left else None
        return rows, Fetching(files.mark, rest, error, files)

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the numbers still to be fetched."""
        begun = begun_of(self, states)
        if not begun:
            return None
        return Fetching(max(s.mark for s in begun), round_robin_share([s.rest for s in begun], part, parts))

    def after_error(self, state: Fetching) -> Fetching:
        """Skips the record that could not be read."""
        return state._replace(error=None)


def _source(plan: Node) -> TFRecords:
    while not isinstance(plan, TFRecords):
        plan = plan.inputs[0]
    return plan


def _opened(plan: Node, mark: int) -> RecordFiles:
    """The files, counted, if they have this mark; 0 accepts any."""
    names = _source(plan).names or ()
    files = RecordFiles(names).whole()
    if mark not in (0, files.mark):
        raise changed_since(names)
    return files


def _fetched(
    plan: Node, files: RecordFiles, numbers: Array, addresses: bool = False
) -> tuple[Block, Exception | None]:
    """The records with these numbers, or their `addresses`, up to the first that cannot be read, and its error."""
    source = _source(plan)
    index = numbers if source.cycle == 1 else source.in_turn(files, numbers)
    try:
        return files.located(index) if addresses else files.rows(index), None
    except OpError:  # raised below, at the record it belongs to
        done: list[Block] = []
    for i in range(len(index)):
        try:
            done.append(files.rows(index[i : i + 1]))
        except OpError as e:
            return concat(done) if done else EMPTY, e
    return concat(done), None


def _are_numbers(block: Block) -> bool:
    column = block.columns[0]
    return isinstance(column, np.ndarray) and column.dtype == np.int64
