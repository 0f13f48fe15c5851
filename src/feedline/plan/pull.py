"""What a node gets while it runs: its inputs, and runs of the nested plans that it opens."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from feedline.provenance.rows import Provenance
from feedline.structure.block import Array, Block

if TYPE_CHECKING:
    from feedline.plan.node import Node


class Pull(Protocol):
    """An input as a node sees it while it runs."""

    def __call__(self, want: int) -> Block | None:
        """At most `want` more rows (0 rows: nothing yet), or None at the end. Raises the input's errors."""

    def one(self) -> Block | None:
        """One row, to be the key of a nested plan. A checkpoint need not hold a large key that can be recomputed."""

    def read_into(self, want: int, buffer: RecordBuffer) -> Array | None:
        """Reads up to `want` rows straight into a record buffer and returns their numbers there. None if that is not
        possible, at the end, or on an error: an ordinary call then tells which.
        """

    def start(self) -> None:
        """Restarts the input, as a new iterator over it would (a shuffle below draws its next seeds)."""

    def open(self, plan: Node, key: Block | None = None) -> Child:
        """A run of a nested plan, not started; `key` is what the node makes that plan from again on restore."""


class RecordBuffer(Protocol):
    """A node's store of rows under numbers, into which a `RecordSource` writes strings directly."""

    def reserve(self, n: int) -> tuple[Array, Array, Array] | None:
        """Room for `n` strings, as `kernels.tfrecord_to_rows` takes it: a matrix, the lengths, and the numbers of free
        rows. None if the buffer does not store strings in a matrix.
        """

    def commit(self, numbers: Array, provenance: Provenance | None, size: int) -> None:
        """Marks `numbers`, the first of those that `reserve` gave, as taken by rows of this provenance and `size`
        bytes.
        """


class Pending(Protocol):
    """Rows of a nested plan that are read in the background, or by the first caller of `wait`."""

    finished: bool
    """Whether the rows have been read."""
    taken: bool
    """Whether the rows, or the error in their place, have been taken."""
    snapshot_before: Any
    """The child's snapshot from before the read, as `Child.snapshot` gives it."""

    def begin(self, calls: int) -> None:
        """Reads the rows in a background thread, of which there may be `calls`."""

    def wait(self, again: bool = True) -> Block | None:
        """The rows. Raises the child's errors. Rows that could not be read ahead of the consumer are read here if
        `again`.
        """

    def finishes_within(self, seconds: float) -> bool:
        """Whether the read finishes in this time; waits for it."""

    def wait_for_any(self, reads: Sequence[Pending | None], news: SimpleQueue[None]) -> None:
        """Returns when one of `reads` is finished; all of them put their notices on the same `news` queue."""

    def drop(self, child: Child) -> None:
        """Closes the child once the read is done."""


@runtime_checkable
class Child(Protocol):
    """A run of a nested plan, kept in the state of the node that opened it."""

    seconds: float
    """How long the last block took, in seconds."""
    plan: Node
    """The nested plan."""

    def start(self) -> None:
        """Starts at the first element and draws seeds; shared seeds not ahead of the consumer (see early.py)."""

    @property
    def started(self) -> bool:
        """Whether the run has been started."""

    def __call__(self, want: int) -> Block | None:
        """At most `want` more rows, as a `Pull` gives them."""

    def ask(self, want: int, news: SimpleQueue[None] | None = None, size: float | None = None) -> Pending | None:
        """Reads the next `want` rows in the background if that pays and there is room for `size` bytes; else gives
        None. With `news` it does so whether that pays or not, and puts an item on that queue when they have been read.
        """

    def calls(self, wanted: int | None, most: int) -> int:
        """How many children, at most `most`, may be read at once; 0 if everything runs in the caller's thread."""

    def ordered(self, wanted: bool | None) -> bool:
        """Whether the order of elements must be kept, given the step's own setting."""

    def snapshot(self) -> Any:
        """The run's position, as a value that can be saved after the run has moved on; None if there is none."""

    def notify_error(self) -> None:
        """Records that an error has reached the consumer, which may or may not continue."""

    def cancel(self) -> None:
        """Wakes everything that waits in the run, so that it ends."""

    def close(self) -> None:
        """Frees the run's resources."""
