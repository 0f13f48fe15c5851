"""Sources that read files: one after another, or several round robin."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, ClassVar, NamedTuple

from feedline.early import Early, must_be_wanted
from feedline.errors import (
    DataLossError,
    InvalidArgumentError,
    InvalidTypeError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
)
from feedline.io.files import as_paths
from feedline.io.reader import FilePosition, Read, RecordReader
from feedline.kernels.threads import processors
from feedline.plan.arguments import AUTOTUNE, integer, open_at_once, text
from feedline.plan.cardinality import UNKNOWN
from feedline.plan.dataset_base import DatasetBase, in_memory
from feedline.plan.file_access import OpensFiles
from feedline.plan.interrupted import Interrupted
from feedline.plan.node import EMPTY, Node, Pull, node
from feedline.plan.traits.checkpoint import ExecutionArgs, Reloads
from feedline.plan.traits.provenance import Recomputable
from feedline.plan.traits.record_source import GivesAddresses
from feedline.plan.traits.reshard import Reshards, begun_of
from feedline.plan.traits.specs import spec_known
from feedline.provenance.identity import Expected
from feedline.structure.block import Block, object_array
from feedline.structure.nest import LEAF
from feedline.structure.round_robin import round_robin
from feedline.structure.spec import TensorSpec
from feedline.structure.types import string

Slot = tuple[bytes, int, int, Any]
"""A file being read: its name, the position in it (offset and number), and its reader. Until the file is open, the
reader is None or, after a restore, what the file is expected to be like.
"""

GIVEN_UP = -1
"""The offset of a file that cannot be read any further. The file ends when its turn comes, not earlier."""

EARLY = 1 << 20
"""After this many bytes of a compressed file have been read, the next files are opened."""
MOST_AHEAD = 8
"""The most files that are decompressed ahead; each holds up to `read_ahead.EARLY_DEPTH` MiB."""

STRING = TensorSpec((), string)


class FilesState(NamedTuple):
    """The files being read, whose turn it is, whether all files have been named, an error to raise next, and partly
    read files from resharding or early opening, which come before those named next.
    """

    slots: tuple[Slot | None, ...] = ()
    turn: int = 0
    named_all: bool = False
    error: Exception | None = None
    begun: tuple[Slot, ...] = ()


@node
class Files(ExecutionArgs, GivesAddresses, Recomputable, Reloads, Reshards, OpensFiles):
    """The records of the files that `input` names. Subclasses define how a file is opened and what its records are.

    `cycle` files are open at a time and give one record each, round robin. The file that replaces one that ended gets
    its first turn in the next round, as in TensorFlow.
    """

    State: ClassVar[Any] = FilesState
    execution_args: ClassVar[frozenset[str]] = frozenset({"buffer_size"})
    reader: ClassVar[type[RecordReader]] = RecordReader
    """The class of readers that `open_file` returns."""
    input: Node
    cycle: int

    def open_file(self, name: bytes) -> RecordReader:
        """A reader of one file."""
        raise TypeError(f"{type(self).__name__} must define open_file")

    @property
    def early(self) -> bool:
        """Whether the next files are opened while one is read: if files are read one after another, are slow to
        decompress, and taking the next names early cannot be observed.
        """
        return False

    @property
    def skips_errors(self) -> bool:
        """Whether unreadable records are skipped."""
        return False

    def error_of(self, file: Slot, got: Read) -> Exception | None:
        """The error to raise for the current record of `file`; None if it is skipped."""
        return None if self.skips_errors else got.error

    @property
    def recomputable(self) -> bool:
        """Whether every row has provenance: its file and the position in it."""
        return bool(self.reader.kind)

    def spec(self) -> Any:
        """A string scalar."""
        return STRING

    def cardinality(self) -> int:
        """Unknown: records are not counted."""
        return UNKNOWN

    def step(self, state: FilesState, pull: Pull, want: int) -> tuple[Block | None, FilesState]:
        """Rows of the files, round robin. A block ends at the end of a file, or before a record that cannot be read."""
        return self._step(state, pull, want, False)

    def step_addresses(self, state: FilesState, pull: Pull, want: int) -> tuple[Block | None, FilesState]:
        """As `step`, but the rows are addresses where the files allow it."""
        return self._step(state, pull, want, True)

    def _step(self, state: FilesState, pull: Pull, want: int, addresses: bool) -> tuple[Block | None, FilesState]:
        if state.error is not None:
            raise state.error
        slots = list(state.slots) or [None] * self.cycle
        turn, named_all, begun = state.turn, state.named_all, state.begun
        if self.early and not named_all and len(begun) < files_ahead():
            more, named_all = self._begun_early(slots[0], pull)
            begun += more
        while True:
            if slots[turn] is None and begun:
                slots[turn], begun = begun[0], begun[1:]
            if slots[turn] is None and not named_all:
                try:
                    named = pull(1)
                except Exception as e:
                    return EMPTY, FilesState(tuple(slots), turn, named_all, e, begun)
                except BaseException as e:
                    raise Interrupted(e, FilesState(tuple(slots), turn, named_all, None, begun)) from None
                if named is not None and not named.n:
                    return EMPTY, FilesState(tuple(slots), turn, named_all, None, begun)
                named_all = named is None
                slots[turn] = None if named is None else (named.rows()[0], 0, 0, None)
            if named_all and not begun and not any(slots):
                return None, FilesState(tuple(slots), turn, named_all)
            if (named_all and not begun) or all(slots):
                rows = self._rounds(slots, turn, want, addresses)
                if rows is not None:
                    return rows, FilesState(tuple(slots), turn, named_all, None, begun)
            try:
                rows, turn, error = self._turn(slots, turn, addresses)
            except Early as e:
                raise Interrupted(e, FilesState(tuple(slots), turn, named_all, None, begun)) from None
            if rows is not None or error is not None:
                return rows or EMPTY, FilesState(tuple(slots), turn, named_all, error, begun)

    def _no_name(self, name: object) -> InvalidTypeError:
        return InvalidTypeError(
            f"{self.op} at step {self.position}: the elements of a dataset of filenames must be strings, got "
            f"{type(name).__name__}"
        )

    def _begun_early(self, current: Slot | None, pull: Pull) -> tuple[tuple[Slot, ...], bool]:
        """The next file, which a thread starts to decompress while this one is read; and whether there is none."""
        if current is None or current[1] < EARLY:
            return (), False
        named = pull(1)
        if named is None or not named.n:
            return (), named is None
        name = named.rows()[0]
        if not isinstance(name, bytes):  # raised when its turn comes
            return ((name, 0, 0, None),), False
        try:
            reader = self.open_file(name)
        except OpError:  # raised when its turn comes
            return ((name, 0, 0, None),), False
        reader.begin()
        return ((name, 0, 0, reader),), False

    def _rounds(self, slots: list[Slot | None], turn: int, want: int, addresses: bool) -> Block | None:
        """As many whole rounds as all open files have rows for; None if the next turn must be taken on its own."""
        order = in_order(slots, turn)
        if len(order) == 1:
            got = self._look(slots, order[0], want, addresses)
            if got.rows is not None:
                self._move(slots, order[0], got)
            return got.rows
        rounds = want // len(order)
        if not rounds:
            return None
        found: list[Read] = []
        for i in order:
            got = self._look(slots, i, rounds, addresses)
            if got.rows is None:
                return None
            rounds = min(rounds, got.rows.n)
            found.append(got)
        blocks: list[Block] = []
        for i, got in zip(order, found, strict=True):
            if got.rows is not None and got.rows.n > rounds:  # one of the files after it had fewer
                got = self._look(slots, i, rounds, addresses)
            self._move(slots, i, got)
            blocks.append(got.rows or EMPTY)
        return round_robin(blocks)

    def _turn(
        self, slots: list[Slot | None], turn: int, addresses: bool
    ) -> tuple[Block | None, int, Exception | None]:
        """One row, or an error, from the file whose turn it is, and the next turn. Neither if the file ends."""
        got = Read(None) if slots[turn] is None else self._look(slots, turn, 1, addresses)
        file, error = slots[turn], got.error
        if error is not None and file is not None:
            error = self.error_of(file, got)
            if error is not None:
                self._check_wanted(error, slots[turn])
        self._move(slots, turn, got)
        if got.error is not None and error is None and slots[turn] is not None:
            return None, turn, None
        return got.rows, (turn + 1) % self.cycle, error

    @staticmethod
    def _check_wanted(error: Exception, slot: Slot | None) -> None:
        """Raises `Early` if the error comes ahead of its turn."""
        try:
            must_be_wanted(error)
        except Early:
            if slot is not None and isinstance(slot[-1], RecordReader):
                slot[-1].doubt()
            raise

    def _look(self, slots: list[Slot | None], i: int, want: int, addresses: bool) -> Read:
        """What the file in slot i has next, without advancing it. Opens the file if necessary."""
        slot = slots[i]
        if slot is None:
            return Read(None)
        name, offset, number, reader = slot
        if offset == GIVEN_UP:
            return Read(None)
        if reader is None or isinstance(reader, Expected):
            try:
                if not isinstance(name, bytes):
                    raise self._no_name(name)
                reader = self.open_file(name)
            except (NotFoundError, PermissionDeniedError) as e:
                # TensorFlow retries at every turn, forever; a dataset that ignores errors would never end.
                return Read(None, None if self.skips_errors else FilePosition(offset, number), e)
            except OpError as e:
                return Read(None, None, e)
            slots[i] = (name, offset, number, reader)
        read = reader.locate if addresses else reader.read
        got: Read = read(FilePosition(offset, number), want)
        if got.rows is None and got.place is None and got.error is None:
            try:
                reader.check_unchanged()
            except OpError as e:
                return Read(None, None, e)
        return got

    def _move(self, slots: list[Slot | None], i: int, got: Read) -> None:
        """Advances the file in slot i past `got`, and closes it at its end."""
        slot = slots[i]
        if slot is None:
            return
        name, _, number, reader = slot
        if got.place is not None:
            slots[i] = (name, *got.place, reader)
            return
        if reader is not None:
            reader.close()
        slots[i] = None if got.error is None else (name, GIVEN_UP, number, None)

    def named_in(self, state: FilesState) -> list[bytes]:
        """The names of the files being read."""
        return [slot[0] for slot in (*state.slots, *state.begun) if slot is not None]

    def reads_as(self, name: bytes) -> Any:
        """The recipe of the file's reader; None if the file cannot be opened."""
        try:
            reader = self.open_file(name)
        except OpError:
            return None
        try:
            return reader.recipe()
        finally:
            reader.close()

    def loaded(self, state: FilesState) -> FilesState:
        """Checks the number of files and the positions in them."""
        files = [f for f in (*state.slots, *state.begun) if f is not None]
        places = [at for _, *at, _ in files]
        wrong = len(state.slots) not in (0, self.cycle) or state.turn >= max(1, self.cycle)
        wrong = wrong or not all(isinstance(reader, (Expected, NoneType)) for *_, reader in files)
        if wrong or any(offset < GIVEN_UP or number < 0 for offset, number in places):
            raise DataLossError(
                f"the iterator state is corrupt: invalid positions in {self.op}: {len(state.slots)} files at {places}"
            )
        return state

    def reshard(self, others: Sequence[Node], states: Sequence[Any], part: int, parts: int) -> Any:
        """Redistributes the files being read; each is continued by one shard only."""
        begun = begun_of(self, states)
        if not begun:
            return None
        files = [f for s in begun for f in (*s.slots, *s.begun) if f is not None and f[1] != GIVEN_UP]
        return FilesState(begun=tuple((name, *at, None) for name, *at, _ in files[part::parts]))

    def after_error(self, state: FilesState) -> FilesState:
        """Drops the error that was raised."""
        return state._replace(error=None)


