"""What a node is given while it runs: its inputs, and nested plans that it opens."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from feedline.structure.block import Array, Block, Provenance

if TYPE_CHECKING:
    from feedline.plan.node import Node


class Pull(Protocol):
    """An input as a node sees it while it runs."""

    def __call__(self, want: int) -> Block | None:
        """At most `want` more rows (0 rows: nothing yet), or None at the end. Raises what the input raises."""

    def one(self) -> Block | None:
        """As a call for one row, which is to be the key of a nested plan: a checkpoint need not hold a large one that
        can be made again.
        """

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """As a call, but the rows go straight to a record buffer: their numbers there. None where they cannot, and
        where there are none or something is wrong: a call tells that.
        """

    def start(self) -> None:
        """Starts the input anew, as making a new iterator over it would (a shuffle below draws its next seeds)."""

    def open(self, plan: Node, key: Block | None = None) -> Child:
        """A run of another plan inside this one, not started; `key` is what the node makes that plan from again on
        restore.
        """


class RecordBuffer(Protocol):
    """Where rows are kept under numbers by a node that holds many: strings can be put into their places by whoever
    reads them.
    """

    def reserve(self, n: int) -> tuple[Array, Array, Array] | None:
        """Room for so many strings, as `kernels.tfrecord_to_rows` takes it: a matrix, the lengths, and the numbers of
        rows that are free. None where strings are not kept like that.
        """

    def commit(self, numbers: Array, provenance: Provenance | None, size: int) -> None:
        """The first of these numbers of `reserve` are taken from now on: by rows of this origin, of `size` bytes."""


class Pending(Protocol):
    """Rows of a nested plan that are read in the background, or by whoever wants them first."""

    finished: bool
    """Whether the rows are there."""
    taken: bool
    """Whether somebody has got them, or the error in their stead."""
    snapshot_before: Any
    """Where the child stood before, as `Child.snapshot` gives it."""

    def begin(self, calls: int) -> None:
        """Has them read by a thread, of which there may be so many."""

    def wait(self, again: bool = True) -> Block | None:
        """The rows. Raises what the child raises. Those that could not be read ahead of their time are read `again`."""

    def wait_for_any(self, asked: Sequence[Pending | None], news: SimpleQueue[None]) -> None:
        """Returns when one of these is finished, all of which tell the same news."""

    def drop(self, child: Child) -> None:
        """Closes the child, when it is done."""


@runtime_checkable
class Child(Protocol):
    """A run of a nested plan, kept in the state of the node that opened it."""

    seconds: float
    """How long its last block took."""
    plan: Node
    """What it runs."""

    def start(self) -> None:
        """Begins at the first element: takes seeds. Does nothing ahead of its time."""

    @property
    def started(self) -> bool:
        """Whether it has been."""

    def __call__(self, want: int) -> Block | None:
        """As `Pull`."""

    def ask(self, want: int, news: SimpleQueue[None] | None = None, size: float | None = None) -> Pending | None:
        """Lets the next `want` rows be read in the background, where that pays and there is room for `size` bytes; else
        gives None. With `news` it does so whether that pays or not, and puts something there when they have been read.
        """

    def calls(self, wanted: int | None, most: int) -> int:
        """How many children may be asked at once, of at most `most`; 0 where everything runs in the caller's thread."""

    def ordered(self, wanted: bool | None) -> bool:
        """Whether the order of elements must be kept, given what the user said about this step."""

    def snapshot(self) -> Any:
        """Where it stands, as a value that can be saved when it has gone on; None where there is none."""

    def notify_error(self) -> None:
        """An error has come to the consumer, who may go on or not."""

    def cancel(self) -> None:
        """Wakes everything that waits in the run, to its end."""

    def close(self) -> None:
        """Frees what the run holds."""