def files_ahead() -> int:
    """How many files are decompressed ahead of the one that is read."""
    return max(1, min(processors() // 2, MOST_AHEAD))


def in_order(slots: Sequence[Slot | None], turn: int) -> list[int]:
    """The occupied slots, in the order of their turns."""
    return [i for i in (*range(turn, len(slots)), *range(turn)) if slots[i] is not None]


def names_plan(filenames: object, op: str) -> Node:
    """The plan that gives the file names: that of a dataset of strings, or names in memory."""
    if isinstance(filenames, DatasetBase):
        plan = filenames._plan
        if spec_known(plan) and not STRING.is_compatible_with(plan.element_spec):
            raise InvalidTypeError(
                f"{op}: the elements of a dataset of filenames must be strings, got {plan.element_spec!r}"
            )
        return plan
    names = as_paths(filenames)
    return in_memory(Block([object_array(names)], len(names), LEAF))


def parallel_reads(value: object, op: str) -> int:
    """`num_parallel_reads` as the number of files read round robin; AUTOTUNE means one after another."""
    if value is None:
        return 1
    n = integer(value, "num_parallel_reads", op)
    if n == AUTOTUNE:
        return 1
    if n <= 0:
        raise InvalidArgumentError(f"{op}: num_parallel_reads must be greater than zero, or AUTOTUNE, got {n}")
    return open_at_once(n, "num_parallel_reads", op)


def compression(value: object, op: str) -> str | None:
    """`compression_type`: a name or None. An unknown compression is reported when a file is opened."""
    return None if value is None else text(value, "compression_type", op)


def optional_integer(value: object, name: str, op: str) -> int | None:
    """`value` as an int, or None."""
    return None if value is None else integer(value, name, op)
